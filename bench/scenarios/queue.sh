#!/usr/bin/env bash
# What users wait for while the queue is long, over HTTP and a store on disk: submit, a page of the queue and cancel of one
# job at LENGTH waiting jobs (default 100,000), beside the same with an almost empty queue; then `smartmig cancel --all` of
# CANCELLED jobs (27,000). Emulated GPUs, jobs without processes; 8 GPUs are busy all the while.
# bench/scenarios/queue.sh [SMARTMIG]; state lies under BENCH_DIR (default: where the program is).
set -eu
program=$(readlink -f "${1:-$(command -v smartmig || echo build/release/smartmig)}")
here=$(cd -P "$(dirname "$0")/../.." && pwd)
state=$(mktemp -d "${BENCH_DIR:-$(dirname "$program")}/bench-queue-XXXXXX")
trap 'rm -rf "$state"' EXIT
PYTHONPATH=$here/tests/e2e python3 - "$program" "$state" "${LENGTH:-100000}" "${CANCELLED:-27000}" <<'PY'
import subprocess, sys, time
from harness import Client, until
program, state, length, cancelled = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
with open(state + "/serve.toml", "w") as file:
    file.write("[limits]\nqueue = 1000000\nuser_queued = 0\n")
socket = state + "/s.sock"
daemon = subprocess.Popen([program, "serve", "--emulate", "8xa100-40gb", "--without-processes", "--quiet", "--config",
                           state + "/serve.toml", "--state", state + "/state", "--socket", socket])
JOB = {"command": ["train"], "directory": "/", "mem_mib": 4000, "estimate_s": 36000}
bars_kept = True
def ms(call):
    began = time.perf_counter()
    answer = call()
    assert answer.status < 300, answer
    return 1e3 * (time.perf_counter() - began), answer
def quantiles(times):
    times = sorted(times)
    return f"median {times[len(times) // 2]:7.2f} ms, p99 {times[int(0.99 * (len(times) - 1))]:7.2f} ms"
def measure(c, words):
    submits, ids = [], []
    for _ in range(300):
        took, answer = ms(lambda: c.post("/v1/jobs", JOB))
        submits.append(took)
        ids += answer.json["ids"]
    pages = [ms(lambda: c.get("/v1/jobs?state=active&limit=100"))[0] for _ in range(100)]
    cancels = [ms(lambda: c.ask("DELETE", f"/v1/jobs/{id}"))[0] for id in ids]
    print(f"{words}: submit {quantiles(submits)}; 100 lines of the queue {quantiles(pages)}; cancel {quantiles(cancels)}")
    return sorted(submits)[150]
def fill(c, count):
    while count > 0:
        tasks = min(count, 1000)
        answer = c.post("/v1/jobs", {**JOB, "array": list(range(tasks))}, timeout=120)
        assert answer.status == 201, answer
        count -= tasks
try:
    c = Client(socket)
    def up():
        try: return c.get("/healthz").status == 200
        except OSError: return False
    until(up, "the daemon answers", 60)
    fill(c, 200)  # more than fit on the GPUs
    time.sleep(5)
    short = measure(c, f"{'almost none':>11} waiting")
    fill(c, length)
    long = measure(c, f"{length:>11,} waiting")
    print(f"submit at {length:,} waiting takes {long / short:.2f} times that of an almost empty queue; bar 2: "
          f"{'kept' if long < 2 * short else 'MISSED'}")
    bars_kept &= long < 2 * short
    began = time.perf_counter()
    c.post("/v1/jobs/cancel", {"all": True}, timeout=600)
    print(f"cancel of all {length:,}: {time.perf_counter() - began:.2f} s")
    fill(c, cancelled)
    began = time.perf_counter()
    done = subprocess.run([program, "cancel", "--all", "--socket", socket], capture_output=True, text=True)
    took = time.perf_counter() - began
    print(f"smartmig cancel --all of {cancelled:,} waiting jobs: {took:.2f} s ({done.stdout.strip()}); bar 10 s: "
          f"{'kept' if took < 10 else 'MISSED'}")
    bars_kept &= took < 10 and done.returncode == 0
finally:
    daemon.terminate()
    daemon.wait()
sys.exit(0 if bars_kept else 1)
PY
