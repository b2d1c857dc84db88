#!/usr/bin/env python3
"""The comparison that bench/hardware/h200_queue.sh makes on a real H200, smaller and without a GPU: the same script with stand-ins for the
machine and for CUDA (stand_in_h200.sh), real daemons and real processes. A batch by a plain script, seven at a time, then by a queue that is
told nothing, round after round, then with jobs that start before their slice is free. Counts and orders are checked; seconds are printed.
What the daemon knew before a round foretells it in the simulator, and the journal says where the slice-seconds went (bench/daemon/queue_waste.py).
tests/e2e/queue_rounds_test.py BUILD-DIRECTORY. Needs the targets nvml-sim-ctl, smartmig_preload and preload_stub_cuda."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from harness import Failed, check, equal, until

HERE = os.path.dirname(os.path.abspath(__file__))
QUEUE = os.path.join(HERE, "../../bench/hardware/h200_queue.sh")
WASTE = os.path.join(HERE, "../../bench/daemon/queue_waste.py")
ROUNDS = ["best-loop-1", "best-loop-2", "best-loop-3", "prelaunch-loop-1", "prelaunch-loop-2"]


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def slices_at_once(stays):
    most = now = 0
    for _, change in sorted([(begin, size) for begin, _, size in stays] + [(end, -size) for _, end, size in stays]):
        now += change
        most = max(most, now)
    return most


def rounds(build, root):
    environment = dict(os.environ, XZ_OPT="-0", H200_SEED="5", H200_SCALE="0.5", H200_STANDIN="0.15", H200_EXPECTED="40", H200_HOLD="2", H200_CPUS="16")
    for variable in [v for v in environment if v.startswith("SMARTMIG_")]: del environment[variable]
    subprocess.run([QUEUE, "pack", build, root], env=environment, check=True, stdout=subprocess.DEVNULL)
    told = subprocess.run([os.path.join(HERE, "stand_in_h200.sh"), build, root + "/machine", QUEUE, "run", root, root + "/out", "script7",
                           "best-loop", "prelaunch-loop"], env=environment, capture_output=True, text=True)
    equal(told.returncode, 0, f"{told.stdout[-2000:]}{told.stderr[-2000:]}")
    return told.stdout


def check_round(out, name, order):
    jobs = lines(f"{out}/{name}.jobs.jsonl")
    equal(sorted(j["name"] for j in jobs), sorted(order), f"{name}: each job ran once")
    owner = name.rsplit("-", 1)[0]
    shown = {j["name"]: j for j in json.load(open(f"{out}/{owner}.final.json"))["jobs"] if j["started_at"] and
             any(j["name"] == own["name"] and j["started_at"] - 1 <= own["end"] <= j["ended_at"] + 1 for own in jobs)}
    for own in jobs:
        daemon = shown[own["name"]]
        equal((daemon["state"], daemon["attempt"], daemon["slice"]), ("done", 1, own["slice"]), f"{name}: {own['name']}")
        check(own["cuda"] >= daemon["started_at"] - 0.005, f"{name}: {own['name']} was on the GPU {daemon['started_at'] - own['cuda']:.3f} s before it had a slice")
    stays = [(j["started_at"], j["ended_at"], int(j["slice"][0])) for j in shown.values()]
    check(slices_at_once(stays) <= 7, f"{name}: {slices_at_once(stays)} slices of seven at once")
    return jobs, shown


def waste(*paths):
    return json.loads(subprocess.run([sys.executable, WASTE, *paths, "--json"], check=True, capture_output=True, text=True).stdout)


def every_slice_second_is_accounted_for(root):
    """Two jobs on one GPU, the second after a slice was made: each part by hand."""
    events = [("submitted", 0, {"job": 0}), ("submitted", 0, {"job": 1}), ("reshape", 1, {"gpu": 0, "slices": ["3g.71gb@0"]}),
              ("created", 2, {"gpu": 0, "slices": ["3g.71gb@0"]}), ("started", 2, {"job": 0, "gpu": 0, "slice": "3g.71gb@0"}),
              ("finished", 6, {"job": 0}), ("reshape", 6, {"gpu": 0, "slices": ["7g.141gb@0"]}), ("created", 7, {"gpu": 0, "slices": ["7g.141gb@0"]}),
              ("started", 8, {"job": 1, "gpu": 0, "slice": "3g.71gb@0"}), ("finished", 10, {"job": 1})]
    path = root + "/made.journal.jsonl"
    with open(path, "w") as file:
        file.write(json.dumps({"smartmig_journal": 1, "platform": "1xh200-141gb"}) + "\n")
        for seq, (kind, at, fields) in enumerate(events): file.write(json.dumps({"t": int(at * 1e6), "seq": seq, "ev": kind, **fields}) + "\n")
    equal(waste(path), [{"seconds_s": 10.0, "jobs": 2, "slices": 7, "first_start_s": 2.0, "seventh_start_s": None,
                         "slice_seconds": {"launch": 0.0, "work": 18.0, "first": 14.0, "making": 7.0, "gaps": 16.0 + 7.0, "tail": 8.0}}], "slice-seconds")


def check_what_was_foretold(out, printed):
    equal([os.path.exists(f"{out}/best-loop-{i}.known.jsonl") for i in (1, 2, 3)], [False, True, True], "rounds before which something was known")
    for row in lines(out + "/best-loop-3.known.jsonl"):
        check(row["runs"] == 2 and row["sizes"]["1g.18gb"]["s"] >= row["sizes"]["7g.141gb"]["s"] > 0, f"before the third round: {row}")
    foretold = {l.split()[0]: l.split()[-1] for l in printed[printed.index("the simulator with"):].splitlines() if l.startswith(("best-loop", "script7"))}
    equal([foretold.get(name) for name in ("script7", *ROUNDS[:3])], ["measured", None, "learned", "learned"], "what each run was foretold from")
    rows = waste(out + "/best-loop.journal.jsonl", *(f"{out}/best-loop-{i}.jobs.jsonl" for i in (1, 2, 3)))
    equal([row["jobs"] for row in rows], [16, 16, 16], "jobs of each round in the journal")
    for row in rows:
        check(abs(sum(row["slice_seconds"].values()) - 7 * row["seconds_s"]) < 0.01 * 7 * row["seconds_s"], f"parts of {row}")
        check(row["slice_seconds"]["launch"] > 0 and row["slice_seconds"]["work"] > 0, f"launch and work of {row}")


def a_batch_by_a_script_and_by_a_queue_that_learns(build):
    root = tempfile.mkdtemp(prefix="smartmig-rounds-")
    try:
        printed, out = rounds(build, root), root + "/out"
        order = [line.split()[0] for line in open(out + "/batch")]
        equal(len(order), 16, "jobs of the batch")
        equal(len({line.split()[1] for line in open(out + "/batch")}), 6, "kinds")
        equal(sorted(j["name"] for j in lines(out + "/script7.jobs.jsonl")), sorted(order), "script7: each job ran once")
        for name in ROUNDS:
            jobs, shown = check_round(out, name, order)
            if name.endswith("-1"):  # until the first has ended nothing is known: all alike, in the order in which they came
                ended = min(shown[job]["ended_at"] for job in order)
                begun = [job for job in order if shown[job]["started_at"] <= ended]
                equal(begun, order[:len(begun)], f"{name}: which jobs began first")
                times = [shown[job]["started_at"] for job in begun]  # of processes: on a busy machine neighbours change places
                check(all(after > before - 1 for before, after in zip(times, times[1:])), f"{name}: order of the starts: {list(zip(begun, times))}")
            if name.startswith("prelaunch"):
                held = sum(j["held_s"] > 0.05 for j in shown.values())
                check(held >= 9, f"{name}: {held} of 16 jobs began before their slice was free")
        check_what_was_foretold(out, printed)
        every_slice_second_is_accounted_for(root)
        journal = open(out + "/prelaunch-loop.journal.jsonl").read()
        ahead = journal.count('"prelaunched"')
        check(18 <= ahead <= 32, f"{ahead} of 32 jobs started ahead")  # the others found a free slice when they came
        equal((journal.count('"granted"'), journal.count('"not_prelaunched"')), (ahead, 0), "grants, refusals")
        print("\n".join(l for l in printed[printed.index("\nagainst the plain script"):].split("energy books")[0].splitlines() if l))
    finally:
        shutil.rmtree(root, ignore_errors=True)


def jobs_that_come_one_by_one(build, root):
    """Within the stand-in: each may use all SMs on the smallest slice, so nobody waits beside a job that has the GPU for itself."""
    environment = dict(os.environ, SMARTMIG_SOCKET=root + "/s", SMARTMIG_MPS_DIR=root + "/m", SMARTMIG_LOCK_DIR=root)
    mig = lambda *words: subprocess.run([build + "/smartmig", *words], env=environment, capture_output=True, text=True)
    daemon = subprocess.Popen([build + "/smartmig", "serve", "--driver", "mps", "--like", "h200-141gb", "--state", root + "/state", "--socket", root + "/s"],
                              env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: mig("queue").returncode == 0, "a daemon")
        for _ in range(4):
            equal(mig("submit", "--", "sleep", "6").returncode, 0, "submitted")
            time.sleep(0.8)
        jobs = json.loads(mig("queue", "--json").stdout)["jobs"]
        equal([(job["state"], job["slice"].split("@")[0]) for job in jobs], [("running", "1g.18gb")] * 4, "four at once on small slices")
        equal(mig("cancel", "--all").returncode, 0, "cancelled")
        until(lambda: not json.loads(mig("queue", "--json").stdout)["jobs"], "an empty queue")
        for _ in range(14): equal(mig("submit", "--mem", "6G", "--", "sleep", "30").returncode, 0, "submitted")
        running = lambda: [job["slice"].split("@")[0] for job in json.loads(mig("queue", "--json").stdout)["jobs"] if job["state"] == "running"]
        until(lambda: running() == ["1g.8gb"] * 14, "fourteen at once, on half the memory of the smallest slice")
        mig("cancel", "--all")
    finally:
        daemon.kill()
        daemon.wait()


def nobody_waits_beside_a_lone_job(build):
    root = tempfile.mkdtemp(prefix="smartmig-lone-")
    try:
        told = subprocess.run([os.path.join(HERE, "stand_in_h200.sh"), build, root + "/machine", sys.executable, __file__, build, root],
                              capture_output=True, text=True)
        equal(told.returncode, 0, told.stdout[-2000:] + told.stderr[-2000:])
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        try:
            jobs_that_come_one_by_one(*sys.argv[1:])
        except Failed as problem:
            sys.exit(f"FAILED: {problem}")
        sys.exit(0)
    if len(sys.argv) != 2 or not os.path.exists(sys.argv[1] + "/smartmig"): sys.exit(__doc__)
    if not shutil.which("xz"):
        print("skipped: needs xz")
        sys.exit(77)
    try:
        nobody_waits_beside_a_lone_job(os.path.abspath(sys.argv[1]))
        a_batch_by_a_script_and_by_a_queue_that_learns(os.path.abspath(sys.argv[1]))
    except Failed as problem:
        sys.exit(f"FAILED: {problem}")
    print("rounds: ok")
