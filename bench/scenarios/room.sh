#!/usr/bin/env bash
# Who comes next: 8 A100s, N long jobs that arrive a minute apart, then 60 jobs of 1 to 10 minutes over 8 hours, nobody has
# a deadline (made_jobs.py room). A line for each cell, means over SEEDS (901 902 903): for each policy the minutes from
# submit to end of all jobs (hours of the long ones), the wait of the short ones (mean/95th percentile, minutes) and kWh
# until the last end; then what `best` needs, as a share of the least of the others.
# NS (4 9 16 30), HOURS (1 8 48), SCALINGS (0.3 0.6 0.9) and RULES of --estimates (exact kind flat none) choose the cells.
set -eu
here=$(dirname "${BASH_SOURCE[0]}")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
policies=${POLICIES:-best none+fifo search+cedf twice+cedf migm-b}

for rule in ${RULES:-exact kind flat none}; do
  for hours in ${HOURS:-1 8 48}; do
    for scaling in ${SCALINGS:-0.3 0.6 0.9}; do
      for n in ${NS:-4 9 16 30}; do
        rm -rf "${out:?}"/*
        for seed in ${SEEDS:-901 902 903}; do
          "$here/made_jobs.py" room --seed "$seed" --long "$n" --hours "$hours" --scaling "$scaling" >"$out/room.csv"
          for policy in $policies; do
            smartmig sim -w "$out/room.csv" --gpus 8xa100-40gb --cost hardware --estimates "$rule" --policy "$policy" \
              --json --force -o "$out/run-$policy-$seed" >"$out/run-$policy-$seed.json"
          done
        done
        python3 - "$out" "$rule, $hours h, scaling $scaling, N $n" "$policies" <<'PY'
import csv, glob, json, sys
out, words, policies = sys.argv[1:]
mean = lambda values: sum(values) / len(values)
cells, all_to_end = [], {}
for policy in policies.split():
    longs, waits, ends, kwh = [], [], [], []
    for run in glob.glob(f"{out}/run-{policy}-*.json"):
        kwh.append(json.load(open(run))["energy_kwh"])
        for row in csv.DictReader(open(run.removesuffix(".json") + "/jobs.csv")):
            submit, start, end = (float(row[k]) / 60 for k in ("submission_time", "starting_time", "finish_time"))
            ends.append(end - submit)
            if row["kind"] == "long":
                longs.append(end - submit)
            else:
                waits.append(start - submit)
    all_to_end[policy] = mean(ends)
    p95 = sorted(waits)[int(0.95 * len(waits))]
    cells.append(f"{policy} {mean(ends):.0f} ({mean(longs) / 60:.1f} h) {mean(waits):.0f}/{p95:.0f} {mean(kwh):.1f}")
best = all_to_end.pop("best", None)
share = f"  share {best / min(all_to_end.values()):.2f}" if best and all_to_end else ""
print(f"{words:32} " + " | ".join(cells) + share, flush=True)
PY
      done
    done
  done
done
