#!/usr/bin/env bash
# Runs the real nvtop on emulated GPUs: nvtop.sh BUILD_DIR. By its snapshot where this nvtop has one, else in a
# pseudo-terminal. NVTOP names another program. Passes when every emulated board is on the screen; exits 77 where
# there is no nvtop.
set -u
build=$(cd "${1:?nvtop.sh BUILD_DIR}/nvml-sim" && pwd) || exit 1
nvtop=${NVTOP:-$(command -v nvtop)} || true
if [ -z "$nvtop" ]; then
  echo "skipped: nvtop is not installed"
  exit 77
fi
scratch=$(mktemp -d) || exit 1
job=
cleanup() {
  [ -z "$job" ] || { kill "$job" && wait "$job"; } 2>/dev/null
  rm -rf -- "$scratch"
}
trap cleanup EXIT

export NVML_SIM_STATE=$scratch/node LD_LIBRARY_PATH=$build HOME=$scratch XDG_CONFIG_HOME=$scratch
"$build/nvml-sim-ctl" init "$NVML_SIM_STATE" --gpus 2xh200-141gb,1xa100-40gb --mig off || exit 1
CUDA_VISIBLE_DEVICES=0 "$build/smartmig-emulated-job" --work-s 600 --mem-curve 0:20G >"$scratch/job.txt" &
job=$!

screen=$scratch/screen
if "$nvtop" --help 2>&1 | grep -q snapshot; then
  timeout 20 "$nvtop" -s >"$screen" 2>&1
elif command -v script >/dev/null; then
  (sleep 3; printf q) | TERM=xterm timeout -s INT 20 script -qc "stty rows 50 cols 160; $nvtop" /dev/null >"$screen" 2>&1
else
  echo "skipped: this nvtop has no snapshot and there is no script(1) to capture it"
  exit 77
fi
plain=$(sed 's/\x1b[(\[][0-9;?]*[A-Za-z]//g' "$screen")
status=0
for want in 'H200' 'A100-SXM4-40GB'; do
  if grep -q "$want" <<<"$plain"; then
    echo "nvtop shows $want"
  else
    echo "nvtop does not show $want"
    status=1
  fi
done
[ "$status" = 0 ] || { tail -c 4000 <<<"$plain"; exit 1; }
echo "ok: $("$nvtop" --version 2>&1 | head -n 1)"
