#!/usr/bin/env bash
# Events per second of the simulator, the fast placer against the plain one, in one run; equal answers before timing.
set -eu
program=${1:-build/release/smartmig}
figure() { sed -n "s/.*\"$2\":\([^,}]*\).*/\1/p" <<<"$1"; }
run() { "$program" sim --cost paper --json "$@"; }

echo "CEDF, 8 GPUs, paper costs, one day at 20x (best of 9)"
best=0 best_plain=0
for _ in 1 2 3 4 5 6 7 8 9; do
  fast=$(run -w paper:20x,seed=200000 --policy static+cedf)
  plain=$(run -w paper:20x,seed=200000 --policy static+cedf --plain)
  for key in energy_joules mean_tardiness_min preemptions moves; do
    [ "$(figure "$fast" $key)" = "$(figure "$plain" $key)" ] || { echo "fast and plain differ in $key"; exit 1; }
  done
  rate=$(figure "$fast" events_per_s) rate_plain=$(figure "$plain" events_per_s)
  [ "$rate" -le "$best" ] || best=$rate
  [ "$rate_plain" -le "$best_plain" ] || best_plain=$rate_plain
done
echo "  fast $best events/s, plain $best_plain events/s, ratio $(awk "BEGIN { printf \"%.1f\", $best / $best_plain }")"

echo "the same by load and layouts (ten days in one run)"
for setting in "12x static" "16x static" "20x static" "20x search" "20x twice" "20x none"; do
  read -r load repartitioner <<<"$setting"
  result=$(run -w "paper:$load,seed=200000,days=10" --policy "$repartitioner+cedf")
  events=$(figure "$result" events) changes=$(($(figure "$result" preemptions) + $(figure "$result" moves)))
  echo "  $load $repartitioner: $(figure "$result" events_per_s) events/s, $(awk "BEGIN { printf \"%.1f\", $changes / $events }") job moves per event"
done

echo "cost per event against the number of GPUs (load in proportion, two hours of the day)"
for gpus in 8 64 512; do
  result=$(run -w "paper:$((gpus * 5 / 2))x,seed=200000,hours=9-11" --gpus "${gpus}xa100-40gb" --policy static+cedf)
  echo "  $gpus GPUs: $(figure "$result" events) events, $(figure "$result" events_per_s) events/s, mean tardiness $(figure "$result" mean_tardiness_min) min"
done

echo "64 GPUs at 160x, two hours: fast and plain equal"
fast=$(run -w paper:160x,seed=200000,hours=9-11 --gpus 64xa100-40gb --policy static+cedf)
plain=$(run -w paper:160x,seed=200000,hours=9-11 --gpus 64xa100-40gb --policy static+cedf --plain)
for key in energy_joules mean_tardiness_min preemptions moves; do
  [ "$(figure "$fast" $key)" = "$(figure "$plain" $key)" ] || { echo "fast and plain differ in $key"; exit 1; }
done
echo "  $(figure "$fast" events_per_s) against $(figure "$plain" events_per_s) events/s"

echo "1,000 GPUs, one day at 2,500x"
log=$(mktemp)
/usr/bin/env time -f '  %e s wall, %M KiB at most' "$program" sim --cost paper --json -w paper:2500x,seed=200000 --gpus 1000xa100-40gb --policy static+cedf >"$log" 2>"$log.time" ||
  { cat "$log.time"; exit 1; }
result=$(cat "$log")
echo "  $(figure "$result" jobs) jobs, $(figure "$result" events) events in $(figure "$result" wall_s) s (loop), $(figure "$result" events_per_s) events/s"
cat "$log.time"
rm -f "$log" "$log.time"
