#!/usr/bin/env python3
"""Soft slices of half the memory against seven whole ones, where neighbours slow each other: streams of commands as learned on an H200
(h200_commands.csv) with deadlines, in the simulator. Load 1: 16 jobs in 68 s, what a plain script carries there.
    bench/scenarios/halves.py [SMARTMIG [SEEDS]]        mean over the seeds; about a minute for 4
"""
import csv, json, os, random, statistics, subprocess, sys, tempfile

smartmig = sys.argv[1] if len(sys.argv) > 1 else "build/release/smartmig"
seeds = int(sys.argv[2]) if len(sys.argv) > 2 else 4
here = os.path.dirname(os.path.abspath(__file__))
commands = list(csv.DictReader(l for l in open(f"{here}/h200_commands.csv") if not l.startswith("#")))


def stream(path, seed, load, slack, jobs=120):
    rng, at = random.Random(seed), 0.0
    with open(path, "w") as f:
        f.write("# gpu=h200-141gb\njob_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s,log_slowdown,beside\n")
        for i in range(jobs):
            at += rng.expovariate(16 * load / 68)
            one = rng.choice(commands)
            due = at + float(one["seconds"]) * rng.uniform(*slack)
            f.write(f"{i},{at:.3f},{due:.3f},,{','.join([one['seconds']] * 5)},{one['mem_mib']},,{one['log_slowdown']},{6 / 7}\n")


def simulated(path, gpus, policy):
    told = subprocess.run([smartmig, "sim", "-w", path, "--gpus", gpus, "--power", "linear:88.2:45:700", "--cost", "hardware", "--reshape-s", "0.3", "--policy", policy, "--json"],
                          check=True, capture_output=True, text=True)
    day = json.loads(told.stdout)
    return day["mean_tardiness_min"] * 60, day["late_jobs"], day["mean_turnaround_min"] * 60


print(f"{'load':>4} {'deadlines':>10} {'policy':>7} | mean s late: {'halves':>7} {'seven':>7} | late of 120: {'halves':>6} {'seven':>6} | s from submit to end: {'halves':>6} {'seven':>6}")
with tempfile.TemporaryDirectory() as work:
    for load in (0.7, 1.0, 1.3, 1.6, 2.0):
        for slack in ((1, 2), (1.5, 4)):
            got = {}
            for seed in range(1, seeds + 1):
                stream(f"{work}/jobs.csv", seed, load, slack)
                for policy in ("best", "batch"):
                    for gpus in ("1xh200-141gb-soft", "1xh200-141gb"):
                        got.setdefault((policy, gpus), []).append(simulated(f"{work}/jobs.csv", gpus, policy))
            for policy in ("best", "batch"):
                mean = [[statistics.mean(v[i] for v in got[policy, gpus]) for gpus in ("1xh200-141gb-soft", "1xh200-141gb")] for i in range(3)]
                print(f"{load:4} {f'{slack[0]} to {slack[1]}':>10} {policy:>7} | {'':12} {mean[0][0]:7.2f} {mean[0][1]:7.2f} | {'':12} {mean[1][0]:6.1f} {mean[1][1]:6.1f} | {'':21} {mean[2][0]:6.1f} {mean[2][1]:6.1f}", flush=True)
