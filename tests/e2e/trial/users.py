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
from trial.notes import Diary, now, own_name

NAMES = {65534: "nobody", 1: "daemon", 2: "bin"}
USERS = [(65534, 65534), (1, 1), (2, 2)]
FLOODER, STRANGER, ENEMY = (41235, 41235), (41236, 41236), (41237, 41237)
GROUPS = {"pairs": 2, "single": 1}
ENEMYS_NAMES = ["giant", "colons", "crowd", "large"]
SMALL_DEEDS = ["junk", "drip", "stream"]
DEEDS = [*SMALL_DEEDS, "giant_question", "many_questions", "giant_environment", "large_environment", "crowd", "colons"]
CROWD = 2_000  # jobs of one name
LARGE = [f"A{i}=" + "x" * 120_000 for i in range(8)]  # an environment below the limits of execve
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
    prefix = "u"

    def __init__(self, world, user, diary, seed, jobs):
        super().__init__(world, user, diary, seed)
        self.jobs, self.mine, self.count = jobs, [], 0  # mine: (name, id, task or None)
        self.shared = set()  # those of `mine` that were submitted by a name of several jobs
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
        name = f"{self.prefix}{self.user[0]}-{self.count}"
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

    def a_plain_job(self, name, role, seconds, prelaunch=False):
        environment = ["PATH=/usr/bin:/bin", f"TRIAL={self.world.root}", f"TRIAL_NAME={name}"]
        if prelaunch:
            environment += [f"TRIAL_CUDA={self.world.cuda}", f"STUB_NVML={self.world.nvml}"]
        does = "ok" if role == "timed" else role
        spec = {"command": [self.world.job, f"{self.home}/marks", name, does, f"{seconds:.2f}"], "name": name,
                "environment": environment, "directory": self.home, "grace_s": self.draw.choice([0.2, 0.5, 1]),
                "mem_mib": self.draw.choice([1000, 4000, 9000, 18000]),
                "estimate_s": self.draw.choice([0.5, 2, seconds])}
        facts = {"role": role, "seconds": seconds, "prelaunch": prelaunch, "after": None, "tasks": None,
                 "requeue": False, "group": "", "reservation": "", "hold": False, "trespass": False,
                 "array_limit": 0, "shared": "", "singleton": False}
        if prelaunch:
            spec["prelaunch"] = True
        return spec, facts

    def a_job(self, name):
        draw, role = self.draw, self.draw.choice(ROLES)
        seconds = draw.uniform(6, 20) if draw.random() < 0.15 else draw.uniform(0.05, 1.5)
        if role == "timed":
            seconds = 60
        if role == "checkpoint":
            seconds = draw.uniform(2, 6)
        prelaunch = role in ("ok", "fail", "fork") and draw.random() < 0.2
        spec, facts = self.a_plain_job(name, role, seconds, prelaunch)
        if role == "timed":
            spec["time_limit_s"] = TIME_LIMIT_S
        if role == "checkpoint":
            spec.update(checkpoint_signal="USR1", restart_s=0.05, min_slices=draw.choice([1, 4, 7, 7]), deadline_s=300,
                        estimate_s=seconds)
        elif draw.random() < 0.15:
            spec["min_slices"] = draw.choice([3, 7])
        if draw.random() < 0.4:
            spec["deadline_s"] = draw.choice([1, 3, 30, 600])
        if role == "ok" and draw.random() < 0.2:
            spec["requeue"] = facts["requeue"] = True
        if draw.random() < 0.08:
            tasks = draw.sample(range(100), draw.randint(2, 6))
            spec["array"] = facts["tasks"] = tasks
            spec["array_limit"] = facts["array_limit"] = draw.randint(1, 3)
        elif draw.random() < 0.15:
            spec["name"] = facts["shared"] = f"shared-{self.user[0]}-{draw.randint(1, 3)}"
            self.shared.add(name)
            if draw.random() < 0.6:
                spec["dependencies"], facts["singleton"] = ["singleton"], True
        if self.mine and draw.random() < 0.25:
            kind = draw.choice(["afterok", "afterany", "afternotok", "after", "after", "after"])
            other = draw.choice(self.mine[-4:])
            spec["dependencies"] = [*spec.get("dependencies", []), f"{kind}:{other[1]}"]
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
            spec["output"], facts["trespass"] = draw.choice(self.world.canaries.of_others(self.user)), True
        return spec, facts

    def give_an_order(self):
        draw = self.draw
        name, number, _ = target = draw.choice(self.mine[-12:])
        order = draw.choice(["cancel", "cancel", "hold", "suspend", "suspend", "requeue", "update", "update", "why",
                             "eta", "log", "list", "whatif", "cancel_by_name", "history", "show", "queue"])
        one = {"ids": [number]}
        if order == "cancel" or order == "cancel_by_name" and name in self.shared:
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
            self.ask("why" if order == "why" else "future", "GET", f"/v1/jobs/{number}/{order}", subject=name)
        elif order == "whatif":
            self.ask("future", "POST", "/v1/whatif", {"policy": "none+edf"})
        elif order in ("log", "history"):
            self.ask("look", "GET", f"/v1/jobs/{number}/{order}", subject=name)
        elif order == "show":
            self.ask("look", "GET", f"/v1/jobs/{number}", subject=name)
        else:
            self.ask("look", "GET", "/v1/jobs?limit=100")


class Hurried(User):
    """Submits urgent jobs while jobs of the same user run that may be stopped for them."""
    prefix = "hurry"

    def run(self):
        while not self.world.over():
            self.pause(0.3, 1.5)
            answer = self.ask("look", "GET", "/v1/jobs?state=running&limit=200")
            if answer is None or answer.status != 200:
                continue
            if any("checkpoint" in job.get("command", []) for job in answer.json["jobs"]):
                self.submit()

    def a_job(self, name):
        spec, facts = self.a_plain_job(name, "ok", 0.3)
        spec.update(min_slices=self.draw.choice([1, 7, 7]), mem_mib=1000, estimate_s=0.3, deadline_s=0.5)
        return spec, facts


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
                     "group": "", "reservation": "", "hold": False, "trespass": False, "array_limit": 0,
                     "shared": "", "singleton": False}
            specs = [{"command": [self.world.job, f"{home}/marks", name, "ok", "0"], "name": name, "mem_mib": 1000,
                      "environment": [f"TRIAL={self.world.root}", f"TRIAL_NAME={name}"], "directory": home,
                      "estimate_s": 0.1} for name in names]
            for name in names:
                self.diary.note("asks", kind="flood", subject=name, facts=facts)
            answer = self.ask("batch", "POST", "/v1/jobs", {"jobs": specs})
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
                self.reserve(f"r{number}", self.draw.uniform(0, 4), self.draw.uniform(3, 9))
            elif order == "unreserve":
                for name in self.world.reservations()[:1]:
                    self.diary.note("unreserves", name=name)
                    self.ask("order", "POST", "/v1/reservations/remove", {"name": name})
            elif order == "reload":
                self.ask("order", "POST", "/v1/reload", {})
            elif order == "look":
                self.ask("usage", "GET", "/v1/usage?by=user")
                self.ask("look", "GET", "/metrics")
            else:
                waiting = self.ask("look", "GET", "/v1/jobs?state=queued&limit=20")
                if waiting is None or waiting.status != 200 or not (jobs := waiting.json["jobs"]):
                    continue
                job = self.draw.choice(jobs)
                target, one = [own_name(job), job["id"], job["array_index"]], {"ids": [job["id"]]}
                self.ask(order, "POST", f"/v1/jobs/{order}", one, target[0], target=target)
                if order == "hold":
                    self.pause(0.1, 0.5)
                    self.patiently("release", "POST", "/v1/jobs/release", one, target[0], target=target)


    def reserve(self, name, begin_s, duration_s):
        """Notes between which instants the window is on for certain."""
        asked = now()
        answer = self.ask("order", "POST", "/v1/reservations", {
            "name": name, "count": 1, "begin_s": begin_s, "duration_s": duration_s,
            "users": [NAMES[uid] for uid, _ in USERS]})
        if answer is None or answer.status != 200:
            return
        row = next(r for r in answer.json["reservations"] if r["name"] == name)
        self.diary.note("reserved", name=name, gpus=row["gpus"], asked=asked, begin=now() + begin_s,
                        end=asked + begin_s + duration_s)


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
            b"GET /v1/status\x00/x HTTP/1.1\r\nHost: localhost\r\n\r\n",
            head + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
            b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n\r\n"]


class Enemy(Party):
    """Bytes that are no request, requests that never end, streams, giant questions and submissions. Others notice
    nothing of it."""

    def run(self):
        self.held, self.streams = [], []
        deeds = [deed for deed in DEEDS if deed not in self.world.without]
        first = sorted(deeds, key=lambda deed: deed in SMALL_DEEDS)  # each of them until it was done once
        while not self.world.over():
            if first:
                deed = first[0]
            elif (deed := self.draw.choice([*deeds, *SMALL_DEEDS])) not in SMALL_DEEDS and self.draw.random() < 0.8:
                continue
            done = False
            with contextlib.suppress(OSError, harness.http.client.HTTPException):
                done = getattr(self, deed)() is not False
            if done:
                self.diary.note("attacks", deed=deed)
            first = [d for d in first if d != deed or not done]
            self.pause(0.02, 0.2)

    def junk(self):
        """One meaning or a refusal; one that is complete is answered at once, unless the daemon is away."""
        line, began = self.draw.choice(raw_lines()), now()
        got = harness.raw(self.world.station.socket, line, timeout=0.3)
        replies = re.findall(rb"HTTP/1\.1 \d\d\d ", got)
        odd = any(words in line for words in (b"Host: evil", b"\x00/x", b"xchunked"))
        if len(replies) > 1 or odd and b" 200 " in got[:13]:
            self.diary.note("fooled", request=repr(line[:120]), reply=repr(got[:600]))
        if not got and b"xchunked" in line:
            got = harness.raw(self.world.station.socket, line, timeout=5, wait_for_end=False)
            if not got and now() - began > 5:
                self.diary.note("hung", request=repr(line[-120:]), began=began)

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

    def crowd(self):
        """Thousands of one name, and an end to all of them at once."""
        body = {"command": ["true"], "array": list(range(CROWD)), "directory": "/", "hold": True, "name": "crowd"}
        answer = self.ask("attack", "POST", "/v1/jobs", body, timeout=20)
        ended = self.ask("attack", "POST", "/v1/jobs/cancel", {"name": "crowd"}, timeout=20)
        return answer is not None and answer.status == 201 and ended is not None and ended.status == 200

    def large_environment(self):
        """One that execve would take, for each task of an array."""
        body = {"command": ["true"], "array": list(range(300)), "directory": "/", "hold": True, "name": "large",
                "environment": LARGE}
        answer = self.ask("attack", "POST", "/v1/jobs", body, timeout=20)
        self.ask("attack", "POST", "/v1/jobs/cancel", {"name": "large"}, timeout=20)
        return answer is not None and answer.status == 201

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
