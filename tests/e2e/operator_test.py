#!/usr/bin/env python3
"""What an operator meets, with a real daemon, emulated GPUs and real processes: a backup restored under running jobs, time
limits, many jobs at once, shortages: tests/e2e/operator_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import json
import os
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until


@contextlib.contextmanager
def running(build, gpus="1xa100-40gb", **more):
    station = harness.Station(build)
    try:
        station.serve(gpus, **more)
        yield station
    finally:
        station.close()


def notes(station, kind):
    lines = station.client().get("/v1/journal").body.decode().splitlines()
    return [note for note in map(json.loads, lines) if note.get("ev") == kind or note.get("note") == kind]


def a_backup_restored_under_running_jobs(build):
    whole = {"gpus": "4xa100-40gb", "config": 'policy = "none+edf"\n'}  # each job has a GPU of its own
    with running(build, **whole) as m:
        c, copy = m.client(), os.path.join(m.root, "copy.db")
        marks = os.path.join(m.root, "marks")
        equal(c.post("/v1/queue/pause", {}).status, 200, "pause")
        waited = c.sh(f"echo ran >>{marks}")
        stays = c.sh(f"echo stays >>{marks}; sleep 600")
        equal(c.post("/v1/backup", {"path": copy}).status, 200, "backup")
        equal(c.post("/v1/queue/resume", {}).status, 200, "resume")
        equal(c.wait(waited)["state"], "done", "the job that waited when the copy was made")
        later = c.sh("sleep 600", name="later")
        short = c.sh("exit 3")
        equal(c.wait(short)["state"], "failed", "a job of later that has ended")
        until(lambda: c.job(later)["state"] == c.job(stays)["state"] == "running", "both run")
        place = [c.job(n)["device"] for n in (later, stays)]
        m.end()
        done = subprocess.run([m.program, "restore", copy, "--state", m.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        m.serve(**whole)
        equal(c.job(waited)["state"], "done", "it is not run again")
        equal(c.job(later)["name"], "later", "the job of the time after the backup")
        equal([c.job(n)["state"] for n in (later, stays)], ["running"] * 2, "what runs")
        equal([c.job(n)["device"] for n in (later, stays)], place, "where it runs")
        equal((c.job(short)["state"], c.job(short)["exit_code"]), ("failed", 3), "how the short one ended")
        held = [s["job"] for gpu in c.get("/v1/gpus").json["gpus"] for s in gpu["slices"]]
        check({later, stays} <= set(held), f"their slices are theirs: {held}")
        check(c.post("/v1/queue/resume", {}).status == 200, "the copy was made in a pause")
        fresh = [c.sh("sleep 600") for _ in range(2)]
        check(min(fresh) > short, f"numbers are not given twice: {fresh}")
        until(lambda: c.job(fresh[0])["state"] == "running", "new work starts")
        places = [j["device"] for j in map(c.job, [later, stays, *fresh]) if j["state"] == "running"]
        equal(len(places), len(set(places)), f"slices are not shared: {places}")
        for number in (later, stays):
            equal(c.ask("DELETE", f"/v1/jobs/{number}").status, 200, "cancel")
            equal(c.wait(number)["state"], "cancelled", "a job that was taken over")
        equal(sorted(open(marks).read().split()), ["ran", "stays"], "each ran once")


def a_time_limit_is_not_success(build):
    with running(build) as m:
        c = m.client()
        number = c.sh("trap 'exit 0' TERM; sleep 600 & wait", time_limit_s=1)
        after = c.sh("true", dependencies=[f"afterok:{number}"])
        otherwise = c.sh("true", dependencies=[f"afternotok:{number}"])
        equal(c.wait(number)["state"], "timed_out", "a job that ends politely at its time limit")
        equal(c.wait(after)["state"], "cancelled", "what was to run after its success")
        equal(c.wait(otherwise)["state"], "done", "what was to run after its failure")


def a_shortage_of_descriptors_fails_no_job(build):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (72, 72))

    with running(build, "8xa100-40gb", before=few) as m:
        c = m.client()
        numbers = [c.sh("sleep 0.5", mem_mib=1000) for _ in range(60)]
        ends = [c.wait(n, 120) for n in numbers]
        equal({e["state"] for e in ends}, {"done"}, f"the jobs: {[e['reason'] for e in ends if e['state'] != 'done'][:2]}")


TESTS = [a_shortage_of_descriptors_fails_no_job, a_backup_restored_under_running_jobs, a_time_limit_is_not_success]

if __name__ == "__main__":
    harness.main(TESTS, "operator_test")
