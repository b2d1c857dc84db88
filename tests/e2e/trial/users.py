"""Who asks: three users with every verb, one who floods, an operator, a stranger who measures how fast the daemon
answers others, and an enemy. Each is a process of its own, as that user, with random choices of its own."""
import contextlib
import fcntl
import os
import random
import re
import socket
import threading
import time

import harness
from trial.notes import Diary, now

NAMES = {65534: "nobody", 1: "daemon", 2: "bin"}
USERS = [(65534, 65534), (1, 1), (2, 2)]
FLOODER, STRANGER, ENEMY = (41235, 41235), (41236, 41236), (41237, 41237)
GROUPS = {"pairs": 2, "single": 1}
MOST_WAITING = 90
SLOW_S = 1.0  # what others may have to wait
ROLES = ["ok"] * 12 + ["fail", "fail", "stubborn", "fork", "fork", "timed", "checkpoint", "checkpoint", "checkpoint"]
TIME_LIMIT_S = 1.0


class Party:
    """One who asks: notes every request before it is sent and when it was answered."""

    def __init__(self, world, user, diary, seed):
        self.world, self.user, self.diary = world, user, Diary(diary)
        self.draw, self.client = random.Random(seed), world.station.client(*user)

    def ask(self, kind, method, path, body=None, subject=None, timeout=30, **more):
        """The answer; None where the daemon was away or died over it. `kind`: as which request its time counts."""
        began = now()
        self.diary.note("asks", kind=kind, subject=subject, **more)
        try:
            answer = self.client.ask(method, path, body, timeout=timeout)
        except (OSError, harness.http.client.HTTPException) as problem:
            late = isinstance(problem, TimeoutError)
            self.diary.note("unanswered", kind=kind, subject=subject, took=now() - began if late else None)
            return None
        self.diary.note("answered", kind=kind, subject=subject, status=answer.status, began=began, took=now() - began,
                        **({"words": answer.body[:200].decode(errors="replace")} if answer.status >= 400 else {}))
        return answer

    def patiently(self, kind, method, path, body=None, subject=None, **more):
        while not self.world.over():
            answer = self.ask(kind, method, path, body, subject, **more)
            if answer is not None and answer.status not in (429, 503, 507):
                return answer
            time.sleep(0.1)
        return None

    def pause(self, low, high):
        time.sleep(self.draw.uniform(low, high))


class User(Party):
    """Submits jobs of all kinds and gives orders about them."""

    def __init__(self, world, user, diary, seed, jobs):
        super().__init__(world, user, diary, seed)
        self.jobs, self.mine, self.count = jobs, [], 0  # mine: (name, id, task or None)
        self.home = world.home(user)

    def run(self):
        accepted = 0
        while accepted < self.jobs:
            accepted += self.submit()
            if self.mine and self.draw.random() < 0.45:
                self.give_an_order()
            self.pause(0, 0.1)
            self.wait_for_room()

    def wait_for_room(self):
        for _ in range(100):
            answer = self.ask("status", "GET", "/v1/status")
            if answer is not None and answer.status == 200:
                if answer.json["queue"]["queued"] + answer.json["queue"]["held"] < MOST_WAITING:
                    return
            time.sleep(0.2)

    def submit(self):
        # A request without an answer may have been accepted: names are used once.
        name = f"u{self.user[0]}-{self.count}"
        self.count += 1
        spec, facts = self.a_job(name)
        answer = self.ask("submit", "POST", "/v1/jobs", spec, name, facts=facts)
        if answer is None or answer.status in (429, 503, 507):
            time.sleep(0.1)
            return 0
        if answer.status != 201:
            # What it depends on, or its reservation, may be gone by now.
            words = answer.body[:300].decode(errors="replace")
            self.diary.note("refused", subject=name, status=answer.status, words=words,
                            expected=bool(facts["after"] or facts["reservation"]))
            return 0
        ids = answer.json["ids"]
        self.diary.note("accepted", subject=name, ids=ids)
        self.mine += [(name, number, task) for number, task in zip(ids, facts["tasks"] or [None])]
        return len(ids)

    def a_job(self, name):
        draw, role = self.draw, self.draw.choice(ROLES)
        seconds = draw.uniform(6, 20) if draw.random() < 0.15 else draw.uniform(0.05, 1.5)
        if role == "timed":
            seconds = 60
        if role == "checkpoint":
            seconds = draw.uniform(2, 6)
        prelaunch = role in ("ok", "fail", "fork") and draw.random() < 0.2
        environment = ["PATH=/usr/bin:/bin", f"TRIAL={self.world.root}", f"TRIAL_NAME={name}"]
        if prelaunch:
            environment += [f"TRIAL_CUDA={self.world.cuda}", f"STUB_NVML={self.world.nvml}"]
        does = "ok" if role == "timed" else role
        spec = {"command": [self.world.job, f"{self.home}/marks", name, does, f"{seconds:.2f}"], "name": name,
                "environment": environment, "directory": self.home, "grace_s": draw.choice([0.2, 0.5, 1]),
                "mem_mib": draw.choice([1000, 4000, 9000, 18000]), "estimate_s": draw.choice([0.5, 2, seconds])}
        facts = {"role": role, "seconds": seconds, "prelaunch": prelaunch, "after": None, "tasks": None,
                 "requeue": False, "group": "", "reservation": "", "hold": False, "trespass": False}
        if prelaunch:
            spec["prelaunch"] = True
        if role == "timed":
            spec["time_limit_s"] = TIME_LIMIT_S
        if role == "checkpoint":
            spec.update(checkpoint_signal="USR1", restart_s=0.05, min_slices=draw.choice([1, 4, 7]), deadline_s=300)
        elif draw.random() < 0.15:
            spec["min_slices"] = draw.choice([3, 7])
        if draw.random() < 0.4:
            spec["deadline_s"] = draw.choice([1, 3, 30, 600])
        if role == "ok" and draw.random() < 0.2:
            spec["requeue"] = facts["requeue"] = True
        if draw.random() < 0.08:
            tasks = draw.sample(range(100), draw.randint(2, 6))
            spec["array"] = facts["tasks"] = tasks
            spec["array_limit"] = draw.randint(1, 3)
        if self.mine and draw.random() < 0.3:
            kind = draw.choice(["afterok", "afterany", "afternotok", "after", "after", "after", "singleton"])
            if kind == "singleton":
                spec["dependencies"] = ["singleton"]
                facts["after"] = [kind, None]
            else:
                other = draw.choice(self.mine[-4:])
                spec["dependencies"] = [f"{kind}:{other[1]}"]
                facts["after"] = [kind, other]
        if draw.random() < 0.08:
            spec["group"] = facts["group"] = draw.choice(list(GROUPS))
        if draw.random() < 0.05:
            spec["begin_s"] = draw.uniform(0.5, 4)
        if draw.random() < 0.05:
            spec["hold"] = facts["hold"] = True
        if draw.random() < 0.04 and (names := self.world.reservations()):
            spec["reservation"] = facts["reservation"] = draw.choice(names)
        if draw.random() < 0.15:
            spec["output"] = "%x-%j.out"
        elif draw.random() < 0.02:  # another's file: it must not run
            spec["output"], facts["trespass"] = draw.choice(self.world.canaries_of_others(self.user)), True
        return spec, facts

    def give_an_order(self):
        draw = self.draw
        name, number, _ = target = draw.choice(self.mine[-12:])
        order = draw.choice(["cancel", "cancel", "hold", "suspend", "suspend", "requeue", "update", "update", "why",
                             "eta", "log", "list", "whatif", "cancel_by_name", "history", "show", "queue"])
        one = {"ids": [number]}
        if order == "cancel":
            self.patiently("cancel", "DELETE", f"/v1/jobs/{number}", subject=name, target=target)
        elif order == "cancel_by_name":
            self.patiently("cancel", "POST", "/v1/jobs/cancel", {"name": name}, name, target=[name, None, None])
        elif order == "requeue":
            self.patiently("requeue", "POST", f"/v1/jobs/{number}/requeue", subject=name, target=target)
        elif order in ("hold", "suspend"):
            self.patiently(order, "POST", f"/v1/jobs/{order}", one, name, target=target)
            self.pause(0.1, 1)
            back = "release" if order == "hold" else "continue"
            self.patiently(back, "POST", f"/v1/jobs/{back}", one, name, target=target)
        elif order == "update":
            change = draw.choice([{"deadline_s": 5}, {"priority": -3}, {"estimate_s": 3}, {"mem_mib": 2000},
                                  {"begin_s": 1}, {"deadline_at": None}])
            self.patiently("update", "POST", "/v1/jobs/update", {**one, "set": change}, name, target=target)
        elif order in ("why", "eta"):
            self.ask("question", "GET", f"/v1/jobs/{number}/{order}", subject=name)
        elif order == "whatif":
            self.ask("question", "POST", "/v1/whatif", {"policy": "none+edf"})
        elif order in ("log", "history"):
            self.ask("look", "GET", f"/v1/jobs/{number}/{order}", subject=name)
        elif order == "show":
            self.ask("look", "GET", f"/v1/jobs/{number}", subject=name)
        else:
            self.ask("look", "GET", "/v1/jobs?limit=100")


class Flooder(Party):
    """Jobs that do nothing, many in one request."""

    def __init__(self, world, user, diary, seed, jobs):
        super().__init__(world, user, diary, seed)
        self.jobs = jobs

    def run(self):
        sent, home = 0, self.world.home(self.user)
        while sent < self.jobs:
            count = min(50, self.jobs - sent)
            names = [f"flood-{now():.3f}-{k}" for k in range(count)]
            facts = {"role": "ok", "seconds": 0, "prelaunch": False, "after": None, "tasks": None, "requeue": False,
                     "group": "", "reservation": "", "hold": False, "trespass": False}
            specs = [{"command": [self.world.job, f"{home}/marks", name, "ok", "0"], "name": name, "mem_mib": 1000,
                      "environment": [f"TRIAL={self.world.root}", f"TRIAL_NAME={name}"], "directory": home,
                      "estimate_s": 0.1} for name in names]
            for name in names:
                self.diary.note("asks", kind="flood", subject=name, facts=facts)
            answer = self.ask("submit", "POST", "/v1/jobs", {"jobs": specs})
            if answer is None or answer.status != 201:
                time.sleep(0.2)
                continue
            for name, number in zip(names, answer.json["ids"]):
                self.diary.note("accepted", subject=name, ids=[number])
            sent += count
            self.pause(2, 6)


class Operator(Party):
    """Root: policies, pauses, drains, groups, reservations, holds; leaves all in order at the end."""

    def run(self):
        number = 0
        while not self.world.over():
            self.pause(0.3, 1.5)
            order = self.draw.choice(["policy", "policy", "pause", "drain", "reserve", "reserve", "unreserve", "front",
                                      "hold", "reload", "look"])
            if order == "policy":
                policy = self.draw.choice(["best", "best", "none+edf", "static+edf"])
                self.ask("order", "POST", "/v1/settings", {"policy": policy})
            elif order == "pause":
                self.ask("order", "POST", "/v1/queue/pause", {})
                self.pause(0.1, 0.8)
                self.patiently("order", "POST", "/v1/queue/resume", {})
            elif order == "drain":
                with self.world.gpu_in_hand(self.draw) as gpu:
                    if gpu is not None:
                        self.ask("order", "POST", f"/v1/gpus/{gpu}/drain", {})
                        self.pause(0.1, 1)
                        self.patiently("order", "POST", f"/v1/gpus/{gpu}/resume", {})
            elif order == "reserve":
                number += 1
                self.ask("order", "POST", "/v1/reservations", {
                    "name": f"r{number}", "count": 1, "begin_s": self.draw.uniform(0, 4),
                    "duration_s": self.draw.uniform(2, 6), "users": [NAMES[uid] for uid, _ in USERS]})
            elif order == "unreserve":
                for name in self.world.reservations()[:1]:
                    self.ask("order", "POST", "/v1/reservations/remove", {"name": name})
            elif order == "reload":
                self.ask("order", "POST", "/v1/reload", {})
            elif order == "look":
                self.ask("look", "GET", "/v1/usage?by=user")
                self.ask("look", "GET", "/metrics")
            else:
                waiting = self.ask("look", "GET", "/v1/jobs?state=queued&limit=20")
                if waiting is None or waiting.status != 200 or not (jobs := waiting.json["jobs"]):
                    continue
                job = self.draw.choice(jobs)
                target, one = [job["name"], job["id"], job["array_index"]], {"ids": [job["id"]]}
                self.ask(order, "POST", f"/v1/jobs/{order}", one, job["name"], target=target)
                if order == "hold":
                    self.pause(0.1, 0.5)
                    self.patiently("release", "POST", "/v1/jobs/release", one, job["name"], target=target)


class Stranger(Party):
    """Asks small things all the time: each is to be answered within a second."""

    def run(self):
        while not self.world.over():
            path = self.draw.choice(["/v1/status", "/v1/jobs?limit=20", "/v1/gpus", "/readyz",
                                     "/v1/jobs?state=final&limit=20"])
            self.ask("probe", "GET", path)
            self.pause(0.02, 0.1)


def raw_lines():
    head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return [b"\x00\xff" * 2000, head + b"Content-Length: 2000000000\r\n\r\n{",
            b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
            b"GET /v1/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head + b"Content-Length: 9\r\n\r\n[[[[[[[[[",
            b"POST /v1/queue/pause HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head + b"Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n",
            head + b"Content-Length: x\r\n\r\nGET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head + b"Content-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
            b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
            b"GET /v1/status\x00/x HTTP/1.1\r\nHost: localhost\r\n\r\n"]


class Enemy(Party):
    """Bytes that are no request, requests that never end, streams, giant questions and submissions. Others notice
    nothing of it."""

    def run(self):
        self.held, self.streams, self.count = [], [], 0
        while not self.world.over():
            deeds = [d for d in (self.junk, self.junk, self.junk, self.drip, self.stream, self.giant_question,
                                 self.many_questions, self.giant_environment, self.colons)
                     if d.__name__ not in self.world.without]
            deed = self.draw.choice(deeds)
            large = deed in (self.giant_environment, self.many_questions, self.giant_question, self.colons)
            if large and self.draw.random() < 0.7:
                continue
            self.diary.note("attacks", deed=deed.__name__)
            with contextlib.suppress(OSError, harness.http.client.HTTPException):
                deed()
            self.count += 1
            self.pause(0.02, 0.2)
        self.diary.note("attacked", count=self.count)

    def junk(self):
        line = self.draw.choice(raw_lines())
        got = harness.raw(self.world.station.socket, line, timeout=0.3)
        replies = re.findall(rb"HTTP/1\.1 \d\d\d ", got)
        if len(replies) > 1 or (b"Host: evil" in line or b"\x00/x" in line) and b"HTTP/1.1 200" in got:
            self.diary.note("fooled", request=repr(line[:120]), reply=repr(got[:200]))

    def drip(self):
        self.connect(self.held, b"GET /v1/status HT", 150)

    def stream(self):
        self.connect(self.streams, b"GET /v1/events?after=999999999 HTTP/1.1\r\nHost: localhost\r\n\r\n", 140)

    def connect(self, those, bytes_, most):
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(1)
        connection.connect(self.world.station.socket)
        connection.sendall(bytes_)
        those.append(connection)
        if len(those) > most:
            those.pop(0).close()

    def giant_question(self):
        body = self.draw.choice([{"add_gpus": "990000xa100-40gb"}, {"add_gpus": "a" * 1_000_000},
                                 {"remove": [1] * 500_000}, {"policy": "x" * 1_000_000}])
        self.ask("attack", "POST", "/v1/whatif", body, timeout=5)

    def many_questions(self):
        def one():
            client = self.world.station.client(*self.user)
            with contextlib.suppress(OSError, harness.http.client.HTTPException):
                client.get("/v1/futures?count=20", timeout=10)
        threads = [threading.Thread(target=one) for _ in range(30)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def giant_environment(self):
        environment = self.draw.choice([["A=" + "x" * 3_900_000], [f"A{i}=" + "x" * 120_000 for i in range(30)]])
        body = {"command": ["true"], "array": list(range(300)), "directory": "/", "hold": True, "name": "giant",
                "environment": environment}
        self.ask("attack", "POST", "/v1/jobs", body, timeout=10)
        self.ask("attack", "POST", "/v1/jobs/cancel", {"name": "giant"}, timeout=10)

    def colons(self):
        body = {"command": ["no-such-program"], "directory": "/", "hold": True, "name": "colons",
                "environment": ["PATH=" + ":" * self.draw.choice([120_000, 3_000_000])]}
        self.ask("attack", "POST", "/v1/jobs", body, timeout=10)
        self.ask("attack", "POST", "/v1/jobs/cancel", {"name": "colons"}, timeout=10)


def locker(diary_path, directories, stop):
    """Waits for the daemon to be away, holds all of its locks that can be had over its next start, and waits again."""
    diary, held = Diary(diary_path), []
    while not os.path.exists(stop):
        for directory in directories():
            with contextlib.suppress(OSError):
                for name in [n for n in os.listdir(directory) if n.endswith(".lock")]:
                    file = open(f"{directory}/{name}")
                    try:
                        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                        held.append(file)
                        diary.note("locked", path=file.name)
                    except OSError:
                        file.close()
        if held:
            time.sleep(3)
            for file in held:
                file.close()
            held = []
            time.sleep(3)
        time.sleep(0.005)
