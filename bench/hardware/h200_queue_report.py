#!/usr/bin/env python3
"""Tables from the output folder of bench/hardware/h200_queue.sh, and two small helpers of that script.

    h200_queue_report.py OUTPUT [EARLIER]     ratios against one at a time, energy books, rows.csv (kind, profile, seconds, joules);
                                              where OUTPUT has no run `one`, its script7 stands for EARLIER's
    h200_queue_report.py calibrate FOLDER SMARTMIG OUTPUT...
                                              runs.csv of these outputs, and speeds.csv and watts.csv that smartmig calibrate makes of it
    h200_queue_report.py predict OUTPUT FOLDER SMARTMIG
                                              the simulator with the tables in FOLDER, against what was measured in OUTPUT: seconds and
                                              joules of batches and streams, and the error of each
                                              runs before which the daemon was asked what it knew (RUN.known.jsonl) are foretold by that
                                              alone, out of sample, the rest by the tables, which the runs themselves are part of
    h200_queue_report.py known SOCKET OUTPUT RUN PROGRAM
                                              asks the daemon what it believes of each job of the batch, or of the stream RUN.plan, on
                                              each size (POST /v1/history): RUN.known.jsonl; PROGRAM: h200_jobs.py as the jobs call it
    h200_queue_report.py replay OUTPUT SMARTMIG
                                              the daemons' own journals lived again in the simulator (smartmig replay)
    h200_queue_report.py etas OUTPUT          ends that the daemon foretold once all jobs of a round were sent (RUN.futures.json), against the ends
    h200_queue_report.py gaps OUTPUT          seconds from the end of a job to the start of the next on its slice (script: its place)
    h200_queue_report.py plan OUTPUT MODE     the batch as NAME KIND STEPS SUBMIT-OPTIONS; MODE: what the queue is told besides the kind:
                                              none, common (one deadline for all), unknown (no kind), all with the run time on the
                                              whole GPU as the run `one` had it; longest (deadlines that longer jobs just keep), order
                                              (far deadlines, longer jobs first), both with the run time that script7 had on 1g; told:
                                              the kind and that run time, no deadline
    h200_queue_report.py stream OUTPUT SEED SECONDS PERCENT
                                              arrivals at that load of what script7 carried, as AT ID NAME KIND STEPS DEADLINE
    h200_queue_report.py ask SOCKET PATH      GET from the daemon
"""
import bisect, csv, glob, http.client, json, math, os, re, socket, statistics, subprocess, sys


def answer_of(path, method, what, body=None):
    class Local(http.client.HTTPConnection):
        def connect(self):
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.connect(path)
    connection = Local("localhost", timeout=30)
    connection.request(method, what, body, {"Content-Type": "application/json"} if body else {})
    answer = connection.getresponse()
    return answer.status, answer.read().decode(errors="replace")


def ask(path, what):
    status, text = answer_of(path, "GET", what)
    print(text)
    return 0 if status == 200 else 1


def known(path, out, run, program):
    """What the daemon believes of each job before it is submitted; nothing is written where it knows nothing of one."""
    plan = f"{out}/{run}.plan"
    jobs = [(job, name, kind, steps) for _, job, name, kind, steps, _ in stream_of(out, run)] if os.path.exists(plan) else [(n, n, k, s) for n, k, s in batch(out)]
    rows = []
    for job, name, kind, steps in jobs:
        status, text = answer_of(path, "POST", "/v1/history", json.dumps({"command": ["python3", program, "job", name, kind, steps]}))
        told = json.loads(text) if status == 200 else {}
        if not told.get("runs") or not told.get("sizes"): return 0
        rows.append({"job": job, "kind": kind, "runs": told["runs"], "launch_s": told["launch_s"], "mem_mib": told.get("mem_mib"), "slowdown": told.get("slowdown"),
                     "sizes": {z["profile"]: {"s": z["s"], "watts_w": z.get("watts_w")} for z in told["sizes"]}})
    with open(f"{out}/{run}.known.jsonl", "w") as f:
        f.writelines(json.dumps(row) + "\n" for row in rows)
    return 0


def lines(path):
    return [json.loads(l) for l in open(path) if l.strip()] if os.path.exists(path) else []


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
        options += ["--estimate", f"{e1:.1f}s@1g" if mode in ("longest", "order", "told") else f"{e7:.1f}s"]
        if mode == "common": options += ["--deadline", f"{0.8 * span:.0f}s"]
        if mode == "longest": options += ["--deadline", f"{max(1, 0.95 * span - 0.6 * e1):.1f}s"]
        if mode == "order": options += ["--deadline", f"{200 - e1:.1f}s"]
        if mode == "nothing": options = []
        print(name, kind, steps, *options)
    return 0


def stream(out, seed, seconds, percent):
    """Deadlines by the time that each job took on a seventh, in the run script7."""
    done = lines(f"{out}/script7.jobs.jsonl")
    if not done or not spent(out, "script7"):
        print("a stream needs the run script7 before it", file=sys.stderr)
        return 1
    gap = spent(out, "script7")[0] / len(batch(out)) / (float(percent) / 100)
    small = {j["name"]: j["end"] - j["begin"] + 0.5 for j in done}
    jobs = os.path.join(os.path.dirname(os.path.abspath(__file__)), "h200_jobs.py")
    text = subprocess.run([sys.executable, jobs, "arrivals", seed, seconds, f"{gap:.4f}", f"{out}/batch"], check=True, capture_output=True, text=True).stdout
    for at, job, name, kind, steps, slack in (l.split() for l in text.splitlines()):
        print(at, job, name, kind, steps, f"{float(at) + float(slack) * small.get(name, statistics.mean(small.values())):.2f}")
    return 0


def stream_of(out, run):
    return [l.split() for l in open(f"{out}/{run}.plan") if l.strip()]


def tardiness(out, run, begin):
    """Of a stream: jobs missing, mean seconds late, how many were late."""
    due = {job: float(at) for _, job, _, _, _, at in stream_of(out, run)}
    ended = {j["name"]: j["end"] - begin for j in lines(f"{out}/{run}.jobs.jsonl")}
    late = [max(0.0, ended[name] - at) for name, at in due.items() if name in ended]
    return len(due) - len(late), sum(late) / max(1, len(late)), sum(l > 0 for l in late)


WEIGHT = 2e-7 * 4145  # of a watt-minute against a minute of lateness: smartmig's without prices


def et(joules, late_s):
    return (WEIGHT * joules / 60 + late_s / 60) / (WEIGHT + 1)


class Meter:
    """Of all calls on this host: a counter that goes on."""
    def __init__(self, out):
        rows = []
        for path in sorted(glob.glob(f"{out}/meter*.csv")):
            rows += [(float(r[0]), float(r[1]) / 1000) for r in list(csv.reader(open(path)))[1:] if len(r) == 3 and all(r)]
        self.at, self.j = [r[0] for r in sorted(rows)], [r[1] for r in sorted(rows)]

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
            return end - begin, Meter(out).between(begin, end)
    return None


def measured_runs(folders):
    """What the jobs of these outputs took, as `smartmig calibrate --runs` reads it. Joules are above idle; a job's share is the
    mean of 1 / how many ran beside it, itself counted."""
    for folder in folders:
        rows = [r for r in csv.DictReader(open(f"{folder}/rows.csv")) if r["run"] not in ("oom", "oom-exact", "grow", "hold-check") and "prelaunch" not in r["run"]]
        stay = lambda r: (float(r["begin_s"]), float(r["begin_s"]) + float(r["seconds"]))
        for r in rows:
            begin, end = stay(r)
            beside = [stay(q) for q in rows if q["run"] == r["run"] and stay(q)[0] < end and stay(q)[1] > begin]
            share, running, last = 0, 0, begin
            for at, change in sorted([(max(begin, b), 1) for b, _ in beside] + [(min(end, e), -1) for _, e in beside]):
                if running: share += (at - last) / running
                last, running = at, running + change
            plain = r["run"] == "one" or "script" in r["run"]  # seen from inside the process, which takes half a second to go
            joules = float(r["joules"]) - (IDLE * float(r["seconds"]) if r["run"] == "one" else 0) if r["joules"] else ""
            # Half the memory, the same SMs: for speeds and watts it is the smallest slice.
            yield {"kind": r["kind"], "gpu": GPU, "profile": SIZES[0] if "script" in r["run"] or r["profile"] == HALF else r["profile"],
                   "seconds": round(float(r["seconds"]) + 0.5 * plain, 3), "joules": joules and round(joules, 1), "work": r["steps"], "task": "",
                   "mem_mib": r["peak_mib"], "share": round(share / (end - begin), 4)}


def calibrate(into, smartmig, folders):
    """Writes runs.csv and, by smartmig calibrate, speeds.csv and watts.csv into a folder."""
    os.makedirs(into, exist_ok=True)
    found = list(measured_runs(folders))
    with open(f"{into}/runs.csv", "w", newline="") as f:
        w = csv.DictWriter(f, found[0])
        w.writeheader()
        w.writerows(found)
    for name in ("speeds.csv", "watts.csv"):
        if os.path.exists(f"{into}/{name}"): os.remove(f"{into}/{name}")
    return subprocess.run([smartmig, "calibrate", "--runs", f"{into}/runs.csv", "--power", "h200", "-o", f"{into}/speeds.csv", "--watts", f"{into}/watts.csv",
                           "--source", "smartmig calibrate, jobs of bench/hardware/h200_queue.sh"]).returncode


GPU, IDLE, BASE = "h200-141gb", 88.2, 120.76  # W without a CUDA context, and with: data/power.csv
SIZES = ("1g.18gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb")
HALF, HALF_MIB, CONTEXT_MIB = "1g.8gb", 8192, 670  # context: of what the device shows beside PyTorch's own figure
SEVEN = "1g+1g+1g+1g+1g+1g+1g"
# Policy and layouts of each run; the planner's runs are left out, since in the simulator it would know the true times. A first round
# that was told nothing gives each job the same: seven at a time, in order.
KNOWN = {"one": ("none+fifo", ""), "script7": ("static+fifo", SEVEN), "script7b": ("static+fifo", SEVEN), "seven": ("static+llf-slow", SEVEN + ".35gb"),
         "migm-b": ("migm-b", ""), "seven-order": ("static+edf-fast", SEVEN + ".35gb"), "mixed": ("static+edf-fast", "3g+1g+1g+1g+1g"),
         "batch": ("batch", ""), "batch-25": ("batch:0.25", ""), "batch-50": ("batch:0.5", ""), "batch-75": ("batch:0.75", ""), "batch-100": ("batch:1", "")}


def policy_of(run):
    """Policy and layouts that the simulator is to use for a run; nothing: it cannot foretell it."""
    if run in KNOWN: return KNOWN[run]
    if m := re.fullmatch(r"stream-(best|prelaunch|batch|script|fifo)-\d+", run):
        return {"script": ("static+fifo", SEVEN), "fifo": ("none+fifo", ""), "batch": ("batch", "")}.get(m[1], ("best", ""))
    if m := re.fullmatch(r"(best-loop|best-rounds|prelaunch-loop|prelaunch-rounds)(-b)?-(\d)", run):
        return None if m[3] == "1" else ("best", "")  # in its first round a daemon learns between two decisions
    return ("best", "") if run in ("told", "told-b") else None


def times_by_size(tables):
    """Of a kind: seconds before the first step, and seconds of a step on each size."""
    speed, launch = {}, {}
    for r in csv.DictReader(open(f"{tables}/speeds.csv")):
        if r["gpu"] == GPU: speed.setdefault(r["kind"], {})[r["profile"]] = float(r["throughput"])
        launch[r["kind"]] = float(r["launch_s"] or 0)
    pace = {}  # seconds of a step at throughput 1
    for r in csv.DictReader(open(f"{tables}/runs.csv")):
        if r["profile"] in speed.get(r["kind"], {}):
            pace.setdefault(r["kind"], []).append((float(r["seconds"]) - launch[r["kind"]]) / float(r["work"]) * speed[r["kind"]][r["profile"]])
    return {kind: (launch[kind], {p: statistics.median(all) / speed[kind][p] for p in speed[kind]}) for kind, all in pace.items()}


def script_times(out):
    """The same of the plain script, whose shares of the SMs are not those of the daemon's slices (mps.overlap)."""
    seen = {}
    for path in glob.glob(f"{out}/script7*.jobs.jsonl"):
        if re.search(r"script7b?\.jobs", path):
            for j in lines(path): seen.setdefault(j["kind"], []).append((j["ready"] - j["begin"], (j["end"] - j["ready"]) / j["steps"]))
    return {kind: (statistics.mean(a for a, _ in all), {SIZES[0]: statistics.mean(b for _, b in all)}) for kind, all in seen.items()}


def known_before(out, run):
    """What the daemon believed of each job before the run. Where it was not asked (FIFO has none, one that is told asks nobody): what the
    last round on this machine knew, of the same commands."""
    if own := lines(f"{out}/{run}.known.jsonl"): return own
    rounds = sorted(glob.glob(f"{out}/best-loop-*.known.jsonl")) or sorted(glob.glob(f"{out}/prelaunch-loop-*.known.jsonl"))
    stream = os.path.exists(f"{out}/{run}.plan")
    if not (stream or "told" in run) or "script" in run or not rounds: return []
    told = {row["job"]: row for row in lines(rounds[-1])}
    return [dict(told[name], job=job) for _, job, name, _, _, _ in stream_of(out, run)] if stream else list(told.values())


def learned_tables(out, run, into):
    """From what was known before: seconds of each job on each size, and a table of watts in which each job is a kind. Watts above idle are
    booked with a share of what any job costs the board (BASE - IDLE), by its slices; of a size that never ran the rest of the joules is that of one
    that did."""
    times, rows = {}, []
    for row in known_before(out, run):
        times[row["job"]] = {p: z["s"] for p, z in row["sizes"].items()}
        own = {p: z["s"] * max(0.0, z["watts_w"] - (BASE - IDLE) * int(p[0]) / 7) for p, z in row["sizes"].items() if z["watts_w"] is not None}
        for profile, size in row["sizes"].items():
            joules = own.get(profile, statistics.mean(own.values()) if own else 0)
            rows.append(f"h200,{row['job']},{profile},{BASE + joules / size['s']:.2f},what the daemon had learned")
    if not times: return None
    with open(into, "w") as f: f.write("model,kind,profile,watts,source\n" + "\n".join(rows) + "\n")
    return times


def script_watts(out, into):
    """Of the plain script, whose 13 % of the SMs work at another price: what its batches drew above idle and base, shared out by time."""
    found = [(spent(out, name), lines(f"{out}/{name}.jobs.jsonl")) for name in ("script7", "script7b") if spent(out, name)]
    added = statistics.mean((joules - BASE * seconds) / sum(j["end"] - j["begin"] + 0.5 for j in done) for (seconds, joules), done in found)
    with open(into, "w") as f:
        f.write("model,kind,profile,watts,source\n" + "".join(f"h200,{kind},{SIZES[0]},{BASE + added:.2f},script7 here\n" for kind in {k for _, k, _ in batch(out)}))


def mean_others(out):
    """Of each kind: the share of the board that others had beside it, on average over its runs of which `calibrate` makes tables."""
    seen = {}
    rows = [r for r in csv.DictReader(open(f"{out}/rows.csv")) if "script" not in r["run"] and "prelaunch" not in r["run"]]
    stay = lambda r: (float(r["begin_s"]), float(r["begin_s"]) + float(r["seconds"]))
    for r in rows:
        begin, end = stay(r)
        beside = sum(max(0, min(end, stay(q)[1]) - max(begin, stay(q)[0])) for q in rows if q is not r and q["run"] == r["run"])
        seen.setdefault(r["kind"], []).append(beside / (end - begin) / 7)
    return {kind: statistics.mean(all) for kind, all in seen.items()}


def owner_of(out, run, ending):
    """The daemon that had a run, by the file it left: one daemon may have had several rounds."""
    return max((os.path.basename(p)[:-len(ending)] for p in glob.glob(f"{out}/*{ending}") if run.startswith(os.path.basename(p)[:-len(ending)])), key=len, default=None)


def with_halves(out, run):
    owner = owner_of(out, run, ".journal.jsonl")
    return bool(owner) and "-soft" in open(f"{out}/{owner}.journal.jsonl").readline()


def needs_of(out, run):
    """MiB of each job: as the daemon believed before the run; where it was not asked, what the job took for itself, the context, and
    what is added for a command that ran so often (queue/learning/history.h)."""
    said = {row["job"]: row["mem_mib"] for row in lines(f"{out}/{run}.known.jsonl") if row.get("mem_mib")}
    before = int(m[1]) - 1 if (m := re.search(r"-loop-(?:b-)?(\d)$", run)) else 2
    took = {j["name"]: round((1.05 + 0.45 / before) * (j["peak_mib"] + CONTEXT_MIB)) for j in lines(f"{out}/script7.jobs.jsonl")}
    like = {job: of for _, job, of, _, _, _ in stream_of(out, run)} if os.path.exists(f"{out}/{run}.plan") else {n: n for n in took}
    return {job: said.get(job, took.get(of)) for job, of in like.items()}


def crowding(out, run):
    """How neighbours slow each job, as the daemon believed it before the run; where it was not asked, what it takes of a job that it does
    not know (model/job.h). Times that it tells are those beside six others."""
    return {row["job"]: (math.log(row["slowdown"]) if row.get("slowdown") else 0.5, 6 / 7) for row in known_before(out, run)}


def simulated(out, name, policy, layouts, known, hidden, smartmig, environment, learned=None):
    """Seconds, joules and mean lateness of a run by the simulator; else its words. `hidden`: seconds of a launch that lie before the slice,
    of those that find none free when they come. `learned`: times by job, in place of those by kind."""
    plan = f"{out}/{name}.plan"
    arrive = [(float(at), job, kind, int(steps), float(due)) for at, job, _, kind, steps, due in stream_of(out, name)] if os.path.exists(plan) else \
        [(0.0, job, kind, int(steps), None) for job, kind, steps in batch(out)]
    # All jobs of a batch are there when the first decision is made: a job of one second keeps the GPU until then.
    hold = 1.0 if not os.path.exists(plan) and not layouts and policy != "none+fifo" else 0.0
    offset = 0.5 if hold else 0.0
    needs = needs_of(out, name) if with_halves(out, name) else {}
    slowed = crowding(out, name) if learned else {}
    between = statistics.median(script_gaps(lines(f"{out}/script7.jobs.jsonl"))) if policy == "none+fifo" else 0  # a plain script's next start
    if not learned and "script" not in name and policy != "none+fifo":
        slowed = {job: (0.5, others) for _, job, kind, *_ in arrive if (others := mean_others(out).get(kind)) is not None}
    with open(f"{out}/{name}.predicted.csv", "w") as f:
        f.write(f"# gpu={GPU}\njob_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s,log_slowdown,beside\n")
        if hold: f.write(f"hold,0,1,,,,,,{hold},,,,\n")
        room = 14 if needs else 7
        for at, job, kind, steps, due in arrive:
            room -= 1 + (bool(needs) and not 0 < (needs[job] or 0) <= HALF_MIB)
            less = hidden if room < 0 else 0
            if learned:
                kind, times = job, [f"{max(0.1, learned[job][p] + between - less):.3f}" if p in learned[job] else "" for p in SIZES]
            elif kind not in known: return f"nothing is known of {kind}"
            else:
                launch, step = known[kind]
                times = [f"{max(0.1, launch - less) + steps * step[p]:.3f}" if p in step else "" for p in SIZES]
            if due is None: due = "" if "edf" not in policy and "llf" not in policy else 200 - float(times[0]) if "edf" in policy else 60
            f.write(f"{job},{at + offset},{due},{kind},{','.join(times)},{needs.get(job, '')},,{','.join(map(str, slowed.get(job, ('', ''))))}\n")
    command = [smartmig, "sim", "-w", f"{out}/{name}.predicted.csv", "--gpus", f"1x{GPU}-soft" if needs else f"1x{GPU}", "--power", "h200", "--cost", "hardware", "--reshape-s", "0.3",
               "--policy", policy, "--json"] + (["--layouts", layouts] if layouts else [])
    got = subprocess.run(command, env=environment, capture_output=True, text=True)
    if got.returncode: return got.stderr.strip()[:200]
    told = json.loads(got.stdout)
    return told["makespan_min"] * 60 - hold, told["energy_j"] - IDLE * hold, told.get("mean_tardiness_min", 0) * 60


def predict(out, tables, smartmig):
    """The simulator with the speeds and watts of `tables` (calibrate's), against what was measured."""
    known = times_by_size(tables)
    environment = dict(os.environ, SMARTMIG_SPEEDS=f"{tables}/speeds.csv", SMARTMIG_POWER_KINDS=f"{tables}/watts.csv")
    before = [j["imported"] - j["begin"] for j in lines(f"{out}/script7.jobs.jsonl") if "imported" in j]
    print(f"the simulator with what was measured here, or with what the daemon had learned before the run (out of sample)\n"
          f"{'run':18} {'seconds':>8} {'predicted':>10} {'':>7} {'kJ':>7} {'predicted':>10} {'':>7}  from")
    for r in runs(out):
        name, chosen = r["run"], policy_of(r["run"])
        if not chosen: continue
        hidden = statistics.mean(before) if before and "prelaunch" in name else 0
        watts = f"{out}/{name}.watts.csv"
        learned = learned_tables(out, name, watts)
        if "script" in name: script_watts(out, watts)
        there = dict(environment, SMARTMIG_POWER_KINDS=watts) if learned or "script" in name else environment
        of = script_times(out) if "script" in name else known
        got, measured = simulated(out, name, *chosen, of, hidden, smartmig, there, learned), spent(out, name)
        if isinstance(got, str):
            print(f"{name:18} {got}")
            continue
        late = f"  late {tardiness(out, name, float(r['begin_s']))[1]:.2f} s, predicted {got[2]:.2f} s" if os.path.exists(f"{out}/{name}.plan") else ""
        print(f"{name:18} {measured[0]:8.1f} {got[0]:8.1f} s {100 * (got[0] / measured[0] - 1):+6.1f}% {measured[1] / 1000:7.2f} {got[1] / 1000:7.2f} kJ "
              f"{100 * (got[1] / measured[1] - 1):+6.1f}%  {'learned' if learned else 'measured'}{late}")
    return 0


def replay(out, smartmig):
    for path in sorted(glob.glob(f"{out}/*.journal.jsonl")):
        name = os.path.basename(path)[:-len(".journal.jsonl")]
        print(f"== {name}", flush=True)
        policy = "batch" if "batch" in name else "best"
        subprocess.run([smartmig, "replay", path, "--policies", policy, "--measured", f"{out}/{name}.final.json"])
    return 0


def final_of(out, run):
    """Jobs of a run by name, as their daemon knew them at its end."""
    owner = owner_of(out, run, ".final.json")
    if owner is None: return {}
    begin, end = next((float(r["begin_s"]), float(r["end_s"])) for r in runs(out) if r["run"] == run)
    try:
        all = json.load(open(f"{out}/{owner}.final.json"))["jobs"]
    except (ValueError, KeyError):
        return {}
    return {j["name"]: j for j in all if j.get("started_at") and begin - 1 <= j["started_at"] <= end + 1}


def script_gaps(done):
    """Seconds from the end of a job of the plain script to the begin of the next, whichever that is."""
    return [b - e for b, e in zip(sorted(j["begin"] for j in done)[7:], sorted(j["end"] for j in done)) if b - e < 5]


def gaps(out):
    """By the jobs' own words: from the last line of one to the first of the next on its slice; where jobs begin ahead, to its grant. Of
    the script: from the end of one to the begin of the next, whichever that is."""
    print(f"{'end to next start':18} {'n':>4} {'p50 s':>8} {'p99 s':>8} {'most s':>8}")
    for r in runs(out):
        done, shown = lines(f"{out}/{r['run']}.jobs.jsonl"), final_of(out, r["run"])
        stay = lambda j: (shown[j["name"]]["started_at"] if "prelaunch" in r["run"] and j["name"] in shown else j["begin"], j["end"])
        if any(j["slice"] for j in done):
            by_slice = {}
            for j in done: by_slice.setdefault(j["slice"], []).append(stay(j))
            found = [b[0] - a[1] for stays in by_slice.values() for a, b in zip(sorted(stays), sorted(stays)[1:]) if b[0] - a[1] < 5]  # more: nothing was to run there
        else:
            found = script_gaps(done)
        if found and not os.path.exists(f"{out}/{r['run']}.plan"):
            found.sort()
            print(f"{r['run']:18} {len(found):4} {found[len(found) // 2]:8.3f} {found[min(len(found) - 1, int(len(found) * 0.99))]:8.3f} {found[-1]:8.3f}")
    return 0


def etas(out):
    """Errors are shares of the time from the question to the end; negative: the daemon said too early. Within: between p10 and p90."""
    shown = False
    for r in runs(out):
        asked = lines(f"{out}/{r['run']}.futures.json")
        ended = {j["id"]: j["ended_at"] for j in final_of(out, r["run"]).values() if j.get("ended_at")}
        jobs = [j for j in asked[0]["jobs"] if j["id"] in ended] if asked and asked[0].get("jobs") else []
        if not jobs: continue
        if not shown: print(f"\n{'ends foretold':18} {'n':>4} {'mean error':>11} {'mean |error|':>13} {'last end':>9} {'within':>7}")
        shown, now = True, asked[0]["now_at"]
        off = [(j["expected_finish_at"] - ended[j["id"]]) / max(1.0, ended[j["id"]] - now) for j in jobs]
        last = (max(j["expected_finish_at"] for j in jobs) - now) / (max(ended[j["id"]] for j in jobs) - now) - 1
        within = sum(j["finish_at"]["p10"] <= ended[j["id"]] <= j["finish_at"]["p90"] for j in jobs)
        print(f"{r['run']:18} {len(jobs):4} {100 * statistics.mean(off):+9.1f} % {100 * statistics.mean(map(abs, off)):11.1f} % {100 * last:+7.1f} % {within:4} of {len(jobs)}")
    return 0


def against_script(out):
    """Runs of the batch by setting, each as often as it was made, against the mean of the plain script's."""
    groups = {}
    for r in runs(out):
        name = r["run"]
        if os.path.exists(f"{out}/{name}.plan") or name in ("one", "oom", "oom-exact", "grow", "hold-check"): continue
        ends = [j["end"] - float(r["begin_s"]) for j in lines(f"{out}/{name}.jobs.jsonl")]
        groups.setdefault(re.sub(r"^(script7|told|best-loop|prelaunch-loop)-?b(?=$|-)", r"\1", name), []).append((*spent(out, name), statistics.mean(ends)))
    if "script7" not in groups: return
    mean = lambda which, i: statistics.mean(v[i] for v in groups[which])
    print(f"\nagainst the plain script (mean of {len(groups['script7'])})\n{'setting':18} {'seconds':>20} {'kJ':>20} {'throughput':>24} {'work per J':>24} {'mean end, s':>20}")
    for name, values in groups.items():
        show = lambda numbers, unit: " ".join(f"{n:.{2 if unit == 'x' else 1}f}" for n in numbers) + (f" ({statistics.mean(numbers):.2f}x)" if unit == "x" else "")
        print(f"{name:18} {show([v[0] for v in values], ''):>20} {show([v[1] / 1000 for v in values], ''):>20} "
              f"{show([mean('script7', 0) / v[0] for v in values], 'x'):>24} {show([mean('script7', 1) / v[1] for v in values], 'x'):>24} {show([v[2] for v in values], ''):>20}")


def report(out, earlier=None):
    meter = Meter(out)
    rows, one, script = [], None, None
    if earlier and not spent(out, "one"):
        alone, then, now = spent(earlier, "one"), spent(earlier, "script7"), spent(out, "script7")
        one = (alone[0] / then[0] * now[0], alone[1] / then[1] * now[1])
    print(open(f"{out}/machine").read().replace("\n", "; "))
    print(f"\n{'run':16} {'jobs':>4} {'seconds':>8} {'kJ':>7} {'mean W':>7} {'throughput':>10} {'work per J':>10}  what")
    for r in runs(out):
        if r["run"] in ("oom", "oom-exact", "grow"): continue
        begin, end = float(r["begin_s"]), float(r["end_s"])
        seconds, joules = end - begin, meter.between(begin, end)
        done = lines(f"{out}/{r['run']}.jobs.jsonl")
        if r["run"] == "one": one = (seconds, joules)
        if not one and r["run"] == "script7" and not script: script = (seconds, joules)
        against = one or script
        ratios = f"{against[0] / seconds:9.2f}x {against[1] / joules:9.2f}x" if against else " " * 21
        print(f"{r['run']:16} {len(done):4} {seconds:8.1f} {joules / 1000:7.2f} {joules / seconds:7.1f} {ratios}  {r['what']}")
        if os.path.exists(f"{out}/{r['run']}.plan"):
            lost, late, many = tardiness(out, r["run"], begin)
            print(f"{'':16} {many} late, {late:.2f} s late on average, ET {et(joules, late):.4f}" + (f", {lost} jobs missing" if lost else ""))
        known = final_of(out, r["run"])
        for j in done:
            shown = known.get(j["name"], {})
            profile = (shown.get("slice") or j["slice"] or ("7g.141gb" if r["run"] == "one" or "fifo" in r["run"] else r["run"])).split("@")[0]
            energy = shown.get("energy", {}).get("joules_j") if shown else (meter.between(j["begin"], j["end"]) if r["run"] == "one" else None)
            took = shown["ended_at"] - shown["started_at"] if shown.get("ended_at") else j["end"] - j["begin"]
            first = max(j["begin"], shown.get("started_at") or 0)  # one that began ahead has had no slice before
            rows.append((r["run"], j["name"], j["kind"], j["steps"], profile, round(first - begin, 2), round(took, 2),
                         round(j["ready"] - first, 2), round(j["end"] - j["ready"], 2), "" if energy is None else round(energy, 1), j["peak_mib"]))

    against_script(out)
    etas(out)
    print()
    gaps(out)
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
    for name in ("oom", "oom-exact", "grow"):
        final = f"{out}/{name}.final.json"
        if os.path.exists(final):
            for j in json.load(open(final))["jobs"]:
                print(f"\n{name}: {j['state']} after attempt {j['attempt']} on {j['slice']}, {j['oom_restarts']} restarts, {j['energy']['joules_j']:.0f} J; {j['reason']}")
    return 0


if __name__ == "__main__":
    a = sys.argv[1:]
    if len(a) == 3 and a[0] == "ask": sys.exit(ask(a[1], a[2]))
    if len(a) == 5 and a[0] == "stream": sys.exit(stream(*a[1:]))
    if len(a) == 5 and a[0] == "known": sys.exit(known(*a[1:]))
    if len(a) == 3 and a[0] == "plan": sys.exit(plan(a[1], a[2]))
    if len(a) > 3 and a[0] == "calibrate": sys.exit(calibrate(a[1], a[2], a[3:]))
    if len(a) == 4 and a[0] == "predict": sys.exit(predict(a[1], a[2], a[3]))
    if len(a) == 3 and a[0] == "replay": sys.exit(replay(a[1], a[2]))
    if len(a) == 2 and a[0] == "gaps": sys.exit(gaps(a[1]))
    if len(a) == 2 and a[0] == "etas": sys.exit(etas(a[1]))
    if len(a) in (1, 2) and not a[0].startswith("-"): sys.exit(report(*a))
    sys.exit(__doc__)
