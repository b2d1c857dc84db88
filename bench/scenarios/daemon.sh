#!/usr/bin/env bash
# The load a daemon bears, each figure beside its bar: durable submissions, decisions over a long queue, idling, 100,000
# jobs, a start over a long history. State lies under BENCH_DIR (a directory on the disk to measure; default: this one's
# build directory). bench/scenarios/daemon.sh [BENCH_DAEMON]
set -eu
program=${1:-build/release/bench_daemon}
if [ ! -x "$program" ] && [ $# = 0 ]; then
  cmake --build build/release --target bench_daemon >/dev/null
fi
state=$(mktemp -d "${BENCH_DIR:-$(dirname "$program")}/bench-daemon-XXXXXX")
trap 'rm -rf "$state"' EXIT
echo "load before: $(cut -d' ' -f1-3 /proc/loadavg); state on $(df --output=fstype "$state" | tail -n 1)"
failed=0
run() {  # NAME ARGUMENTS...
  local name=$1
  shift
  "$program" "$name" "$state/$name" "$@" || failed=1
  rm -rf "${state:?}/$name"
}
run submit 32 20
run decide best 10000 3000 1 1
run decide best 10000 3000 1 0
for policy in best planner static+cedf search+cedf none+edf meanfield+cedf; do run decide "$policy"; done
run idle 30
run recover
# Each step of these is a commit; in memory, so that the disk's flushes (a few milliseconds each) do not hide the rest.
if [ -w /dev/shm ]; then
  rm -rf "${state:?}"
  state=$(mktemp -d /dev/shm/bench-daemon-XXXXXX)
fi
run many
echo "load after: $(cut -d' ' -f1-3 /proc/loadavg)"
exit $failed
