#!/usr/bin/env python3
"""Jobs that report their CUDA requests (submit --exact-memory), with a real daemon, the real preload library and a stand-in
for CUDA: tests/e2e/memory_test.py BUILD-DIRECTORY [TEST...]. Needs the targets smartmig_preload and preload_stub_cuda."""
import contextlib
import os
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal

# Asks libcuda for memory as a program would; the stand-in has as much as the slice is called after.
JOB = """
import ctypes, os, sys, time
cuda, held = ctypes.CDLL("libcuda.so.1"), []
for mib in map(int, sys.argv[1:]):
    at = ctypes.c_ulonglong()
    if cuda.cuMemAlloc_v2(ctypes.byref(at), ctypes.c_size_t(mib << 20)):
        os._exit(3)  # without a word
    held.append(at)
    time.sleep(0.2)
"""
LAUNCH = """
memory=${SMARTMIG_SLICE#*.}; memory=${memory%%gb*}
export STUB_CUDA_MIB=$((memory * 972))
exec python3 "$0" "$@"
"""
CONFIG = 'policy = "migm-b"\n'  # the tightest slice first


@contextlib.contextmanager
def running(build):
    station = harness.Station(build)
    try:
        for what in ("libsmartmig-preload.so", "stub/libcuda.so.1"):
            place = os.path.join(station.root, "bin/preload", what)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(build, "preload", what), place)
            os.chmod(place, 0o755)
        station.job = os.path.join(station.root, "job.py")
        with open(station.job, "w") as file:
            file.write(JOB)
        station.serve("1xa100-40gb", CONFIG)
        yield station
    finally:
        station.close()


def submit(station, client, requests, **spec):
    return client.submit(["sh", "-c", LAUNCH, station.job, *map(str, requests)],
                         environment=[f"LD_LIBRARY_PATH={station.root}/bin/preload/stub", "PATH=/usr/bin:/bin"], **spec)


def a_refused_request_decides_the_next_slice(build):
    """3 GB held, 15 GB refused, no word in the log: two sizes up at once, not one."""
    with running(build) as s:
        root = s.client()
        job = root.wait(submit(s, root, [3000, 15000], exact_memory=True))
        equal((job["state"], job["attempt"], job["oom_restarts"]), ("done", 2, 1), "state, attempts, restarts")
        equal(job["slice"].split("@")[0], "3g.20gb", "the slice of the second attempt")
        check(job["mem_mib"] >= 18000, f"it is known to need {job['mem_mib']} MiB")
        equal(os.listdir(os.path.join(s.state, "memory")), [], "reports of ended attempts")


def without_reports_it_is_just_a_failure(build):
    with running(build) as s:
        root = s.client()
        job = root.wait(submit(s, root, [3000, 15000]))
        equal((job["state"], job["attempt"], job["exit_code"]), ("failed", 1, 3), "state, attempts, exit code")


def what_no_slice_has_is_not_tried(build):
    with running(build) as s:
        root = s.client()
        job = root.wait(submit(s, root, [1000, 60000], exact_memory=True))
        equal((job["state"], job["attempt"]), ("failed", 1), "state and attempts")
        check("61512 MiB" in job["reason"] and "no slice" in job["reason"], f"the reason is: {job['reason']}")


def a_program_that_copes_is_left_alone(build):
    """A refused request that is followed by one that succeeds, and a failure for another reason."""
    with running(build) as s:
        root = s.client()
        copes = s.job + ".copes"
        with open(copes, "w") as file:
            file.write(JOB.replace("os._exit(3)  # without a word", "continue") + "\nsys.exit(5)\n")
        s.job = copes
        job = root.wait(submit(s, root, [1000, 60000, 1000], exact_memory=True))
        equal((job["state"], job["attempt"], job["exit_code"]), ("failed", 1, 5), "state, attempts, exit code")


def other_users_report_too(build):
    if os.geteuid() != 0:
        return "needs root"
    with running(build) as s:
        nobody = s.client(65534, 65534)
        job = nobody.wait(submit(s, nobody, [3000, 15000], exact_memory=True, directory="/"))
        equal((job["state"], job["attempt"], job["slice"].split("@")[0]), ("done", 2, "3g.20gb"), "state, attempts, slice")


def no_library_no_job(build):
    with running(build) as s:
        os.remove(os.path.join(s.root, "bin/preload/libsmartmig-preload.so"))
        answer = s.client().post("/v1/jobs", {"command": ["true"], "exact_memory": True})
        check(answer.status != 201 and "libsmartmig-preload.so" in str(answer), f"it was taken: {answer}")
        told = subprocess.run([s.program, "submit", "--socket", s.socket, "--exact-memory", "--", "true"],
                              capture_output=True, text=True)
        check(told.returncode != 0 and "--exact-memory cannot be had" in told.stderr, f"submit said: {told}")


def a_model_decides_the_first_slice(build):
    """What submit makes of a model is where the job goes; show and why say what it rests on; --mem wins."""
    with running(build) as s:
        def smartmig(*words):
            return subprocess.run([s.program, words[0], "--socket", s.socket, *words[1:]], capture_output=True, text=True)
        told = smartmig("submit", "--parsable", "--model", "llama3-8b", "--task", "infer", "--context", "512", "--", "sleep", "0.2")
        check("memory estimated: " in told.stderr, f"submit said: {told}")
        number = int(told.stdout)
        shown, why = smartmig("show", str(number)).stdout, smartmig("why", str(number)).stdout
        for text in (shown, why):
            check("llama3-8b" in text and "estimated" in text, f"nothing of the estimate in: {text}")
        job = s.client().wait(number)
        equal((job["state"], job["slice"].split("@")[0]), ("done", "3g.20gb"), "state and slice")
        plain = smartmig("submit", "--parsable", "--mem", "3G", "--model", "llama3-8b", "--", "sleep", "0.2")
        equal((plain.stderr, s.client().wait(int(plain.stdout))["slice"].split("@")[0]), ("", "1g.5gb"), "words and slice")


if __name__ == "__main__":
    harness.main([a_refused_request_decides_the_next_slice, without_reports_it_is_just_a_failure,
                  what_no_slice_has_is_not_tried, a_program_that_copes_is_left_alone, other_users_report_too,
                  no_library_no_job, a_model_decides_the_first_slice], "memory")
