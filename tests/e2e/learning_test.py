#!/usr/bin/env python3
"""A daemon that is told nothing learns what a command takes on each slice size, with real processes on an emulated GPU:
tests/e2e/learning_test.py BUILD-DIRECTORY [TEST...]."""
import json
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

# Launch of 0.15 s, then work that a larger slice makes shorter; steps are work.
JOB = """
import os, sys, time
size = int(os.environ["SMARTMIG_SLICE"].split("g")[0].split(":")[-1])
time.sleep(0.15 + float(sys.argv[2]) / 100 / size ** 0.8)
"""


def running(build):
    station = harness.Station(build)
    station.job = os.path.join(station.root, "job.py")
    with open(station.job, "w") as file:
        file.write(JOB)
    return harness.running(station)


def submit(s, name, steps, **spec):
    answer = s.client().post("/v1/jobs", {"command": ["python3", "-S", s.job, name, str(steps)], **spec})
    check(answer.status == 201, f"submit: {answer}")
    return answer.json["ids"][0]


def told(s, *words):
    done = subprocess.run([s.program, "history", *words, "--json"] if words[0].isdigit() else [s.program, "history", "--json", "--", *words],
                          env={**os.environ, "SMARTMIG_SOCKET": s.socket}, capture_output=True, text=True)
    equal(done.returncode, 0, f"smartmig history {words}: {done.stderr}")
    return json.loads(done.stdout)


def metric(s, name):
    for line in s.client().get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[-1])
    return 0.0


def rounds_get_better(build):
    with running(build) as s:
        c = s.client()
        command = ["python3", "-S", s.job]
        equal(told(s, *command, "resnet", "60")["sizes"], [], "what is known before")
        jobs = []
        for round in range(3):
            jobs = [submit(s, name, 60) for name in ("resnet", "bert", "gpt", "vit")]
            for job in jobs:
                equal(c.wait(job)["state"], "done", "a job")
        known = told(s, str(jobs[0]))
        equal(known["runs"], 3, "runs of one command")
        check(known["mean_error"] is not None, "predictions are compared with what it took")
        last = known["last"][-1]
        check(abs(last["ran_s"] / last["predicted_s"] - 1) < 0.6, f"the last prediction: {last}")
        times = [size["s"] for size in known["sizes"]]
        equal(times, sorted(times, reverse=True), "more never takes longer")
        check(c.job(jobs[0])["estimate_source"] == "history", "the estimate's source")
        check(metric(s, 'smartmig_run_time_log_error_count{source="history"}') >= 4, "errors are exported")
        # A command that never ran borrows from its like; other numbers, another time.
        new = told(s, *command, "resnet-large", "60")
        equal(new["runs"], 0, "runs of a new command")
        check(new["borrowed_runs"] > 0 and new["sizes"], f"it borrows: {new}")
        words = subprocess.run([s.program, "history", str(jobs[0])], env={**os.environ, "SMARTMIG_SOCKET": s.socket},
                               capture_output=True, text=True)
        check("from 3 runs" in words.stdout and "1g.5gb" in words.stdout, words.stdout + words.stderr)


def survives_a_restart(build):
    with running(build) as s:
        job = submit(s, "resnet", 30)
        equal(s.client().wait(job)["state"], "done", "the job")
        until(lambda: told(s, str(job))["last"][0]["watts_w"] is not None, "its joules are known")
        before = told(s, str(job))
        s.end()
        s.serve("1xa100-40gb")
        equal(told(s, str(job)), before, "what is known after a restart")


def a_time_told_for_a_size_keeps_launch_apart(build):
    station = harness.Station(build)
    table = os.path.join(station.root, "speeds.csv")
    with open(table, "w") as file:
        file.write("kind,gpu,profile,throughput,unit,mem_mib,launch_s,source\n")
        for profile, speed in (("1g.5gb", 10), ("2g.10gb", 20), ("3g.20gb", 25), ("4g.20gb", 28), ("7g.40gb", 30)):
            file.write(f"site-train-1,a100-40gb,{profile},{speed},relative,1000,10,made\n")
    with harness.running(station, config=f'[tables]\nspeeds = ["{table}"]\n[defaults]\nexact_estimates = true\n') as s:
        c = s.client()
        # 3 s: less than a launch, so none. Each another program, of which nothing is known.
        for program, told_s, slices, on_1g, on_7g in (("true", 40, 1, 40, 20), ("echo", 20, 7, 40, 20), ("pwd", 3, 1, 3, 1)):
            answer = c.post("/v1/jobs", {"command": [program], "kind": "site-train-1", "estimate_s": told_s, "estimate_slices": slices})
            check(answer.status == 201, f"submit: {answer}")
            equal(c.wait(answer.json["ids"][0])["state"], "done", "the job")
            rows = [json.loads(line) for line in c.get("/v1/journal").body.decode().splitlines() if line]
            work = [row["work"] for row in rows if row.get("ev") == "submitted"][-1]
            check(abs(work[0] / 1e6 - on_1g) < 0.05 and abs(work[6] / 1e6 - on_7g) < 0.05, f"{told_s} s on {slices}g: planned as {work}")


def refused(build):
    with running(build) as s:
        c = s.client()
        equal(c.get("/v1/jobs/99/history").status, 404, "no such job")
        equal(c.post("/v1/history", {"command": []}).status, 400, "no command")
        equal(c.post("/v1/history", {"command": ["x"], "more": 1}).status, 400, "an unknown key")


harness.main([rounds_get_better, survives_a_restart, a_time_told_for_a_size_keeps_launch_apart, refused], "learning")
