#!/usr/bin/env python3
"""The hook that asks PyTorch and JAX what tensors hold (preload/python, docs/preload.md) on a real GPU, without a daemon.

    python3 bench/hardware/ask_frameworks.py [torch] [jax] [cost]     by default all; about 40 s

Small programs run with the hook and at their end print what their framework says; that must be what the hook wrote, to the
byte. Then what one question costs and whether a training loop notices. Lines PASS and FAIL; exit 0 where none failed. Needs
PyTorch or JAX for the Python that runs this; what is missing is said and left out."""
import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
import time

HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "preload", "python")
failed = 0

# Each ends with a line "held NOW PEAK"; what it holds it keeps to its end.
TORCH = """
import os, sys, time, torch
def held(): print("held", torch.cuda.memory_allocated(), torch.cuda.max_memory_allocated(), flush=True)
def block(mib): return torch.empty(mib << 20, dtype=torch.uint8, device="cuda")
"""
PROGRAMS = {
    "torch: blocks that come and go": TORCH + """
time.sleep(1.2)
print("early", torch.cuda.is_initialized() or any("nvidia" in os.readlink("/proc/self/fd/" + f) for f in os.listdir("/proc/self/fd")
      if os.path.exists("/proc/self/fd/" + f)))
kept = [block(300), block(700)]; del kept[1]
time.sleep(1.5)
kept.append(torch.randn(2048, 2048, device="cuda") @ torch.randn(2048, 2048, device="cuda"))
torch.cuda.synchronize()
held()
""",
    "torch: a peak that the program resets": TORCH + """
kept = block(900); print("most", torch.cuda.max_memory_allocated()); del kept
time.sleep(1.5)
torch.cuda.reset_peak_memory_stats()
kept = block(50)
held()
""",
    "torch: cudaMallocAsync": TORCH + "kept = [block(100), block(200)]; del kept[0]; torch.cuda.synchronize(); held()",
    "torch: expandable segments": TORCH + "kept = [block(100), block(200)]; del kept[0]; held()",
    "torch: without its cache": TORCH + "kept = block(100); held()",
    "torch: out of memory": TORCH + """
torch.cuda.set_per_process_memory_fraction(0.02)
kept = []
try:
    while True: kept.append(block(100))
finally:
    held()
""",
    "torch: workers that are forked": TORCH + """
kept = block(64)
from torch.utils.data import DataLoader
print("rows", sum(int(b.numel()) for b in DataLoader(torch.arange(1000), batch_size=100, num_workers=2, multiprocessing_context="fork")))
held()
""",
    "jax: taken as needed": """
import time, jax, jax.numpy as jnp
kept = [jnp.ones((1024, 1024, 50)), jnp.ones((1024, 1024, 100))]
(kept[0] + 1).block_until_ready(); del kept[1]
time.sleep(1.5)
kept.append((kept[0][:, :, 0] @ kept[0][:, :, 1]).block_until_ready())
stats = jax.devices()[0].memory_stats()
print("held", stats["bytes_in_use"], stats["peak_bytes_in_use"], flush=True)
""",
}
PROGRAMS["jax: a share taken at the start"] = PROGRAMS["jax: taken as needed"]
ENVIRONMENT = {
    "torch: cudaMallocAsync": {"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"},
    "torch: expandable segments": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "torch: without its cache": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "jax: taken as needed": {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"},
    "jax: a share taken at the start": {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.1"},
}
# The asker's own lock, held by the program, is how it is made to wait.
COST = TORCH + """
asker = [f for f in sys.meta_path if type(f).__name__ == "_Watch"][0]
kept = block(100)
asker = asker._asker
with asker.lock:
    asker.ask(0)
    began = time.perf_counter()
    for _ in range(2000): asker.ask(0)
    asked_us = (time.perf_counter() - began) / 2000 * 1e6
    began = time.perf_counter()
    for i in range(500):
        asker.written = None
        asker.ask(0)
    written_us = (time.perf_counter() - began) / 500 * 1e6
print(f"one question {asked_us:.1f} us, with a record written {written_us:.1f} us")
model = torch.nn.Sequential(*[torch.nn.Linear(512, 512) for _ in range(20)]).cuda()
optimiser = torch.optim.Adam(model.parameters())
def steps(seconds):
    end, n, began = time.perf_counter() + seconds, 0, time.perf_counter()
    while time.perf_counter() < end:
        model(torch.randn(64, 512, device="cuda")).square().mean().backward()
        optimiser.step(); optimiser.zero_grad(); n += 1
    torch.cuda.synchronize()
    return n / (time.perf_counter() - began)
steps(2)
def silent():
    with asker.lock: return steps(1.2)
pairs = []
for i in range(10):  # in turns, so that a drift of the clocks is not taken for the hook's
    first = steps(1.2) if i % 2 else silent()
    second = silent() if i % 2 else steps(1.2)
    pairs.append((first, second) if i % 2 else (second, first))
shares = sorted(100 * (1 - asked / alone) for asked, alone in pairs)
slower, low, high = (shares[4] + shares[5]) / 2, shares[2], shares[7]
print(torch.__version__, torch.cuda.get_device_name())
print(f"a training loop, {pairs[0][1]:.0f} steps a second: with questions {slower:.2f} % slower; half of ten pairs {low:.2f} to {high:.2f} %")
print("cost", asked_us, written_us, slower, low)
"""


def check(good, words):
    global failed
    failed += not good
    print("PASS" if good else "FAIL", words, flush=True)


def start(name, code, reports, hook=True):
    directory = os.path.join(reports, name.replace(" ", "_").replace(":", ""))
    os.makedirs(directory, exist_ok=True)
    environment = {**os.environ, "SMARTMIG_MEMORY_DIR": directory, "PYTHONDONTWRITEBYTECODE": "1", **ENVIRONMENT.get(name, {})}
    if hook:
        environment["PYTHONPATH"] = os.path.realpath(HOOK) + (":" + os.environ["PYTHONPATH"] if os.environ.get("PYTHONPATH") else "")
    process = subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return name, process, directory


def records(directory):
    found = []
    for name in os.listdir(directory):
        with open(os.path.join(directory, name), "rb") as file:
            words = struct.unpack("=32Q", file.read())
        found.append({"pid": words[3], "ended": words[7], "now": words[8], "peak": words[9]})
    return found


def said_of(words, key):
    return next((line.split()[1:] for line in words.splitlines() if line.startswith(key + " ")), None)


def compare(name, process, directory):
    out, words = process.communicate(timeout=120)
    found, told = records(directory), said_of(out, "held")
    if told is None:
        return check(False, f"{name}: exit {process.returncode}, it said {out[-300:]!r} {words[-600:]!r}")
    now, peak = map(int, told)
    if name.endswith("without its cache"):  # PyTorch then counts nothing
        return check(found == [] if peak == 0 else len(found) == 1, f"{name}: PyTorch says {peak} bytes, records {found}")
    most = said_of(out, "most")
    peak = int(most[0]) if most else peak
    good = len(found) == 1 and found[0] == {"pid": process.pid, "ended": 1, "now": now, "peak": peak}
    check(good, f"{name}: {now} bytes held, {peak} at most; records {found}")
    if said_of(out, "early"):
        check(said_of(out, "early") == ["False"], f"{name}: no CUDA before the program's own")
    expected = 1 if name.endswith("out of memory") else 0
    complaint = "smartmig" in words or "sitecustomize" in words
    check(process.returncode == expected and not complaint, f"{name}: exit {process.returncode}, nothing of the hook in its words")


def cost(reports):
    began = time.monotonic()
    out, words = start("cost", COST, reports)[1].communicate(timeout=120)
    print(out.rstrip())
    figures = said_of(out, "cost")
    if not figures:
        return check(False, f"the cost was not measured: {words[-600:]!r}")
    asked, written, slower, low = map(float, figures)
    check(asked < 1000 and written < 1000, f"a question takes {asked:.1f} us, {written:.1f} us with its record: less than 1000")
    check(slower < 2 or low < 0, f"the loop is {slower:.2f} % slower: less than 2 %, or less than pairs differ ({time.monotonic() - began:.0f} s)")


def main():
    wanted = sys.argv[1:] or ["torch", "jax", "cost"]
    have = {name: importlib.util.find_spec(name) is not None for name in ("torch", "jax")}
    for name, there in have.items():
        print(f"{name}: {'there' if there else 'not installed, left out'}")
    if not any(have.values()):
        print("nothing to ask: neither PyTorch nor JAX is there")
        sys.exit(77)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as reports:
        chosen = [name for name in PROGRAMS if name.split(":")[0] in wanted and have[name.split(":")[0]]]
        for one in [start(name, PROGRAMS[name], reports) for name in chosen]:
            compare(*one)
        if "cost" in wanted and have["torch"]:
            cost(reports)
    print(f"{failed} failed, {time.monotonic() - began:.0f} s")
    sys.exit(1 if failed else 0)


main()
