"""The machine of the trial: the daemon on a small disk of its own with emulated GPUs, and all that happens to it."""
import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import time

import harness
from harness import check, equal, until
from trial.canaries import Canaries
from trial.damage import Damage
from trial.notes import Diary, make_for, now
from trial.promises import Promises
from trial.shortages import DISK_MIB, Shortages, mount_memory
from trial.users import ENEMY, ENEMYS_NAMES, FLOODER, GROUPS, USERS
from trial.watch import stat_of

GPUS = 4
CONFIG = """[energy]
sample = "0.5s"
[defaults]
estimate = "2s"
[prelaunch]
jobs = 6
[host]
cpus = 24
mem = "256G"
"""
TRIES = 8  # to start, a second apart
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18


def with_own_mounts():
    """What is mounted from now on is for this process and its children, and gone with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    return True


class World(Shortages, Damage, Promises):
    def __init__(self, build, seed, without):
        self.seed, self.without, self.draw = seed, without, random.Random(seed)
        self.station = station = harness.Station(build)
        self.root = station.root
        station.machine, station.pid_file = f"{station.state}/machine", f"{self.root}/pid"
        self.copy_programs(build)
        self.nvml = f"{self.root}/bin/nvml-sim/libnvidia-ml.so.1"
        self.cuda = f"{self.root}/bin/preload/stub/libcuda.so.1"
        os.mkdir(station.state, 0o711)
        self.small_disk = with_own_mounts() and mount_memory(station.state, f"{DISK_MIB}m")
        self.stop = f"{self.root}/stop"
        self.diary = Diary(f"{self.root}/diary-trial")
        self.diaries = [f"{self.root}/diary-trial"]
        self.offset, self.copies, self.busy_gpu = 0.0, [], f"{self.root}/gpus-in-hand"
        self.counts, self.left_out = {}, {}
        os.mkdir(self.busy_gpu)
        make_for(f"{self.root}/own-marks", 0, 0)
        self.canaries = Canaries(self.root, {user: self.home(user) for user in [*USERS, FLOODER, ENEMY]})

    def copy_programs(self, build):
        for what in ("nvml-sim/nvml-sim-ctl", "preload/libsmartmig-preload.so", "preload/stub/libcuda.so.1",
                     "trial_job", "libclock_step.so"):
            place = f"{self.root}/bin/{what}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(build, what), place)
            os.chmod(place, 0o755)
        self.job, self.station.control = f"{self.root}/bin/trial_job", f"{self.root}/bin/nvml-sim/nvml-sim-ctl"

    # ---- what parties know of it

    def home(self, user):
        return f"{self.root}/home-{user[0]}"

    def lock_directories(self):
        return [self.station.machine]

    # ---- what parties ask of it

    def over(self):
        return os.path.exists(self.stop)

    def reservations(self):
        try:
            rows = self.station.client().get("/v1/reservations").json["reservations"]
            return [row["name"] for row in rows]
        except (OSError, ValueError, KeyError, harness.http.client.HTTPException):
            return []

    @contextlib.contextmanager
    def gpu_in_hand(self, draw):
        """One that nobody else drains or loses meanwhile; None: they are all in hand."""
        for gpu in draw.sample(range(GPUS), GPUS):
            with contextlib.suppress(FileExistsError):
                os.mkdir(f"{self.busy_gpu}/{gpu}")
                try:
                    yield gpu
                finally:
                    os.rmdir(f"{self.busy_gpu}/{gpu}")
                return
        yield None

    @contextlib.contextmanager
    def a_gpu_in_hand(self):
        """As above; waits for one."""
        give_up = now() + 60
        while True:
            with self.gpu_in_hand(self.draw) as gpu:
                if gpu is not None:
                    yield gpu
                    return
            check(now() < give_up, "all GPUs are in hand for a minute")
            time.sleep(0.1)

    def new_diary(self, user=(0, 0)):
        self.diaries.append(make_for(f"{self.root}/diary-{len(self.diaries)}", *user))
        return self.diaries[-1]

    def event(self, what, **more):
        self.diary.note("event", event=what, **more)
        self.counts[what] = self.counts.get(what, 0) + 1

    def leave_out(self, deed, words):
        """What this machine cannot do; it is said at the end."""
        self.left_out[deed] = words

    # ---- the daemon

    def serve(self):
        began = now()
        self.start_asked()
        with open(self.station.pid_file, "w") as file:
            file.write(str(self.station.process.pid))
        self.diary.note("serves", began=began, took=now() - began)

    def try_to_serve(self):
        def before():
            os.putenv("LD_PRELOAD", f"{self.root}/bin/libclock_step.so")
            os.putenv("SMARTMIG_TEST_CLOCK_FILE", f"{self.root}/clock")
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, -10)  # the machine may be busy with other work
        self.station.serve(f"{GPUS}xa100-40gb", CONFIG, before=before)

    def start_asked(self):
        for tries_left in range(TRIES, -1, -1):
            try:
                return self.try_to_serve()
            except harness.Failed as problem:
                words = str(problem).strip().splitlines()[-1][-300:]
                if not tries_left or self.station.process.poll() is None:
                    raise
                # It may refuse to start beside what a user has laid in its way, by name: then that is taken away.
                if self.laid:
                    self.event("refused_start", words=words)
                    self.take_away()
                else:
                    self.violation(f"the daemon does not start: {words}")
                    time.sleep(1)

    def violation(self, words):
        self.diary.note("violation", words=words)

    laid = ()

    def take_away(self):
        for path in self.laid:
            with contextlib.suppress(OSError):
                os.remove(path)
        self.laid = ()

    def end_daemon(self, kill):
        if kill:
            self.station.process.kill()
            self.station.process.wait()
        else:
            try:
                self.station.end()
            except subprocess.TimeoutExpired:  # it was killed then
                self.violation("the daemon did not end within 20 s of a SIGTERM")

    def kill(self):
        self.event("kill")
        self.end_daemon(True)
        if "links" not in self.without and self.draw.random() < 0.2:
            self.lay_links()
        self.serve()

    def lay_links(self):
        """The enemy puts a link to root's file where root's daemon keeps its locks, if the enemy may write there."""
        for directory in self.lock_directories():
            for name in [n for n in os.listdir(directory) if n.endswith(".lock")] or ["GPU-x.lock"]:
                path = f"{directory}/{name}"
                with harness.acting_as(*ENEMY), contextlib.suppress(OSError):
                    os.rename(path, path + ".away")
                    os.symlink(f"{self.root}/roots-private", path)
                    self.laid = (*self.laid, path)
                    self.event("link", path=path)

    def ask(self, method, path, body=None, **more):
        with contextlib.suppress(OSError, harness.http.client.HTTPException):
            return self.station.client().ask(method, path, body, **more)
        return None

    def clock_back(self):
        """The daemon's clock agrees with the machine's again."""
        step, self.offset = -self.offset, 0
        with open(f"{self.root}/clock.new", "w") as file:
            file.write("0")
        os.rename(f"{self.root}/clock.new", f"{self.root}/clock")
        self.event("clock_back", step=step, offset=0)

    def clock_step(self):
        step = self.draw.choice([3600, -3600, 86400, -86400, 30, -30, 5, -5, 0.7])
        self.offset += step
        with open(f"{self.root}/clock.new", "w") as file:
            file.write(f"{self.offset}")
        os.rename(f"{self.root}/clock.new", f"{self.root}/clock")
        self.event("clock_step", step=step, offset=self.offset)

    # ---- GPUs

    def control(self, *words):
        command = [self.station.control, words[0], self.station.machine, *words[1:]]
        return subprocess.run(command, capture_output=True, text=True)

    def gpu_state(self, gpu):
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError, harness.http.client.HTTPException):
            return self.station.client().get("/v1/gpus").json["gpus"][gpu]["state"]
        return None

    def put_into_service(self, gpu, give_up_s=30):
        give_up = now() + give_up_s
        while (answer := self.ask("POST", f"/v1/gpus/{gpu}/resume", {})) is None or answer.status != 200:
            check(now() < give_up, f"GPU {gpu} is not resumed after {give_up_s} s: {answer}")
            time.sleep(0.1)

    def loss(self):
        """A GPU falls off the bus; it is reset when nothing uses it any more, and taken into service again."""
        with self.a_gpu_in_hand() as gpu:
            began = now()
            self.event("loss", gpu=gpu)
            self.control("fault", "gpu-lost", "--gpu", str(gpu))
            until(lambda: self.gpu_state(gpu) not in ("ok", None), f"GPU {gpu} is seen to be lost", 30)
            if self.draw.random() < 0.3:
                self.kill()
            self.control("clear", "gpu-lost", "--gpu", str(gpu))
            until(lambda: self.control("reset", "--gpu", str(gpu)).returncode == 0, f"GPU {gpu} can be reset", 60)
            self.event("reset", gpu=gpu)
            if self.draw.random() < 0.3:
                self.kill()
            self.put_into_service(gpu)
            until(lambda: self.gpu_state(gpu) == "ok", f"GPU {gpu} is ok after its reset", 30)
            self.diary.note("window", gpu=gpu, began=began)

    # ---- the end

    def mend(self):
        """Everything is left to end."""
        self.control("clear")
        until(lambda: self.ask("POST", "/v1/queue/resume", {}) is not None, "the queue is resumed", 30)
        self.ask("POST", "/v1/settings", {"policy": "best"})
        for name in ENEMYS_NAMES:
            until(lambda: (a := self.ask("POST", "/v1/jobs/cancel", {"name": name, "everyone": True})) is not None and
                  a.status == 200, f"the enemy's jobs called {name} are cancelled", 60)
        for gpu in range(GPUS):
            if self.gpu_state(gpu) != "ok":
                self.ask("POST", f"/v1/gpus/{gpu}/resume", {})
        for name in self.reservations():
            self.diary.note("unreserves", name=name)
            self.ask("POST", "/v1/reservations/remove", {"name": name})
        self.let_go()

    def let_go(self):
        self.ask("POST", "/v1/jobs/release", {"state": "held", "everyone": True})
        self.ask("POST", "/v1/jobs/continue", {"everyone": True, "all": True})

    def set_groups(self):
        for name, limit in GROUPS.items():
            answer = self.station.client().post("/v1/groups", {"name": name, "limit": limit})
            equal(answer.status, 200, "a group's limit")

    def drained(self):
        answer = self.ask("GET", "/v1/jobs?state=active&limit=10000")
        if answer is None or answer.status != 200:
            return False
        if any(job["state"] == "held" or job["suspended"] for job in answer.json["jobs"]):
            self.let_go()
        # A begin is an instant of the calendar: one that was said by a clock of days ahead comes in days.
        if later := [job["id"] for job in answer.json["jobs"] if job["reason"].startswith("begins at")]:
            self.ask("POST", "/v1/jobs/update", {"ids": later, "set": {"begin_at": None}})
        return not answer.json["jobs"]

    def final_jobs(self):
        found, after = [], ""
        while True:
            page = self.station.client().get(f"/v1/jobs?state=final&limit=1000{after}").json
            found += page["jobs"]
            if not page["more"]:
                return found
            after = f"&after={page['jobs'][-1]['id']}"

    def orphans(self):
        """Processes of jobs that are still there when all jobs are final."""
        mark, found = f"TRIAL={self.root}\0".encode(), []
        for entry in os.listdir("/proc"):
            if entry.isdigit() and (stat := stat_of(entry)) and stat[0] not in b"ZX":
                with contextlib.suppress(OSError), open(f"/proc/{entry}/environ", "rb") as file:
                    if mark in file.read() + b"\0":
                        found.append(int(entry))
        return found

    def close(self):
        open(self.stop, "w").close()
        try:
            self.station.close()
        except subprocess.TimeoutExpired:
            print("  the daemon did not end within 20 s of a SIGTERM", flush=True)
        for pid in self.orphans():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        self.remove_group()
        self.canaries.remove()
