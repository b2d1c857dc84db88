#!/usr/bin/env bash
# A machine that looks like one with an H200 to bench/hardware/h200_queue.sh, without a GPU: an emulated NVML with one H200, MIG off, and
# small programs in the place of nvidia-smi and nvidia-cuda-mps-control. Jobs are stand-ins (H200_STANDIN) that make a real call of a
# stand-in for CUDA.
#   tests/e2e/stand_in_h200.sh BUILD DIR COMMAND...      runs COMMAND there; DIR is made
set -eu
build=$(realpath "$1") dir=$2
shift 2
mkdir -p "$dir/bin"
dir=$(realpath "$dir")
"$build/nvml-sim/nvml-sim-ctl" init "$dir/machine" --gpus 1xh200-141gb --mig off --clock real >/dev/null

cat >"$dir/bin/nvidia-smi" <<'S'
#!/bin/sh
case $* in *driver_version*) echo "H200 (stand-in), none, 143771 MiB" ;; *) echo "GPU-0, Disabled" ;; esac
S

# One daemon for each pipe directory: a sleeping process whose number is in its file. No servers, no clients. It takes as long to answer
# as such a program takes to start.
cat >"$dir/bin/nvidia-cuda-mps-control" <<'S'
#!/bin/sh
pipe=$CUDA_MPS_PIPE_DIRECTORY file=$CUDA_MPS_PIPE_DIRECTORY/nvidia-cuda-mps-control.pid
lives() { [ -e "$file" ] && kill -0 "$(cat "$file")" 2>/dev/null; }
if [ "${1-}" = -d ]; then
  lives && exit 1
  setsid sleep 3600 </dev/null >/dev/null 2>&1 &
  echo $! >"$file"
  exit 0
fi
sleep "${STAND_IN_MPS_S:-0.02}"
lives || { echo "Cannot find MPS control daemon process"; exit 1; }
read -r command argument
[ "$command" != quit ] || { kill "$(cat "$file")"; rm "$file"; }
exit 0
S
chmod +x "$dir"/bin/*
export NVML_SIM_STATE=$dir/machine PATH=$dir/bin:$PATH SMARTMIG_MPS_CONTROL=$dir/bin/nvidia-cuda-mps-control
export LD_LIBRARY_PATH=$build/nvml-sim:$build/preload/stub${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} H200_STANDIN=${H200_STANDIN:-0.4}
export SMARTMIG_NVML=$build/nvml-sim/libnvidia-ml.so.1
exec "$@"
