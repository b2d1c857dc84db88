#!/usr/bin/env bash
# GPU control on a real GPU with MIG mode off; no setting of the card is changed.
#   bench/hardware/h200_control.sh pack BUILD DIR     collects the programs of a build folder and their libraries in DIR
#   bench/hardware/h200_control.sh run DIR [OUTPUT]   on the machine with the GPU, as root: checks and prints all
# run: the inventory against the catalogue, plan, doctor; soft slices by MPS: started, limited in SMs and memory, refused
# a reshape while busy, stopped; at the end the card's settings are compared with those at the start.
set -u
failed=0
say() { printf '\n== %s\n' "$*"; }
check() { if [ "$1" = 0 ]; then echo "ok      $2"; else echo "FAILED  $2"; failed=$((failed + 1)); fi; }

pack() {  # BUILD DIR
  cmake --build "$1" --target smartmig driver_readonly driver_mps_client || exit 1
  mkdir -p "$2/lib" || exit 1
  for program in smartmig driver_readonly driver_mps_client; do
    cp "$1/$program" "$2/" || exit 1
    # All but glibc: the machine's own must be at least as new as the one here.
    ldd "$1/$program" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
      grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | xargs -r -I{} cp -Ln {} "$2/lib/"
  done
  cp "${BASH_SOURCE[0]}" "$2/"
  du -sh "$2"
}

settings() { nvidia-smi --query-gpu=uuid,mig.mode.current,mig.mode.pending,compute_mode,persistence_mode,power.limit,ecc.mode.current --format=csv,noheader 2>/dev/null; }
with_lib() { LD_LIBRARY_PATH="$dir/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
mig() { with_lib "$dir/smartmig" "$@"; }
field() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" <<<"$2"; }

client() {  # SLICE LIMIT_MIB LIMIT_SMS: runs the client on a slice and looks at what it saw
  local line env
  env=$(mig gpus --driver mps --state "$state" --env "$1") || { check 1 "environment of $1"; return; }
  line=$(env $env "$dir/driver_mps_client" </dev/null)
  echo "        $1: $line"
  local sms mib
  sms=$(field sms "$line") mib=$(field allocated_mib "$line")
  [ -n "$sms" ] && [ "$sms" -le "$3" ] && [ "$sms" -gt 0 ]; check $? "$1 sees at most $3 SMs (${sms:-none})"
  [ -n "$mib" ] && [ "$mib" -le "$2" ] && [ "$mib" -gt $(($2 * 8 / 10)) ]; check $? "$1 allocates at most $2 MiB (${mib:-none})"
}

run() {  # DIR [OUTPUT]
  dir=$(cd "$1" && pwd) || exit 1
  state=$(mktemp -d) || exit 1
  SMARTMIG_MPS_CONTROL=$(command -v nvidia-cuda-mps-control || ls /usr/local/nvidia/bin/nvidia-cuda-mps-control 2>/dev/null)
  SMARTMIG_MPS_DIR=$state/m
  export SMARTMIG_MPS_CONTROL SMARTMIG_MPS_DIR SMARTMIG_LOCK_DIR=$state
  say "machine"
  date -u +%Y-%m-%d
  uname -r
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null
  before=$(settings)

  say "read-only conformance"
  with_lib "$dir/driver_readonly"; check $? "read-only conformance"

  say "gpus, plan, doctor"
  mig gpus --state "$state"; check $? "gpus"
  mig plan --state "$state" --to 4g+2g+1g; check $? "plan"
  mig generate-config --state "$state" >"$state/config.yaml" && mig plan --state "$state" -f "$state/config.yaml" -c all-balanced; check $? "plan of a generated configuration"
  mig apply --state "$state" --to 4g+2g+1g; [ $? = 1 ]; check $? "apply refuses to change MIG mode unasked"
  mig doctor --state "$state"

  say "soft slices by MPS"
  echo "        without MPS: $("$dir/driver_mps_client" 1024 </dev/null)"
  mig apply --driver mps --state "$state" --to 3g@0+2g@4+1g@6; check $? "apply --driver mps"
  mig gpus --driver mps --state "$state"
  pgrep -a nvidia-cuda-mps | head -3
  mig gpus --driver mps --state "$state" --json >"$state/gpus.json"
  limit() { grep -A5 "\"slice\": \"$1" "$state/gpus.json" | sed -n 's/.*"memory_mib": \([0-9]*\).*/\1/p' | head -n 1; }
  whole=$(field sms "$("$dir/driver_mps_client" 1 </dev/null)")
  for slice in 3g 2g 1g; do
    env=$(mig gpus --driver mps --state "$state" --env "0:$slice@$(case $slice in 3g) echo 0 ;; 2g) echo 4 ;; *) echo 6 ;; esac)")
    percent=$(sed -n 's/CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=//p' <<<"$env")
    client "0:$slice@$(case $slice in 3g) echo 0 ;; 2g) echo 4 ;; *) echo 6 ;; esac)" "$(limit $slice)" $((whole * percent / 100 + 1))
  done

  say "a busy soft slice stays"
  env=$(mig gpus --driver mps --state "$state" --env 0:3g@0)
  mkfifo "$state/hold"
  env $env "$dir/driver_mps_client" 1024 <"$state/hold" >"$state/client" & holder=$!
  exec 9>"$state/hold"
  for _ in $(seq 100); do [ -s "$state/client" ] && break; sleep 0.1; done
  mig gpus --driver mps --state "$state"
  mig apply --driver mps --state "$state" --to 7g; [ $? = 1 ]; check $? "a reshape that would touch it is refused"
  mig apply --driver mps --state "$state" --to 3g@0+3g@4; check $? "its neighbours are reshaped"
  exec 9>&-
  wait "$holder"; check $? "the client ran on and ended well"

  say "stop"
  mig apply --driver mps --state "$state" --to empty; check $? "the last slice goes"
  sleep 1
  # A container without an init keeps ended ones as zombies.
  ! pgrep -r R,S,D,T nvidia-cuda-mps >/dev/null; check $? "no MPS process is left"
  [ "$before" = "$(settings)" ]; check $? "settings of the card are as they were"
  echo "$before"
  rm -rf -- "$state"
  printf '\n%s checks failed\n' "$failed"
  [ "$failed" = 0 ]
}

case ${1-} in
  '') echo "skipped: needs a real GPU; see $0 --help" ;;  # as bench/run calls it
  pack) [ $# = 3 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }; pack "$2" "$3" ;;
  run)
    [ $# = 2 ] || [ $# = 3 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
    if [ $# = 3 ]; then set -o pipefail; run "$2" 2>&1 | tee "$3"; else run "$2"; fi ;;
  --help | -h) sed -n '2,6s/^# \{0,1\}//p' "$0" ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
