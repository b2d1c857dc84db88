#!/usr/bin/env python3
"""A long trial of a real daemon: three users, a flood of tiny jobs, hostile clients, the daemon killed and restored from
backups while work goes on; at the end every accepted job has to have had exactly one true end, and no slice two jobs at once:
tests/e2e/trial.py BUILD-DIRECTORY. JOBS (2000), KILLS (40), RESTORES (4) and SEED choose another one. Needs root."""
import collections
import contextlib
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

USERS = [(65534, 65534), (1, 1), (41234, 41234)]
FLOODER = (41235, 41235)
JOBS, KILLS = int(os.environ.get("JOBS", 2000)), int(os.environ.get("KILLS", 40))
RESTORES, SEED = int(os.environ.get("RESTORES", 4)), int(os.environ.get("SEED", time.time_ns() % 100_000))
FINAL = {"done", "failed", "cancelled", "timed_out"}
MEMORY_SLICES = {"1g": 1, "2g": 2, "3g": 4, "4g": 4, "7g": 8}  # of an A100

# $0: its name, $1: seconds, $2: exit code. What a job says of itself is believed, the daemon is compared with it.
JOB = 'echo "$0 begins $(date +%s.%N)" >>"$MARKS"; sleep "$1"; echo "$0 ends $(date +%s.%N)" >>"$MARKS"; exit "$2"'


class Diary:
    """What one client did, a line each: it is written before the request and again when that was answered."""

    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def note(self, what, **more):
        self.file.write(json.dumps({"what": what, "at": time.time(), **more}) + "\n")


def once(ask):
    """The answer and the seconds it took; None while the daemon is away or has too much to do."""
    began = time.monotonic()
    try:
        answer = ask()
        if answer.status not in (429, 503):
            return answer, time.monotonic() - began
    except (OSError, harness.http.client.HTTPException):
        pass
    time.sleep(0.1)
    return None


def patiently(ask, give_up_at):
    while time.time() < give_up_at:
        if (answered := once(ask)) is not None:
            return answered
    raise harness.Failed("the daemon did not come back")


def a_user(station, user, marks, diary, jobs, seed):
    """Submits so many jobs, looks around, cancels a few."""
    draw, client, mine = random.Random(seed), station.client(*user), []
    end = time.time() + 3600
    for i in range(jobs):
        for attempt in range(100):  # a request without an answer may have been accepted: the next one has another name
            name = f"u{user[0]}-{i}-{attempt}"
            seconds, code = f"{draw.uniform(0.05, 0.8):.2f}", draw.choice([0, 0, 0, 0, 0, 3])
            spec = {"command": ["sh", "-c", JOB, name, seconds, str(code)], "name": name, "mem_mib": draw.choice([1000, 4000, 9000]),
                    "environment": ["PATH=/usr/bin:/bin", f"MARKS={marks}"], "directory": "/", "estimate_s": draw.choice([1, 5])}
            if draw.random() < 0.5:
                spec["deadline_s"] = draw.choice([2, 60, 3600])
            if draw.random() < 0.2:
                spec["requeue"] = True
            if draw.random() < 0.02:
                spec["time_limit_s"] = 1
                spec["command"][4] = "30"
            diary.note("try", name=name, code=code, requeue=spec.get("requeue", False))
            if (answered := once(lambda: client.post("/v1/jobs", spec))) is None:
                continue
            answer, took = answered
            check(answer.status == 201, f"submit of {name}: {answer}")
            diary.note("accepted", name=name, id=answer.json["ids"][0], took=took)
            mine.append(answer.json["ids"][0])
            break
        else:
            raise harness.Failed(f"job {i} of user {user[0]} was not accepted in 100 tries")
        if draw.random() < 0.03:
            number = draw.choice(mine)
            diary.note("cancel", id=number)
            answer, took = patiently(lambda: client.ask("DELETE", f"/v1/jobs/{number}"), end)
            check(answer.status in (200, 404, 409), f"cancel of {number}: {answer}")
            diary.note("cancelled", took=took)
        if draw.random() < 0.05:
            answer, took = patiently(lambda: client.get("/v1/jobs?limit=100"), end)
            equal(answer.status, 200, "the list of jobs")
            diary.note("listed", took=took)
        if draw.random() < 0.03:
            answer, _ = patiently(lambda: client.get(f"/v1/jobs/{draw.choice(mine)}/why"), end)
            check(answer.status in (200, 400, 404, 409), f"why: {answer}")
        time.sleep(draw.uniform(0, 0.1))


def a_flooder(station, marks, diary, jobs, seed):
    """Jobs that do nothing, hundreds in one request."""
    client, sent = station.client(*FLOODER), 0
    while sent < jobs:
        count = min(200, jobs - sent)
        names = [f"flood-{sent + k}-{seed}-{time.time_ns()}" for k in range(count)]
        for name in names:
            diary.note("try", name=name, code=0, requeue=False)
        specs = [{"command": ["sh", "-c", JOB, name, "0", "0"], "name": name, "mem_mib": 1000, "directory": "/",
                  "environment": ["PATH=/usr/bin:/bin", f"MARKS={marks}"], "estimate_s": 1} for name in names]
        if (answered := once(lambda: client.post("/v1/jobs", {"jobs": specs}))) is None:
            continue
        answer, _ = answered
        equal(answer.status, 201, "the flood")
        for name, number in zip(names, answer.json["ids"]):
            diary.note("accepted", name=name, id=number, took=None)
        sent += count


def an_enemy(station, diary, stop, seed):
    """Bytes that are no request, requests that never end, more connections than are allowed. Nothing of it may be heard of."""
    draw, held = random.Random(seed), []
    lines = [b"\x00\xff" * 2000, b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 9\r\n\r\nhello",
             b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n{",
             b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"GET /v1/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[[[[[[[[[",
             b"DELETE /v1/jobs/1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST /v1/queue/pause HTTP/1.1\r\nHost: localhost\r\n\r\n",
             b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n"]
    count = 0
    while not os.path.exists(stop):
        with contextlib.suppress(OSError):
            if draw.random() < 0.3:  # a request that drips
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(1)
                connection.connect(station.socket)
                connection.sendall(b"GET /v1/status HT")
                held.append(connection)
                if len(held) > 150:
                    held.pop(0).close()
            else:
                harness.raw(station.socket, draw.choice(lines), timeout=0.3)
        count += 1
        time.sleep(0.02)
    diary.note("attacked", count=count)


def in_background(user, work):
    """A process of its own that is that user."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        os.setgroups([])
        os.setgid(user[1])
        os.setuid(user[0])
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def read_lines(path):
    with open(path, errors="replace") as file:
        return file.read().splitlines()


class Trial:
    def __init__(self, build):
        self.draw = random.Random(SEED)
        self.station = harness.Station(build)
        self.marks, self.stop = f"{self.station.root}/marks", f"{self.station.root}/stop"
        open(self.marks, "w").close()
        os.chmod(self.marks, 0o666)
        self.diaries, self.clients, self.lost = [], [], []  # lost: spans between a backup and the end of the daemon
        self.kills = self.restores = 0

    def diary(self, user):
        path = f"{self.station.root}/diary-{len(self.diaries)}"
        open(path, "w").close()
        os.chown(path, *user)
        self.diaries.append(path)
        return Diary(path)

    def serve(self):
        self.station.serve("4xa100-40gb")

    def begin(self):
        self.serve()
        share = (JOBS * 3 // 4) // len(USERS)
        for k, user in enumerate(USERS):
            diary = self.diary(user)
            self.clients.append(in_background(user, lambda u=user, d=diary, s=k: a_user(self.station, u, self.marks, d, share,
                                                                                      SEED * 10 + s)))
        diary = self.diary(FLOODER)
        self.clients.append(in_background(FLOODER, lambda: a_flooder(self.station, self.marks, diary, JOBS - share * len(USERS),
                                                                     SEED)))
        enemy = self.diary(USERS[0])
        self.enemy = in_background(USERS[0], lambda: an_enemy(self.station, enemy, self.stop, SEED))

    def kill(self):
        self.station.process.kill()
        self.station.process.wait()
        self.serve()
        self.kills += 1

    def restore(self):
        """Back to a copy of some seconds ago."""
        copy, began = f"{self.station.root}/copy-{self.restores}.db", time.time()
        equal(self.station.client().post("/v1/backup", {"path": copy}, timeout=60).status, 200, "backup")
        time.sleep(self.draw.uniform(0.5, 3))
        self.station.end()
        done = subprocess.run([self.station.program, "restore", copy, "--state", self.station.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        self.lost.append((began - 1, time.time()))
        self.serve()
        self.restores += 1

    def clients_are_done(self):
        for pid in list(self.clients):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self.clients.remove(pid)
                equal(os.waitstatus_to_exitcode(status), 0, "a client's end (its words are above)")
        return not self.clients

    def disturb(self):
        plan = ["kill"] * KILLS + ["restore"] * RESTORES
        self.draw.shuffle(plan)
        while plan or not self.clients_are_done():
            time.sleep(self.draw.uniform(0.3, 3))
            if plan:
                getattr(self, plan.pop())()
            check(self.station.process.poll() is None, "the daemon ended by itself")
        open(self.stop, "w").close()
        os.waitpid(self.enemy, 0)

    def drained(self):
        return not self.station.client().get("/v1/jobs?state=active&limit=10").json["jobs"]

    def jobs(self):
        found, after = [], ""
        while True:
            page = self.station.client().get(f"/v1/jobs?state=final&limit=1000{after}").json
            found += page["jobs"]
            if not page["more"]:
                return found
            after = f"&after={page['jobs'][-1]['id']}"

    # ---- what must be true at the end

    def judge(self):
        notes = [json.loads(line) for path in self.diaries for line in read_lines(path)]
        tried = {n["name"]: n for n in notes if n["what"] == "try"}
        accepted = {n["name"]: n for n in notes if n["what"] == "accepted"}
        begins, ends = collections.defaultdict(list), collections.defaultdict(list)
        for line in read_lines(self.marks):
            name, what, at = line.split()
            (begins if what == "begins" else ends)[name].append(float(at))
        known = collections.defaultdict(list)
        for job in self.jobs():
            known[job["name"]].append(job)

        for name, found in known.items():
            check(name in tried, f"job {found[0]['id']} ({name}) was never submitted")
            equal(len(found), 1, f"jobs named {name}")
        gone = 0
        for name, note in accepted.items():
            if name in known:
                continue
            in_span = any(begin <= note["at"] <= end for begin, end in self.lost)
            check(in_span and not begins[name], f"{name}, accepted as job {note['id']}, is not known any more")
            gone += 1
        states = collections.Counter()
        for name, (job,) in known.items():
            state, again = job["state"], job["attempt"] > 1
            states[state] += 1
            check(state in FINAL, f"{name} is {state}")
            check(len(begins[name]) <= max(1, job["attempt"]), f"{name} began {len(begins[name])} times in {job['attempt']} attempts")
            if state == "done":
                equal(len(ends[name]), 1, f"ends of {name}, which is done")
                equal(tried[name]["code"], 0, f"exit code of {name}, which is done")
            elif state == "failed" and job["exit_code"] is not None:
                check(again or job["exit_code"] == tried[name]["code"], f"{name} failed with {job['exit_code']}: {job}")
                check(tried[name]["code"] != 0, f"{name} failed, and exits with 0: {job}")
        self.no_slice_is_shared(known, begins, ends)
        self.tell(notes, states, gone)

    def no_slice_is_shared(self, known, begins, ends):
        """By the jobs' own words of when they ran, and the slices that the daemon gave them."""
        runs = collections.defaultdict(list)
        for name, (job,) in known.items():
            if job["attempt"] != 1 or job["slice"] is None or not begins[name] or not ends[name]:
                continue
            profile, start = job["slice"].split("@")
            first = int(start)
            for slot in range(first, first + MEMORY_SLICES[profile.split(".")[0]]):
                runs[job["gpu"], slot].append((begins[name][0], ends[name][0], name))
        check(runs, "no run to look at")
        for (gpu, slot), spans in runs.items():
            spans.sort()
            for (_, end, a), (begin, _, b) in zip(spans, spans[1:]):
                check(begin >= end, f"{a} and {b} ran at once on memory slice {slot} of GPU {gpu}")

    def tell(self, notes, states, gone):
        took = {what: sorted(n["took"] for n in notes if n["what"] == what and n.get("took") is not None)
                for what in ("accepted", "listed", "cancelled")}
        words = ", ".join(f"{what} {1000 * statistics.median(t):.0f} ms median, {1000 * t[int(0.99 * (len(t) - 1))]:.0f} ms p99"
                          for what, t in took.items() if t)
        attacks = sum(n["count"] for n in notes if n["what"] == "attacked")
        print(f"  seed {SEED}: {sum(states.values())} jobs ({dict(states)}), {gone} undone by a restore; {self.kills} kills, "
              f"{self.restores} restores, {attacks} hostile requests; {words}")


def a_long_trial(build):
    if os.geteuid() != 0:
        return "needs root: it asks as several users"
    trial = Trial(build)
    try:
        trial.begin()
        trial.disturb()
        until(trial.drained, "all jobs are final", 900)
        trial.judge()
    except BaseException:
        print(f"  SEED={SEED}", flush=True)
        raise
    finally:
        open(trial.stop, "w").close()
        for pid in trial.clients:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
                os.waitpid(pid, 0)
        trial.station.close()
    return None


if __name__ == "__main__":
    harness.main([a_long_trial], "trial")
