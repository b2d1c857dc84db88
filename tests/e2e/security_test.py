#!/usr/bin/env python3
"""What users of one machine may and may not do to each other, to root and to the daemon, with a real daemon run as root:
tests/e2e/security_test.py BUILD-DIRECTORY [TEST...]. Skipped by name where it is not root."""
import contextlib
import ctypes
import os
import pwd
import shutil
import socket
import ssl
import stat
import subprocess
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import Client, Failed, check, equal, until

NOBODY, DAEMON, STRANGER = (65534, 65534), (1, 1), (41234, 41234)  # the last one is in no database
SLEEP = "sleep 300"


@contextlib.contextmanager
def running(build, **how):
    station = harness.Station(build)
    try:
        station.serve(**how)
        yield station
    finally:
        station.close()


def refused(answer, words, status=403, code="no_permission"):
    check(answer.status == status and answer.code == code, f"{words}: {answer}, not {status} {code}")


def running_job(client, **spec):
    number = client.sh("echo mine; " + spec.pop("script_line", SLEEP), **spec)
    until(lambda: client.job(number)["state"] == "running", f"job {number} runs")
    return number


def a_users_job_is_theirs(build):
    with running(build) as s:
        root, anna, ben = s.client(), s.client(*NOBODY), s.client(*DAEMON)
        number = running_job(anna, environment=["PATH=/usr/bin:/bin", "SECRET=hunter2"], name="annas", requeue=True)
        script = anna.submit(["/bin/sh"], script="#!/bin/sh\n# hunter2\nsleep 300\n", mem_mib=1000)
        refused(ben.ask("DELETE", f"/v1/jobs/{number}"), "cancel of another's job")
        refused(ben.post(f"/v1/jobs/{number}/requeue"), "requeue of another's job")
        for query in ("", "?follow=1", "?attempt=1", "?offset=1"):
            refused(ben.get(f"/v1/jobs/{number}/log{query}"), f"log{query} of another's job")
        for path in ("/v1/jobs", f"/v1/jobs/{number}", f"/v1/jobs/{script}", f"/v1/jobs/{number}/why", "/v1/journal",
                     "/metrics", "/v1/status", "/v1/gpus"):
            answer = ben.get(path)
            check(b"hunter2" not in answer.body, f"{path} shows another user's environment or script: {answer}")
        check(b"hunter2" not in anna.get(f"/v1/jobs/{number}").body, "the environment is shown")
        check("hunter2" in anna.job(script)["spec"]["script"], "its owner may read the script")
        equal(root.job(number)["state"], "running", "the job, after all that")
        equal(root.job(number)["attempt"], 1, "attempts, after all that")
        harness.until(lambda: anna.log(number) == "mine\n", "its owner sees what the job wrote")
        equal(root.log(number), "mine\n", "root's view of the log")
        # The files of the spool, and the command line of the supervisor.
        with harness.acting_as(*DAEMON):
            for path in (f"{s.state}/spool", f"{s.state}/spool/{number}", f"{s.state}/spool/{number}/1/log"):
                try:
                    os.listdir(path) if path.endswith(("spool", str(number))) else open(path)
                    raise Failed(f"{path} can be read by everybody")
                except PermissionError:
                    pass
            for name in os.listdir(s.state):
                if name.startswith("queue.db"):
                    check(not os.access(f"{s.state}/{name}", os.R_OK, effective_ids=True), f"{name} can be read")
        for pid in s.supervisors():
            for file in ("cmdline", "environ"):
                with open(f"/proc/{pid}/{file}", "rb") as entry:
                    check(b"hunter2" not in entry.read(), f"the supervisor's {file} shows the job")
        # The client says so, too, and ends with 1.
        done = as_user(s, DAEMON, "cancel", str(number))
        check(done.returncode == 1 and "belongs to another user" in done.stderr, f"smartmig cancel: {done}")
        done = as_user(s, DAEMON, "log", str(number))
        check(done.returncode == 1 and "mine" not in done.stdout, f"smartmig log: {done}")
        equal(as_user(s, DAEMON, "cancel", "--all").returncode, 0, "cancel --all of nothing")
        equal(root.job(number)["state"], "running", "the job, after another user's cancel --all")
        equal(root.post(f"/v1/jobs/{number}/requeue").status, 200, "requeue by root")
        until(lambda: root.job(number)["attempt"] == 2 and root.job(number)["state"] == "running", "its second attempt")
        equal(anna.ask("DELETE", f"/v1/jobs/{number}").status, 200, "cancel by its owner")
        equal(root.wait(number)["state"], "cancelled", "the job at last")
        refused(ben.get(f"/v1/jobs/{number}/log"), "log of another's finished job")
        refused(ben.post(f"/v1/jobs/{number}/requeue"), "requeue of another's finished job")


def as_user(station, user, *arguments, **more):
    command = ["setpriv", f"--reuid={user[0]}", f"--regid={user[1]}", "--clear-groups", station.program, *arguments,
               "--socket", station.socket]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, **more)


def what_is_for_the_operator(build):
    with running(build) as s:
        root, anna = s.client(), s.client(*NOBODY)
        refused(anna.post("/v1/jobs", {"command": ["true"], "priority": 1}), "priority 1")
        refused(anna.post("/v1/jobs", {"jobs": [{"command": ["true"]}, {"command": ["true"], "priority": 9}]}), "a list")
        equal(root.get("/v1/jobs").json["jobs"], [], "jobs of a refused list")
        equal(root.job(root.sh("true", priority=7))["priority"], 7, "root's priority")
        equal(anna.job(anna.sh("true", priority=-7))["priority"], -7, "a lower priority")
        copy = f"{s.root}/copy.db"
        for path, body in (("/v1/gpus/0/drain", None), ("/v1/gpus/0/resume", None), ("/v1/queue/pause", None),
                           ("/v1/queue/resume", None), ("/v1/reload", None), ("/v1/settings", {"power_cap_w": 0}),
                           ("/v1/backup", {"path": copy})):
            refused(anna.post(path, body), path)
        check(not os.path.exists(copy), "a refused backup left a file")
        equal(root.get("/v1/status").json["paused"], False, "paused")
        equal({g["state"] for g in root.get("/v1/gpus").json["gpus"]}, {"ok"}, "GPUs")
        for path, body in (("/v1/gpus/0/drain", None), ("/v1/gpus/0/resume", None), ("/v1/queue/pause", None),
                           ("/v1/queue/resume", None), ("/v1/reload", None), ("/v1/settings", {"power_cap_w": 0}),
                           ("/v1/backup", {"path": copy})):
            equal(root.post(path, body).status, 200, f"root's {path}")
        equal(stat.S_IMODE(os.stat(copy).st_mode) & 0o077, 0, "rights of others to a backup")


REPORT = """id -u; id -g; echo $(id -G | tr ' ' '\\n' | sort -n); echo "$HOME|$USER|$(pwd)|$(umask)"
grep -E '^(NoNewPrivs|CapEff|CapPrm|Uid|Gid)' /proc/self/status | tr -s '\\t' ' '
ls -l /proc/self/fd | grep -v /proc/ | sed -n 's/.* \\([0-9]*\\) -> \\(.*\\)/fd \\1 \\2/p'; echo sigs $(grep -E '^Sig(Blk|Ign)' /proc/$$/status | tr -s '\\t' ' ')"""


def jobs_run_as_their_submitter(build):
    with running(build) as s:
        for uid, gid in (NOBODY, DAEMON, STRANGER, (0, 0)):
            client = s.client(uid, gid)
            try:
                entry = pwd.getpwuid(uid)
                user, home = entry.pw_name, entry.pw_dir
                groups = sorted(set(os.getgrouplist(user, gid)))
            except KeyError:
                user, home, groups = str(uid), "/", [gid]
            number = client.sh(REPORT, directory="/usr")
            end = client.wait(number)
            equal(end["state"], "done", f"the job of uid {uid} ({end['reason']})")
            lines = client.log(number).splitlines()
            equal(lines[:3], [str(uid), str(gid), " ".join(map(str, groups))] if uid else lines[:2] + lines[2:3],
                  f"who the job of uid {uid} is")
            equal(lines[0], str(uid), "uid")
            where = lines[3].split("|")
            equal(where[0], home, f"HOME of uid {uid}")
            equal(where[2:], ["/usr", "0022"], f"directory and umask of uid {uid}")
            if user != str(uid):
                equal(where[1], user, "USER")
            status = dict(line.split(": ", 1) for line in lines[4:] if ": " in line and not line.startswith("sigs"))
            equal(status["NoNewPrivs"], "1", f"no_new_privs of uid {uid}")
            equal(status["Uid"].split(), [str(uid)] * 4, "real, effective, saved and file uid")
            equal(status["Gid"].split(), [str(gid)] * 4, "real, effective, saved and file gid")
            if uid:
                equal(int(status["CapEff"], 16) | int(status["CapPrm"], 16), 0, f"capabilities of uid {uid}")
            fds = sorted(line.split()[1:] for line in lines if line.startswith("fd "))
            equal([fd[0] for fd in fds], ["0", "1", "2"], f"open descriptors: {fds}")
            equal(fds[0][1], "/dev/null", "standard input")
            signals = next(line for line in lines if line.startswith("sigs"))
            check("SigIgn: 0000000000000000" in signals and "SigBlk: 0000000000000000" in signals, signals)
        script = s.client(*NOBODY).submit(["/bin/sh"], script="#!/bin/sh\nid -u; cat $0; echo x >>$0\n")
        equal(s.client(*NOBODY).wait(script)["state"], "failed", "a script that writes into itself")
        log = s.client(*NOBODY).log(script)
        check(log.startswith("65534\n#!/bin/sh\nid -u"), f"a script of nobody: {log}")


def nobody_can_submit_as_another(build):
    with running(build) as s:
        anna = s.client(*NOBODY)
        for key in ("uid", "gid", "user", "groups", "owner", "caller", "operator_rights", "id", "run_as", "device",
                    "state", "joules"):
            answer = anna.post("/v1/jobs", {"command": ["id"], key: 0})
            refused(answer, f"the key {key}", 400, "invalid")
            check(key in answer.json["error"]["message"], f"{answer} does not name {key}")
        for key in ("uid", "jobs2", "caller"):
            refused(anna.post("/v1/jobs", {"jobs": [{"command": ["id"]}], key: 0}), f"{key} beside jobs", 400, "invalid")
        equal(anna.post("/v1/jobs?uid=0", {"command": ["id"]}).status, 400, "a parameter uid")
        headers = {"X-Uid": "0", "X-Remote-User": "root", "X-Forwarded-User": "root", "Authorization": "Bearer root",
                   "From": "root", "X-HTTP-Method-Override": "DELETE", "Cookie": "uid=0"}
        answer = anna.post("/v1/jobs", {"command": ["sh", "-c", "id -u; cat /etc/shadow"],
                                        "environment": ["PATH=/usr/bin:/bin", "USER=root", "SUDO_UID=0", "LD_PRELOAD=",
                                                        "SMARTMIG_ATTEMPT_TOKEN=x", "CUDA_VISIBLE_DEVICES=all"]},
                           headers=headers)
        equal(answer.status, 201, f"a submit with {headers}")
        job = anna.wait(answer.json["ids"][0])
        equal((job["uid"], job["user"]), (65534, pwd.getpwuid(65534).pw_name), "whose job it is")
        log = anna.log(job["id"])
        check(log.startswith("65534\n") and "root:" not in log, f"it ran as {log!r}")
        # What the daemon sets wins over what the user sent.
        number = anna.sh("echo $CUDA_VISIBLE_DEVICES $SMARTMIG_JOB_ID",
                         environment=["PATH=/usr/bin:/bin", "CUDA_VISIBLE_DEVICES=all", "SMARTMIG_JOB_ID=1"])
        anna.wait(number)
        device, told = anna.log(number).split()
        check(device.startswith("MIG-") and told == str(number), f"the slice's variables: {device} {told}")
        # A dynamic linker's variable of the user must not reach the privileged supervisor.
        with open(f"{s.root}/evil.so", "w") as file:
            file.write("not a library")
        number = anna.sh("true", environment=["PATH=/usr/bin:/bin", f"LD_PRELOAD={s.root}/evil.so", "LD_AUDIT=x"])
        equal(anna.wait(number)["state"], "done", "a job with LD_PRELOAD")


def paths_are_opened_with_the_users_rights(build):
    with running(build) as s:
        root, anna = s.client(), s.client(*NOBODY)
        private, public = f"{s.root}/private", f"{s.root}/public"
        os.mkdir(private, 0o700)
        os.mkdir(public)
        os.chmod(public, 0o777)
        roots, bens = f"{s.root}/roots", f"{public}/bens"
        for path, owner in ((roots, 0), (bens, DAEMON[0])):
            with open(path, "w") as file:
                file.write("precious\n")
            os.chmod(path, 0o644)
            os.chown(path, owner, owner)
        with harness.acting_as(*NOBODY):
            os.symlink(roots, f"{public}/link")
            os.symlink(private, f"{public}/door")
            os.mkfifo(f"{public}/pipe")

        def fails(words, **spec):
            end = anna.wait(anna.sh("touch ran", **spec))
            equal(end["state"], "failed", f"{spec} ({end['reason']})")
            check(words in end["reason"], f"{spec}: '{end['reason']}' does not say '{words}'")

        def refused(words, **spec):
            answer = anna.post("/v1/jobs", {"command": ["sh", "-c", "touch ran"], **spec})
            equal(answer.status, 403, f"{spec} ({answer})")
            check(words in answer.json["error"]["message"], f"{spec}: {answer} does not say '{words}'")

        refused("cannot enter the job's directory", directory=private)
        refused("cannot enter the job's directory", directory=f"{public}/door")
        fails("cannot enter the directory", directory="/nonexistent")
        fails("cannot write the output file", directory=public, output=f"{private}/x")
        fails("cannot write the output file", directory=public, output=f"{s.root}/x")
        fails("cannot write the output file", directory=public, output=roots)
        fails("cannot write the output file", directory=public, output="link")
        fails("cannot write the output file", directory=public, output="door/x")
        fails("cannot write the output file", directory=public, output=bens)
        fails("cannot write the output file", directory=public, output="pipe")
        fails("cannot write the output file", directory=public, output="%x", name="../roots")
        fails("cannot write the output file", directory=public, output=f"../state/spool/1/1/%j")
        fails("cannot write the output file", directory=public, output="/etc/smartmig-e2e")
        for path in (roots, bens):
            with open(path) as file:
                equal(file.read(), "precious\n", path)
        equal(os.listdir(private), [], "the private directory")
        check(not os.path.exists(f"{public}/ran"), "a command ran though its output could not be opened")
        number = anna.sh("echo hello", directory=public, output="%x-%j-%u.out", name="mine")
        equal(anna.wait(number)["state"], "done", "an output of one's own")
        made = f"{public}/mine-{number}-{pwd.getpwuid(NOBODY[0]).pw_name}.out"
        with open(made) as file:
            equal(file.read(), "hello\n", made)
        entry = os.stat(made)
        equal((entry.st_uid, stat.S_IMODE(entry.st_mode)), (NOBODY[0], 0o644), f"owner and mode of {made}")
        # A link that is turned to root's file while the job runs: the descriptor stays, the file is not met again.
        number = anna.sh(f"sleep 0.5; ln -sf {roots} turning; echo end", directory=public, output="turning")
        equal(anna.wait(number)["state"], "done", "a job that turns its output into a link")
        # A second attempt opens it again, as the user.
        root.post(f"/v1/jobs/{number}/requeue")
        end = until(lambda: (lambda j: j if j["attempt"] == 2 and j["ended_at"] else None)(root.job(number)), "attempt 2")
        equal(end["state"], "failed", f"the second attempt ({end['reason']})")
        with open(roots) as file:
            equal(file.read(), "precious\n", roots)


def requests_are_bounded(build):
    with running(build) as s:
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


def one_user_leaves_room_for_others(build):
    """Streams, bytes of the store, long searches of a PATH and fleets of a question: each is limited for each user."""
    with running(build) as s:
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
            check(answer.status == 400 and "a program takes" in answer.json["error"]["message"], f"{words}: {answer}")
        equal(s.client().post("/v1/queue/pause").status, 200, "pause")
        anna.submit(["/bin/sh", "-c", "env | grep -c ^V"], environment=environment, array=list(range(300)))
        check(os.path.getsize(f"{s.state}/queue.db") + os.path.getsize(f"{s.state}/queue.db-wal") < 16 << 20,
              "the store holds the environment of an array many times")
        s.end()
        began = time.monotonic()
        s.serve()
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
        check(answer.status == 400 and "1024 at most" in answer.json["error"]["message"], f"a large fleet: {answer}")
        equal(ben.get("/v1/status").status, 200, "another user, after all that")

        # Locks of the daemon: nobody else can open them.
        with harness.acting_as(*DAEMON):
            for lock in (f"{s.state}/queue.lock",):
                try:
                    os.close(os.open(lock, os.O_RDONLY))
                    raise Failed(f"{lock} can be locked by everybody")
                except PermissionError:
                    pass


@contextlib.contextmanager
def dead_mount(place):
    """A file system whose server never answers, as a network mount that is down. Yields False where none can be made."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.mkdir(place)
    try:
        device = os.open("/dev/fuse", os.O_RDWR)
    except OSError:
        yield False
        return
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
    try:
        if libc.mount(b"dead", place.encode(), b"fuse", 0, options) != 0:
            yield False
            return
        try:
            yield True
        finally:
            libc.umount2(place.encode(), 2)  # MNT_DETACH
    finally:
        os.close(device)  # whoever still looks is told that nobody answers


def a_dead_mount_hangs_nobody_else(build):
    with running(build) as s:
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


def pages_in_a_browser_are_refused(build):
    with running(build) as s:
        anna = s.client(*NOBODY)
        number = running_job(anna)
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": ""},
                        {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "same-origin"}):
            for method, path, body in (("GET", "/v1/jobs", None), ("DELETE", f"/v1/jobs/{number}", None),
                                       ("POST", "/v1/jobs", {"command": ["true"]}), ("GET", "/metrics", None),
                                       ("GET", "/v1/events", None)):
                answer = anna.ask(method, path, body, headers=headers)
                refused(answer, f"{method} {path} with {headers}")
                check(not any(h.lower().startswith("access-control") for h in answer.headers), f"CORS: {answer.headers}")
        preflight = anna.ask("OPTIONS", "/v1/jobs", headers={"Access-Control-Request-Method": "POST"})
        check(preflight.status in (403, 405), f"OPTIONS: {preflight}")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
            answer = anna.post("/v1/jobs", b'{"command":["true"]}', headers={"Content-Type": kind})
            refused(answer, f"a body of type '{kind}'", 415, "invalid")
        equal(anna.get("/v1/jobs", headers={"Sec-Fetch-Site": "none"}).status, 200, "an address typed by hand")
        equal(anna.job(number)["state"], "running", "the job, after all that")


def paths_lead_nowhere_else(build):
    with running(build) as s:
        anna = s.client(*NOBODY)
        number = running_job(s.client(*DAEMON))
        for path in ("/v1/jobs/../..", "/v1/jobs/../../etc/passwd", f"/v1/jobs/{number}/../{number}/log",
                     f"/v1/jobs/{number}/log/../log", "/v1/jobs/%2e%2e/%2e%2e", f"/v1/jobs/{number}%2flog", "//v1/jobs",
                     f"/v1/jobs//{number}", "/v1/jobs/", f"/v1/jobs/{number}/", "/v1/jobs/-1", "/v1/jobs/+1", "/v1/jobs/1e3",
                     "/v1/jobs/99999999999999999999", "/v1/jobs/0x1", "/v1/jobs/%00", "/..", "/", "/v1", "/V1/jobs",
                     "/v1/gpus/-1", "/index.html"):
            answer = anna.get(path)
            check(answer.status in (400, 404), f"{path}: {answer}")
        for query in ("attempt=../../../etc/passwd", "attempt=-1", "offset=-1", "attempt=1&attempt=2", "path=/etc/passwd"):
            equal(anna.get(f"/v1/jobs/{number}/log?{query}").status, 400, query)
        for path in ("/v1/gpus/99/drain", "/v1/gpus/-1/drain", "/v1/gpus/9999999999/drain"):
            answer = s.client().post(path)
            check(answer.status in (400, 404), f"{path}: {answer}")
        for path in ("relative", "", "/", f"{s.state}/queue.db", f"{s.root}/none/copy.db"):
            answer = s.client().post("/v1/backup", {"path": path})
            check(answer.status in (400, 403, 404, 409, 507), f"backup to '{path}': {answer}")
        equal(anna.wait(anna.sh("true"))["state"], "done", "a job after all that")


def emulated_gpus_serve_all_users(build):
    def look(s, words):
        library = f"{s.root}/bin/nvml-sim/libnvidia-ml.so.1"
        for uid, gid in (NOBODY, STRANGER):
            client = s.client(uid, gid)
            number = client.submit([s.program, "gpus", "--json", "--nvml", library])
            end = client.wait(number)
            equal(end["state"], "done", f"{words}: uid {uid} looks at the emulated GPUs ({end['reason']}, "
                                        f"{client.log(number)[-300:]})")
            check("a100-40gb" in client.log(number).lower(), f"{words}: uid {uid} sees no GPU: {client.log(number)[:200]}")
            number = client.submit([f"{s.root}/bin/nvml-sim/smartmig-emulated-job", "--work-s", "1"],
                                   environment=["PATH=/usr/bin:/bin", f"LD_LIBRARY_PATH={s.root}/bin/nvml-sim"])
            end = client.wait(number)
            equal(end["state"], "done", f"{words}: an emulated job of uid {uid} ({end['reason']}: {client.log(number)})")
            check(end["energy"]["joules_j"] > 0, f"{words}: no joules for it")

    with running(build) as s:
        look(s, "umask 022")
    with running(build, before=lambda: os.umask(0o077) and None) as s:
        look(s, "umask 077")
        with harness.acting_as(*NOBODY):
            try:
                os.listdir(f"{s.state}/spool")
                raise Failed("the spool can be listed")
            except PermissionError:
                pass
    station = harness.Station(build)
    try:  # a state directory that somebody made for the daemon alone
        os.mkdir(station.state, 0o750)
        station.serve()
        look(station, "a state directory of mode 750")
    finally:
        station.close()


def device_nodes_are_fenced(build):
    with running(build) as s:
        root = s.client()
        isolation = root.get("/v1/status").json["isolation"]
        check(isolation in ("devices", "cooperative"), isolation)
        if isolation != "devices":
            return f"no devices cgroup here: status says '{isolation}'"
        # Even root's own job cannot open the node of another GPU (195 is NVIDIA's major number), however it comes by it.
        node = f"{s.root}/other"
        os.mknod(node, 0o666 | stat.S_IFCHR, os.makedev(195, 77))
        os.chmod(node, 0o666)
        for client in (root, s.client(*NOBODY)):
            number = client.sh(f"cat {node}; cat /dev/null && echo null-works; head -c1 /dev/urandom | wc -c")
            client.wait(number)
            log = client.log(number)
            check("Operation not permitted" in log, f"uid {client.uid} meets another GPU's node: {log}")
            check("null-works" in log and log.endswith("\n1\n"), f"common devices do not work: {log}")


TOKEN = "0123456789abcdef-e2e"


def https(port, path, token=TOKEN, context=None, headers=None, host="127.0.0.1"):
    import http.client
    connection = (http.client.HTTPSConnection(host, port, timeout=5, context=context) if context else
                  http.client.HTTPConnection(host, port, timeout=5))
    sent = dict(headers or {})
    if token is not None:
        sent["Authorization"] = f"Bearer {token}"
    try:
        connection.request("GET", path, headers=sent)
        reply = connection.getresponse()
        return harness.Answer(reply.status, dict(reply.getheaders()), reply.read())
    finally:
        connection.close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def tcp_needs_token_and_tls(build):
    station = harness.Station(build)
    try:
        port, token_file = free_port(), f"{station.root}/token"
        with open(token_file, "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(token_file, 0o600)

        def does_not_start(config, words):
            with open(station.config, "w") as file:
                file.write(config)
            done = subprocess.run([station.program, "serve", "--config", station.config, "--emulate", "1xa100-40gb",
                                   "--socket", station.socket, "--state", station.state], capture_output=True, text=True,
                                  timeout=20)
            check(done.returncode in (1, 2) and words in done.stderr, f"{config!r}: {done}")

        listen = f'[tcp]\nlisten = "127.0.0.1:{port}"\n'
        does_not_start(listen + "tls = false\n", "token")
        does_not_start(listen + f'token_file = "{token_file}"\n', "certificate")
        does_not_start(f'[tcp]\nlisten = "0.0.0.0:{port}"\ntoken_file = "{token_file}"\ntls = false\n', "loopback")
        with open(f"{station.root}/short", "w") as file:
            file.write("short\n")
        os.chmod(f"{station.root}/short", 0o600)
        does_not_start(listen + f'token_file = "{station.root}/short"\ntls = false\n', "16")
        does_not_start(listen + f'token_file = "{station.root}/nothing"\ntls = false\n', "nothing")
        with open(f"{station.root}/open", "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(f"{station.root}/open", 0o644)
        does_not_start(listen + f'token_file = "{station.root}/open"\ntls = false\n', "others can read it")

        station.serve("1xa100-40gb", listen + f'token_file = "{token_file}"\ntls = false\n')
        equal(https(port, "/v1/status").status, 200, "with the token")
        for token in (None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "x" * 10000):
            for path in ("/v1/status", "/v1/jobs", "/metrics", "/healthz", "/v1/openapi.json"):
                refused(https(port, path, token), f"{path} with the token {str(token)[:20]}", 401)
        refused(https(port, "/v1/status", headers={"Host": "evil.example"}), "another Host", 421)
        refused(https(port, "/v1/status", headers={"Origin": "http://evil.example"}), "a page with the token")
        equal(https(port, "/v1/status", None, headers={"Authorization": f"Basic {TOKEN}"}).status, 401, "Basic")
        equal(https(port, f"/v1/status?token={TOKEN}", None).status, 401, "a token in the address")
        station.end()

        if not shutil.which("openssl"):
            return "TLS: no openssl to make a certificate with; the rest is ok"
        key, certificate = f"{station.root}/key.pem", f"{station.root}/cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out",
                        certificate, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        port = free_port()
        station.serve("1xa100-40gb", f'[tcp]\nlisten = "0.0.0.0:{port}"\ntoken_file = "{token_file}"\n'
                                     f'certificate = "{certificate}"\nkey = "{key}"\n')
        trusted = ssl.create_default_context(cafile=certificate)
        equal(https(port, "/v1/status", context=trusted).status, 200, "TLS with the token")
        refused(https(port, "/v1/status", None, trusted), "TLS without a token", 401)
        refused(https(port, "/v1/status", "wrong", trusted), "TLS with a wrong token", 401)
        try:
            answer = https(port, "/v1/status")
            raise Failed(f"plain http at the TLS port: {answer}")
        except (OSError, Exception) as problem:
            check(not isinstance(problem, Failed), str(problem))
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
        old.maximum_version = ssl.TLSVersion.TLSv1_1
        try:
            https(port, "/v1/status", context=old)
            raise Failed("TLS 1.1 is accepted")
        except (ssl.SSLError, ConnectionError):
            pass
        client = dict(os.environ, SMARTMIG_TOKEN=TOKEN)
        command = [station.program, "queue", "--server", f"https://localhost:{port}"]
        done = subprocess.run(command + ["--cacert", certificate], env=client, capture_output=True, text=True, timeout=20)
        equal(done.returncode, 0, f"the client over TLS: {done.stderr}")
        done = subprocess.run(command, env=client, capture_output=True, text=True, timeout=20)
        equal(done.returncode, 1, "the client and a certificate that nobody knows")
    finally:
        station.close()


def a_users_own_daemon(build):
    """Not root: it runs jobs of its own user, and says so to others when they submit."""
    station = harness.Station(build)
    try:
        place = f"{station.root}/theirs"
        os.mkdir(place, 0o755)
        os.chown(place, *NOBODY)
        station.socket, station.state = f"{place}/socket", f"{place}/state"

        def become():
            os.setgroups([])
            os.setresgid(NOBODY[1], NOBODY[1], NOBODY[1])
            os.setresuid(NOBODY[0], NOBODY[0], NOBODY[0])

        station.serve("1xa100-40gb", before=become)
        owner, other = station.client(*NOBODY), station.client(*DAEMON)
        number = owner.sh("id -u; grep NoNewPrivs /proc/self/status")
        equal(owner.wait(number)["state"], "done", "its own job")
        equal(owner.log(number).split(), ["65534", "NoNewPrivs:", "1"], "its own job")
        refused(other.post("/v1/jobs", {"command": ["id"]}), "a job that it cannot run as its user")
        equal(owner.post("/v1/queue/pause").status, 200, "its own user is its operator")
        refused(other.post("/v1/queue/resume"), "another user")
        equal(owner.post("/v1/queue/resume").status, 200, "its own user is its operator")
    finally:
        station.close()


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: it must be root to act as other users")
        raise SystemExit(77)
    harness.main([a_users_job_is_theirs, what_is_for_the_operator, jobs_run_as_their_submitter,
                  nobody_can_submit_as_another, paths_are_opened_with_the_users_rights, pages_in_a_browser_are_refused,
                  paths_lead_nowhere_else, emulated_gpus_serve_all_users, device_nodes_are_fenced,
                  tcp_needs_token_and_tls, a_users_own_daemon, one_user_leaves_room_for_others,
                  a_dead_mount_hangs_nobody_else, requests_are_bounded], "security")
