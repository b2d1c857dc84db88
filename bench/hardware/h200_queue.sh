#!/usr/bin/env bash
# A batch of real CUDA jobs through the queue on a real GPU (mps driver), against one at a time and against a plain script.
#   bench/hardware/h200_queue.sh pack BUILD DIR             programs of a build folder and their libraries: DIR/queue.tar.xz
#   bench/hardware/h200_queue.sh run DIR OUTPUT [RUN...]    on the machine with the GPU, as root; see runs() for names
#       H200_SEED=N, H200_SCALE=X: a batch of 16 jobs of six kinds made by that seed, with X times the steps (1);
#       H200_STREAM=N, H200_SECONDS=S: the arrivals of stream-* runs; H200_LIMIT=S: runs that would not be over so long after the
#       begin are left out; H200_OVERLAP=X: the setting mps.overlap of every daemon; H200_CPUS=N: the host is taken to have N CPUs and 256 GiB; H200_SAVE=FILE: all that was measured is packed there after each run
# A run that hangs is ended after twice the time that it should take. OUTPUT may hold earlier runs of the same batch and host.
# Needs python3 with PyTorch there. No setting of the card is changed. Afterwards: h200_queue_report.py OUTPUT
# On a machine that ends commands after ten minutes, three of them with one OUTPUT, and environment
# H200_SEED=1 H200_SCALE=0.65 H200_LIMIT=570 H200_SAVE=FILE (expected seconds: 510, 550, 530):
#       run DIR OUTPUT hold-check script7 best-loop prelaunch-loop prelaunch-loop-b
#       run DIR OUTPUT best-loop-b script7b told told-b stream-best-100
#       run DIR OUTPUT stream-script-100 stream-best-70 stream-script-70
# The plain script with all SMs, 7 and 14 at a time, is the baseline on soft slices: script7-100 script14-100
# and if there is time left: stream-batch-100, stream-batch-70, stream-fifo-70
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
self=$here/h200_queue.sh report=$here/h200_queue_report.py
help() { sed -n '2,/^set /s/^# \{0,1\}//p' "$self" | grep -v '^set '; }
say() { printf '\n== %s %s\n' "$(date -u +%T)" "$*"; }
now() { date +%s.%N; }

pack() {  # BUILD DIR
  local stage=$2/stage
  rm -rf -- "$stage" && mkdir -p "$stage/lib" || exit 1
  mkdir "$stage/preload"
  cp "$1/smartmig" "$stage/" && cp "$1/supervisor/smartmig-supervisor" "$stage/" && cp "$1/preload/libsmartmig-preload.so" "$stage/preload/" || exit 1
  strip "$stage/smartmig" "$stage/smartmig-supervisor"
  # All but glibc: the machine's own must be at least as new as the one here.
  ldd "$1/smartmig" | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' |
    grep -vE '/(libc|libm|libdl|libpthread|librt|ld-linux[^/]*)\.so' | xargs -r -I{} cp -Ln {} "$stage/lib/"
  tar -C "$stage" -cJf "$2/queue.tar.xz" . && rm -rf -- "$stage"
  ls -l "$2/queue.tar.xz"
}

settings() { nvidia-smi --query-gpu=uuid,mig.mode.current,compute_mode,persistence_mode,power.limit,ecc.mode.current,clocks.max.sm --format=csv,noheader; }
spend() { awk "BEGIN{printf \"%d\", $1}"; }
mig() { LD_LIBRARY_PATH="$work/programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$work/programs/smartmig" "$@"; }
began() { run=$1 H200_RESULTS=$out/$1.jobs.jsonl; export H200_RESULTS; rm -f "$H200_RESULTS"; sleep 2; say "$1"; t0=$(now); }
ended() { local t1; t1=$(now); echo "$run,$t0,$t1,\"$1\"" >>"$out/runs.csv"; printf '%s: %.1f s (%s)\n' "$run" "$(awk "BEGIN{print $t1-$t0}")" "$1"; }

mps_quit() {  # PIPE: and waits for the end, since it removes its pipes last. A container without an init keeps zombies.
  CUDA_MPS_PIPE_DIRECTORY=$1 CUDA_MPS_LOG_DIRECTORY=$1/../log timeout 10 "$control" <<<quit >/dev/null 2>&1
  for _ in $(seq 50); do pgrep -r R,S,D,T nvidia-cuda-mps >/dev/null || return 0; sleep 0.2; done
  echo "$run: an MPS process is left"
}

one() {  # every job alone on the whole GPU, without MPS
  began one
  while read -r name kind steps; do
    python3 "$jobs" job "$name" "$kind" "$steps" >"$out/log/one.$name" 2>&1 </dev/null || echo "one: $name failed"
  done <"$out/batch"
  ended "one at a time, whole GPU"
}

script() {  # NAME AT_A_TIME PERCENT MIB: so many at a time on fixed shares, in the order of the list
  local pipe=$work/s$2/pipe
  mkdir -p "$pipe" "$work/s$2/log"
  CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$work/s$2/log "$control" -d
  began "$1"
  CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$3 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=$4M" \
    xargs -P "$2" -L 1 sh -c 'exec python3 "$0" job "$@" >"'"$out/log/$1"'.$1" 2>&1 </dev/null' "$jobs" <"$out/batch" || echo "$1: a job failed"
  ended "plain script, $2 at a time on $3 % of the SMs"
  mps_quit "$pipe"
}

serve() {  # POLICY LAYOUTS: a daemon of its own; its socket in $socket
  state=$work/state.$run socket=$work/$run.sock
  export SMARTMIG_MPS_DIR=$work/m.$run
  mkdir -p "$state"
  [ -z "${learned-}" ] || cp "$out"/learned/queue.db* "$state/"
  printf '%s\n' "policy = \"$1\"" ${2:+"layouts = \"$2\""} '[energy]' 'sample = "0.5s"' >"$state/serve.toml"
  [ -z "${prelaunch-}" ] || printf '%s\n' '[prelaunch]' 'all = true' "jobs = $prelaunch" >>"$state/serve.toml"
  [ -z "${H200_CPUS-}" ] || printf '%s\n' '[host]' "cpus = $H200_CPUS" 'mem = "256G"' >>"$state/serve.toml"
  [ -z "${H200_OVERLAP-}" ] || printf '%s\n' '[mps]' "overlap = $H200_OVERLAP" >>"$state/serve.toml"
  # Not by mig(): $! must be the daemon itself, not a shell above it.
  env LD_LIBRARY_PATH="$work/programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$work/programs/smartmig" serve --config "$state/serve.toml" \
    --driver mps --like h200-141gb --state "$state" --socket "$socket" >"$out/log/$run.daemon" 2>&1 &
  daemon=$!
  export SMARTMIG_SOCKET=$socket
  for _ in $(seq 100); do [ -S "$socket" ] && mig queue >/dev/null 2>&1 && return; sleep 0.1; done
  echo "$run: no daemon"; cat "$out/log/$run.daemon"; return 1
}

leave() {  # what the daemon knows, then its end
  sleep 1
  python3 "$report" ask "$socket" /v1/status >"$out/$run.status.json"
  python3 "$report" ask "$socket" '/v1/jobs?state=final' >"$out/$run.final.json"
  python3 "$report" ask "$socket" /v1/journal >"$out/$run.journal.jsonl"
  python3 "$here/../daemon/queue_waste.py" "$out/$run.journal.jsonl" "$out/$run".jobs.jsonl "$out/$run"-[0-9].jobs.jsonl
  now >"$out/$run.left"
  kill "$daemon"
  wait "$daemon"
  [ -z "${teaches-}" ] || { rm -rf -- "$out/learned"; mkdir "$out/learned"; cp "$state"/queue.db* "$out/learned/"; }
  mps_quit "$(ls -d "$SMARTMIG_MPS_DIR"/*/pipe | head -n 1)"
  tail -n 400 "$SMARTMIG_MPS_DIR"/*/log/control.log >"$out/log/$run.mps" 2>/dev/null
  unset SMARTMIG_SOCKET
}

send() { mig submit --export "ALL,LD_LIBRARY_PATH=${LD_LIBRARY_PATH-}" "$@"; }

send_plan() {  # the whole batch, then the queue may begin; with $loop it may begin with the first, as for who types a loop
  [ -n "${loop-}" ] || mig pause >/dev/null
  while read -r name kind steps options; do
    # shellcheck disable=SC2086
    send --name "$name" $options -- python3 "$jobs" job "$name" "$kind" "$steps" </dev/null >/dev/null || echo "$name was not accepted"
  done <"$work/plan"
  [ -n "${loop-}" ] || mig resume >/dev/null
}

ours() {  # NAME POLICY LAYOUTS DEADLINES: the batch through the queue; DEADLINES as h200_queue_report.py plan knows them
  run=$1
  serve "$2" "$3" || return
  now >"$out/$1.served"
  python3 "$report" plan "$out" "$4" >"$work/plan" || return
  began "$1"
  send_plan
  mig wait --timeout 200s >"$out/log/$1.wait" 2>&1 || tail -n 3 "$out/log/$1.wait"
  ended "smartmig $2 ${3:-} told $4${prelaunch:+, prelaunch of $prelaunch}"
  leave
}

foretell() {  # when the daemon, all being sent, expects each job to end
  python3 "$report" ask "$socket" "/v1/futures?count=20" >"$out/$run.futures.json"
}

rounds() {  # NAME POLICY N: the batch N times through one daemon that is told nothing: what it learns from its own runs
  run=$1
  serve "$2" "" || return
  now >"$out/$1.served"
  python3 "$report" plan "$out" nothing >"$work/plan" || return
  for round in $(seq "$3"); do
    python3 "$report" known "$socket" "$out" "$1-$round" "$jobs" || echo "$1-$round: what is known was not told"
    began "$1-$round"
    send_plan
    foretell
    mig wait --timeout 200s >"$out/log/$1-$round.wait" 2>&1 || tail -n 3 "$out/log/$1-$round.wait"
    ended "smartmig $2, nothing told, round $round${prelaunch:+, prelaunch of $prelaunch}"
  done
  run=$1
  leave
}

need_script() { [ -s "$out/script7.jobs.jsonl" ] || script script7 7 13 16384; }

# Jobs of the batch that arrive over H200_SECONDS with deadlines, the load relative to what the plain script carries (a run of
# script7, made first where OUTPUT has none). Each job's line in OUTPUT/NAME.plan: AT ID NAME KIND STEPS DEADLINE, seconds from the begin.
stream_plan() {  # NAME PERCENT
  need_script
  python3 "$report" stream "$out" "${H200_STREAM:-1}" "${H200_SECONDS:-150}" "$2" >"$out/$1.plan" || return
  echo "$1: $(wc -l <"$out/$1.plan") jobs"
}

stream_wait() { awk -v at="$1" -v t0="$t0" -v now="$(now)" 'BEGIN { s = t0 + at - now; print (s > 0 ? s : 0) }' | xargs sleep; }

stream() {  # NAME POLICY PERCENT: through a queue that has learned from rounds of the batch, told deadlines alone
  stream_plan "$1" "$3" || return
  [ -e "$out/learned/queue.db" ] || teaches=yes loop=yes rounds teach best 1
  local learned=yes
  run=$1
  serve "$2" "" || return
  now >"$out/$1.served"
  python3 "$report" known "$socket" "$out" "$1" "$jobs" || echo "$1: what is known was not told"
  began "$1"
  while read -r at id name kind steps due; do
    stream_wait "$at"
    H200_AS=$id send --name "$id" --deadline "$(awk "BEGIN{print $due-$at}")s" -- \
      python3 "$jobs" job "$name" "$kind" "$steps" </dev/null >/dev/null || echo "$id was not accepted"
  done <"$out/$1.plan"
  mig wait --timeout 120s >"$out/log/$1.wait" 2>&1 || tail -n 3 "$out/log/$1.wait"
  ended "stream at $3 %, smartmig $2, deadlines told, the rest learned${prelaunch:+, prelaunch of $prelaunch}"
  leave
}

stream_script() {  # NAME AT_A_TIME PERCENT_OF_SMS MIB PERCENT: first come, first served, so many at a time; 1: the whole GPU without MPS
  local pipe=$work/ss$2/pipe
  stream_plan "$1" "$5" || return
  mkdir -p "$pipe" "$work/ss$2/log"
  [ "$2" = 1 ] || CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_LOG_DIRECTORY=$work/ss$2/log "$control" -d
  began "$1"
  while read -r at id name kind steps due; do
    stream_wait "$at"
    echo "$id $name $kind $steps"
  done <"$out/$1.plan" | (
    [ "$2" = 1 ] || export CUDA_MPS_PIPE_DIRECTORY=$pipe CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$3 CUDA_MPS_PINNED_DEVICE_MEM_LIMIT="0=$4M"
    xargs -P "$2" -L 1 sh -c 'id=$1; shift; H200_AS=$id exec python3 "$0" job "$@" >"'"$out/log/$1"'.$id" 2>&1 </dev/null' "$jobs"
  ) || echo "$1: a job failed"
  ended "stream at $5 %, plain script, $2 at a time"
  [ "$2" = 1 ] || mps_quit "$pipe"
}

# What was measured so far, as tables of a site: runs that are told of kinds use them.
tables() {
  need_script
  python3 "$report" "$out" >"$out/log/report" 2>&1 && python3 "$report" calibrate "$out/tables" "$work/mig" "$out" >"$out/log/calibrate" 2>&1 ||
    { echo "no tables: $(tail -n 2 "$out/log/calibrate" "$out/log/report" 2>/dev/null | tr '\n' ' ')"; return; }
  export SMARTMIG_SPEEDS=$out/tables/speeds.csv SMARTMIG_POWER_KINDS=$out/tables/watts.csv
}

# Is a real program held at its first CUDA call, and does it begin on its slice? One job has the whole GPU without using it.
hold_check() {
  run=hold-check
  prelaunch=4
  serve best "" || return
  now >"$out/$run.served"
  began "$run"
  send --no-prelaunch --min-slices 7 --name keeps -- sleep "${H200_HOLD:-9}" </dev/null >/dev/null
  for kind in mlp-small llm-decode-8; do send --name "held-$kind" -- python3 "$jobs" job "held-$kind" "$kind" 100 </dev/null >/dev/null; done
  sleep "$(spend "${H200_HOLD:-9} * 0.8")"
  mig why 2
  mig wait --timeout 60s >/dev/null 2>&1
  ended "two jobs held behind one that keeps the GPU"
  for id in 2 3; do python3 "$report" ask "$socket" "/v1/jobs/$id" | tr ',' '\n' | grep -E '"(name|state|attempt|slice|held_s|hidden_s|to_cuda_s|ahead_refused|reason)"' | paste -sd' '; done
  leave
}

restart() {  # NAME COMMAND...: one job that does not fit the smallest slice, memory unknown to the queue
  run=$1; shift
  serve migm-b "" || return
  now >"$out/$run.served"
  began "$run"
  # shellcheck disable=SC2086
  send --name "$run" ${estimate:+--requeue --estimate "$estimate"} ${exact-} -- python3 "$jobs" "$@" </dev/null
  for _ in $(seq 120); do
    python3 "$report" ask "$socket" /v1/jobs/1 | tee "$work/job" | grep -qE '"state": ?"(done|failed|cancelled)"' && break
    sed -n 's/.*\("attempt": *[0-9]*\).*/\1/p; s/.*\("reason": *"[^"]*"\).*/\1/p; s/.*\("slice": *"[^"]*"\).*/\1/p' "$work/job" | paste -sd' ' >>"$out/log/$run.states"
    sleep 0.5
  done
  ended "$*"
  uniq -c "$out/log/$run.states"
  for attempt in 1 2 3; do python3 "$report" ask "$socket" "/v1/jobs/1/log?attempt=$attempt" 2>/dev/null | tail -n 4 | cut -c1-300; done
  leave
}

runs() {
  case $1 in
    one) one ;;
    script7) script script7 7 13 16384 ;;
    script7b) script script7b 7 13 16384 ;;  # again, for its spread
    script7-*) script "$1" 7 "${1##*-}" 16384 ;;  # the same with other shares of the SMs
    script14-*) script "$1" 14 "${1##*-}" 141312 ;;  # fourteen at a time; memory is left to the jobs
    script4) script script4 4 25 33280 ;;
    planner) ours planner planner "" none ;;
    planner-common) ours planner-common planner "" common ;;
    planner-longest) ours planner-longest planner "" longest ;;
    planner-unknown) ours planner-unknown planner "" unknown ;;
    best) ours best best "" none ;;
    best-unknown) ours best-unknown best "" nothing ;;  # what serve does if it is told nothing
    best-rounds) rounds best-rounds best 3 ;;
    best-loop) teaches=yes loop=yes rounds best-loop best 3 ;;
    best-loop-b) teaches=yes loop=yes rounds best-loop-b best 3 ;;
    told) tables; loop=yes ours told best "" told ;;
    told-b) tables; loop=yes ours told-b best "" told ;;
    hold-check) hold_check ;;
    prelaunch-rounds) prelaunch=16 rounds prelaunch-rounds best 3 ;;  # of a daemon of its own: all waiting jobs may be held
    prelaunch-loop) prelaunch=16 loop=yes rounds prelaunch-loop best 2 ;;
    prelaunch-loop-b) prelaunch=16 loop=yes rounds prelaunch-loop-b best 2 ;;
    prelaunch-told) prelaunch=16 ours prelaunch-told best "" none ;;
    stream-best-*) stream "$1" best "${1##*-}" ;;
    stream-prelaunch-*) prelaunch=8 stream "$1" best "${1##*-}" ;;
    stream-batch-*) stream "$1" batch "${1##*-}" ;;
    stream-script-*) stream_script "$1" 7 13 16384 "${1##*-}" ;;
    stream-fifo-*) stream_script "$1" 1 100 0 "${1##*-}" ;;
    migm-b) ours migm-b migm-b "" none ;;
    migm-longest) ours migm-longest migm-b "" longest ;;
    batch) ours batch batch "" none ;;  # the weight of energy: none
    batch-25) ours batch-25 batch:0.25 "" none ;;
    batch-50) ours batch-50 batch:0.5 "" none ;;
    batch-75) ours batch-75 batch:0.75 "" none ;;
    batch-100) ours batch-100 batch:1 "" none ;;
    seven) ours seven static+llf-slow 1g+1g+1g+1g+1g+1g+1g.35gb common ;;
    seven-order) ours seven-order static+edf-fast 1g+1g+1g+1g+1g+1g+1g.35gb order ;;
    mixed) ours mixed static+edf-fast 3g+1g+1g+1g+1g order ;;
    four) ours four static+edf-fast 1g.35gb+1g.35gb+1g.35gb+1g.35gb order ;;
    halves) ours halves static+edf-fast 3g+3g order ;;
    oom) restart oom oom 20 3 ;;
    oom-exact) exact=--exact-memory restart oom-exact oom 40 3 ;;
    grow) estimate=45s@1g restart grow grow 700 24 ;;
    *) echo "no run is called $1" ;;
  esac
}

expected() {  # NAME: seconds, about
  local base=${H200_EXPECTED:-$(spend "85 * (0.25 + 0.75 * ${H200_SCALE:-1})")} seconds=${H200_SECONDS:-150}
  case $1 in
    one) echo $((3 * base)) ;;
    hold-check) echo $((${H200_HOLD:-9} + 20)) ;;
    best-rounds | best-loop* | prelaunch-rounds) echo $((3 * base + 15)) ;;
    prelaunch-loop*) echo $((2 * base + 12)) ;;
    stream-fifo-*) echo $((3 * seconds)) ;;
    stream-*) echo $((seconds + 40)) ;;
    *) echo $((base + 10)) ;;
  esac
}

# What a run that was ended has left: its jobs and daemons are known by these folders' names.
clean_up() {
  local pids
  pids=$(pgrep -f "$out/h200_jobs.py (job|oom|grow)|$work/programs/smartmig")
  # shellcheck disable=SC2086
  [ -z "$pids" ] || { echo "ended with the run: $(echo $pids)"; kill -9 $pids; }
  for pipe in "$work"/*/pipe "$work"/m.*/*/pipe; do [ ! -e "$pipe/nvidia-cuda-mps-control.pid" ] || mps_quit "$pipe"; done
}

save() {
  [ -n "${H200_SAVE-}" ] || return
  tar -C "$out" --exclude=learned -czf "$H200_SAVE.new" . && mv "$H200_SAVE.new" "$H200_SAVE"
}

run_all() {  # DIR OUTPUT RUN...
  local start=$SECONDS
  out=$2 work=$(mktemp -d /tmp/q.XXXX)
  mkdir -p "$out/log" "$work/programs" && tar -C "$work/programs" -xJf "$1/queue.tar.xz" && cp "$here/h200_jobs.py" "$out/" || exit 1
  out=$(realpath "$out") jobs=$out/h200_jobs.py  # of all calls: what is learned of a command goes by its path
  printf '%s\n' '#!/bin/sh' "LD_LIBRARY_PATH=$work/programs/lib\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec $work/programs/smartmig \"\$@\"" >"$work/mig"
  chmod +x "$work/mig"
  # What earlier measurements said of these kinds (h200_queue_report.py calibrate): the queue plans by it.
  [ ! -e "$1/speeds.csv" ] || export SMARTMIG_SPEEDS=$(realpath "$1/speeds.csv") SMARTMIG_POWER_KINDS=$(realpath "$1/watts.csv")
  [ ! -e "$1/one.jobs.jsonl" ] || earlier=$1/one.jobs.jsonl  # whole-GPU times of an earlier measurement, for estimates
  shift 2
  control=${SMARTMIG_MPS_CONTROL:-$(command -v nvidia-cuda-mps-control || ls /usr/local/nvidia/bin/nvidia-cuda-mps-control)}
  export SMARTMIG_MPS_CONTROL=$control SMARTMIG_LOCK_DIR=$work PYTHONUNBUFFERED=1 OMP_NUM_THREADS=1
  export out work jobs control
  say machine
  { date -u +%FT%TZ; uname -r; nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; echo "$(nproc --all) cores"
    [ -n "${H200_STANDIN-}" ] || python3 -c 'import torch; print("torch", torch.__version__)'; df -h /dev/shm | tail -n 1; } | tee "$out/machine"
  settings >"$out/settings"
  # shellcheck disable=SC2086
  [ -s "$out/batch" ] || python3 "$jobs" batch ${H200_SEED-} ${H200_SEED:+${H200_SCALE-}} >"$out/batch"
  part=$(ls "$out"/meter*.csv 2>/dev/null | wc -l)
  python3 "$jobs" meter "$out/meter$part.csv" & meter=$!
  if [ ! -e "$out/runs.csv" ]; then
    say "each kind once, a few steps"
    for kind in $(awk '{ print $2 }' "$out/batch" | sort -u); do
      timeout 60 python3 "$jobs" job warm "$kind" 40 2>&1 </dev/null | tail -n 1 | cut -c1-400 & warm="${warm-} $!"
    done
    wait $warm  # not for the meter
    echo "run,begin_s,end_s,what" >"$out/runs.csv"
  fi
  [ -z "${earlier-}" ] || cp "$earlier" "$out/one.jobs.jsonl"
  for name in "$@"; do
    local needs left
    needs=$(expected "$name") left=$((${H200_LIMIT:-1000000} - (SECONDS - start)))
    [ "$needs" -le "$left" ] || { say "$name is left out: it takes $needs s, and $left s are left"; continue; }
    timeout -k 5 $((2 * needs + 20 < left ? 2 * needs + 20 : left)) bash "$self" one-run "$name" || echo "$name: ended with $?"
    clean_up
    if [ "$(settings)" = "$(cat "$out/settings")" ]; then echo "settings of the card are as they were"; else echo "SETTINGS OF THE CARD DIFFER"; settings; fi
    save
  done
  kill "$meter"
  python3 "$report" "$out" 2>&1 | tee "$out/report.txt"
  [ -s "$out/script7.jobs.jsonl" ] && tables && python3 "$report" predict "$out" "$out/tables" "$work/mig" 2>&1 | tee "$out/predicted.txt"
  save
  rm -rf -- "$work"
}

case ${1-} in
  '') echo "skipped: needs a real GPU; see $0 --help" ;;  # as bench/run calls it
  pack) [ $# = 3 ] || { help; exit 2; }; pack "$2" "$3" ;;
  run)
    [ $# -ge 3 ] || { help; exit 2; }
    dir=$2 output=$3; shift 3
    [ $# -gt 0 ] || set -- one script7 batch batch-50 batch-100 seven-order planner migm-b mixed oom oom-exact grow
    run_all "$dir" "$output" "$@" ;;
  one-run) runs "$2" ;;  # within run, which has set out, work, jobs and control
  --help | -h) help ;;
  *) help; exit 2 ;;
esac
