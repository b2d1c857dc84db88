#!/usr/bin/env bash
# Jobs without deadlines on one A100: one by one, in small bursts, and all at once. Mean time from submit to end, and the end
# of the last job, of `best`, its two parts and plain partitions; SEEDS workloads a row (10). A job of 40 s in the mean on the
# whole GPU takes (7 / k)^scaling times as long on k slices.
set -eu
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
python3 - "$out" "${SEEDS:-10}" <<'PY'
import json, random, subprocess, sys

out, seeds = sys.argv[1], int(sys.argv[2])
policies = {"none+fifo": ["none+fifo"], "seven 1g+fifo": ["static+fifo", "--layouts", "1g+1g+1g+1g+1g+1g+1g"],
            "batch": ["batch"], "planner": ["planner"], "best": ["best"]}

def workload(path, seed, scaling, jobs, burst, gap):
    draw = random.Random(seed)
    at, rows = 0.0, []
    while len(rows) < jobs:
        at += draw.expovariate(1 / gap)
        for _ in range(min(burst, jobs - len(rows))):
            whole = 40 * draw.lognormvariate(-0.32, 0.8)
            times = ",".join(f"{whole * (7 / k) ** scaling:.3f}" for k in (1, 2, 3, 4, 7))
            rows.append(f"j{len(rows)},{at:.3f},,,{times},,")
    with open(path, "w") as file:
        file.write("job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s\n")
        file.write("\n".join(rows) + "\n")

print("minutes from submit to end, in the mean / to the end of the last job")
print(f"{'':34}" + "".join(f"{p:>18}" for p in policies), flush=True)
for scaling in (0.25, 0.5, 0.9):
    for words, jobs, burst, gap in (("one every 200 s", 60, 1, 200), ("one every 60 s", 60, 1, 60),
                                    ("one every 20 s", 60, 1, 20), ("three every 120 s", 60, 3, 120),
                                    ("eight every 320 s", 60, 8, 320), ("five at once", 5, 5, 1), ("thirty at once", 30, 30, 1)):
        sums = {p: [0.0, 0.0] for p in policies}
        for seed in range(seeds):
            workload(f"{out}/jobs.csv", seed, scaling, jobs, burst, gap)
            for p in policies:
                run = json.loads(subprocess.run(
                    ["smartmig", "sim", "-w", f"{out}/jobs.csv", "--gpus", "1xa100-40gb", "--cost", "hardware", "--json",
                     "--policy", *policies[p]], check=True, capture_output=True, text=True).stdout)
                sums[p][0] += run["mean_turnaround_min"] / seeds
                sums[p][1] += run["makespan_min"] / seeds
        print(f"{f'scaling {scaling}, {words}':34}" + "".join(f"{a:9.2f} / {b:6.1f}" for a, b in sums.values()), flush=True)
PY
