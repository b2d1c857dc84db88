#!/usr/bin/env python3
"""Jobs that report their CUDA requests and what their tensors hold (submit --exact-memory), with a real daemon, the real
preload library and hook, and stand-ins for CUDA and PyTorch: tests/e2e/memory_test.py BUILD-DIRECTORY [TEST...]. Needs the
targets smartmig_preload and preload_stub_cuda."""
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
# Of PyTorch what the hook asks for: tensors of so many MiB for so many seconds, one after the other.
TORCH = """
from types import SimpleNamespace
held = {"current": 0, "peak": 0}
def hold(mib): held.update(current=mib << 20, peak=max(held["peak"], mib << 20))
cuda = SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, _lazy_call=lambda what: what(),
                       memory_stats_as_nested_dict=lambda device: {"allocated_bytes": {"all": held}})
"""
TENSORS = """
import os, sys, time, torch
for word in sys.argv[1:]:
    mib, seconds = word.split(":")
    torch.hold(int(mib))
    time.sleep(float(seconds))
"""
LAUNCH = """
memory=${SMARTMIG_SLICE#*.}; memory=${memory%%gb*}
export STUB_CUDA_MIB=$((memory * 972))
exec python3 "$0" "$@"
"""
CONFIG = 'policy = "migm-b"\n'  # the tightest slice first


@contextlib.contextmanager
def running(build, config="", without=()):
    station = harness.Station(build)
    try:
        for what in {"libsmartmig-preload.so", "stub/libcuda.so.1", "python/sitecustomize.py", "python/smartmig_held.py"} - set(without):
            place = os.path.join(station.root, "bin/preload", what)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(build, "preload", what), place)
            os.chmod(place, 0o755)
        station.job = os.path.join(station.root, "job.py")
        with open(station.job, "w") as file:
            file.write(JOB)
        station.fakes = os.path.join(station.root, "fakes")
        os.mkdir(station.fakes)
        for name, text in (("torch.py", TORCH), ("tensors.py", TENSORS)):
            with open(os.path.join(station.fakes, name), "w") as file:
                file.write(text)
        station.serve("1xa100-40gb", CONFIG + config)
        yield station
    finally:
        station.close()


def submit(station, client, requests, **spec):
    return client.submit(["sh", "-c", LAUNCH, station.job, *map(str, requests)],
                         environment=[f"LD_LIBRARY_PATH={station.root}/bin/preload/stub", "PATH=/usr/bin:/bin"], **spec)


def tensors(station, client, *steps, code="", **spec):
    """Without its own variables a job knows nothing of the stand-in: that they stay behind the hook's is part of it."""
    with open(os.path.join(station.fakes, "job.py"), "w") as file:
        file.write(TENSORS + code)
    return client.submit(["python3", station.fakes + "/job.py", *steps],
                         environment=[f"PYTHONPATH={station.fakes}", "PATH=/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE=1"], **spec)


def smartmig(station, *words):
    return subprocess.run([station.program, words[0], "--socket", station.socket, *words[1:]], capture_output=True, text=True)


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
        equal(nobody.wait(tensors(s, nobody, "70:0", exact_memory=True, directory="/"))["tensors_mib"], 70, "MiB of tensors")


def each_of_the_two_does_without_the_other(build):
    with running(build, "defaults.exact_memory = true\n", without=["libsmartmig-preload.so"]) as s:
        root = s.client()
        equal(root.wait(tensors(s, root, "40:0"))["tensors_mib"], 40, "MiB of tensors, without the library")
    hook = ["python/sitecustomize.py", "python/smartmig_held.py"]
    with running(build, without=hook) as s:
        answer = s.client().post("/v1/jobs", {"command": ["true"], "exact_memory": True})
        check(answer.status == 201 and "but not tensors" in str(answer.json["warnings"]), f"without the hook: {answer}")
        job = s.client().wait(submit(s, s.client(), [3000, 15000], exact_memory=True))
        equal((job["state"], job["attempt"], job["tensors_mib"]), ("done", 2, None), "state, attempts, MiB of tensors")
    with running(build, "defaults.exact_memory = true\n", without=[*hook, "libsmartmig-preload.so"]) as s:
        root = s.client()
        job = root.wait(root.sh("echo ${SMARTMIG_MEMORY_DIR-none}"))
        equal((job["state"], root.log(job["id"])), ("done", "none\n"), "state and words where nothing can be had")
    with running(build) as s:
        root, place = s.client(), os.path.join(s.state, "memory")
        os.rmdir(place)
        with open(place, "w"):
            pass
        job = root.wait(tensors(s, root, "40:0", exact_memory=True))
        equal((job["state"], job["tensors_mib"]), ("done", None), "state and MiB of tensors without a place for records")


def what_was_held_counts_after_a_failure(build):
    """4000 MiB held in a moment that no sample saw, 17 GiB asked for: more than 20 GB has."""
    code = "if os.environ['SMARTMIG_ATTEMPT'] == '1': sys.exit('CUDA out of memory. Tried to allocate 17.00 GiB.')\n"
    with running(build, without=["libsmartmig-preload.so"], config="defaults.exact_memory = true\n") as s:
        root = s.client()
        slices = []
        for exact in (True, False):
            job = root.wait(tensors(s, root, "4000:0", "10:0", code=code, **({} if exact else {"exact_memory": False})))
            equal((job["state"], job["attempt"]), ("done", 2), f"state and attempts, {job['reason']}")
            slices.append(job["slice"].split("@")[0])
        equal(slices, ["7g.40gb", "3g.20gb"], "the second slice with and without what its framework told")


def no_library_no_job(build):
    with running(build) as s:
        os.remove(os.path.join(s.root, "bin/preload/libsmartmig-preload.so"))
        answer = s.client().post("/v1/jobs", {"command": ["true"], "exact_memory": True})
        check(answer.status != 201 and "libsmartmig-preload.so" in str(answer), f"it was taken: {answer}")
        told = subprocess.run([s.program, "submit", "--socket", s.socket, "--exact-memory", "--", "true"],
                              capture_output=True, text=True)
        check(told.returncode != 0 and "--exact-memory is not available" in told.stderr, f"submit said: {told}")


def what_tensors_hold_is_told(build):
    """While it runs and afterwards; at the most of all samples, in a job that has CUDA for itself alone."""
    with running(build) as s:
        root = s.client()
        number = tensors(s, root, "100:1.5", "2500:1.5", "700:3", exact_memory=True)
        grown = harness.until(lambda: (lambda j: j if j["tensors_mib"] else None)(root.job(number)), "tensors are told")
        check(grown["state"] == "running" and grown["tensors_mib"] in (100, 2500), f"{grown}")
        harness.until(lambda: root.job(number)["tensors_mib"] == 2500, "tensors have grown")
        shown = smartmig(s, "show", str(number)).stdout
        check("at most 2.4 GiB were held by tensors" in shown, f"show said: {shown}")
        job = root.wait(number)
        equal((job["state"], job["tensors_mib"]), ("done", 2500), "state and MiB of its tensors")
        check(job["peak_mib"] >= 2500, f"the device cannot have held less: {job['peak_mib']}")
        s.end()
        s.serve("1xa100-40gb", CONFIG)
        equal(s.client().job(number)["tensors_mib"], 2500, "MiB of its tensors after a restart")


def a_site_may_ask_all_and_a_job_may_refuse(build):
    says = "print(*[v for v in ('LD_PRELOAD', 'SMARTMIG_MEMORY_DIR') if v in os.environ], os.environ['PYTHONPATH'].count(':'))\n"
    with running(build, "defaults.exact_memory = true\n") as s:
        root = s.client()
        of_all = root.wait(tensors(s, root, "300:0", code=says))
        refuses = root.wait(tensors(s, root, "300:0", code=says, exact_memory=False))
        equal((of_all["tensors_mib"], refuses["tensors_mib"]), (300, None), "MiB of tensors")
        equal((root.log(of_all["id"]), root.log(refuses["id"])), ("LD_PRELOAD SMARTMIG_MEMORY_DIR 1\n", "0\n"), "variables")
        for option, wanted in (("--exact-memory", "told\n"), ("--no-exact-memory", "untold\n")):
            number = int(smartmig(s, "submit", "--parsable", option, "--", "sh", "-c",
                                  "[ -d \"$SMARTMIG_MEMORY_DIR\" ] && echo told || echo untold").stdout)
            root.wait(number)
            equal(root.log(number), wanted, option)


def a_model_decides_the_first_slice(build):
    """What submit makes of a model is where the job goes; show and why say what it rests on; --mem wins."""
    with running(build) as s:
        told = smartmig(s, "submit", "--parsable", "--model", "llama3-8b", "--task", "infer", "--context", "512", "--", "sleep", "0.2")
        check("memory estimate: " in told.stderr, f"submit said: {told}")
        number = int(told.stdout)
        shown, why = smartmig(s, "show", str(number)).stdout, smartmig(s, "why", str(number)).stdout
        for text in (shown, why):
            check("llama3-8b" in text and "estimated" in text, f"nothing of the estimate in: {text}")
        job = s.client().wait(number)
        equal((job["state"], job["slice"].split("@")[0]), ("done", "3g.20gb"), "state and slice")
        plain = smartmig(s, "submit", "--parsable", "--mem", "3G", "--model", "llama3-8b", "--", "sleep", "0.2")
        equal((plain.stderr, s.client().wait(int(plain.stdout))["slice"].split("@")[0]), ("", "1g.5gb"), "words and slice")


if __name__ == "__main__":
    harness.main([a_refused_request_decides_the_next_slice, without_reports_it_is_just_a_failure,
                  what_no_slice_has_is_not_tried, a_program_that_copes_is_left_alone, other_users_report_too,
                  no_library_no_job, what_tensors_hold_is_told, a_site_may_ask_all_and_a_job_may_refuse,
                  each_of_the_two_does_without_the_other, what_was_held_counts_after_a_failure, a_model_decides_the_first_slice], "memory")
