#!/usr/bin/env bash
# What was made for 8 GPUs, unchanged, at 64, 512 and 4,096: one peak hour, load in proportion, the papers' costs, et_sum with a_eff; and
# what a decision costs there. One table. SEEDS_8 and so on change the number of days.
set -eu
micro=$(dirname "$(command -v smartmig)")/bench_micro
python3 - "$micro" <<'PY'
import json, os, re, subprocess, sys
policies = ["static+cedf", "search+cedf", "meanfield+cedf", "market"]
days = {8: 40, 64: 10, 512: 5, 4096: 5}
days = {m: int(os.environ.get(f"SEEDS_{m}", n)) for m, n in days.items()}
us = {}
out = subprocess.run([sys.argv[1], "--benchmark_filter=counting|network|planner_decision", "--benchmark_format=json"],
                     capture_output=True, text=True, check=True).stdout
for b in json.loads(out)["benchmarks"]:
    us[b["name"]] = b["cpu_time"]
def took(start, m):
    return next((t for name, t in us.items() if name.startswith(start) and re.search(rf"gpus:{m}(/rich:1)?$", name)), None)
base = {}
print(f"{'GPUs':>5} {'policy':<15} {'hours':>5} {'jobs/hour':>9} {'et_sum':>8} {'to 8 GPUs':>9} {'to static':>9}")
for m, n in days.items():
    names = [p for p in policies if n > 0 and not (p == "market" and m > 512)]
    if not names: continue
    run = subprocess.run(["smartmig", "compare", "--cost", "paper", "--gpus", f"{m}xa100-40gb", "-w", f"paper:{2.5 * m:g}x,hours=10-11",
                          "--seeds", f"200000-{199999 + n}", "--policies", ",".join(names), "--json"],
                         capture_output=True, text=True, check=True).stdout
    result = json.loads(run)
    value = {}
    for row in result["policies"]:
        value[row["policy"]] = result["a_eff"] * row["energy_wmin"] + row["mean_tardiness_min"]
    for p in names:
        base.setdefault(p, value[p])
        print(f"{m:>5} {p:<15} {n:>5} {result['jobs_per_day']:>9.0f} {value[p]:>8.4f} {100 * (value[p] / base[p] - 1):>+8.1f}% "
              f"{100 * (value[p] / value['static+cedf'] - 1):>+8.1f}%", flush=True)
print("\none decision, microseconds of one core")
print(f"{'GPUs':>5} {'controller':>11} {'counting':>9} {'market':>9}")
for m in (8, 64, 512, 4096):
    cells = [took("network/", 8 if m < 4096 else m), took("counting/", m), took("planner_decision/", m)]
    print(f"{m:>5} " + " ".join(f"{c:>{w}.1f}" if c is not None else f"{'-':>{w}}" for c, w in zip(cells, (11, 9, 9))))
PY
