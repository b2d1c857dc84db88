#!/usr/bin/env python3
"""What is put into a job's Python (preload/python), with stand-ins for PyTorch, JAX and TensorFlow:
tests/preload/python_hook_test.py BUILD-DIRECTORY [TEST...]. No daemon: the variables are set by hand."""
import contextlib
import os
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing beside the sources
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
import harness
from harness import check, equal

TORCH = """
import os
_initialized, _queued, early, allocated = False, [], [], [{"current": 0, "peak": 0} for _ in range(int(os.environ.get("DEVICES", 1)))]
def is_initialized(): return _initialized
def device_count(): return len(allocated)
def _lazy_call(what): what() if _initialized else _queued.append(what)
def init():
    global _initialized
    _initialized = True
    for what in _queued: what()
def memory_stats_as_nested_dict(device):
    if not _initialized: early.append(device)
    return {"allocated_bytes": {"all": dict(allocated[device])}}
def hold(mib, device=0):
    held = allocated[device]
    held["current"] = mib << 20
    held["peak"] = max(held["peak"], held["current"])
def reset_peak_memory_stats():
    for held in allocated: held["peak"] = held["current"]
"""
JAX_BRIDGE = """
class Device:
    def __init__(self): self.held = {"bytes_in_use": 0, "peak_bytes_in_use": 0}
    def memory_stats(self): return self.held
class Client:
    def __init__(self, platform, devices): self.platform, self.devices = platform, devices
    def local_devices(self):
        if self.platform == "cpu": raise RuntimeError("asked of the host")
        return self.devices
_backends, gpu = {}, Device()
def make():
    import jax_plugins.xla_cuda12
    _backends["cpu"] = Client("cpu", [])
    _backends["cuda"] = Client("cuda", [gpu])
"""
FILES = {
    "torch/__init__.py": "from . import cuda\n", "torch/cuda.py": TORCH,
    "jax/__init__.py": "from jax._src import xla_bridge\n", "jax/_src/__init__.py": "", "jax/_src/xla_bridge.py": JAX_BRIDGE,
    "jax_plugins/xla_cuda12/__init__.py": "",
    "tensorflow/__init__.py": "from tensorflow.python.eager import context\nfrom . import config\n",
    "tensorflow/config.py": """
from types import SimpleNamespace
from tensorflow.python.eager import context
asked = []
def list_logical_devices(kind):
    asked.append(kind)
    return [0, 1]
experimental = SimpleNamespace(get_memory_info=lambda name: {"current": 5 << 20, "peak": {"GPU:0": 30 << 20, "GPU:1": 4 << 20}[name]})
""",
    "tensorflow/python/__init__.py": "", "tensorflow/python/eager/__init__.py": "",
    "tensorflow/python/eager/context.py": "_context = None\nclass Context: _context_handle = None\n",
}
MIB = 1 << 20


class Place:
    """Stand-ins, the hook and a directory for records; run() as a job would."""

    def __init__(self, build, root):
        self.hook, self.root, self.reports = os.path.join(build, "preload/python"), root, os.path.join(root, "reports")
        os.mkdir(self.reports)
        for name, text in FILES.items():
            self.write("fakes/" + name, text)

    def write(self, name, text):
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def run(self, code, hook=True, flags=(), behind=(), **more):
        path = [self.hook] * hook + [os.path.join(self.root, name) for name in (*behind, "fakes")]
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        environment.update({"PYTHONPATH": ":".join(path), "PYTHONDONTWRITEBYTECODE": "1",
                            "SMARTMIG_MEMORY_DIR": self.reports, **more})
        began = time.monotonic()
        done = subprocess.run([sys.executable, *flags, "-c", code], env=environment, capture_output=True, text=True,
                              timeout=60, cwd=self.root)
        done.seconds = time.monotonic() - began
        return done

    def says(self, code, ends=0, **more):
        """What a program prints that must end so, without a word of complaint."""
        done = self.run(code, **more)
        equal((done.returncode, done.stderr), (ends, ""), "exit code and words of the program")
        return done.stdout

    def records(self):
        """{pid: (now, peak, ended)} in MiB."""
        found = {}
        for name in os.listdir(self.reports):
            with open(os.path.join(self.reports, name), "rb") as file:
                words = struct.unpack("=32Q", file.read())
            equal(words[:2], (0x31444C4847494D53, 1), "magic and version")
            equal(name, f"{words[3]}-{words[6]}.held", "the name")
            check(words[4] == os.stat("/proc/self/ns/pid").st_ino and words[5] > 0, f"namespace and start: {words}")
            found[words[3]] = (words[8] / MIB, words[9] / MIB, words[7])
        return found

    def only(self):
        found = list(self.records().values())
        equal(len(found), 1, f"records, which are {found}")
        return found[0]


@contextlib.contextmanager
def place(build):
    with tempfile.TemporaryDirectory(prefix="smartmig-hook-") as root:
        yield Place(build, root)


def tensors_of_torch_are_told(build):
    """While it runs; the peak of a moment between two askings; and a peak that the program resets does not fall."""
    with place(build) as p:
        said = p.says("""
import os, time, torch
tasks = lambda: len(os.listdir("/proc/self/task"))
time.sleep(1.2)
print(os.listdir(os.environ["SMARTMIG_MEMORY_DIR"]), tasks(), torch.cuda.early, flush=True)
torch.cuda.init(); torch.cuda.hold(500); torch.cuda.hold(100)
time.sleep(1.5)
print(len(os.listdir(os.environ["SMARTMIG_MEMORY_DIR"])), tasks(), flush=True)
torch.cuda.reset_peak_memory_stats(); torch.cuda.hold(120)
time.sleep(1.2)
os.kill(os.getpid(), 9)
""", ends=-9)
        equal(said, "[] 1 []\n1 2\n", "records, threads and early questions before CUDA, then after")
        equal(p.only(), (120, 500, 0), "now, peak, ended")


def devices_of_one_process_are_summed(build):
    with place(build) as p:
        p.says("import torch; torch.cuda.init(); torch.cuda.hold(100, 0); torch.cuda.hold(70, 1); torch.cuda.hold(1, 0)",
               DEVICES="2")
        equal(p.only(), (71, 170, 1), "now, peak, ended")


def a_short_program_has_the_last_word_and_ends_at_once(build):
    with place(build) as p:
        code = "import torch; torch.cuda.init(); torch.cuda.hold(64)"
        plain = min(p.run(code, hook=False).seconds for _ in range(3))
        hooked = min(p.run(code).seconds for _ in range(3))
        check(hooked < plain + 0.3, f"{hooked:.3f} s with the hook, {plain:.3f} s without")
        equal(set(p.records().values()), {(64, 64, 1)}, "now, peak, ended")
        equal(p.run(code + "; raise MemoryError").returncode, 1, "exit code of one that fails")
        equal(len(p.records()), 4, "records")


def jax_is_asked_once_it_has_a_backend(build):
    with place(build) as p:
        said = p.says("""
import os, time, jax
from jax._src import xla_bridge
tasks = lambda: len(os.listdir("/proc/self/task"))
before = tasks()
xla_bridge.make()
xla_bridge.gpu.held.update(bytes_in_use=7 << 20, peak_bytes_in_use=90 << 20)
time.sleep(1.3)
print(before, tasks(), len(os.listdir(os.environ["SMARTMIG_MEMORY_DIR"])))
""")
        equal(said, "1 2 1\n", "threads before and after, records")
        equal(p.only(), (7, 90, 1), "now, peak, ended")


def an_allocator_of_jax_without_figures_is_not_known(build):
    with place(build) as p:
        p.says("import jax; jax.xla_bridge.gpu.memory_stats = lambda: None; jax.xla_bridge.make()")
        equal(p.records(), {}, "records")


def tensorflow_is_asked_once_it_has_a_context(build):
    with place(build) as p:
        said = p.says("""
import time, tensorflow as tf
from tensorflow.python.eager import context
time.sleep(1.2)
context._context = context.Context()
time.sleep(1.2)
print(tf.config.asked)
context._context._context_handle = object()
""")
        equal(said, "[]\n", "what was asked before")
        equal(p.only(), (10, 34, 1), "now, peak, ended")


def two_frameworks_in_one_process(build):
    """Their peaks need not have been at once: the higher one, or what both hold."""
    with place(build) as p:
        code = """
import jax, torch
torch.cuda.init(); jax.xla_bridge.make()
torch.cuda.hold({}); torch.cuda.hold(10)
jax.xla_bridge.gpu.held.update(bytes_in_use=50 << 20, peak_bytes_in_use=50 << 20)
"""
        p.says(code.format(55))
        p.says(code.format(200))
        equal(sorted(p.records().values()), [(60, 60, 1), (60, 200, 1)], "now, peak, ended")


def older_and_other_versions_of_torch(build):
    """Without the private name that tells of CUDA's start, and with flat figures alone."""
    with place(build) as p:
        p.write("fakes/torch/cuda.py", TORCH.replace("def _lazy_call(", "def _another_name(").replace(
            "def memory_stats_as_nested_dict(device):", "def memory_stats(device):").replace(
            'return {"allocated_bytes": {"all": dict(allocated[device])}}',
            'return {"allocated_bytes.all." + key: value for key, value in allocated[device].items()}'))
        said = p.says("""
import time, torch
time.sleep(1.2)
torch.cuda.init(); torch.cuda.hold(30); torch.cuda.hold(20)
print(torch.cuda.early)
""")
        equal(said, "[]\n", "questions before CUDA")
        equal(p.only(), (20, 30, 1), "now, peak, ended")


def a_framework_that_raises_is_nobodys_trouble(build):
    with place(build) as p:
        p.write("fakes/torch/cuda.py", TORCH.replace("    if not _initialized: early", "    raise SystemError('no')\n    early"))
        said = p.says("import time, torch; torch.cuda.init(); torch.cuda.hold(9); time.sleep(1.3); print('went on')")
        equal((said, p.records()), ("went on\n", {}), "words and records")
        p.write("fakes/torch/__init__.py", "raise ImportError('no CUDA here')\n")
        code = "try:\n  import torch\nexcept ImportError as e: print(e, 'torch' in __import__('sys').modules)"
        equal(p.says(code), p.says(code, hook=False), "an import that fails")


def nobody_sees_it(build):
    """Modules, paths and threads are those of a program without it, also where another sitecustomize comes after."""
    look = """
import sys, threading
site = sys.modules.get("sitecustomize")
print(sys.path, sorted(sys.modules), [t.name for t in threading.enumerate()], site and (site.__file__, site.__spec__.name, vars(site).get("ran")))
"""
    with place(build) as p:
        with_hook, without = p.says(look), p.says(look, hook=False)
        equal(with_hook, without, "what the program sees")
        p.write("site/sitecustomize.py", "import sys\nsys.times = getattr(sys, 'times', 0) + 1\nran = sys.times\n")
        with_hook = p.says(look, behind=["site"])
        equal(with_hook, p.says(look, hook=False, behind=["site"]), "what the program sees")
        check("'sitecustomize', 1)" in with_hook, f"it ran once: {with_hook[-200:]}")
        said = p.says("import importlib.util as u, sys; s = u.find_spec('torch'); import torch; torch.cuda.init()\n"
                      "print(type(torch.__loader__).__name__, vars(torch.__loader__).keys())")
        equal(said, p.says("import torch\nprint(type(torch.__loader__).__name__, vars(torch.__loader__).keys())", hook=False),
              "the loader")


def the_hook_of_a_job_that_a_job_submitted_stands_there_twice(build):
    with place(build) as p:
        said = p.says("import sys, torch; torch.cuda.init(); torch.cuda.hold(3)\n"
                      f"print(sum(type(f).__name__ == '_Watch' for f in sys.meta_path), {p.hook!r} in sys.path)",
                      behind=[p.hook])
        equal((said, p.only()), ("1 False\n", (3, 3, 1)), "finders, path; now, peak, ended")


def the_next_one_fails_as_it_would_have(build):
    with place(build) as p:
        p.write("site/sitecustomize.py", "raise ValueError('of the site')\n")
        with_hook, without = (p.run("print('ran')", hook=hook, behind=["site"]) for hook in (True, False))
        equal((with_hook.returncode, with_hook.stdout, with_hook.stderr), (0, "ran\n", without.stderr), "code and words")
        check("of the site" in without.stderr, f"without the hook: {without.stderr}")


def a_forked_child_begins_anew(build):
    """A child of a program without CUDA tells of itself, one of a program with CUDA says nothing."""
    with place(build) as p:
        said = p.says("""
import os, time, torch
def child(what):
    pid = os.fork()
    if pid == 0:
        try: what()
        finally: os._exit(0)
    os.waitpid(pid, 0)
    return pid
def works():
    torch.cuda.init(); torch.cuda.hold(40)
    time.sleep(1.3)
first = child(works)
torch.cuda.init(); torch.cuda.hold(80)
time.sleep(1.2)
second = child(lambda: (torch.cuda.hold(1000), time.sleep(1.3)))
print(first, second, os.getpid())
""", flags=["-W", "ignore::DeprecationWarning"])  # from 3.12 on of a fork beside threads, which every process with CUDA has
        first, second, parent = map(int, said.split())
        equal(p.records(), {first: (40, 40, 0), parent: (80, 80, 1)}, f"records; the silent child is {second}")


def programs_that_shut_it_out_say_nothing(build):
    with place(build) as p:
        code = f"import sys; sys.path.insert(0, {p.root + '/fakes'!r}); import torch; torch.cuda.init(); torch.cuda.hold(5)"
        for flag in ("-I", "-E", "-S"):
            p.says(code, flags=[flag])
        p.says(code, SMARTMIG_MEMORY_DIR="")
        p.says(code, SMARTMIG_MEMORY_DIR="reports")
        equal(p.records(), {}, "records")
        p.says(code)
        equal(p.only(), (5, 5, 1), "one that does not")


def a_directory_that_is_gone_is_nobodys_trouble(build):
    with place(build) as p:
        said = p.says("import time, torch; torch.cuda.init(); torch.cuda.hold(5); time.sleep(1.3); print('went on')",
                      SMARTMIG_MEMORY_DIR=p.root + "/gone")
        equal((said, os.path.exists(p.root + "/gone")), ("went on\n", False), "words, directory")


def signals_stay_the_programs(build):
    with place(build) as p:
        said = p.says("""
import os, signal, torch
before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
torch.cuda.init()
for task in sorted(os.listdir("/proc/self/task"), key=int):
    for line in open(f"/proc/self/task/{task}/status"):
        if line.startswith("SigBlk:"): blocked = int(line.split()[1], 16)
    print(all(blocked >> s - 1 & 1 for s in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT, signal.SIGCHLD)))
print(before == signal.pthread_sigmask(signal.SIG_BLOCK, []))
""")
        equal(said, "False\nTrue\nTrue\n", "blocked in the program's thread, in the other; mask as before")


def functions_that_the_program_replaces_are_not_used(build):
    """As gevent does: a thread that is none would stand in the way of all others."""
    with place(build) as p:
        said = p.says("""
import _thread, time
real = time.sleep
used = []
time.sleep = _thread.start_new_thread = lambda *what: used.append(what)
import torch
torch.cuda.init(); torch.cuda.hold(11)
real(1.3)
import os
print(used, len(os.listdir(os.environ["SMARTMIG_MEMORY_DIR"])))
""")
        equal(said, "[] 1\n", "calls, records")


if __name__ == "__main__":
    harness.main([tensors_of_torch_are_told, devices_of_one_process_are_summed,
                  a_short_program_has_the_last_word_and_ends_at_once, jax_is_asked_once_it_has_a_backend,
                  an_allocator_of_jax_without_figures_is_not_known, tensorflow_is_asked_once_it_has_a_context,
                  two_frameworks_in_one_process, older_and_other_versions_of_torch,
                  a_framework_that_raises_is_nobodys_trouble, nobody_sees_it,
                  the_hook_of_a_job_that_a_job_submitted_stands_there_twice, the_next_one_fails_as_it_would_have,
                  a_forked_child_begins_anew, programs_that_shut_it_out_say_nothing,
                  a_directory_that_is_gone_is_nobodys_trouble, signals_stay_the_programs,
                  functions_that_the_program_replaces_are_not_used], "python hook")
