"""Who watches from outside: a process that looks at /proc alone (environments, states, start times) for what runs on
which slice, and for the memory of the daemon, and hears from the kernel who opens a file that nobody has a reason to
open. Once a second it holds the daemon's list against what it sees."""
import contextlib
import json
import os
import subprocess
import time

import harness
from trial.canaries import Openings
from trial.notes import Diary, now

EVERY = 0.04  # seconds between two looks
NO_DEVICE = "MIG-00000000-"  # of a job that waits for its slice at its first CUDA call
TICK = os.sysconf("SC_CLK_TCK")
KEYS = ("SMARTMIG_JOB_ID", "SMARTMIG_ATTEMPT", "CUDA_VISIBLE_DEVICES", "TRIAL_NAME", "SLURM_ARRAY_TASK_ID")
UNNAMED_S = 4  # so long may the daemon take to name what runs, and a job to end that was told to


def stat_of(pid):
    """(state, parent, start in seconds since boot), or None where there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return words[0], int(words[1]), int(words[19]) / TICK


def environment_of(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
        return file.read()
    return b""


def memory_mib(pid, key="VmHWM"):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) / 1024
    return 0


def serves(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return b"\0serve\0" in file.read()
    return False


class Watcher:
    """`mark`: the entry of the environment by which the trial's jobs are known; `untouched`: files that nobody opens
    but `trial`, the process that lays and compares them and starts the daemons."""

    def __init__(self, diary, mark, station, stop, untouched, trial):
        self.diary, self.mark, self.station, self.stop = diary, mark.encode(), station, stop
        self.lives = {}  # pid: what is known of a process of a job
        self.others = {}  # (pid, start): no job's; young ones may be about to execute one and are looked at again
        self.unnamed, self.devices, self.most_mib = {}, {}, 0
        self.daemon, self.daemons = None, set()  # pid; (pid, start) of each that was seen
        self.openings, self.trial = None, trial
        try:
            self.openings = Openings(untouched)
        except OSError as problem:
            self.diary.note("unwatched", words=str(problem))

    def run(self):
        next_list = next_show = 0
        while not os.path.exists(self.stop):
            self.look()
            self.hear()
            if now() > next_show:
                next_show = now() + 0.5
                self.learn_devices()
                self.weigh()
            if now() > next_list:
                next_list = now() + 1
                self.compare()
            time.sleep(EVERY)
        self.look()
        self.hear()
        for pid in list(self.lives):
            self.gone(pid)
        self.diary.note("memory", mib=self.most_mib)

    def look(self):
        began, there = now(), set()
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            pid = int(entry)
            if not (stat := stat_of(pid)):
                continue
            state, parent, start = stat
            if parent == self.trial and (pid, start) not in self.daemons and serves(pid):
                self.daemons.add((pid, start))
                self.diary.note("daemon", pid=pid)
            life = self.lives.get(pid)
            if life and life["start"] != start:
                self.gone(pid)
                life = None
            if life:
                if state not in b"ZX":
                    life["last"] = began
                    there.add(pid)
                continue
            if self.others.get((pid, start)) or state in b"ZX":
                continue
            text = environment_of(pid)
            if self.mark in text:
                self.lives[pid] = life = {"pid": pid, "start": start, "last": began}
                values = dict(e.split("=", 1) for e in text.decode(errors="replace").split("\0") if "=" in e)
                life.update({key: values.get(key, "-") for key in KEYS})
                self.diary.note("appears", **life)
                there.add(pid)
            else:
                self.others[(pid, start)] = began - start > 3
        for pid in [p for p in self.lives if p not in there]:
            self.gone(pid)
        if len(self.others) > 50_000:
            self.others.clear()

    def hear(self):
        for path, pid, program in self.openings.seen() if self.openings else ():
            if pid != self.trial:
                self.diary.note("opened", path=path, pid=pid, program=program)

    def gone(self, pid):
        self.diary.note("life", **self.lives.pop(pid))

    def learn_devices(self):
        """Where each instance lies, from the emulated machine itself."""
        done = subprocess.run([self.station.control, "show", self.station.machine, "--json"], capture_output=True)
        with contextlib.suppress(ValueError, KeyError):
            for gpu in json.loads(done.stdout)["gpus"]:
                for instance in gpu["gpu_instances"]:
                    for compute in instance["compute_instances"]:
                        if self.devices.get(compute["uuid"]) is None:
                            self.devices[compute["uuid"]] = True
                            self.diary.note("device", uuid=compute["uuid"], gpu=gpu["index"], instance={
                                k: v for k, v in instance.items() if k != "compute_instances"})

    def weigh(self):
        """The daemon and what it forked to look into the future."""
        with contextlib.suppress(OSError, ValueError):
            self.daemon = int(open(self.station.pid_file).read())
            for pid in [self.daemon, *harness.children_of(self.daemon)]:
                with open(f"/proc/{pid}/comm") as comm:
                    if comm.read().strip() != "smartmig":
                        continue
                mib = memory_mib(pid)
                if mib > self.most_mib + 20:
                    self.diary.note("grew", mib=mib, pid=pid, forked=pid != self.daemon)
                self.most_mib = max(self.most_mib, mib)

    def compare(self):
        """Every job that has processes is called running."""
        before = {(l["SMARTMIG_JOB_ID"], l["SMARTMIG_ATTEMPT"]): l for l in self.lives.values()
                  if not l["CUDA_VISIBLE_DEVICES"].startswith(NO_DEVICE) and now() - l["start"] > UNNAMED_S}
        try:
            answer = self.station.client().get("/v1/jobs?state=active&limit=10000", timeout=10)
            listed = {str(j["id"]): j for j in answer.json["jobs"]} if answer.status == 200 else None
        except (OSError, ValueError, harness.http.client.HTTPException):
            listed = None
        if listed is None:
            self.unnamed.clear()
            return
        self.look()
        alive = {(l["SMARTMIG_JOB_ID"], l["SMARTMIG_ATTEMPT"]) for l in self.lives.values()}
        wrong = {}
        for attempt, life in before.items():
            job = listed.get(attempt[0])
            named = job and job["state"] in ("starting", "running", "stopping") and str(job["attempt"]) == attempt[1]
            if attempt in alive and not named:
                wrong[attempt] = self.unnamed.get(attempt, now())
                if now() - wrong[attempt] > UNNAMED_S and now() - wrong[attempt] < 1000:
                    self.diary.note("unnamed", job=attempt[0], attempt=attempt[1], name=life["TRIAL_NAME"],
                                    device=life["CUDA_VISIBLE_DEVICES"],
                                    said=f"{job['state']}, attempt {job['attempt']}" if job else "not active")
                    wrong[attempt] = -1e9  # once
        self.unnamed = wrong


def watch(diary_path, mark, station, stop, untouched, trial):
    Watcher(Diary(diary_path), mark, station, stop, untouched, trial).run()


def heartbeat(diary_path, stop):
    """How long the machine itself lets a process wait: what is slower than that is the daemon's doing."""
    diary = Diary(diary_path)
    while not os.path.exists(stop):
        before = now()
        time.sleep(0.02)
        if (late := now() - before - 0.02) > 0.1:
            diary.note("stall", begin=before, seconds=late)
