#!/usr/bin/env python3
"""What one user may cost the others and the daemon, run as root with a real daemon:
tests/e2e/user_limits_test.py BUILD-DIRECTORY [TEST...]. Skipped by name where it is not root."""
import contextlib
import os
import socket
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import Failed, check, dead_mount, equal, running, until

NOBODY, DAEMON = (65534, 65534), (1, 1)


def one_user_leaves_room_for_others(build):
    """Streams, bytes of the store, long searches of a PATH and fleets of a question: each is limited for each user."""
    with running(harness.Station(build)) as s:
        anna, ben = s.client(*NOBODY), s.client(*DAEMON)
        held, answers = [], []
        try:
            for _ in range(40):
                one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                with harness.acting_as(*NOBODY):
                    one.connect(s.socket)
                one.settimeout(10)
                one.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                answers.append(one.recv(64)[9:12])
                held.append(one)
            equal((answers.count(b"200"), answers.count(b"429")), (32, 8), "streams of one user, and those refused")
            with harness.acting_as(*DAEMON):
                one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                one.connect(s.socket)
            held.append(one)
            one.sendall(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            equal(one.recv(64)[9:12], b"200", "a stream of another user")
            equal(anna.get("/v1/status").status, 200, "the first user's other requests")
        finally:
            for one in held:
                one.close()

        environment = ["PATH=/usr/bin:/bin"] + [f"V{i}=" + "x" * 100_000 for i in range(10)]
        for words, large in (("a variable of 200 kB", ["A=" + "x" * 200_000]),
                             ("3 MB in all", [f"V{i}=" + "x" * 100_000 for i in range(30)])):
            answer = anna.post("/v1/jobs", {"command": ["true"], "environment": large})
            check(answer.status == 400 and "and the limit is" in answer.json["error"]["message"], f"{words}: {answer}")
        equal(s.client().post("/v1/queue/pause").status, 200, "pause")
        anna.submit(["/bin/sh", "-c", "env | grep -c ^V"], environment=environment, array=list(range(300)))
        check(os.path.getsize(f"{s.state}/queue.db") + os.path.getsize(f"{s.state}/queue.db-wal") < 16 << 20,
              "the store holds the environment of an array many times")
        s.end()
        began = time.monotonic()
        s.serve("1xa100-40gb")
        check(time.monotonic() - began < 15, "the daemon took 15 s to start again")
        equal(anna.post("/v1/jobs/cancel", {"all": True}).status, 200, "cancel of the array")
        equal(s.client().post("/v1/queue/resume").status, 200, "resume")
        number = anna.submit(["/bin/sh", "-c", "env | grep -c ^V"], environment=environment)
        equal(anna.wait(number)["state"], "done", "a job with that environment")
        equal(anna.log(number), "10\n", "its variables")

        began = time.monotonic()
        path = ["PATH=" + ":" * 100_000, "A=" + "x" * 100_000]
        equal(anna.post("/v1/jobs", {"command": ["nothing-of-that-name"], "environment": path}).status, 201, "a long PATH")
        check(time.monotonic() - began < 5, "a PATH of colons")
        answer = anna.post("/v1/whatif", {"add_gpus": "990000xa100-40gb"})
        check(answer.status == 400 and "limit for simulated futures is 1024" in answer.json["error"]["message"], f"a large fleet: {answer}")
        equal(ben.get("/v1/status").status, 200, "another user, after all that")

        # Locks of the daemon: nobody else can open them.
        with harness.acting_as(*DAEMON):
            for lock in (f"{s.state}/queue.lock",):
                try:
                    os.close(os.open(lock, os.O_RDONLY))
                    raise Failed(f"{lock} can be locked by everybody")
                except PermissionError:
                    pass


def futures_of_one_user_delay_nobody_else(build):
    """One user asks for 60 simulated futures at once; another's `why` is not answered after all of them."""
    with running(harness.Station(build)) as s:
        anna, ben = s.client(*NOBODY), s.client(*DAEMON)
        anna.submit(["sleep", "600"], estimate_s=600)
        anna.submit(["sleep", "60"], estimate_s=60, array=list(range(400)))
        mine = ben.submit(["sleep", "60"], estimate_s=60)
        answers = []

        def ask(count):
            with contextlib.suppress(OSError):
                answers.append(s.client(*NOBODY).get(f"/v1/futures?count={count}").status)

        asking = [threading.Thread(target=ask, args=(1 + i % 20,)) for i in range(60)]
        for one in asking:
            one.start()
        until(lambda: answers, "the first future is answered", 120)
        before = answers.count(200)
        equal(ben.get(f"/v1/jobs/{mine}/why").status, 200, "why of another user")
        between = answers.count(200) - before
        for one in asking:
            one.join()
        check(between <= 30, f"{between} futures of one user were answered before another's why")
        equal(anna.post("/v1/jobs/cancel", {"all": True}).status, 200, "cancel")
        equal(ben.post("/v1/jobs/cancel", {"all": True}).status, 200, "cancel")


def a_long_search_hangs_nobody_else(build):
    """20,000 entries of a PATH, each below a directory with a long name; a command of 1.9 MB for an array."""
    with running(harness.Station(build)) as s:
        anna = s.client(*NOBODY)
        place = f"{s.root}/far"
        while len(place) < 3000:
            place += "/" + "d" * 200
        os.makedirs(place)
        os.chmod(s.root, 0o755)
        path = "PATH=" + ":".join(f"{i:05}" for i in range(20_000))
        began = time.monotonic()
        anna.post("/v1/jobs", {"command": ["nothing-of-that-name"], "directory": place, "environment": [path]})
        check(time.monotonic() - began < 15, "a look at a long PATH")
        check(memory_mib(s.process.pid) < 500, f"it took {memory_mib(s.process.pid):.0f} MiB")

        equal(s.client().post("/v1/queue/pause").status, 200, "pause")
        command = ["/bin/sh", "-c", "echo $#", "sh"] + ["x" * 100_000] * 19
        answer = anna.post("/v1/jobs", {"command": command, "array": list(range(130))})
        equal(answer.status, 201, "an array with a long command")
        check(memory_mib(s.process.pid) < 500, f"it took {memory_mib(s.process.pid):.0f} MiB")
        first = answer.json["ids"][0]
        check(sum(len(word) for word in answer.json["jobs"][0]["command"]) < 5000, "the answer has it whole")
        s.end()
        s.serve("1xa100-40gb")
        check(memory_mib(s.process.pid) < 500, f"the next daemon took {memory_mib(s.process.pid):.0f} MiB")
        equal(anna.job(first)["command"], command, "the command that is shown")
        equal(anna.post("/v1/jobs/cancel", {"ids": answer.json["ids"][1:]}).status, 200, "cancel of the others")
        equal(s.client().post("/v1/queue/resume").status, 200, "resume")
        equal(anna.wait(first)["state"], "done", "a job with a long command")
        equal(anna.log(first), "19\n", "its arguments")


def memory_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def an_array_outlasts_a_crash(build):
    """A daemon that is killed while the tasks of an array enter the queue has all of them afterwards, each once."""
    with running(harness.Station(build)) as s:
        anna = s.client(*NOBODY)
        equal(s.client().post("/v1/queue/pause").status, 200, "pause")
        tasks = 3000

        def submit():
            with contextlib.suppress(OSError):
                anna.post("/v1/jobs", {"command": ["true"], "array": list(range(tasks))})

        asking = threading.Thread(target=submit)
        asking.start()
        until(lambda: s.client().get("/v1/jobs/changes?since=0").json["jobs"], "the first tasks are in the queue")
        s.process.kill()
        s.process.wait()
        asking.join()
        s.serve("1xa100-40gb")
        jobs = lambda: s.client().get("/v1/jobs/changes?since=0").json["jobs"]  # noqa: E731
        until(lambda: len(jobs()) in (0, tasks), "all tasks, or none")
        equal(len({job["id"] for job in jobs()}), tasks, "tasks after a kill behind the first commit")
        equal(anna.post("/v1/jobs/cancel", {"all": True}).status, 200, "cancel of the array")


def a_dead_mount_hangs_nobody_else(build):
    with running(harness.Station(build)) as s:
        anna, ben = s.client(*NOBODY), s.client(*DAEMON)
        place = f"{s.root}/mount"
        with dead_mount(place) as there:
            if not there:
                print("  no file system can be mounted here: a FIFO stands for it in PathLooksProcess")
                return
            answers = []

            def submit():
                answers.append(anna.post("/v1/jobs", {"command": ["./program"], "directory": place}))

            asking = [threading.Thread(target=submit) for _ in range(6)]
            for thread in asking:
                thread.start()
            while any(thread.is_alive() for thread in asking):
                began = time.monotonic()
                equal(ben.get("/v1/status").status, 200, "another user is answered meanwhile")
                check(time.monotonic() - began < 1, f"another user waited {time.monotonic() - began:.1f} s")
                time.sleep(0.05)
            for answer in answers:
                check(answer.code == "timeout" and "answer" in answer.json["error"]["message"], f"its submission: {answer}")
            refused_at_once = anna.post("/v1/jobs", {"command": ["true"]})
            equal(refused_at_once.code, "timeout", "more of that user, while nothing answers")
            equal(ben.wait(ben.sh("true"))["state"], "done", "a job of another user")
        until(lambda: anna.post("/v1/jobs", {"command": ["true"]}).status == 201, "the first user, once it answers")


def drip(path, first, piece, pause):
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.connect(path)
        s.settimeout(pause)
        s.sendall(first)
        end = time.monotonic() + 50
        while time.monotonic() < end:
            try:
                return s.recv(4096)
            except socket.timeout:
                try:
                    s.sendall(piece)
                except OSError:
                    return b""
        return b"still open"


def requests_are_bounded(build):
    with running(harness.Station(build)) as s:
        root, anna, ben = s.client(), s.client(*NOBODY), s.client(*DAEMON)
        results = {}

        def dripping(name, first, piece, pause):
            began = time.monotonic()
            try:
                results[name] = (drip(s.socket, first, piece, pause), time.monotonic() - began)
            except OSError as problem:
                results[name] = (repr(problem), time.monotonic() - began)

        head = b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        slow = [threading.Thread(target=dripping, args=a) for a in (
            ("headers", b"GET /v1/status HTTP/1.1\r\nX: ", b"a", 0.3),
            ("body", head + b"Content-Length: 1000\r\n\r\n", b" ", 0.3),
            ("chunks", head + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n", 0.3),
            ("silence", b"", b"", 0.3))]
        for thread in slow:
            thread.start()

        big = b'{"command":["true"],"name":"' + b"x" * 5_000_000 + b'"}'
        began = time.monotonic()
        equal(anna.post("/v1/jobs", big).status, 413, "5 MB")
        announced = head + b"Content-Length: 5000000\r\n\r\n"
        check(b" 413 " in harness.raw(s.socket, announced, *NOBODY, wait_for_end=False), "5 MB announced")
        chunked = head + b"Transfer-Encoding: chunked\r\n\r\n" + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 100
        check(b" 413 " in harness.raw(s.socket, chunked + b"0\r\n\r\n", *NOBODY, wait_for_end=False), "6.5 MB in chunks")
        got = harness.raw(s.socket, b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100_000 + b"\r\n\r\n",
                          wait_for_end=False)
        check(b" 431 " in got or b" 400 " in got, f"100 KB of headers: {got[:80]}")
        got = harness.raw(s.socket, b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
                          wait_for_end=False)
        check(got[9:12] in (b"404", b"414", b"431", b"400"), f"a path of 100 KB: {got[:80]}")
        check(time.monotonic() - began < 10, "the large ones took longer than 10 s")
        many = {"jobs": [{"command": ["true"]}] * 3, "x": 1}
        for words, body in (("no JSON", b"{"), ("an array", b"[]"), ("a text", b'"x"'), ("null", b"null"), ("empty", b""),
                            ("depth", b'{"a":' * 5000 + b"1" + b"}" * 5000), ("bytes", b"\xff\xfe\x00"),
                            ("no command", b"{}"), ("an empty one", b'{"command":[]}'), ("a number", b'{"command":7}'),
                            ("numbers", b'{"command":[7]}'), ("zero", b'{"command":["a\\u0000b"]}'),
                            ("huge", b'{"command":["true"],"mem_mib":1e999}'), ("nan", b'{"command":["true"],"cpus":NaN}'),
                            ("a relative directory", b'{"command":["true"],"directory":"x"}'),
                            ("a negative time", b'{"command":["true"],"time_limit_s":-1}'),
                            ("an endless one", b'{"command":["true"],"deadline_at":1e300}'),
                            ("no such slice", b'{"command":["true"],"mem_mib":99999999}'),
                            ("its own child", b'{"command":["true"],"dependencies":["afterok:999999"]}'),
                            ("a list and more", str(many).replace("'", '"').encode()), ("no jobs", b'{"jobs":[]}'),
                            ("no job", b'{"jobs":[{"command":["true"]},{}]}')):
            answer = anna.post("/v1/jobs", body)
            check(answer.status in (400, 404, 409), f"{words}: {answer}")
            check(answer.json["error"]["message"], words)
        equal(root.get("/v1/jobs").json["jobs"], [], "jobs accepted from malformed requests")
        for line in (b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00",
                     b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
                     b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}    ",
                     head + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n"):
            got = harness.raw(s.socket, line, *NOBODY, timeout=2, wait_for_end=False)
            check(not got or got.startswith(b"HTTP/1.1 4") or got.startswith(b"HTTP/1.0 4") or b" 5" in got[8:12],
                  f"{line[:60]}: {got[:80]}")
        # One user's connections leave room for the others.
        held = []
        try:
            for _ in range(140):
                one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                with harness.acting_as(*NOBODY):
                    one.connect(s.socket)
                held.append(one)
            until(lambda: ben.get("/v1/status").status == 200, "another user is answered", 5)
            equal(root.get("/healthz").status, 200, "root is answered")
        finally:
            for one in held:
                one.close()
        until(lambda: anna.get("/v1/status").status == 200, "the user with all those connections is answered again", 5)
        for thread in slow:
            thread.join()
        for name, (answer, took) in sorted(results.items()):
            check(took < 45, f"a client that drips {name} was borne for {took:.0f} s")
            check(name == "silence" or b"408" in answer or answer == b"", f"the end of {name}: {answer!r}")
        equal(anna.wait(anna.sh("true"))["state"], "done", "a job after all that")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: it must be root to act as other users")
        raise SystemExit(77)
    harness.main([one_user_leaves_room_for_others, an_array_outlasts_a_crash, a_dead_mount_hangs_nobody_else,
                  requests_are_bounded, futures_of_one_user_delay_nobody_else, a_long_search_hangs_nobody_else], "user limits")
