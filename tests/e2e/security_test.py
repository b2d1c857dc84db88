#!/usr/bin/env python3
"""What users of one machine may and may not do to each other, to root and to the daemon, with a real daemon run as root:
tests/e2e/security_test.py BUILD-DIRECTORY [TEST...]. Skipped by name where it is not root."""
import contextlib
import os
import pwd
import shutil
import socket
import ssl
import stat
import subprocess
import sys

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
            check(end["energy"]["energy_j"] > 0, f"{words}: no joules for it")

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
        does_not_start(listen + f'token_file = "{station.root}/open"\ntls = false\n', "others can read or write")

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
                  tcp_needs_token_and_tls, a_users_own_daemon], "security")
