#!/usr/bin/env python3
"""Jobs that are stopped for more urgent ones and go on from what they saved, with a real daemon, emulated GPUs and real
processes; also with the daemon killed on the way: tests/e2e/preempt_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

# It writes a line for each unit of work as it is done, and how many are done to another file when it is told to save.
# Whatever is done twice, or not at all, shows in the lines.
WORKER = """import os, signal, sys, time
lines, units, unit_s, deaf = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]
saved = lines + '.saved'
told = []
signal.signal(signal.SIGUSR1, signal.SIG_IGN if deaf else lambda *_: told.append(1))
done = int(open(saved).read()) if os.path.exists(saved) else 0
while done < units and not told:
    time.sleep(unit_s)
    with open(lines, 'a') as file: file.write('%d\\n' % done)
    done += 1
with open(saved + '.new', 'w') as file: file.write(str(done))
os.rename(saved + '.new', saved)
"""
QUIET = '[energy]\nsample = "1m"\n'  # samples are commits: one that is to die at the n-th does without
SAMPLED = '[energy]\nsample = "0.2s"\n'
UNIT_S = 0.05


class Machine(harness.Station):
    def __init__(self, build):
        super().__init__(build)
        self.work = os.path.join(self.root, "work")
        os.mkdir(self.work)
        os.chmod(self.work, 0o777)

    def worker(self, name, units, *more):
        return [sys.executable, "-c", WORKER, f"{self.work}/{name}", str(units), str(UNIT_S), *more]

    def lines(self, name):
        with contextlib.suppress(FileNotFoundError), open(f"{self.work}/{name}") as file:
            return [int(line) for line in file]
        return []

    def long_job(self, name, units, *more, **spec):
        """Takes the whole GPU and has all the time in the world; stopping it costs a tenth of a second."""
        return self.client().submit(self.worker(name, units, *more), name=name, estimate_s=units * UNIT_S,
                                    **{"deadline_s": 600, "min_slices": 7, "mem_mib": 1000, "restart_s": 0.1,
                                       "checkpoint_signal": "USR1", **spec})

    def runs_for_a_while(self, *names, units=16):
        until(lambda: all(len(self.lines(name)) >= units for name in names), f"the long job has done {units} units")

    def notes(self, kind, job):
        lines = self.client().get("/v1/journal").body.decode().splitlines()
        return [line for line in map(json.loads, lines) if line.get("note") == kind and line.get("job") == job]

    def say(self, *arguments):
        done = subprocess.run([self.program, arguments[0], "--socket", self.socket, *arguments[1:]],
                              capture_output=True, timeout=60)
        equal(done.returncode, 0, f"smartmig {' '.join(arguments)}: {done.stderr.decode()}")
        return done.stdout.decode()


def running(build, gpus="1xa100-40gb", config=QUIET):
    return harness.running(Machine(build), gpus, config=config)


def once_each(machine, name, units):
    equal(machine.lines(name), list(range(units)), f"units of work that {name} did")


def urgent(machine, seconds=0.3, **spec):
    # On time with room for a slow host, and seconds too late if it had to wait for the long job.
    return machine.client().sh(f"sleep {seconds}", **{"estimate_s": seconds, "deadline_s": 2, "min_slices": 7,
                                                      "mem_mib": 1000, **spec})


def stopped_and_resumed(build):
    with running(build) as m:
        c, units, restart_s = m.client(), 110, 0.3
        long = m.long_job("train", units, restart_s=restart_s)
        m.runs_for_a_while("train", units=34)
        first = c.job(long)["started_at"]
        short = urgent(m, 0.6)
        until(lambda: c.job(short)["state"] == "running", "the urgent job runs")
        waits = c.job(long)
        equal((waits["state"], waits["reason"], waits["preemptions"]), ("queued", "preempted", 1), "the long job")
        check("it was stopped for another job once" in m.say("why", str(long)), "smartmig why says it")
        check("queued, stopped 1x" in m.say("queue"), "smartmig queue says it")
        end = c.wait(short)
        equal((end["state"], end["late_s"]), ("done", 0), "the urgent job")
        again = until(lambda: (lambda j: j if j["state"] == "running" else None)(c.job(long)), "the long job goes on")
        # It was stopped between the urgent job's submission and its start.
        most, least = (units * UNIT_S - (end[instant] - first) for instant in ("submitted_at", "started_at"))
        predicted = again["expected_finish_at"] - again["started_at"]
        check(least + restart_s / 2 < predicted < most + 2 * restart_s,
              f"{predicted:.2f} s are predicted; {least:.2f} to {most:.2f} s were left, and its restart takes {restart_s} s")
        end = c.wait(long)
        equal((end["state"], end["attempt"], end["preemptions"]), ("done", 2, 1), "the long job")
        once_each(m, "train", units)
        equal([n["words"] for n in m.notes("requeued", long)], ["preempted"], "the journal")
        check("smartmig_preemptions_total 1\n" in c.get("/metrics").body.decode(), "the metric")


def stopped_for_small_slices(build):
    """The slice of the stopped job is taken apart: not before its processes are gone."""
    with running(build) as m:
        c, units = m.client(), 90
        long = m.long_job("train", units)
        m.runs_for_a_while("train")
        shorts = [urgent(m, 0.5, min_slices=1, deadline_s=3) for _ in range(3)]
        ends = [c.wait(n) for n in shorts]
        equal([(e["state"], e["late_s"]) for e in ends], [("done", 0)] * 3, "the urgent jobs")
        end = c.wait(long)
        equal((end["state"], end["preemptions"]), ("done", 1), "the long job")
        once_each(m, "train", units)
        check("operation_failed" not in c.get("/v1/journal").body.decode(), "no change of a slice failed")


def never_stopped(build):
    with running(build, "3xa100-40gb") as m:
        c, units = m.client(), 60
        numbers = []
        for name, spec in (("plain", {"requeue": True}), ("costly", {"checkpoint_signal": "USR1", "restart_s": 30})):
            numbers.append(c.submit(m.worker(name, units), name=name, estimate_s=units * UNIT_S, deadline_s=600,
                                    min_slices=7, mem_mib=1000, **spec))
        said = m.say("submit", "--checkpoint-signal", "USR1", "--restart-time", "0.1s", "--no-preempt",
                     "--min-slices", "7", "--mem", "1000M", "--deadline", "10m", "--estimate", f"{units * UNIT_S}s",
                     "--", *m.worker("asked", units))
        numbers.append(int(re.search(r"\d+", said).group()))
        m.runs_for_a_while("plain", "costly", "asked")
        shorts = [urgent(m) for _ in range(3)]
        for number, name in zip(numbers, ("plain", "costly", "asked")):
            end = c.wait(number)
            equal((end["state"], end["attempt"], end["preemptions"]), ("done", 1, 0), name)
            once_each(m, name, units)
        equal([c.wait(n)["state"] for n in shorts], ["done"] * 3, "those that had to wait")


def a_signal_that_is_ignored(build):
    with running(build) as m:
        c, units = m.client(), 60
        long = m.long_job("deaf", units, "deaf", grace_s=0.4)
        m.runs_for_a_while("deaf")
        short = urgent(m, deadline_s=0.4)
        equal(c.wait(short)["state"], "done", "the urgent job")
        end = c.wait(long)
        equal((end["state"], end["attempt"], end["preemptions"]), ("done", 2, 1), "the job that ignores its signal")
        words = "preempted; killed, for it did not end after SIGUSR1"
        equal([n["words"] for n in m.notes("requeued", long)], [words], "the journal")
        equal(m.lines("deaf")[-units:], list(range(units)), "its last attempt does all of it")


def submit_surely(machine, name):
    """An urgent job, whose submit may go unanswered because the daemon dies of it."""
    with contextlib.suppress(OSError, harness.http.client.HTTPException):
        return urgent(machine, name=name, deadline_s=0.3)
    return None


def killed_at(build, point, failures):
    """The daemon dies at its `point`-th moment of danger (before and after commits, after signals and starts)."""
    try:
        with running(build, config=SAMPLED) as m:
            units = 150
            long = m.long_job("train", units)
            m.runs_for_a_while("train")
            m.end()
            m.serve(config=QUIET, gpus="1xa100-40gb", before=lambda: os.putenv("SMARTMIG_TEST_KILL_AT", str(point)))
            submit_surely(m, "urgent")
            until(lambda: m.process.poll() is not None, f"the daemon dies at point {point}")
            equal(m.process.returncode, -signal.SIGKILL, "how it ended")
            m.serve(config=QUIET, gpus="1xa100-40gb")
            c = m.client()
            there = [j["id"] for j in c.get("/v1/jobs?state=active").json["jobs"]
                     + c.get("/v1/jobs?state=final").json["jobs"] if j["name"] == "urgent"]
            short = there[0] if there else urgent(m, name="urgent", deadline_s=0.3)
            equal(c.wait(short)["state"], "done", "the urgent job")
            end = c.wait(long)
            equal((end["state"], end["preemptions"]), ("done", 1), "the long job")
            once_each(m, "train", units)
            equal(len(m.notes("requeued", long)), 1, "requeues in the journal")
    except Exception as problem:
        failures.append(f"killed at point {point}: {problem}")


def the_daemon_is_killed_in_between(build):
    failures = []
    threads = [threading.Thread(target=killed_at, args=(build, n, failures)) for n in range(5, 15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(not failures, "; ".join(failures))


harness.main([stopped_and_resumed, stopped_for_small_slices, never_stopped, a_signal_that_is_ignored,
              the_daemon_is_killed_in_between], "preemption")
