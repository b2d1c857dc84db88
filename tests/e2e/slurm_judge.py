"""Watches living processes for two jobs of one cluster on one slice: reads /proc alone and knows nothing of smartmig. A job's
processes have SLURM_JOB_ID, SLURMD_NODENAME and CUDA_VISIBLE_DEVICES=MIG-... in their environment; those of a cluster its
SLURM_CONF."""
import os
import subprocess
import threading
import time

EVERY_S = 0.2


def variables(pid):
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
    except OSError:
        return {}


def holders(conf):
    """{(node, device): {job: pid}} of what lives now."""
    found = {}
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        env = variables(pid)
        device, job = env.get(b"CUDA_VISIBLE_DEVICES", b""), env.get(b"SLURM_JOB_ID", b"")
        if env.get(b"SLURM_CONF", b"").decode() == conf and device.startswith(b"MIG-") and job:
            found.setdefault((env.get(b"SLURMD_NODENAME", b"").decode(), device.decode()), {})[job.decode()] = int(pid)
    return found


class Judge:
    """With: looks until the end; then, or by check(), raises if a slice ever had two jobs."""

    def __init__(self, conf):
        self.conf, self.crimes, self.looks, self.seen = conf, {}, 0, set()
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)

    def watch(self):
        while not self.over.wait(EVERY_S):
            self.look()

    def look(self):
        self.looks += 1
        for place, jobs in holders(self.conf).items():
            self.seen.update(jobs)
            if len(jobs) > 1:
                self.crimes.setdefault((place, tuple(sorted(jobs))), time.strftime("%H:%M:%S"))

    def check(self):
        if self.crimes:
            raise AssertionError(f"two jobs on one slice: {self.crimes}")
        if not self.looks:
            raise AssertionError("the judge never looked")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def sees_sharing(conf):
    """Two processes that look like jobs on one slice are found: the judge can convict."""
    made = [subprocess.Popen(["sleep", "60"], env={"SLURM_CONF": conf, "SLURM_JOB_ID": job, "SLURMD_NODENAME": "judge",
                                                   "CUDA_VISIBLE_DEVICES": "MIG-made-up"}) for job in ("1", "2")]
    try:
        judge = Judge(conf)
        until = time.monotonic() + 30
        while not judge.crimes and time.monotonic() < until:
            judge.look()
        return bool(judge.crimes)
    finally:
        for one in made:
            one.kill()
            one.wait()
