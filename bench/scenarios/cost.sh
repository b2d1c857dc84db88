#!/usr/bin/env bash
# What decisions cost on one core: events per second of placers whose queue grows to thousands of jobs, of CEDF and of
# market on 8 GPUs (the loop alone); processor seconds of large fleets under hardware costs (the whole program), and
# how they grow with the fleet. With BEFORE=PROGRAM an older build runs in turn with it: equal figures, and ratios of the
# same minute. The best of five runs, or of one where it takes long. COST_DAY=0 leaves the longest run out.
set -eu
program=${1:-smartmig}
before=${BEFORE:-}
figure() { sed -n "s/.*\"$2\":\([^,}]*\).*/\1/p" <<<"$1"; }
calculate() { awk "BEGIN { printf \"$1\", ($2) }"; }
TIMEFORMAT=%U

measure() {  # PROGRAM ARGUMENTS...: sets result (JSON), cpu (seconds), rate (events/s)
  local at=$1 log
  shift
  log=$(mktemp)
  cpu=$({ time "$at" sim --json "$@" >"$log"; } 2>&1)
  result=$(cat "$log")
  rm -f "$log"
  rate=$(figure "$result" events_per_s)
}
figures() { for key in energy_joules mean_tardiness_min preemptions moves repartitions; do figure "$result" $key; done; }
row() {  # NAME ARGUMENTS...
  local name=$1 same best_rate=0 old_rate=0 old_cpu=1e9 i
  shift
  best_cpu=1e9
  for i in 1 2 3 4 5; do
    measure "$program" "$@"
    same=$(figures) best_cpu=$(calculate %g "$cpu < $best_cpu ? $cpu : $best_cpu")
    [ "$rate" -le "$best_rate" ] || best_rate=$rate
    if [ -n "$before" ]; then
      measure "$before" "$@"
      old_cpu=$(calculate %g "$cpu < $old_cpu ? $cpu : $old_cpu")
      [ "$rate" -le "$old_rate" ] || old_rate=$rate
      [ "$(figures)" = "$same" ] || { echo "$name: the figures differ from those of $before"; exit 1; }
    fi
    [ "$(calculate %d "$cpu > 3 || $best_cpu > 3")" = 0 ] || break
  done
  printf '  %-26s %7d events %9d events/s %8.2f s' "$name" "$(figure "$result" events)" "$best_rate" "$best_cpu"
  [ -z "$before" ] || printf '   before: %9d events/s %8.2f s, now %.2f times' "$old_rate" "$old_cpu" "$(calculate %.3f "$best_rate / $old_rate")"
  echo
}

echo "8 GPUs, 20x, 30 days in one run, paper costs"
for placer in edf fifo met met-w dedicated edf-fast edf-slow llf-fast llf-slow random cedf; do
  for layouts in none static; do row "$layouts+$placer" -w paper:20x,seed=200000,days=30 --policy "$layouts+$placer" --cost paper; done
done
row market -w paper:20x,seed=200000,days=3 --policy market --cost paper
echo "8 GPUs, 20x, 3 days in one run, hardware costs"
row best -w paper:20x,seed=200000,days=3 --policy best --cost hardware

echo "one peak hour, load in proportion, hardware costs"
for policy in static+cedf best; do
  for gpus in 128 512 2048; do
    row "$gpus GPUs, $policy" -w "paper:$((gpus * 5 / 2))x,seed=200000,hours=10-11" --gpus "${gpus}xa100-40gb" --policy $policy --cost hardware
    [ "$gpus" != 512 ] || at512=$best_cpu
  done
  echo "  exponent of processor time from 512 to 2,048 GPUs: $(calculate %.2f "log($best_cpu / ($at512 + 1e-9)) / log(4)")"
done
[ "${COST_DAY:-1}" = 0 ] || {
  echo "one day, hardware costs"
  before='' row "512 GPUs, best" -w paper:1280x,seed=200000 --gpus 512xa100-40gb --policy best --cost hardware
}
