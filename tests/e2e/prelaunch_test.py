#!/usr/bin/env python3
"""Jobs that start before their slice is free (submit --prelaunch), with a real daemon, real processes, the real preload library
and a stand-in for CUDA: tests/e2e/prelaunch_test.py BUILD-DIRECTORY [TEST...]. Needs the targets smartmig_preload and
preload_stub_cuda."""
import contextlib
import os
import shutil
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

# Initialises CUDA as a program would, and says on which device.
JOB = """
import ctypes, os, sys, time
print("began", os.getpid(), flush=True)
cuda = ctypes.CDLL("libcuda.so.1")
cuda.stub_device.restype = ctypes.c_char_p
code = cuda.cuInit(0)
print("device", cuda.stub_device().decode(), "code", code, flush=True)
time.sleep(float(sys.argv[1]))
sys.exit(code)
"""
WHOLE = dict(min_slices=7)  # one job at a time
UNSAID = object()


@contextlib.contextmanager
def running(build, config="", library=True):
    station = harness.Station(build)
    try:
        for what in ("libsmartmig-preload.so",) * library + ("stub/libcuda.so.1",):
            place = os.path.join(station.root, "bin/preload", what)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(build, "preload", what), place)
            os.chmod(place, 0o755)
        station.job = os.path.join(station.root, "job.py")
        with open(station.job, "w") as file:
            file.write(JOB)
        station.settings = config
        station.serve("1xa100-40gb", config)
        yield station
    finally:
        station.close()


def submit(s, command=None, seconds=0, **spec):
    """With CUDA's stand-in in its path, which registers it on its emulated slice."""
    environment = [f"LD_LIBRARY_PATH={s.root}/bin/preload/stub", f"STUB_NVML={s.root}/bin/nvml-sim/libnvidia-ml.so.1",
                   "PATH=/usr/bin:/bin"]
    spec = {"environment": environment, "prelaunch": True, "grace_s": 1, **WHOLE, **spec}
    return s.client().submit(command or ["python3", s.job, str(seconds)], **{k: v for k, v in spec.items() if v is not UNSAID})


def blocker(s, **spec):
    """Has the GPU until release(s)."""
    with contextlib.suppress(FileNotFoundError):
        os.remove(s.root + "/go")
    job = submit(s, ["sh", "-c", f"until test -e {s.root}/go; do sleep 0.02; done"], prelaunch=False, **spec)
    until(lambda: s.client().job(job)["state"] == "running", "the first job runs")
    return job


def release(s):
    open(s.root + "/go", "w").close()


def at_cuda(s, job):
    """Waits until a process of it stands at its first CUDA call."""
    def there():
        place = f"{s.state}/memory/{job}.{s.client().job(job)['attempt']}"
        return os.path.isdir(place) and any(name.endswith(".cuda") for name in os.listdir(place))
    until(there, f"job {job} comes to CUDA")


def notes(s, kind):
    return s.client().get("/v1/journal").body.decode().count(f'"{kind}"')


def a_job_waits_at_its_first_cuda_call_and_begins_on_its_slice(build):
    with running(build) as s:
        first = blocker(s)
        job = submit(s)
        at_cuda(s, job)
        shown = s.client().job(job)
        equal((shown["state"], shown["attempt"], shown["slice"]), ("queued", 1, None), "state, attempt, slice")
        check(shown["ahead_at"], f"nothing began ahead: {shown}")
        why = s.client().get(f"/v1/jobs/{job}/why").json
        check("wait at their first CUDA call" in why["sentence"], f"why says: {why}")
        check("device" not in s.client().log(job), "it is held")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], ended["attempt"]), ("done", 1), f"state and attempt ({s.client().log(job)})")
        check(f"device {ended['device']} code 0" in s.client().log(job), f"{ended['device']}: {s.client().log(job)}")
        check(ended["held_s"] > 0 and ended["to_cuda_s"] > 0 and ended["hidden_s"] <= ended["held_s"], f"booked: {ended}")
        check(ended["started_at"] >= s.client().job(first)["ended_at"] - 0.001, "its time begins with its slice")
        equal((notes(s, "prelaunched"), notes(s, "granted")), (1, 1), "notes of the journal")
        until(lambda: not os.listdir(os.path.join(s.state, "memory")), "no directory of an ended attempt is left")


def without_cuda_it_ends_without_a_slice(build):
    with running(build) as s:
        blocker(s)
        ends = s.client().wait(submit(s, ["sh", "-c", "echo nothing"]))
        equal((ends["state"], ends["slice"], ends["energy"]["joules_j"]), ("done", None, 0), "state, slice, joules")
        check("no CUDA call" in ends["reason"], f"reason: {ends['reason']}")
        fails = submit(s, ["sh", "-c", "exit 3"])
        until(lambda: s.client().job(fails)["ahead_refused"], "it failed ahead")
        equal(s.client().job(fails)["state"], "queued", "state of one that failed ahead")
        check("exit code 3" in s.client().get(f"/v1/jobs/{fails}/why").json["sentence"], "why tells")
        release(s)
        ended = s.client().wait(fails)
        equal((ended["state"], ended["attempt"], ended["exit_code"]), ("failed", 2, 3), "state, attempts, exit code")
        check(ended["slice"], "it failed on a slice")


def a_held_job_can_be_cancelled(build):
    with running(build) as s:
        blocker(s)
        job = submit(s)
        at_cuda(s, job)
        equal(len(s.supervisors()), 2, "supervisors")
        equal(s.client().ask("DELETE", f"/v1/jobs/{job}").status, 200, "cancel")
        equal(s.client().wait(job)["state"], "cancelled", "state")
        until(lambda: len(s.supervisors()) == 1, "its processes are gone")
        check("device" not in s.client().log(job), "it never had a slice")


def a_more_urgent_job_takes_the_slice_and_the_held_one_stays_held(build):
    with running(build, 'policy = "none+edf"\n') as s:
        blocker(s)
        held = submit(s, deadline_s=1000)
        at_cuda(s, held)
        urgent = submit(s, seconds=0.3, deadline_s=1, prelaunch=False)
        release(s)
        until(lambda: s.client().job(urgent)["state"] == "running", "the urgent one runs")
        shown = s.client().job(held)
        check(shown["state"] == "queued" and shown["ahead_at"], f"the held one: {shown}")
        equal(s.client().wait(held)["state"], "done", "state of the held one")
        check(s.client().job(held)["started_at"] >= s.client().job(urgent)["ended_at"] - 0.001, "one after the other")


def all_processes_of_a_job_are_held_and_get_the_grant(build):
    with running(build) as s:
        blocker(s)
        job = submit(s, ["sh", "-c", f"python3 {s.job} 0 & python3 {s.job} 0; wait"])
        place = f"{s.state}/memory/{job}.1"
        until(lambda: os.path.isdir(place) and sum(n.endswith(".cuda") for n in os.listdir(place)) == 2, "two are held")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], s.client().log(job).count(f"device {ended['device']} code 0")), ("done", 2), "state, devices")


def the_time_limit_counts_from_the_grant(build):
    with running(build) as s:
        blocker(s)
        job, long = submit(s, time_limit_s=0.4), submit(s, seconds=60, time_limit_s=0.4)
        for one in (job, long):
            at_cuda(s, one)
        time.sleep(0.5)
        equal(s.client().job(job)["state"], "queued", "state of one that waits longer than its limit")
        release(s)
        equal(s.client().wait(job)["state"], "done", "state")
        equal(s.client().wait(long)["state"], "timed_out", "state of one that takes longer")


def only_so_many_wait(build):
    with running(build, "[prelaunch]\nall = true\njobs = 2\ncpus = 2\n") as s:
        first = blocker(s)
        jobs = [submit(s, prelaunch=UNSAID) for _ in range(4)]
        for one in jobs[:2]:
            at_cuda(s, one)
        time.sleep(0.3)
        equal(len(s.supervisors()), 3, "supervisors: one runs, two wait")
        release(s)
        equal([s.client().wait(one)["state"] for one in [first] + jobs], ["done"] * 5, "states")


def what_cannot_be_held_starts_with_its_slice(build):
    with running(build, library=False) as s:
        answer = s.client().post("/v1/jobs", {"command": ["true"], "prelaunch": True})
        check(answer.status == 201 and "when its slice is there" in str(answer.json["warnings"]), f"submit: {answer}")
        equal(s.client().wait(answer.json["ids"][0])["state"], "done", "state")
        blocker(s)
        job = submit(s)
        until(lambda: s.client().job(job)["ahead_refused"], "the daemon knows that it cannot")
        check("libsmartmig-preload.so" in s.client().get(f"/v1/jobs/{job}/why").json["sentence"], "why tells")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], ended["attempt"], ended["held_s"]), ("done", 1, 0), "state, attempt, held seconds")


def other_users_are_held_too(build):
    if os.geteuid() != 0:
        return "needs root"
    with running(build) as s:
        blocker(s)
        nobody = s.client(65534, 65534)
        job = nobody.submit(["python3", s.job, "0"], environment=[f"LD_LIBRARY_PATH={s.root}/bin/preload/stub", "PATH=/usr/bin:/bin"],
                            directory="/", prelaunch=True, **WHOLE)
        at_cuda(s, job)
        release(s)
        ended = nobody.wait(job)
        check(ended["state"] == "done" and f"device {ended['device']}" in nobody.log(job), f"{ended['state']}: {nobody.log(job)}")


def kill(s, at=None):
    if at is None:
        s.process.kill()
    s.process.wait()


def daemons_die_and_nothing_is_lost_or_granted_twice(build):
    """Killed with one job held, one granted and running, and while it starts and grants them: at each crash point."""
    for at in (None, 2, 4, 6, 8):
        with running(build) as s:
            blocker(s)
            held = [submit(s, seconds=0.1) for _ in range(2)]
            for one in held:
                at_cuda(s, one)
            pids = {one: s.client().log(one).split()[1] for one in held}
            kill(s)
            release(s)  # the GPU is free before the next daemon comes
            if at is not None:
                os.environ["SMARTMIG_TEST_KILL_AT"] = str(at)
                with contextlib.suppress(harness.Failed, OSError, subprocess.TimeoutExpired):
                    s.serve("1xa100-40gb", s.settings)
                    s.process.wait(1.5)
                del os.environ["SMARTMIG_TEST_KILL_AT"]
                s.process.kill()
                s.process.wait()
            s.serve("1xa100-40gb", s.settings)
            for one in held:
                ended = s.client().wait(one)
                log = s.client().log(one)
                equal((ended["state"], ended["attempt"]), ("done", 1), f"state and attempt, killed at {at}: {log}")
                equal((log.count("began"), log.count("device MIG-"), log.split()[1]), (1, 1, pids[one]), f"its log, killed at {at}")
            one, two = sorted((s.client().job(j) for j in held), key=lambda j: j["started_at"])
            check(two["started_at"] >= one["ended_at"] - 0.001, f"both were on the GPU at once, killed at {at}")


def daemons_die_while_jobs_are_launched(build):
    for at in (3, 6, 9):
        with running(build) as s:
            blocker(s)
            kill(s)
            os.environ["SMARTMIG_TEST_KILL_AT"] = str(at)
            with contextlib.suppress(harness.Failed, OSError, subprocess.TimeoutExpired):
                s.serve("1xa100-40gb", s.settings)
            del os.environ["SMARTMIG_TEST_KILL_AT"]
            accepted = []
            with contextlib.suppress(harness.Failed, OSError, subprocess.TimeoutExpired):
                for _ in range(2):
                    accepted.append(submit(s, seconds=0.1))
                s.process.wait(1)
            s.process.kill()
            s.process.wait()
            s.serve("1xa100-40gb", s.settings)
            release(s)
            for one in accepted:
                ended, log = s.client().wait(one), s.client().log(one)
                equal((ended["state"], log.count("began"), log.count("code 0")), ("done", 1, 1), f"killed at {at}: {log}")


if __name__ == "__main__":
    harness.main([a_job_waits_at_its_first_cuda_call_and_begins_on_its_slice, without_cuda_it_ends_without_a_slice,
                  a_held_job_can_be_cancelled, a_more_urgent_job_takes_the_slice_and_the_held_one_stays_held,
                  all_processes_of_a_job_are_held_and_get_the_grant, the_time_limit_counts_from_the_grant, only_so_many_wait,
                  what_cannot_be_held_starts_with_its_slice, other_users_are_held_too,
                  daemons_die_and_nothing_is_lost_or_granted_twice, daemons_die_while_jobs_are_launched], "prelaunch")
