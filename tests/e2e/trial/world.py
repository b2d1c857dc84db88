"""The machine of the trial: the daemon on a small disk of its own with emulated GPUs, and all that happens to it."""
import contextlib
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import time

import harness
from harness import equal, until
from trial.notes import Diary, make_for, now
from trial.users import ENEMY, FLOODER, GROUPS, USERS
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
DISK_MIB = 600
TRIES = 8  # to start, a second apart
CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
PRECIOUS = "precious\n"


def with_own_mounts():
    """What is mounted from now on is for this process and its children, and gone with them."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        return False
    return True


def mount_memory(path, mib):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.mount(b"none", path.encode(), b"tmpfs", 0, f"size={mib}m,mode=755".encode()) == 0


def fingerprint(path):
    entry = os.lstat(path)
    with open(path, "rb") as file:
        return (entry.st_ino, entry.st_uid, entry.st_gid, entry.st_mode, entry.st_mtime_ns, entry.st_ctime_ns,
                file.read())


class World:
    def __init__(self, build, seed, without):
        self.seed, self.without, self.draw = seed, without, random.Random(seed)
        self.station = station = harness.Station(build)
        self.root = station.root
        station.machine, station.pid_file = f"{station.state}/machine", f"{self.root}/pid"
        self.copy_programs(build)
        self.nvml = f"{self.root}/bin/nvml-sim/libnvidia-ml.so.1"
        self.cuda = f"{self.root}/bin/preload/stub/libcuda.so.1"
        os.mkdir(station.state, 0o711)
        self.small_disk = with_own_mounts() and mount_memory(station.state, DISK_MIB)
        self.stop = f"{self.root}/stop"
        self.diary = Diary(f"{self.root}/diary-trial")
        self.diaries = [f"{self.root}/diary-trial"]
        self.offset, self.copies, self.busy_gpu = 0.0, [], f"{self.root}/gpus-in-hand"
        self.counts = {}
        os.mkdir(self.busy_gpu)
        self.lay_out_homes()

    def copy_programs(self, build):
        for what in ("nvml-sim/nvml-sim-ctl", "preload/libsmartmig-preload.so", "preload/stub/libcuda.so.1",
                     "trial_job", "libclock_step.so"):
            place = f"{self.root}/bin/{what}"
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy(os.path.join(build, what), place)
            os.chmod(place, 0o755)
        self.job, self.station.control = f"{self.root}/bin/trial_job", f"{self.root}/bin/nvml-sim/nvml-sim-ctl"

    # ---- homes and what must not be touched

    def home(self, user):
        return f"{self.root}/home-{user[0]}"

    def lay_out_homes(self):
        """A home for each, and in it and beside it files that nobody has a reason to touch."""
        self.canaries = {}
        for user in [*USERS, FLOODER, ENEMY]:
            home = self.home(user)
            os.mkdir(home, 0o755)
            os.chown(home, *user)
            make_for(f"{home}/marks", *user)
            self.canary(f"{home}/letters", *user, 0o600)
            self.canary(f"{home}/open", *user, 0o666 if user == USERS[0] else 0o644)
        self.canary(f"{self.root}/roots-own", 0, 0, 0o644)
        self.canary(f"{self.root}/roots-private", 0, 0, 0o600)
        self.before = {path: fingerprint(path) for path in self.canaries}

    def canary(self, path, uid, gid, mode):
        with open(path, "w") as file:
            file.write(PRECIOUS)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        self.canaries[path] = uid

    def canaries_of_others(self, user):
        return [path for path, uid in self.canaries.items() if uid != user[0] and not path.endswith("/open")]

    def touched(self):
        """Files that are not as they were, and files in homes that are not their owner's."""
        wrong = []
        for path, was in self.before.items():
            try:
                if fingerprint(path) != was:
                    wrong.append(f"{path} is not as it was: {was[1:]} -> {fingerprint(path)[1:]}")
            except OSError as problem:
                wrong.append(f"{path}: {problem}")
        for user in [*USERS, FLOODER, ENEMY]:
            for folder, _, names in os.walk(self.home(user)):
                for name in names:
                    owner = os.lstat(f"{folder}/{name}").st_uid
                    if owner != user[0]:
                        wrong.append(f"{folder}/{name} is the file of uid {owner} in the home of uid {user[0]}")
        return wrong

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

    def new_diary(self, user=(0, 0)):
        self.diaries.append(make_for(f"{self.root}/diary-{len(self.diaries)}", *user))
        return self.diaries[-1]

    def event(self, what, **more):
        self.diary.note("event", event=what, **more)
        self.counts[what] = self.counts.get(what, 0) + 1

    # ---- the daemon

    def serve(self):
        def before():
            os.putenv("LD_PRELOAD", f"{self.root}/bin/libclock_step.so")
            os.putenv("SMARTMIG_TEST_CLOCK_FILE", f"{self.root}/clock")
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, 0, -10)  # the machine may be busy with other work
        began = now()
        self.start_asked(before)
        with open(self.station.pid_file, "w") as file:
            file.write(str(self.station.process.pid))
        self.diary.note("serves", began=began, took=now() - began)

    def start_asked(self, before):
        for tries_left in range(TRIES, -1, -1):
            try:
                return self.station.serve(f"{GPUS}xa100-40gb", CONFIG, before=before)
            except harness.Failed as problem:
                words = str(problem).strip().splitlines()[-1][-300:]
                if not tries_left or self.station.process.poll() is None:
                    raise
                # It may refuse to start beside what a user has laid in its way, by name: then that is taken away.
                if self.laid:
                    self.event("refused start", words=words)
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

    def backup(self):
        copy = f"{self.root}/copy-{len(self.copies)}.db"
        began = now()
        answer = self.ask("POST", "/v1/backup", {"path": copy}, timeout=60)
        if answer is not None and answer.status == 200:
            self.copies.append((copy, began))
            self.event("backup", path=copy)

    def ask(self, method, path, body=None, **more):
        with contextlib.suppress(OSError, harness.http.client.HTTPException):
            return self.station.client().ask(method, path, body, **more)
        return None

    def restore(self):
        """Back to a copy: a new one, or one of some time ago."""
        if not self.copies or self.draw.random() < 0.7:
            self.backup()
            time.sleep(self.draw.uniform(0.3, 8))
        copy, since = self.copies[-1] if self.draw.random() < 0.7 else self.draw.choice(self.copies[-3:])
        self.end_daemon(self.draw.random() < 0.6)
        command = [self.station.program, "restore", copy, "--state", self.station.state]
        done = subprocess.run(command, capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        self.event("restore", path=copy, since=since)
        self.serve()

    def clock_back(self):
        """The daemon's clock agrees with the machine's again."""
        step, self.offset = -self.offset, 0
        with open(f"{self.root}/clock.new", "w") as file:
            file.write("0")
        os.rename(f"{self.root}/clock.new", f"{self.root}/clock")
        self.event("clock", step=step, offset=0)

    def clock_step(self):
        step = self.draw.choice([3600, -3600, 86400, -86400, 30, -30, 5, -5, 0.7])
        self.offset += step
        with open(f"{self.root}/clock.new", "w") as file:
            file.write(f"{self.offset}")
        os.rename(f"{self.root}/clock.new", f"{self.root}/clock")
        self.event("clock", step=step, offset=self.offset)

    # ---- GPUs

    def control(self, *words):
        command = [self.station.control, words[0], self.station.machine, *words[1:]]
        return subprocess.run(command, capture_output=True, text=True)

    def gpu_state(self, gpu):
        with contextlib.suppress(OSError, ValueError, KeyError, IndexError, harness.http.client.HTTPException):
            return self.station.client().get("/v1/gpus").json["gpus"][gpu]["state"]
        return None

    def loss(self):
        """A GPU falls off the bus; it is reset when nothing uses it any more, and taken into service again."""
        with self.gpu_in_hand(self.draw) as gpu:
            if gpu is None:
                return
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
            until(lambda: (a := self.ask("POST", f"/v1/gpus/{gpu}/resume", {})) is not None and a.status == 200,
                  f"GPU {gpu} is resumed", 30)
            until(lambda: self.gpu_state(gpu) == "ok", f"GPU {gpu} is ok after its reset", 30)
            self.diary.note("window", gpu=gpu, began=began)

    def failing_changes(self):
        kind = self.draw.choice(["create-fail", "destroy-fail", "ci-refused", "in-use-lag"])
        self.event("failing changes", kind=kind)
        self.control("fault", kind, *(["--ms", "300"] if kind == "in-use-lag" else []), "--count", "2")

    # ---- shortages

    def full_disk(self):
        """No byte is left for some seconds; a cancel that cannot be stored is none."""
        if not self.small_disk:
            return
        asker, filler = self.station.client(*USERS[0]), f"{self.station.state}/filler"
        made = asker.post("/v1/jobs", {"command": ["sleep", "600"], "directory": "/", "hold": True, "name": "on-full"})
        number = made.json["ids"][0] if made.status == 201 else None
        self.event("full disk")
        file = os.open(filler, os.O_WRONLY | os.O_CREAT, 0o600)
        for block in (1 << 20, 4096):
            with contextlib.suppress(OSError):
                while os.write(file, b"\0" * block) == block:
                    pass
        os.close(file)
        began = now()
        while number and now() - began < self.draw.uniform(0.5, 3):
            with contextlib.suppress(OSError, harness.http.client.HTTPException):
                answer = asker.ask("DELETE", f"/v1/jobs/{number}")
                shown = asker.job(number)["state"]
                if answer.status == 507 and shown != "held":
                    self.violation(f"a cancel on a full disk was answered 507 and job {number} is {shown}")
            time.sleep(0.2)
        os.remove(filler)
        self.event("room again")
        if number:
            until(lambda: (a := self.ask("DELETE", f"/v1/jobs/{number}")) is not None and a.status in (200, 409),
                  "a cancel when there is room again", 30)

    def few_descriptors(self):
        pid = self.station.process.pid
        with contextlib.suppress(OSError):
            most = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
            was = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most + self.draw.randint(1, 6), was[1]))
            self.event("few descriptors")
            time.sleep(self.draw.uniform(0.5, 3))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
            self.event("descriptors again")

    def few_processes(self):
        """By a cgroup of the daemon's own; jobs started meanwhile are in it, too."""
        group = f"/sys/fs/cgroup/pids/smartmig-trial-{os.getpid()}"
        with contextlib.suppress(OSError):
            os.makedirs(group, exist_ok=True)
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(self.station.process.pid))
            self.event("few processes")
            with open(f"{group}/pids.current") as file:
                count = int(file.read())
            with open(f"{group}/pids.max", "w") as file:
                file.write(str(count))
            time.sleep(self.draw.uniform(0.3, 1.5))
            with open(f"{group}/pids.max", "w") as file:
                file.write("max")
            self.event("processes again")

    def missing_store(self):
        """The queue's file is gone while jobs run: no daemon starts a new queue over them."""
        self.end_daemon(True)
        away, state = f"{self.root}/away", self.station.state
        os.mkdir(away)
        files = [name for name in os.listdir(state) if name.startswith("queue.db")]
        for name in files:
            shutil.move(f"{state}/{name}", f"{away}/{name}")
        running = bool(self.station.supervisors())
        self.event("missing store", running=running)
        try:
            self.station.serve(f"{GPUS}xa100-40gb", CONFIG)
            if running:
                self.violation("the daemon begins a new queue over jobs that run")
            self.end_daemon(True)
        except harness.Failed:
            pass  # it refuses
        for name in [n for n in os.listdir(state) if n.startswith("queue.db")]:
            os.remove(f"{state}/{name}")
        for name in files:
            shutil.move(f"{away}/{name}", f"{state}/{name}")
        os.rmdir(away)
        self.serve()

    # ---- small promises, looked at in the middle of it all

    def operators_hold(self):
        """What the operator holds, its owner's cancel and requeue do not release."""
        owner, root = self.station.client(*USERS[1]), self.station.client()
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            made = owner.post("/v1/jobs", {"command": ["true"], "directory": "/", "hold": True, "name": "held-by-root"})
            if made.status != 201:
                return
            number = made.json["ids"][0]
            self.event("operators hold", job=number)
            steps = [root.post("/v1/jobs/hold", {"ids": [number]}), owner.ask("DELETE", f"/v1/jobs/{number}"),
                     owner.post(f"/v1/jobs/{number}/requeue"), owner.post("/v1/jobs/release", {"ids": [number]})]
            state = owner.job(number)["state"]
            if steps[0].status == 200 and not steps[0].json["refused"] and state not in ("held", "cancelled"):
                self.violation(f"job {number}, held by the operator, is {state} after its owner's cancel, requeue and "
                               f"release ({[s.status for s in steps]})")
            root.ask("DELETE", f"/v1/jobs/{number}")

    def laid_links(self):
        """A user makes the directory of locks before root does, with links to root's file by the names of the locks."""
        machine, open_to_all = f"{self.root}/other-machine", f"{self.root}/run-{len(os.listdir(self.root))}"
        os.mkdir(open_to_all)
        os.chmod(open_to_all, 0o1777)
        subprocess.run([self.station.control, "init", machine, "--gpus", "1xa100-40gb", "--force"], capture_output=True)
        uuid = json.loads(subprocess.run([self.station.control, "show", machine, "--json"], capture_output=True).stdout)
        with harness.acting_as(*ENEMY):
            os.mkdir(f"{open_to_all}/locks")
            os.symlink(f"{self.root}/roots-private", f"{open_to_all}/locks/{uuid['gpus'][0]['uuid']}.lock")
        environment = {**os.environ, "NVML_SIM_STATE": machine, "SMARTMIG_LOCK_DIR": f"{open_to_all}/locks"}
        command = [self.station.program, "apply", "--nvml", self.nvml, "--state", f"{machine}-state", "--to", "7g"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.event("laid links", code=done.returncode, words=(done.stdout + done.stderr)[-200:])
        path = f"{self.root}/roots-private"
        if fingerprint(path) != self.before[path]:
            self.violation(f"root's smartmig followed a user's link and changed {path}")
            self.canary(path, 0, 0, 0o600)
            self.before[path] = fingerprint(path)

    def escapes(self):
        """A command with escapes is shown as harmless text."""
        owner = self.station.client(*USERS[2])
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            made = owner.post("/v1/jobs", {"command": ["echo", "\x1b]0;owned\x07", "\x1b[2J"], "directory": "/",
                                           "hold": True, "name": "escapes"})
            if made.status != 201:
                return
            number = made.json["ids"][0]
            self.event("escapes")
            for verb in (["show", str(number)], ["queue"], ["why", str(number)], ["top", "--once"]):
                command = [self.station.program, *verb, "--socket", self.station.socket]
                done = subprocess.run(command, capture_output=True, timeout=30)
                if b"\x1b]" in done.stdout or b"\x1b[2J" in done.stdout and verb[0] != "top":
                    self.violation(f"smartmig {' '.join(verb)} prints the escapes of a command raw")
            self.ask("DELETE", f"/v1/jobs/{number}")

    def secrets(self):
        """Whether a file of root's exists is told to nobody."""
        user = self.station.client(*USERS[0])
        with contextlib.suppress(OSError, ValueError, KeyError, harness.http.client.HTTPException):
            there, words = os.path.expanduser(f"~root/trial-{os.getpid()}"), []
            with open(there, "w") as file:
                file.write("#!/bin/sh\n")
            os.chmod(there, 0o755)
            for path in (there, there + "-not"):
                answer = user.post("/v1/jobs", {"command": [path], "script": f"#!{path}\ntrue\n", "directory": "/",
                                                "hold": True, "prelaunch": True, "name": "secrets"})
                words.append((answer.status, answer.body.replace(path.encode(), b"X"), [
                    user.ask("DELETE", f"/v1/jobs/{n}").status for n in answer.json.get("ids", [])]))
            os.remove(there)
            said = [(status, json.loads(body).get("warnings", body)) for status, body, _ in words]
            self.event("secrets")
            if words[0][0] == words[1][0] == 201 and said[0] != said[1]:
                self.violation(f"a script's interpreter tells whether root's file exists: {said}")

    # ---- the end

    def mend(self):
        """Everything is left to end."""
        self.control("clear")
        until(lambda: self.ask("POST", "/v1/queue/resume", {}) is not None, "the queue is resumed", 30)
        self.ask("POST", "/v1/settings", {"policy": "best"})
        for gpu in range(GPUS):
            if self.gpu_state(gpu) != "ok":
                self.ask("POST", f"/v1/gpus/{gpu}/resume", {})
        for name in self.reservations():
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
        with contextlib.suppress(OSError):
            os.rmdir(f"/sys/fs/cgroup/pids/smartmig-trial-{os.getpid()}")
