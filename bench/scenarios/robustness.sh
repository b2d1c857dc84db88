#!/usr/bin/env bash
# Policies made for 8 GPUs at 20x, as they are, where they were not made for: other loads, slack, job mixes, recorded
# traces, at the papers' costs. Beside them none+edf, none+cedf and the partition searched on the training days.
# The last columns: ours over the best of the three, in order; for reference a static partition searched anew (generators:
# on training days; traces: the best layout on the first quarter). Traces span months: a_eff there. DAYS days each (default 10);
# traces from SHARED (../shared/data).
set -eu
days=${DAYS:-10} shared=${SHARED:-$(dirname "$0")/../../../shared/data}
python3 - "$days" "$shared" <<'PY'
import json, os, subprocess, sys, tempfile
days, shared = int(sys.argv[1]), sys.argv[2]
plain = ["none+edf", "none+cedf", "search+cedf"]
ours = ["meanfield+cedf", "guard(meanfield+cedf)", "market", "guard(market)"]
def run(verb, *args):
    done = subprocess.run(["smartmig", verb, "--cost", "paper", *args], capture_output=True, text=True)
    if done.returncode: raise SystemExit(f"smartmig {verb} {' '.join(args)}: {done.stderr}")
    return json.loads(done.stdout)
print(f"{'setting':<34}" + "".join(f"{p:>{max(len(p), 9) + 2}}" for p in plain + ours) + "   ours against the best of three")
def searched(args):  # a partition searched anew for this generator, on training days
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/found.json"
        subprocess.run(["smartmig", "search", "--cost", "paper", *args, "--days", "4", "--evaluations", "120", "-o", file], check=True, capture_output=True)
        result = run("compare", *args, "--seeds", f"200000-{199999 + days}", "--policies", f"search[{file}]+cedf", "--json")
        return result["policies"][0]["et"]
def prefix(path):  # the layout that does best for all GPUs on the first quarter of a trace, then the whole trace
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["smartmig", "workload", path, "-o", folder + "/all.csv"], check=True, capture_output=True)
        lines = open(folder + "/all.csv").read().splitlines(keepends=True)
        head = [l for l in lines if l.startswith("#") and not l.startswith("# days")]
        rows = [l for l in lines if not l.startswith("#")]
        open(folder + "/first.csv", "w").writelines(head + rows[: 1 + len(rows) // 4])
        value = lambda file, layout: cost(run("sim", "-w", file, "--policy", f"static[{layout}]+cedf", "--json"))
        best = min(range(1, 13), key=lambda layout: value(folder + "/first.csv", layout))
        return value(path, best)
def cost(r): return r["a_eff"] * r["energy_wmin"] + r["mean_tardiness_min"]
def show(name, et, again):
    best = min(et[p] for p in plain)
    print(f"{name:<34}" + "".join(f"{et[p]:>{max(len(p), 9) + 2}.4f}" for p in plain + ours) + "   " +
          ", ".join(f"{100 * (et[p] / best - 1):+.1f} %" for p in ours) + f"   re-searched static {again:.4f}", flush=True)
settings = ([(f"load {x}x", ["-w", f"paper:{x}x"]) for x in (8, 12, 16, 20, 24)] +
            [(f"{x}x, slack {s}", ["-w", f"paper:{x}x", "--slack", s]) for s in ("1.5-3", "2-4") for x in (12, 20)] +
            [("miso jobs, 1 per min", ["-w", "miso:rate=1,jobs=1000"]), ("parva jobs, 1 per min", ["-w", "parva:rate=1,jobs=1000"])])
for name, args in settings:
    result = run("compare", *args, "--seeds", f"200000-{199999 + days}", "--policies", ",".join(plain + ours), "--json")
    show(name, {r["policy"]: r["et"] for r in result["policies"]}, searched(args))
for name, file in (("Philly (ElasticFlow, deadlines)", "traces/elasticflow_philly_103959_deadline.csv"),
                   ("Alibaba openb 2023", "traces/alibaba_openb_v2023.csv")):
    path = os.path.join(shared, file)
    if not os.path.exists(path):
        print(f"{name:<34}  skipped: {path} is not there")
        continue
    et = {}
    for p in plain + ours:
        et[p] = cost(run("sim", "-w", path, "--policy", p, "--json"))
    show(name, et, prefix(path))
PY
