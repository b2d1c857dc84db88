#!/usr/bin/env python3
"""No two attempts on one slice, and none of a job twice: dependents, restored backups, strangers on a slice, GPUs that were
reset, slices that cannot be made, ends that cannot be read. The processes are watched from outside, through /proc:
tests/e2e/safety_test.py BUILD-DIRECTORY [TEST...]. SMARTMIG_TRIALS=N runs N random trials of restores, not one."""
import collections
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

TRIALS = int(os.environ.get("SMARTMIG_TRIALS", "1"))  # the harness clears such variables later
EDF = 'policy = "static+edf"\n[energy]\nsample = "0.1s"\n'


class Machine(harness.Station):
    def __init__(self, build):
        super().__init__(build)
        self.emulated = f"{self.root}/bin/nvml-sim/smartmig-emulated-job"
        self.ctl = f"{self.root}/bin/nvml-sim/nvml-sim-ctl"
        shutil.copy(os.path.join(build, "nvml-sim/nvml-sim-ctl"), self.ctl)
        self.environment = {**os.environ, "LD_LIBRARY_PATH": f"{self.root}/bin/nvml-sim",
                            "NVML_SIM_STATE": f"{self.state}/machine"}
        self.gpus = None

    def begin(self, gpus, config=EDF):
        self.gpus, self.config_text = gpus, config
        self.serve(gpus, config=config)

    def trouble(self, verb, *words):
        subprocess.run([self.ctl, verb, f"{self.state}/machine", *words], check=True, timeout=20, env=self.environment)

    def crash(self):
        self.process.kill()
        self.process.wait()
        self.process = None

    def again(self):
        self.serve(self.gpus, config=self.config_text)

    def restore(self, copy):
        done = subprocess.run([self.program, "restore", copy, "--state", self.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")

    def slices(self):
        return [s for gpu in self.client().get("/v1/gpus").json["gpus"] for s in gpu["slices"]]

    def listed(self):
        """Processes that the GPUs list."""
        shown = subprocess.run([self.ctl, "show", f"{self.state}/machine", "--json"], capture_output=True, check=True)
        return [process["pid"] for process in json.loads(shown.stdout)["processes"]]

    def alive(self):
        """(slice, job, attempt) of every process of a job of this installation that is no zombie."""
        found = set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            with contextlib.suppress(OSError):
                with open(f"/proc/{entry}/environ", "rb") as file:
                    names = dict(e.split(b"=", 1) for e in file.read().split(b"\0") if b"=" in e)
                if names.get(b"NVML_SIM_STATE", b"").decode() != f"{self.state}/machine":
                    continue
                if b"SMARTMIG_ATTEMPT_TOKEN" not in names:
                    continue
                job, attempt = names[b"SMARTMIG_ATTEMPT_TOKEN"].split(b"-")[0].split(b".")
                with open(f"/proc/{entry}/stat") as file:
                    if file.read().rsplit(")", 1)[1].split()[0] in "ZX":
                        continue
                found.add((names.get(b"CUDA_VISIBLE_DEVICES", b"").decode(), int(job), int(attempt)))
        return found


class Watch:
    """Looks at the processes again and again: two attempts on a slice, or two of one job, are kept in `broken`."""

    def __init__(self, machine):
        self.machine, self.broken, self.began = machine, [], collections.defaultdict(set)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.look)

    def look(self):
        while not self.over.wait(0.02):
            on, of = collections.defaultdict(set), collections.defaultdict(set)
            for device, job, attempt in self.machine.alive():
                on[device].add((job, attempt))
                of[job].add(attempt)
                self.began[job].add(attempt)
            self.broken += [f"{device}: {sorted(who)}" for device, who in on.items() if len(who) > 1]
            self.broken += [f"job {job}: attempts {sorted(which)}" for job, which in of.items() if len(which) > 1]

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


@contextlib.contextmanager
def running(build, gpus="1xa100-40gb", config=EDF):
    machine = Machine(build)
    try:
        machine.begin(gpus, config)
        yield machine
    finally:
        machine.close()


def a_dependent_that_runs_is_left_alone(build):
    with running(build, "2xa100-40gb") as m, Watch(m) as watch:
        c = m.client()
        x = c.sh("sleep 1", min_slices=7)
        y = c.submit(
            ["sh", "-c", "sleep 8"], min_slices=7, dependencies=[f"after:{x}"])
        until(lambda: c.job(y)["state"] == "running", "both run")
        equal(c.wait(x)["state"], "done", "the first")
        equal(c.job(y)["state"], "running", "the second, once the first has ended")
        m.crash()
        m.again()
        c = m.client()
        end = c.wait(y)
        equal((end["state"], end["attempt"]), ("done", 1), "the second, after a crash")
        # One that runs is really cancelled.
        x = c.sh("sleep 0.5", min_slices=7)
        y = c.submit(["sh", "-c", "sleep 600"], min_slices=7, dependencies=[f"after:{x}"])
        until(lambda: c.job(y)["state"] == "running", "both run")
        c.wait(x)
        equal(c.ask("DELETE", f"/v1/jobs/{y}").status, 200, "cancel")
        equal(c.wait(y)["state"], "cancelled", "the second")
        until(lambda: not m.alive(), "its processes are gone")
    equal(watch.broken, [], "attempts that met")


def what_is_alive_has_its_slice_after_a_restore(build):
    with running(build) as m, Watch(m) as watch:
        c = m.client()
        jobs = [c.sh(f"sleep {s}", min_slices=7) for s in (1.5, 6, 1)]
        until(lambda: c.job(jobs[0])["state"] == "running", "the first runs")
        copy = f"{m.root}/copy.db"
        equal(c.post("/v1/backup", {"path": copy}).status, 200, "backup")
        until(lambda: c.job(jobs[1])["state"] == "running", "the second runs")
        m.crash()
        m.restore(copy)
        m.again()
        c = m.client()
        for number in jobs:
            end = c.wait(number)
            equal((end["state"], end["attempt"]), ("done", 1), f"job {number}")
    equal(watch.broken, [], "attempts that met")


def restores_at_random_points(build):
    for trial in range(TRIALS):
        seed = random.randrange(1 << 30) if trial else 7
        rng = random.Random(seed)
        with running(build, rng.choice(["1xa100-40gb", "2xa100-40gb"])) as m, Watch(m) as watch:
            c = m.client()
            jobs = [c.sh(f"sleep {rng.uniform(0.2, 2.5):.2f}", min_slices=rng.choice([1, 1, 2, 3, 7]), requeue=True)
                    for _ in range(24)]
            for turn in range(3):
                copy = f"{m.root}/copy-{turn}.db"
                time.sleep(rng.uniform(0.3, 2))
                equal(m.client().post("/v1/backup", {"path": copy}).status, 200, "backup")
                time.sleep(rng.uniform(0.3, 3))
                m.crash()
                m.restore(copy)
                m.again()
            c = m.client()
            for number in jobs:
                equal(c.wait(number, 60)["state"], "done", f"job {number} (seed {seed})")
        equal(watch.broken, [], f"attempts that met (seed {seed})")
        twice = {job: sorted(which) for job, which in watch.began.items() if len(which) > 1}
        equal(twice, {}, f"jobs that ran twice (seed {seed})")


def nobody_starts_beside_a_stranger(build):
    with running(build) as m:
        c = m.client()
        first = c.submit([m.emulated, "--work-s", "600"], min_slices=7)
        device = until(lambda: next((s["device"] for s in m.slices() if s["job"] == first), None), "it has a slice")
        stranger = subprocess.Popen([m.emulated, "--work-s", "600"], stdout=subprocess.DEVNULL,
                                    env={**m.environment, "CUDA_VISIBLE_DEVICES": device})
        try:
            until(lambda: sum(s["used_mib"] >= 0 for s in m.slices()) and stranger.poll() is None, "it is there")
            time.sleep(0.5)  # samples have seen it
            c.ask("DELETE", f"/v1/jobs/{first}")
            c.wait(first)
            second = c.sh("true", min_slices=7)
            bad = until(lambda: next((s for s in m.slices() if s["state"] == "quarantined"), None), "it is noticed")
            check(f"process {stranger.pid}" in bad["words"], f"its words: {bad['words']}")
            check(c.job(second)["state"] == "queued", "the job that was to start waits")
            why = c.get(f"/v1/jobs/{second}/why").json
            equal(why["code"], "slice_quarantined", f"why ({why['sentence']})")
            check("smartmig_refused_starts_total 0\n" not in c.get("/metrics").body.decode(), "the metric")
        finally:
            stranger.kill()
            stranger.wait()
        equal(c.wait(second)["state"], "done", "the job, once the stranger has gone")


def a_start_asks_the_gpu_who_is_there_now(build):
    """No sample has seen the stranger: the list of processes that the start waits for has."""
    with running(build, config=EDF.replace("0.1s", "1m")) as m:
        c = m.client()
        equal(c.wait(c.sh("true", min_slices=7))["state"], "done", "a job before")
        device = until(lambda: next((s["device"] for s in m.slices() if s["device"]), None), "a slice is there")
        time.sleep(1)  # the sample at its end is over
        stranger = subprocess.Popen([m.emulated, "--work-s", "600"], stdout=subprocess.DEVNULL,
                                    env={**m.environment, "CUDA_VISIBLE_DEVICES": device})
        try:
            until(lambda: stranger.pid in m.listed(), "the GPU lists it")
            waits = c.sh("true", min_slices=7)
            bad = until(lambda: next((s for s in m.slices() if s["state"] == "quarantined"), None), "it is noticed")
            check(f"process {stranger.pid}" in bad["words"], f"its words: {bad['words']}")
            equal(c.job(waits)["state"], "queued", "the job that was to start")
            equal(c.get(f"/v1/jobs/{waits}/why").json["code"], "slice_quarantined", "why")
        finally:
            stranger.kill()
            stranger.wait()
        equal(c.wait(waits)["state"], "done", "the job, once the stranger has gone")


def what_an_order_ended_is_not_failed_after_a_restore(build):
    with running(build, "2xa100-40gb") as m, Watch(m) as watch:
        c = m.client()
        jobs = [c.sh("sleep 600", min_slices=3) for _ in range(2)]
        until(lambda: all(c.job(n)["state"] == "running" for n in jobs), "both run")
        copy = f"{m.root}/copy.db"
        equal(c.post("/v1/backup", {"path": copy}).status, 200, "backup")
        equal(c.ask("DELETE", f"/v1/jobs/{jobs[0]}").status, 200, "cancel")
        equal(c.post(f"/v1/jobs/{jobs[1]}/requeue").status, 200, "requeue")
        equal(c.wait(jobs[0])["state"], "cancelled", "the cancelled one")
        until(lambda: c.job(jobs[1])["attempt"] == 2 and c.job(jobs[1])["state"] == "running", "the other runs again")
        m.crash()
        m.restore(copy)
        m.again()
        c = m.client()
        end = c.wait(jobs[0])
        equal(end["state"], "cancelled", f"the cancelled one, whose order the backup does not know ({end['reason']})")
        equal((c.job(jobs[1])["state"], c.job(jobs[1])["attempt"]), ("running", 2), "the other")
    equal(watch.broken, [], "attempts that met")


def a_reset_gpu_is_read_again(build):
    with running(build) as m:
        c = m.client()
        equal(c.wait(c.sh("true", min_slices=7))["state"], "done", "a job before")
        m.trouble("fault", "gpu-lost", "--gpu", "0")
        gpu = lambda: c.get("/v1/gpus").json["gpus"][0]
        until(lambda: gpu()["state"] == "lost", "it is lost")
        m.trouble("clear")
        m.trouble("reset", "--gpu", "0")
        equal(c.post("/v1/gpus/0/resume").status, 200, "resume")
        for size in (7, 3, 1):
            end = c.wait(c.sh("true", min_slices=size))
            equal((end["state"], end["attempt"]), ("done", 1), f"a job on {size} slices ({end['reason']})")
        # Reset behind the daemon's back: nobody fails of it.
        m.trouble("reset", "--gpu", "0")
        ends = [c.wait(n) for n in [c.sh("true", min_slices=1) for _ in range(6)]]
        equal([e["state"] for e in ends], ["done"] * 6, f"jobs after a reset ({[e['reason'] for e in ends]})")


def a_gpu_that_was_lost_at_the_start_is_found_after_its_reset(build):
    with running(build, "2xa100-40gb") as m:
        c = m.client()
        equal(c.wait(c.sh("true", min_slices=1))["state"], "done", "a job before")
        m.trouble("fault", "gpu-lost", "--gpu", "1")
        gpu = lambda: c.get("/v1/gpus").json["gpus"][1]
        until(lambda: gpu()["state"] == "lost", "it is lost")
        m.crash()
        m.again()
        equal(gpu()["state"], "lost", "the GPU after a restart")
        equal(c.post("/v1/gpus/1/resume").status, 409, "resume while it is lost")
        m.trouble("clear")
        m.trouble("reset", "--gpu", "1")
        answer = c.post("/v1/gpus/1/resume")
        equal(answer.status, 200, f"resume after its reset ({answer})")
        equal(c.post("/v1/gpus/0/drain", {}).status, 200, "drain of the other one")
        end = c.wait(c.sh("true", min_slices=7))
        equal((end["state"], end["attempt"]), ("done", 1), f"a job on it ({end['reason']})")


def slices_that_cannot_be_made_are_told_of(build):
    with running(build) as m:
        c = m.client()
        equal(c.wait(c.sh("true", min_slices=1))["state"], "done", "a job before")
        m.trouble("fault", "create-fail", "--gpu", "0", "--count", "1000")
        m.trouble("reset", "--gpu", "0")
        number = c.sh("true", min_slices=7)
        gpu = lambda: c.get("/v1/gpus").json["gpus"][0]
        words = until(lambda: (lambda g: g["words"] if "creating" in g["words"] else None)(gpu()), "the GPU tells")
        check(gpu()["state"] == "failing" and "again in" in words, f"{gpu()['state']}: {words}")
        why = c.get(f"/v1/jobs/{number}/why").json
        equal(why["code"], "reshape_fails", f"why ({why['sentence']})")
        check("cannot create a slice" in why["sentence"] and "it takes seconds" not in str(why), f"why: {why}")
        m.trouble("clear")
        equal(c.wait(number, 60)["state"], "done", "the job, once slices can be made")
        equal(gpu()["state"], "ok", "the GPU")


def an_end_that_cannot_be_read_is_no_end(build):
    with running(build) as m:
        c = m.client()
        number = c.sh("sleep 1")
        until(lambda: c.job(number)["state"] == "running", "it runs")
        limits = resource.prlimit(m.process.pid, resource.RLIMIT_NOFILE)
        supervisor = until(m.supervisors, "its supervisor")[0]
        resource.prlimit(m.process.pid, resource.RLIMIT_NOFILE, (4, limits[1]))
        until(lambda: not os.path.exists(f"/proc/{supervisor}"), "it has ended")
        time.sleep(1.5)  # while nothing can be opened
        resource.prlimit(m.process.pid, resource.RLIMIT_NOFILE, limits)
        end = c.wait(number)
        equal((end["state"], end["exit_code"], end["attempt"]), ("done", 0, 1), f"the job ({end['reason']})")


@contextlib.contextmanager
def slow_to_begin(build, seconds, gpus="2xa100-40gb"):
    """Supervisors that take their time before they say that an attempt has begun."""
    with running(build, gpus) as m:
        place = f"{m.root}/bin/supervisor/smartmig-supervisor"
        os.rename(place, place + "-itself")
        with open(place, "w") as file:
            file.write(f'#!/bin/bash\nsleep {seconds}\nexec -a smartmig-supervisor {place}-itself "$@"\n')
        os.chmod(place, 0o755)
        yield m


def others_are_answered_while_jobs_begin(build):
    with slow_to_begin(build, 3) as m:
        c, took = m.client(), []
        jobs = [c.sh("sleep 2", min_slices=3) for _ in range(3)]
        until(lambda: all(c.job(n)["state"] == "starting" for n in jobs[:2]), "two are beginning")
        c.ask("DELETE", f"/v1/jobs/{jobs[1]}")
        while any(c.job(n)["state"] == "starting" for n in jobs):
            began = time.monotonic()
            c.get("/v1/status")
            took.append(time.monotonic() - began)
            time.sleep(0.02)
        check(max(took) < 1, f"a small request took {max(took):.1f} s")
        equal([c.wait(n)["state"] for n in jobs], ["done", "cancelled", "done"], "ends")
        ran = [c.job(n)["ended_at"] - c.job(n)["started_at"] for n in (jobs[0], jobs[2])]
        check(max(ran) < 4, f"run times count from the beginning: {ran}")


def a_daemon_that_dies_while_jobs_begin_runs_each_once(build):
    with slow_to_begin(build, 0.7) as m, Watch(m) as watch:
        marks = f"{m.root}/marks"
        for pause in (0.05, 0.4, 0.75, 1.1):
            c = m.client()
            jobs = [c.sh(f"echo {k} >>{marks}-{pause}; sleep 0.5", min_slices=3) for k in range(4)]
            until(lambda: any(c.job(n)["state"] != "queued" for n in jobs), "some are beginning")
            time.sleep(pause)
            m.crash()
            m.again()
            c = m.client()
            equal([c.wait(n)["state"] for n in jobs], ["done"] * 4, "ends")
            with open(f"{marks}-{pause}") as file:
                equal(sorted(file.read().split()), list("0123"), f"who ran, killed after {pause} s")
    equal(watch.broken, [], "attempts that met")


harness.main([a_dependent_that_runs_is_left_alone, what_is_alive_has_its_slice_after_a_restore, restores_at_random_points,
              nobody_starts_beside_a_stranger, a_start_asks_the_gpu_who_is_there_now,
              what_an_order_ended_is_not_failed_after_a_restore, a_reset_gpu_is_read_again,
              a_gpu_that_was_lost_at_the_start_is_found_after_its_reset, slices_that_cannot_be_made_are_told_of,
              an_end_that_cannot_be_read_is_no_end, others_are_answered_while_jobs_begin,
              a_daemon_that_dies_while_jobs_begin_runs_each_once], "safety")
