#!/usr/bin/env bash
# Who comes next: 8 A100s, N long jobs that arrive a minute apart, then 60 jobs of 1 to 10 minutes over 8 hours, nobody has
# a deadline (made_jobs.py room). A line for each policy, means over SEEDS (901 902 903): minutes from submit to end of
# the long jobs and of all, wait of the short ones (mean and 95th percentile), energy until the last end.
# NS (4 9 16 30), HOURS (8), SCALINGS (0.3 0.6 0.9) and RULES of --estimates (exact flat) choose the cells.
set -eu
here=$(dirname "${BASH_SOURCE[0]}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

for scaling in ${SCALINGS:-0.3 0.6 0.9}; do
  for hours in ${HOURS:-8}; do
    for n in ${NS:-4 9 16 30}; do
      for rule in ${RULES:-exact flat}; do
        for policy in ${POLICIES:-best none+fifo search+cedf migm-b batch}; do
          for seed in ${SEEDS:-901 902 903}; do
            "$here/made_jobs.py" room --seed "$seed" --long "$n" --hours "$hours" --scaling "$scaling" >"$out/room.csv"
            smartmig sim -w "$out/room.csv" --gpus 8xa100-40gb --cost hardware --estimates "$rule" --policy "$policy" \
              --json --force -o "$out/run-$seed" >"$out/run-$seed.json"
          done
          python3 - "$out" "N $n, $hours h, scaling $scaling, $rule" "$policy" <<'PY'
import csv, glob, json, sys
out, words, policy = sys.argv[1:]
longs, waits, ends, joules = [], [], [], []
for run in glob.glob(out + "/run-*.json"):
    joules.append(json.load(open(run))["energy_kwh"])
    for row in csv.DictReader(open(run.removesuffix(".json") + "/jobs.csv")):
        submit, start, end = (float(row[k]) / 60 for k in ("submission_time", "starting_time", "finish_time"))
        ends.append(end - submit)
        (longs if row["kind"] == "long" else waits).append(end - submit if row["kind"] == "long" else start - submit)
mean = lambda values: sum(values) / len(values)
print(f"{words:36} {policy:12} long to end {mean(longs):7.1f}  short wait {mean(waits):6.1f} p95 "
      f"{sorted(waits)[int(0.95 * len(waits))]:6.1f}  all to end {mean(ends):7.1f} min  {mean(joules):6.2f} kWh", flush=True)
PY
        done
      done
    done
  done
done
