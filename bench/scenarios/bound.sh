#!/usr/bin/env bash
# Certified bounds: the paper's setting over 10 report days (mean, seconds a day on one core, every certificate checked), and one
# day of 1,000 GPUs with its memory. About five minutes.
set -eu
program=${1:-build/release/smartmig}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
field() { sed -n "s/.*\"$1\":\([0-9.e+-]*\).*/\1/p" "$2"; }

echo "8 GPUs, 20x, a = 2e-7: a e + t"
for seed in $(seq 200000 200009); do
  "$program" bound --cost paper -w paper:20x,seed="$seed" --gpus 8xa100-40gb --objective et --a 2e-7 -o "$work/cert.json" --json >"$work/out"
  "$program" bound --check "$work/cert.json" -w paper:20x,seed="$seed" >/dev/null
  echo "$seed $(field bound "$work/out") $(field wall_s "$work/out")" | tee -a "$work/days"
done
awk '{ b += $2; s += $3; if ($3 > m) m = $3 } END { printf "mean bound %.4f, mean %.1f s, longest %.1f s\n", b / NR, s / NR, m }' "$work/days"

echo "1,000 GPUs, 2500x, a_eff = 1.6e-9"
"$program" bound --cost paper -w paper:2500x,seed=200000 --gpus 1000xa100-40gb --objective et --a 1.6e-9 -o "$work/big.json" --json >"$work/out" &
pid=$!
peak=0
while kill -0 "$pid" 2>/dev/null; do
  now=$(awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true)
  [ -z "$now" ] || peak=$now
  sleep 0.5
done
wait "$pid"
"$program" bound --check "$work/big.json" -w paper:2500x,seed=200000 --json >"$work/check"
echo "bound $(field bound "$work/out"), $(field wall_s "$work/out") s, $((peak / 1024)) MiB; checked in $(field check_s "$work/check") s"
