"""What the machine is short of for a while, and operations of its GPUs that fail: deeds of the trial's machine."""
import contextlib
import ctypes
import os
import resource
import threading
import time

import harness
from harness import until
from trial.notes import now
from trial.users import ENEMY, USERS

PIDS = "/sys/fs/cgroup/pids"
DISK_MIB = 1200  # of the state directory
MS_REMOUNT = 32


def mount_memory(path, size, flags=0):
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.mount(b"none", path.encode(), b"tmpfs", flags, f"size={size},mode=755".encode()) == 0


def resize_memory(path, size):
    return mount_memory(path, size, MS_REMOUNT)


class Shortages:
    def failing_changes(self):
        kind = self.draw.choice(["create-fail", "destroy-fail", "ci-refused", "in-use-lag"])
        self.event("failing_changes", kind=kind)
        self.control("fault", kind, *(["--ms", "300"] if kind == "in-use-lag" else []), "--count", "2")

    def full_disk(self):
        """No byte is left for some seconds; a cancel that cannot be stored is none."""
        if not self.small_disk:
            return self.leave_out("full_disk", "no file system of its own")
        asker, state = self.station.client(*USERS[0]), self.station.state
        made = asker.post("/v1/jobs", {"command": ["sleep", "600"], "directory": "/", "hold": True, "name": "on-full"})
        number = made.json["ids"][0] if made.status == 201 else None
        self.event("full_disk")
        full = os.statvfs(state)  # made smaller, not filled: that would take the memory of the machine
        resize_memory(state, f"{(full.f_blocks - full.f_bfree) * full.f_frsize // 1024 + 4}k")
        began = now()
        while number and now() - began < self.draw.uniform(0.5, 3):
            with contextlib.suppress(OSError, harness.http.client.HTTPException):
                answer = asker.ask("DELETE", f"/v1/jobs/{number}")
                shown = asker.job(number)["state"]
                if answer.status == 507 and shown != "held":
                    self.violation(f"a cancel on a full disk was answered 507 and job {number} is {shown}")
            time.sleep(0.2)
        resize_memory(state, f"{DISK_MIB}m")
        self.event("room_again")
        if number:
            until(lambda: (a := self.ask("DELETE", f"/v1/jobs/{number}")) is not None and a.status in (200, 409),
                  "a cancel when there is room again", 30)

    def few_descriptors(self):
        pid = self.station.process.pid
        with contextlib.suppress(OSError):
            most = max(int(name) for name in os.listdir(f"/proc/{pid}/fd"))
            was = resource.prlimit(pid, resource.RLIMIT_NOFILE)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (most + self.draw.randint(1, 6), was[1]))
            self.event("few_descriptors")
            time.sleep(self.draw.uniform(0.5, 3))
            resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
            self.event("descriptors_again")

    def few_processes(self):
        """By a cgroup of the daemon's own; jobs started meanwhile are in it, too."""
        group = f"{PIDS}/smartmig-trial-{os.getpid()}"
        try:
            os.makedirs(group, exist_ok=True)
            with open(f"{group}/cgroup.procs", "w") as file:
                file.write(str(self.station.process.pid))
            with open(f"{group}/pids.current") as file:
                count = int(file.read())
        except OSError as problem:
            return self.leave_out("few_processes", str(problem))
        self.event("few_processes")
        try:
            self.limit_processes(group, str(count))
            time.sleep(self.draw.uniform(0.3, 1.5))
        finally:
            self.limit_processes(group, "max")
            self.event("processes_again")

    def limit_processes(self, group, most):
        with open(f"{group}/pids.max", "w") as file:
            file.write(most)

    def remove_group(self):
        with contextlib.suppress(OSError):
            os.rmdir(f"{PIDS}/smartmig-trial-{os.getpid()}")

    def dead_mount(self):
        """A file system that never answers: submissions of the one who names it wait, or are refused; no others do.
        A job whose output lies there waits for nobody but itself."""
        place = f"{self.root}/mount-{self.counts.get('dead_mount', 0)}"
        with harness.dead_mount(place) as there:
            if not there:
                return self.leave_out("dead_mount", "no file system can be mounted here")
            self.event("dead_mount")

            def submit(**more):
                spec = {"command": ["./program"], "directory": "/", "name": "on-dead", "estimate_s": 1, **more}
                client = self.station.client(*ENEMY)
                with contextlib.suppress(OSError, harness.http.client.HTTPException):
                    client.post("/v1/jobs", spec, timeout=20)

            asked = [threading.Thread(target=submit, kwargs=more) for more in (
                {"directory": place}, {"directory": place}, {"environment": [f"PATH={place}/a:{place}/b"]},
                {"command": [f"{place}/program"]}, {"command": ["true"], "output": f"{place}/out"})]
            for thread in asked:
                thread.start()
            time.sleep(self.draw.uniform(1, 4))
        for thread in asked:  # whoever still looks is told that nobody answers
            thread.join()
        self.event("mount_is_gone")
        until(lambda: (a := self.ask("POST", "/v1/jobs/cancel", {"name": "on-dead", "everyone": True})) is not None
              and a.status == 200, "a cancel of what looked at a dead mount", 30)
