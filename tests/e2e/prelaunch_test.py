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
        equal((ends["state"], ends["slice"], ends["energy"]["energy_j"]), ("done", None, 0), "state, slice, joules")
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
    with running(build, "[prelaunch]\nall = true\njobs = 2\n[host]\ncpus = 8\n") as s:
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
        check(answer.status == 201 and "it is not prelaunched" in str(answer.json["warnings"]), f"submit: {answer}")
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
            # A start has the time of its step's beginning, an end the time at which the process went, which the step saw
            # a moment after. Each has the GPU for 100 ms.
            check(two["started_at"] >= one["ended_at"] - 0.02, f"both were on the GPU at once, killed at {at}")


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


def order(s, what, job):
    return s.client().post(f"/v1/jobs/{what}", {"ids": [job]}).status


def restart(s):
    s.process.kill()
    s.process.wait()
    s.serve("1xa100-40gb", s.settings)


def one_that_gives_up_waiting_is_not_done(build):
    """A parent that does not mind that its child ended at its first CUDA call: the work is not done."""
    with running(build) as s:
        blocker(s)
        job = submit(s, ["sh", "-c", f"timeout 0.7 python3 {s.job} 0; exit 0"])
        until(lambda: s.client().job(job)["ahead_refused"], "its first attempt has ended")
        equal(s.client().job(job)["state"], "queued", f"state: {s.client().job(job)['ahead_refused']}")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], ended["attempt"], s.client().log(job).count("device MIG-")), ("done", 2, 1), f"({ended['reason']})")


def a_job_that_may_not_run_any_more_gives_its_processes_up(build):
    with running(build) as s:
        blocker(s)
        job = submit(s)
        at_cuda(s, job)
        equal(order(s, "hold", job), 200, "hold")
        until(lambda: s.client().job(job)["state"] == "held" and len(s.supervisors()) == 1, "it is held and has no processes")
        restart(s)
        equal((s.client().job(job)["state"], len(s.supervisors())), ("held", 1), "state and supervisors after a restart")
        equal(order(s, "release", job), 200, "release")
        until(lambda: s.client().job(job)["attempt"] == 2, "it begins ahead again")
        at_cuda(s, job)
        later = s.client().post("/v1/jobs/update", {"ids": [job], "set": {"begin_s": 3600}})
        equal(later.status, 200, f"update: {later}")
        until(lambda: s.client().job(job)["state"] == "held" and len(s.supervisors()) == 1, "it begins later, without processes")
        equal(s.client().post("/v1/jobs/update", {"ids": [job], "set": {"begin_s": None}}).status, 200, "update")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], s.client().log(job).count("code 0")), ("done", 1), "state, runs to the end")


FORGER = """
import os, sys
place = os.environ["SMARTMIG_HOLD_DIR"]
if sys.argv[1] == "file":
    with open(place + "/grant.mine", "wb") as file:
        file.write(b"CUDA_VISIBLE_DEVICES=MIG-forged" + bytes(1))
    os.rename(place + "/grant.mine", place + "/grant")
else:
    os.makedirs(place + "/grant/full")
    for i in range(3000):
        open(f"{place}/{i}", "w").close()
"""


def a_grant_that_the_job_forges_is_none(build):
    with running(build) as s:
        with open(s.root + "/forge.py", "w") as file:
            file.write(FORGER)
        blocker(s)
        forger = submit(s, ["sh", "-c", f"python3 {s.root}/forge.py file; python3 {s.job} 0; until test -e {s.root}/go; do sleep 0.02; done"])
        # Its attempt is there a moment before its log.
        until(lambda: b"device MIG-forged" in s.client().get(f"/v1/jobs/{forger}/log").body, "it believes its own grant")
        restart(s)
        shown = s.client().job(forger)
        equal((shown["state"], shown["slice"]), ("queued", None), "what the next daemon thinks of it")
        spoiler = submit(s, ["sh", "-c", f"python3 {s.root}/forge.py spoil; python3 {s.job} 0"])
        at_cuda(s, spoiler)
        after = submit(s)
        release(s)
        ended = s.client().wait(spoiler)
        check(ended["state"] == "failed" and "no grant can be put" in ended["reason"], f"the spoiler: {ended}")
        equal(s.client().wait(after)["state"], "done", "the job behind it")
        check(s.client().wait(forger)["state"] in ("done", "failed"), "the forger ends")
        equal(notes(s, "shortage"), 0, "shortages of the machine")


def memory_requests_are_reported_by_held_jobs_too(build):
    with running(build) as s:
        with open(s.root + "/alloc.py", "w") as file:
            file.write("import ctypes, os\ncuda, at = ctypes.CDLL('libcuda.so.1'), ctypes.c_ulonglong()\n"
                       "if cuda.cuInit(0) or cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(60000 << 20)): os._exit(3)\n")
        blocker(s)
        job = submit(s, ["python3", s.root + "/alloc.py"], exact_memory=True)
        at_cuda(s, job)
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], ended["attempt"], ended["exit_code"]), ("failed", 1, 3), "state, attempts, exit code")
        check("60512 MiB" in ended["reason"] and "no slice" in ended["reason"], f"the reason is: {ended['reason']}")


def it_can_be_suspended_and_requeued_once_it_runs(build):
    with running(build) as s:
        blocker(s)
        job = submit(s, seconds=1)
        at_cuda(s, job)
        release(s)
        until(lambda: s.client().job(job)["state"] == "running", "it runs")
        equal((order(s, "suspend", job), s.client().job(job)["suspended"]), (200, True), "suspend")
        restart(s)
        equal((s.client().job(job)["suspended"], order(s, "continue", job)), (True, 200), "after a restart")
        equal(s.client().post(f"/v1/jobs/{job}/requeue").status, 200, "requeue")
        ended = s.client().wait(job)
        equal((ended["state"], ended["attempt"]), ("done", 2), "state and attempts")


def memory_and_a_pause_bound_what_begins_ahead(build):
    with running(build, '[host]\nmem = "4G"\n') as s:
        blocker(s)
        large = submit(s, host_mem_mib=2000)
        until(lambda: "exceeds a quarter of host.mem" in s.client().job(large)["ahead_refused"], "it is said why not")
        two = [submit(s, host_mem_mib=700) for _ in range(2)]
        at_cuda(s, two[0])
        equal((s.client().job(two[1])["ahead_at"], len(s.supervisors())), (None, 2), "the second one does not fit beside the first")
        equal(s.client().post("/v1/queue/pause").status, 200, "pause")
        equal(s.client().ask("DELETE", f"/v1/jobs/{two[0]}").status, 200, "cancel")
        until(lambda: len(s.supervisors()) == 1, "the first one is gone")
        time.sleep(0.3)
        equal(s.client().job(two[1])["ahead_at"], None, "nothing begins while the queue is paused")
        equal(s.client().post("/v1/queue/resume").status, 200, "resume")
        at_cuda(s, two[1])
        release(s)
        equal([s.client().wait(j)["state"] for j in (large, two[1])], ["done", "done"], "states")


def an_old_store_is_restored_over_held_and_running_jobs(build):
    with running(build) as s:
        first = blocker(s)
        known = submit(s, seconds=0.1)
        at_cuda(s, known)
        copy = s.root + "/copy.db"
        equal(s.client().post("/v1/backup", {"path": copy}).status, 200, "backup")
        unknown = submit(s, seconds=0.1)
        at_cuda(s, unknown)
        equal(s.client().ask("DELETE", f"/v1/jobs/{first}").status, 200, "the first job goes")
        until(lambda: s.client().job(known)["state"] != "queued", "the known one has its slice")
        s.process.kill()
        s.process.wait()
        done = subprocess.run([s.program, "restore", copy, "--state", s.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        s.serve("1xa100-40gb", s.settings)
        for job in (known, unknown):
            ended = s.client().wait(job)
            equal((ended["state"], ended["attempt"], s.client().log(job).count("code 0")), ("done", 1, 1), f"job {job}: {ended['reason']}")


def jobs_in_several_processes(build):
    """Python's subprocess (vfork), a program in the place of another, a child in a session of its own."""
    with running(build) as s:
        with open(s.root + "/tree.py", "w") as file:
            file.write(f"""
import os, subprocess, sys
one = subprocess.Popen([sys.executable, {s.job!r}, "0"], env=dict(os.environ))
two = subprocess.Popen([sys.executable, {s.job!r}, "0"], start_new_session=True)
if one.wait() or two.wait(): sys.exit(1)
os.execv(sys.executable, [sys.executable, {s.job!r}, "0"])
""")
        blocker(s)
        job = submit(s, ["python3", s.root + "/tree.py"])
        place = f"{s.state}/memory/{job}.1"
        until(lambda: os.path.isdir(place) and sum(n.endswith(".cuda") for n in os.listdir(place)) == 2, "two are held")
        release(s)
        ended = s.client().wait(job)
        equal((ended["state"], s.client().log(job).count(f"device {ended['device']} code 0")), ("done", 3), s.client().log(job))


if __name__ == "__main__":
    harness.main([a_job_waits_at_its_first_cuda_call_and_begins_on_its_slice, without_cuda_it_ends_without_a_slice,
                  a_held_job_can_be_cancelled, a_more_urgent_job_takes_the_slice_and_the_held_one_stays_held,
                  all_processes_of_a_job_are_held_and_get_the_grant, the_time_limit_counts_from_the_grant, only_so_many_wait,
                  what_cannot_be_held_starts_with_its_slice, other_users_are_held_too,
                  one_that_gives_up_waiting_is_not_done,
                  a_job_that_may_not_run_any_more_gives_its_processes_up, a_grant_that_the_job_forges_is_none,
                  memory_requests_are_reported_by_held_jobs_too, it_can_be_suspended_and_requeued_once_it_runs,
                  memory_and_a_pause_bound_what_begins_ahead, an_old_store_is_restored_over_held_and_running_jobs,
                  jobs_in_several_processes, daemons_die_and_nothing_is_lost_or_granted_twice,
                  daemons_die_while_jobs_are_launched], "prelaunch")
