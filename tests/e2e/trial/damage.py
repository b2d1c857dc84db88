"""What happens to the store: backups and restores, files that are gone, empty or damaged. Deeds of the trial's
machine."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
import time

import harness
from harness import equal, until
from trial.notes import now


class Damage:
    def backup(self):
        copy = f"{self.root}/copy-{len(self.copies)}.db"
        began = now()
        answer = self.ask("POST", "/v1/backup", {"path": copy}, timeout=60)
        if answer is not None and answer.status == 200:
            self.copies.append((copy, began))
            self.event("backup", path=copy)
        return answer

    def restore(self):
        """Back to a copy: a new one, or one of some time ago."""
        if not self.copies or self.draw.random() < 0.7:
            until(lambda: (a := self.backup()) is not None and a.status == 200, "a backup", 30)
            time.sleep(self.draw.uniform(0.3, 8))
        copy, since = self.copies[-1] if self.draw.random() < 0.7 else self.draw.choice(self.copies[-3:])
        self.end_daemon(self.draw.random() < 0.6)
        command = [self.station.program, "restore", copy, "--state", self.station.state]
        if self.draw.random() < 0.3:  # one is killed half-way before
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as first:
                time.sleep(self.draw.uniform(0, 0.2))
                first.kill()
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.event("restore", path=copy, since=since)
        self.serve()
        equal(done.returncode, 0, f"restore: {done.stderr}")

    def store_files(self):
        return [name for name in os.listdir(self.station.state) if name.startswith("queue.db")]

    def missing_store(self):
        """The queue's file is gone, empty or no store at all while jobs run: no daemon starts a new queue over them."""
        self.end_daemon(True)
        away, state, kind = f"{self.root}/away", self.station.state, self.draw.choice(["gone", "empty", "damaged"])
        os.mkdir(away)
        files = self.store_files()
        for name in files:
            shutil.move(f"{state}/{name}", f"{away}/{name}")
        if kind != "gone":
            with open(f"{state}/queue.db", "wb") as file:
                file.write(b"" if kind == "empty" else os.urandom(100_000))
        running = bool(self.station.supervisors())
        self.event("missing_store", kind=kind, running=running)
        try:
            self.try_to_serve()
            if running or kind == "damaged":
                self.violation(f"the daemon begins a new queue where the store is {kind}, jobs run: {running}")
        except harness.Failed:
            pass  # it refuses
        self.end_daemon(True)
        for name in self.store_files():
            os.remove(f"{state}/{name}")
        for name in files:
            shutil.move(f"{away}/{name}", f"{state}/{name}")
        os.rmdir(away)
        self.serve()

    def removed_log(self):
        """The write-ahead log is gone after a kill: the queue is that of some time ago, as after a restore."""
        self.end_daemon(False)  # which folds the log into the file
        since = now()
        self.serve()
        told = self.told_damage()
        time.sleep(self.draw.uniform(0.3, 4))
        self.end_daemon(True)
        log = f"{self.station.state}/queue.db-wal"
        lost = os.path.exists(log) and os.path.getsize(log)
        if lost:
            os.remove(log)
        self.event("removed_log", since=since, bytes=lost)
        self.serve()
        if lost and self.told_damage() <= told:
            self.violation("a removed log of the store is not told of")

    def told_damage(self):
        answer = until(lambda: self.ask("GET", "/v1/journal", timeout=60), "the journal", 60)
        return sum('"damaged"' in line and "queue.db-wal" in line for line in answer.body.decode().splitlines())

    def damaged_row(self):
        """Of a job that waits and of one that runs: the one has failed and says why, the other runs on."""
        waits = self.own_job("damaged-waits", hold=True)
        runs = self.own_job("damaged-runs", priority=9)
        give_up = now() + 10
        while runs and self.state_of(runs) != "running" and now() < give_up:
            time.sleep(0.1)
        was, device = self.state_of(runs), self.device_of(runs)
        self.end_daemon(False)
        store = sqlite3.connect(f"{self.station.state}/queue.db")
        with contextlib.closing(store), store:
            store.execute("UPDATE jobs SET state='{' WHERE id IN (?, ?)", (waits or -1, runs or -1))
        self.event("damaged_row", waits=waits, runs=runs, was=was)
        self.serve()
        if waits and not (self.state_of(waits) == "failed" and "damaged" in self.reason_of(waits)):
            self.violation(f"job {waits} waited, its row is damaged, and it is {self.state_of(waits)} "
                           f"({self.reason_of(waits)})")
        if was == "running" and (self.state_of(runs), self.device_of(runs)) != ("running", device):
            self.violation(f"job {runs} ran on {device}, its row is damaged, and it is {self.state_of(runs)} on "
                           f"{self.device_of(runs)} ({self.reason_of(runs)})")
        if runs:
            until(lambda: (a := self.ask("DELETE", f"/v1/jobs/{runs}")) is not None and a.status in (200, 409),
                  "a cancel of a job whose row was damaged", 30)

    def killed_supervisor(self):
        """Of a job that runs: all that is left of it ends before another job has its slice, and it has failed."""
        with contextlib.suppress(OSError, ValueError, IndexError):
            pid = self.draw.choice(self.station.supervisors())
            with open(f"/proc/{pid}/cmdline") as file:
                job, attempt = map(int, file.read().split("\0")[1:3])
            self.event("killed_supervisor", job=job, attempt=attempt)
            os.kill(pid, 9)

    def own_job(self, name, **more):
        """One of the trial's machine that nobody gives orders about; None: it was not accepted."""
        environment = ["PATH=/usr/bin:/bin", f"TRIAL={self.root}", f"TRIAL_NAME={name}"]
        spec = {"command": [self.job, f"{self.root}/own-marks", name, "ok", "600"], "name": name, "directory": "/",
                "environment": environment, "estimate_s": 600, "mem_mib": 1000, "grace_s": 0.2, **more}
        answer = self.ask("POST", "/v1/jobs", spec)
        return answer.json["ids"][0] if answer is not None and answer.status == 201 else None

    def job_now(self, number):
        answer = until(lambda: self.ask("GET", f"/v1/jobs/{number}"), f"job {number}", 30) if number else None
        return answer.json if answer is not None and answer.status == 200 else {}

    def state_of(self, number):
        return self.job_now(number).get("state")

    def device_of(self, number):
        return self.job_now(number).get("device")

    def reason_of(self, number):
        return self.job_now(number).get("reason", "")
