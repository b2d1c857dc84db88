"""Asks the framework of this process, once a second, what its tensors hold, and writes it into SMARTMIG_MEMORY_DIR as a
record of src/live/jobs/memory_record.h (PID-NANOSECONDS.held; docs/preload.md). Loaded by sitecustomize.py once a
framework comes to a GPU. It asks only what the framework counts anyway, never makes a context, resets no peak, prints
nothing and raises nothing. A forked child begins anew, when its own framework comes to a GPU."""
import atexit
import os
import signal
import struct
import sys
import time

MAGIC, VERSION, WORDS = 0x31444C4847494D53, 1, 32
EVERY_S = 1.0
MOST = (1 << 64) - 1


def ask_torch():
    cuda = sys.modules["torch"].cuda
    if not cuda.is_initialized():
        return None
    now = peak = 0
    for device in range(cuda.device_count()):
        try:
            held = cuda.memory_stats_as_nested_dict(device)["allocated_bytes"]["all"]
            now, peak = now + held["current"], peak + held["peak"]
        except (AttributeError, KeyError, TypeError):  # flattened, at six times the cost
            held = cuda.memory_stats(device)
            now += held.get("allocated_bytes.all.current", 0)
            peak += held.get("allocated_bytes.all.peak", 0)
    return now, peak


def ask_jax():
    now = peak = 0
    for client in list(sys.modules["jax._src.xla_bridge"]._backends.values()):
        if client.platform == "cpu":
            continue
        for device in client.local_devices():
            held = device.memory_stats() or {}
            now += held.get("bytes_in_use", 0)
            peak += held.get("peak_bytes_in_use", 0)
    return now, peak


def ask_tensorflow():
    context = sys.modules["tensorflow.python.eager.context"]._context
    if context is None or context._context_handle is None:
        return None
    config = sys.modules["tensorflow"].config
    now = peak = 0
    for number in range(len(config.list_logical_devices("GPU"))):
        held = config.experimental.get_memory_info("GPU:%d" % number)
        now, peak = now + held["current"], peak + held["peak"]
    return now, peak


FRAMEWORKS = (("torch", ask_torch), ("jax._src.xla_bridge", ask_jax),
              ("tensorflow.python.eager.context", ask_tensorflow))


def start_ticks():
    """When the process began, as /proc tells it; 0: it does not."""
    try:
        with open("/proc/self/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0


def pid_namespace():
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return 0


class Asker:
    """One for each process. `running` says that its thread is there; the lock is held while a framework is asked."""

    def __init__(self, directory, start_new_thread, allocate_lock, sleep):
        self.directory, self.new_thread, self.new_lock, self.sleep = directory, start_new_thread, allocate_lock, sleep
        self.begin_anew()
        os.register_at_fork(after_in_child=self.begin_anew)

    def begin_anew(self):
        self.lock = self.new_lock()
        self.pid, self.path, self.running, self.stopped = os.getpid(), None, False, False
        self.peak, self.sequence, self.written = 0, 0, None

    def start_with_torch(self, torch):
        try:
            torch.cuda._lazy_call(self.start)  # when CUDA is initialised; at once where it is
        except Exception:
            self.start()

    def start(self):
        """Starts the thread, with every signal blocked: they are the program's. Of several calls the first counts."""
        try:
            if self.running or self.stopped:
                return
            self.running = True
            atexit.register(self.end, self.pid)  # the last to be registered is the first to run: before the framework's
            signals = getattr(signal, "valid_signals", lambda: range(1, signal.NSIG))()
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
            try:
                self.new_thread(self.loop, (self.pid,))
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        except Exception:
            pass

    def loop(self, pid):
        try:
            while True:
                self.sleep(EVERY_S)
                if self.stopped or self.pid != pid:
                    return
                with self.lock:
                    if not self.stopped:
                        self.ask(0)
        except BaseException:  # nothing of this thread reaches the program
            pass

    def end(self, pid):
        """The last word, at the interpreter's exit: what was held after the last second, and that it ended."""
        if pid != self.pid or self.stopped:
            return
        self.stopped = True
        if not self.lock.acquire(True, 0.2):
            return
        try:
            self.ask(1)
        except Exception:
            pass
        finally:
            self.lock.release()

    def ask(self, ended):
        now = peak = 0
        for module, ask in FRAMEWORKS:
            if module not in sys.modules:
                continue
            try:
                held = ask()
            except Exception:  # of a framework that is half imported, or of another version
                continue
            if held:
                now, peak = now + int(held[0]), max(peak, int(held[1]))
        # Two frameworks seldom have their peaks together: the higher one, or both as they were seen.
        self.peak = max(self.peak, peak, now)
        if self.peak > 0 and self.written != (now, self.peak, ended):
            try:
                self.write(now, ended)
                self.written = (now, self.peak, ended)
            except OSError:  # no descriptor, no room: perhaps the next time
                pass

    def write(self, now, ended):
        # Opened each time: a program may close every descriptor that it does not know, and use its number again.
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        if self.path is None:
            begun = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            path = "%s/%d-%d.held" % (self.directory, self.pid, begun)
            file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            self.path, self.about = path, (self.pid, pid_namespace(), start_ticks(), begun)
        else:
            file = os.open(self.path, flags)
        try:
            self.sequence += 2
            words = (MAGIC, VERSION, self.sequence) + self.about + (ended, min(now, MOST), min(self.peak, MOST))
            os.pwrite(file, struct.pack("=%dQ" % WORDS, *(words + (0,) * (WORDS - len(words)))), 0)
        finally:
            os.close(file)
