#!/usr/bin/env python3
"""smartmig doctor --exercise on emulated GPUs: beside a daemon, with wrong tables and faults, killed in the middle:
tests/e2e/exercise_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until


class Machine:
    """An emulated machine of its own, without a daemon."""

    def __init__(self, build, gpus, *init):
        self.station, self.gpus = harness.Station(build), gpus
        self.control = os.path.join(build, "nvml-sim/nvml-sim-ctl")
        self.machine, self.report = self.station.state + "/machine", os.path.join(self.station.root, "report.json")
        os.makedirs(self.station.state)
        self.ctl("init", "--gpus", gpus, "--clock", "virtual", *init)

    def ctl(self, verb, *words):
        done = subprocess.run([self.control, verb, self.machine, *words], capture_output=True, text=True, timeout=30)
        equal(done.returncode, 0, f"nvml-sim-ctl {verb}: {done.stderr}")

    def command(self, *words):
        return [self.station.program, *words, "--emulate", self.gpus, "--state", self.station.state]

    def run(self, *words):
        return subprocess.run(self.command(*words), capture_output=True, text=True, timeout=120)

    def exercise(self, *more):
        done = self.run("doctor", "--exercise", "0", "--watch-s", "0.5", "--output", self.report, *more)
        return done, json.load(open(self.report)) if os.path.exists(self.report) else None

    def layout(self):
        gpu = json.loads(self.run("gpus", "--json").stdout)["gpus"][0]
        return sorted(s["slice"] if "slice" in s else s["name"] for s in gpu["slices"])


@contextlib.contextmanager
def machine(build, gpus="1xa30-24gb", *init):
    made = Machine(build, gpus, *init)
    try:
        yield made
    finally:
        made.station.close()


def names_nobody(text):
    for pattern in (r"GPU-[0-9a-f]{4}", r"MIG-[0-9a-f]{4}", r"pid [0-9]", r"/tmp/", r"/dev/"):
        check(not re.search(pattern, text), f"the report has {pattern}: {text}")
    check(socket.gethostname() not in text, "the report names the machine")


def a_machine_as_in_the_tables_agrees(build):
    with machine(build) as m:
        equal(m.run("mig", "apply", "--to", "2g+1g").returncode, 0, "a layout before")
        before = m.layout()
        done, report = m.exercise()
        equal(done.returncode, 0, f"exercise: {done.stdout}{done.stderr}")
        equal(report["differences"], [], "differences")
        equal((report["finished"], report["restored"]), (True, True), "finished and restored")
        check(all(row["worked"] == row["placements"] > 0 for row in report["profiles"]), f"all placements: {report}")
        equal(m.layout(), before, "the layout afterwards")
        names_nobody(json.dumps(report))


def wrong_tables_are_named(build):
    with machine(build, "1xa100-40gb", "--power", "linear:90:10:400") as m:
        m.ctl("fault", "slow", "--ms", "900", "--call", "nvmlDeviceCreateGpuInstanceWithPlacement")
        done, report = m.exercise()
        equal(done.returncode, 1, "exit code")
        about = {(d["about"], d["of"]) for d in report["differences"]}
        check(("watts", "idle") in about and ("watts", "7g.40gb") in about, f"watts: {about}")
        check(("seconds", "create 1g.5gb") in about, f"seconds: {about}")
        check(not any(a in ("geometry", "use", "reshape", "restore") for a, _ in about), f"nothing else: {about}")
        equal(report["restored"], True, "restored")


def faults_are_named_and_what_was_there_comes_back(build):
    for fault in (["create-fail"], ["ci-refused"], ["wrong-readback"], ["create-lies"], ["destroy-lies"],
                  ["in-use-lag", "--ms", "200"]):
        with machine(build) as m:
            equal(m.run("mig", "apply", "--to", "2g@2").returncode, 0, "a layout before")
            before = m.layout()
            m.ctl("fault", *fault, "--gpu", "0", "--count", "3")
            done, report = m.exercise()
            check(done.returncode in (0, 1) and report, f"{fault}: {done.returncode} {done.stderr}")
            names_nobody(json.dumps(report))
            m.ctl("clear")
            if not report["restored"]:
                m.run("doctor", "--release", "0")
                done, report = m.exercise()
                equal((done.returncode, report["restored"]), (0, True), f"{fault}: the next call: {done.stdout}")
            equal(m.layout(), before, f"{fault}: the layout afterwards")


def one_that_is_killed_is_restored_by_the_next(build):
    with machine(build, "1xa30-24gb", "--force", "--clock", "real") as m:
        equal(m.run("mig", "apply", "--to", "1g@0+2g@2").returncode, 0, "a layout before")
        before, deaths = m.layout(), 0
        for line in range(1, 8, 2):
            process = subprocess.Popen(m.command("doctor", "--exercise", "0", "--watch-s", "0.3", "--output", m.report),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            for _ in range(line):
                process.stderr.readline()
            process.send_signal(signal.SIGKILL)
            deaths += process.wait() == -signal.SIGKILL
            process.stderr.close()
        check(deaths >= 3, f"{deaths} were killed")
        process = subprocess.Popen(m.command("doctor", "--exercise", "0", "--watch-s", "0.3", "--output", m.report),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3):
            process.stderr.readline()
        process.send_signal(signal.SIGINT)  # one that is told to stop puts back what was there itself
        process.communicate(timeout=60)
        equal(process.returncode, 130, "exit code of one that was stopped")
        equal(m.layout(), before, "the layout afterwards")
        check(not any(f.startswith("exercise-") for f in os.listdir(m.station.state)), "its note is gone")


def a_daemons_gpu_must_be_drained(build):
    with harness.running(harness.Station(build), "2xa30-24gb", config='policy = "none+edf"\n') as s:
        c, report = s.client(), os.path.join(s.root, "report.json")
        command = [s.program, "doctor", "--exercise", "1", "--watch-s", "0.2", "--output", report, "--emulate",
                   "2xa30-24gb", "--state", s.state]
        jobs = [c.sh("sleep 600"), c.sh("sleep 600")]
        until(lambda: all(c.job(j)["state"] == "running" for j in jobs), "both GPUs are busy")
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        equal(refused.returncode, 1, "beside a daemon")
        check("is controlled by" in refused.stderr and "smartmig drain 1" in refused.stderr, refused.stderr)
        equal(c.post("/v1/gpus/1/drain", {}).status, 200, "drain")
        refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
        check(refused.returncode == 1 and "is controlled by" in refused.stderr, f"its job runs: {refused.stderr}")
        on_1 = next(j for j in jobs if c.job(j)["gpu"] == 1)
        equal(c.ask("DELETE", f"/v1/jobs/{on_1}").status, 200, "cancel")
        c.wait(on_1)

        def starts():
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if process.stderr.readline().startswith("exercising"):
                return process
            process.communicate(timeout=60)
            return None

        process = until(starts, "the daemon gives the GPU up")
        back = c.post("/v1/gpus/1/resume", {})
        check(back.status == 409 and b"controlled by" in back.body, f"undrain meanwhile: {back}")
        out, words = process.communicate(timeout=120)
        check(process.returncode in (0, 1), f"exercise: {process.returncode} {words}")
        equal((json.load(open(report))["finished"], json.load(open(report))["restored"]), (True, True), out)
        equal(c.post("/v1/gpus/1/resume", {}).status, 200, "undrain")
        other = c.sh("sleep 1")
        equal((c.wait(other)["state"], c.job(other)["gpu"]), ("done", 1), "a job there afterwards")
        equal(c.job(next(j for j in jobs if j != on_1))["state"], "running", "the other GPU's job went on")


TESTS = [a_machine_as_in_the_tables_agrees, wrong_tables_are_named, faults_are_named_and_what_was_there_comes_back,
         one_that_is_killed_is_restored_by_the_next, a_daemons_gpu_must_be_drained]

if __name__ == "__main__":
    harness.main(TESTS, "exercise_test")
