#!/usr/bin/env python3
"""Tables from the output folder of bench/hardware/h200_queue.sh, and two small helpers of that script.

    h200_queue_report.py OUTPUT [EARLIER]     ratios against one at a time, energy books, rows.csv (kind, profile, seconds, joules);
                                              where OUTPUT has no run `one`, its script7 stands for EARLIER's
    h200_queue_report.py predict OUTPUT EARLIER SMARTMIG
                                              the simulator calibrated by script7 of OUTPUT (seconds on 1g, watts of a busy slice)
                                              and `one` of EARLIER (seconds on 7g), against what was measured
    h200_queue_report.py plan OUTPUT MODE     the batch as NAME KIND STEPS SUBMIT-OPTIONS; MODE: what the queue is told besides the kind:
                                              none, common (one deadline for all), unknown (no kind), all with the run time on the
                                              whole GPU as the run `one` had it; longest (deadlines that longer jobs just keep), order
                                              (far deadlines, longer jobs first), both with the run time that script7 had on 1g
    h200_queue_report.py ask SOCKET PATH      GET from the daemon
"""
import bisect, csv, http.client, json, os, re, socket, subprocess, sys


def ask(path, what):
    class Local(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(path)
    connection = Local("localhost", timeout=30)
    connection.request("GET", what)
    answer = connection.getresponse()
    text = answer.read().decode(errors="replace")
    print(text)
    return 0 if answer.status == 200 else 1


def lines(path):
    return [json.loads(l) for l in open(path)] if os.path.exists(path) else []


def batch(out):
    return [l.split() for l in open(f"{out}/batch") if l.strip()]


def runs(out):
    return [r for r in csv.DictReader(open(f"{out}/runs.csv"))] if os.path.exists(f"{out}/runs.csv") else []


def plan(out, mode):
    whole = {j["name"]: j["end"] - j["begin"] + 0.5 for j in lines(f"{out}/one.jobs.jsonl")}  # 0.5: the end of the process
    small = {j["name"]: j["end"] - j["begin"] + 0.5 for j in lines(f"{out}/script7.jobs.jsonl")}
    spans = {r["run"]: float(r["end_s"]) - float(r["begin_s"]) for r in runs(out)}
    span = spans.get("script7", 60)
    for name, kind, steps in batch(out):
        e7 = whole.get(name, 12)
        e1 = small.get(name, 2 * e7)
        options = [] if mode == "unknown" else ["--kind", kind]
        options += ["--estimate", f"{e1:.1f}s@1g" if mode in ("longest", "order") else f"{e7:.1f}s"]
        if mode == "common": options += ["--deadline", f"{0.8 * span:.0f}s"]
        if mode == "longest": options += ["--deadline", f"{max(1, 0.95 * span - 0.6 * e1):.1f}s"]
        if mode == "order": options += ["--deadline", f"{200 - e1:.1f}s"]
        print(name, kind, steps, *options)
    return 0


class Meter:
    def __init__(self, path):
        rows = [r for r in csv.reader(open(path)) if len(r) == 3][1:]
        self.at, self.j = [float(r[0]) for r in rows], [float(r[1]) / 1000 for r in rows]

    def joules(self, when):
        i = min(max(bisect.bisect_left(self.at, when), 1), len(self.at) - 1)
        a, b = self.at[i - 1], self.at[i]
        return self.j[i - 1] + (self.j[i] - self.j[i - 1]) * min(1, max(0, (when - a) / (b - a)))

    def between(self, begin, end):
        return self.joules(end) - self.joules(begin)


def spent(out, name):
    """Seconds and joules of a run."""
    for r in runs(out):
        if r["run"] == name:
            begin, end = float(r["begin_s"]), float(r["end_s"])
            return end - begin, Meter(f"{out}/meter.csv").between(begin, end)
    return None


# The runs whose choices do not depend on a belief that the simulator lacks: policy, layouts, what the deadlines were.
KNOWN = {"script7": ("static+fifo", "1g+1g+1g+1g+1g+1g+1g", "none"), "seven": ("static+llf-slow", "1g+1g+1g+1g+1g+1g+1g.35gb", "common"),
         "seven-order": ("static+edf-fast", "1g+1g+1g+1g+1g+1g+1g.35gb", "order"), "mixed": ("static+edf-fast", "3g+1g+1g+1g+1g", "order"),
         "migm-b": ("migm-b", "", "none")}


def predict(out, earlier, smartmig):
    speeds = {}
    here = os.path.dirname(os.path.abspath(__file__))
    for r in csv.reader(l for l in open(f"{here}/../../data/speeds.csv") if not l.startswith("#")):
        if r[1] == "h200-141gb": speeds.setdefault(r[0], {})[r[2]] = float(r[3])
    whole = {j["name"]: j for j in lines(f"{earlier}/one.jobs.jsonl")}
    small = {j["name"]: j for j in lines(f"{out}/script7.jobs.jsonl")}
    span, joules = spent(out, "script7")
    idle, busy = 88.2, sum(j["end"] - j["begin"] + 0.5 for j in small.values())  # W without a context: data/power.csv
    watts = (joules - idle * span) / busy
    print(f"calibrated: {watts:.1f} W for a busy 1g slice above {idle} W")
    print(f"{'run':12} {'seconds':>8} {'predicted':>10} {'':>7} {'kJ':>7} {'predicted':>10}")
    for name, (policy, layouts, mode) in KNOWN.items():
        measured = spent(out, name)
        if not measured: continue
        with open(f"{out}/{name}.calibrated.csv", "w") as f:
            f.write("# gpu=h200-141gb\njob_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s\n")
            for job, kind, _ in batch(out):
                a, b, t = small[job], whole[job], speeds[kind]
                begin1, loop1, loop7 = a["ready"] - a["begin"] + 0.5, a["end"] - a["ready"], b["end"] - b["ready"]
                curve = lambda p: (1 / t[p] - 1 / t["7g.141gb"]) / (1 / t["1g.18gb"] - 1 / t["7g.141gb"])
                work = [begin1 + loop7 + (loop1 - loop7) * curve(p) for p in ("1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb")]
                deadline = {"none": b["end"] - b["begin"] + 0.5 if policy == "migm-b" else "", "common": 0.8 * span, "order": 200 - work[0]}[mode]
                f.write(",".join([job, "0", str(deadline), kind, *(f"{w:.3f}" for w in work), "", ""]) + "\n")
        command = [smartmig, "sim", "-w", f"{out}/{name}.calibrated.csv", "--gpus", "1xh200-141gb", "--cost", "hardware", "--reshape-s", "0.1",
                   "--policy", policy, "--power", f"linear:{idle}:{watts:.2f}:700", "--json", *(["--layouts", layouts] if layouts else [])]
        got = subprocess.run(command, capture_output=True, text=True)
        if got.returncode: sys.exit(got.stderr)
        said = json.loads(got.stdout)
        seconds, energy = 60 * said["makespan_min"], said["energy_joules"]
        print(f"{name:12} {measured[0]:8.1f} {seconds:8.1f} s {100 * (seconds / measured[0] - 1):+6.1f}% {measured[1] / 1000:7.2f} {energy / 1000:7.2f} kJ "
              f"{100 * (energy / measured[1] - 1):+6.1f}%")
    return 0


def report(out, earlier=None):
    meter = Meter(f"{out}/meter.csv")
    rows, one = [], None
    if earlier and not spent(out, "one"):
        alone, then, now = spent(earlier, "one"), spent(earlier, "script7"), spent(out, "script7")
        one = (alone[0] / then[0] * now[0], alone[1] / then[1] * now[1])
    print(open(f"{out}/machine").read().replace("\n", "; "))
    print(f"\n{'run':16} {'jobs':>4} {'seconds':>8} {'kJ':>7} {'mean W':>7} {'throughput':>10} {'work per J':>10}  what")
    for r in runs(out):
        if r["run"] in ("oom", "grow"): continue
        begin, end = float(r["begin_s"]), float(r["end_s"])
        seconds, joules = end - begin, meter.between(begin, end)
        done = lines(f"{out}/{r['run']}.jobs.jsonl")
        if r["run"] == "one": one = (seconds, joules)
        ratios = f"{one[0] / seconds:9.2f}x {one[1] / joules:9.2f}x" if one else " " * 21
        print(f"{r['run']:16} {len(done):4} {seconds:8.1f} {joules / 1000:7.2f} {joules / seconds:7.1f} {ratios}  {r['what']}")
        final = f"{out}/{r['run']}.final.json"
        known = {j["name"]: j for j in json.load(open(final))["jobs"]} if os.path.exists(final) else {}
        for j in done:
            shown = known.get(j["name"], {})
            profile = (shown.get("slice") or j["slice"] or ("7g.141gb" if r["run"] == "one" else r["run"])).split("@")[0]
            energy = shown.get("energy", {}).get("joules_j") if shown else (meter.between(j["begin"], j["end"]) if r["run"] == "one" else None)
            took = shown["ended_at"] - shown["started_at"] if shown.get("ended_at") else j["end"] - j["begin"]
            rows.append((r["run"], j["name"], j["kind"], j["steps"], profile, round(j["begin"] - begin, 2), round(took, 2),
                         round(j["ready"] - j["begin"], 2), round(j["end"] - j["ready"], 2), "" if energy is None else round(energy, 1), j["peak_mib"]))

    print("\nenergy books of the daemons, J: jobs + idle + unattributed = booked; the meter beside it ran from before the daemon's first sample to after its last")
    print(f"{'run':16} {'jobs':>10} {'idle':>10} {'unattrib.':>10} {'sum':>10} {'booked':>10} {'meter':>10} {'jobs final':>10}")
    for r in runs(out):
        status = f"{out}/{r['run']}.status.json"
        if not os.path.exists(status): continue
        try:
            e = json.load(open(status))["energy"]
            jobs = sum(j["energy"]["joules_j"] for j in json.load(open(f"{out}/{r['run']}.final.json"))["jobs"])
        except (ValueError, KeyError) as error:
            print(f"{r['run']:16} unreadable: {error}")
            continue
        total = e["attributed_j"] + e["idle_j"] + e["unattributed_j"]
        seen = meter.between(float(open(f"{out}/{r['run']}.served").read()), float(open(f"{out}/{r['run']}.left").read()))
        booked = e["counter_j"] + e["power_integral_j"] + e["model_j"]
        print(f"{r['run']:16} {e['attributed_j']:10.1f} {e['idle_j']:10.1f} {e['unattributed_j']:10.1f} {total:10.1f} {booked:10.1f} {seen:10.1f} {jobs:10.1f}" +
              (f"  ({booked - e['counter_j']:.1f} J by power, where the counter was not read)" if booked > e["counter_j"] else ""))

    with open(f"{out}/rows.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow("run,job,kind,steps,profile,begin_s,seconds,startup_s,loop_s,joules,peak_mib".split(","))
        w.writerows(rows)
    print("\nmean over the jobs of a kind on a profile: seconds (start-up / steps per second in the loop) n")
    table = {}
    for run, _, kind, steps, profile, _, took, start, loop, joules, _ in rows:
        table.setdefault((run, kind, profile), []).append((took, start, steps / loop, joules))
    for (run, kind, profile), got in sorted(table.items()):
        mean = lambda i: sum(g[i] for g in got) / len(got)
        energy = "" if any(g[3] == "" for g in got) else f"{mean(3):8.0f} J"
        print(f"{run:16} {kind:18} {profile:10} {mean(0):7.2f} s ({mean(1):5.2f} s / {mean(2):8.1f}) {energy:>10}  {len(got)}")
    for name in ("oom", "grow"):
        final = f"{out}/{name}.final.json"
        if os.path.exists(final):
            for j in json.load(open(final))["jobs"]:
                print(f"\n{name}: {j['state']} after attempt {j['attempt']} on {j['slice']}, {j['oom_restarts']} restarts, {j['energy']['joules_j']:.0f} J; {j['reason']}")
    return 0


if __name__ == "__main__":
    a = sys.argv[1:]
    if len(a) == 3 and a[0] == "ask": sys.exit(ask(a[1], a[2]))
    if len(a) == 3 and a[0] == "plan": sys.exit(plan(a[1], a[2]))
    if len(a) == 4 and a[0] == "predict": sys.exit(predict(a[1], a[2], a[3]))
    if len(a) in (1, 2) and not a[0].startswith("-"): sys.exit(report(*a))
    sys.exit(__doc__)
