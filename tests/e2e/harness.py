"""A real daemon for tests: its programs copied where every user can reach them, clients that ask as any user, and an end
that leaves nothing behind. Standard library only."""
import contextlib
import ctypes
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

PROGRAMS = ["smartmig", "supervisor/smartmig-supervisor", "nvml-sim/libnvidia-ml.so.1", "nvml-sim/smartmig-emulated-job"]


class Failed(Exception):
    pass


def check(condition, words):
    if not condition:
        raise Failed(words)


def equal(got, wanted, words):
    check(got == wanted, f"{words}: {got!r}, not {wanted!r}")


def until(condition, words, seconds=20.0):
    """The first true value of condition(), asked again and again."""
    give_up = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        check(time.monotonic() < give_up, f"after {seconds:g} s still not: {words}")
        time.sleep(0.02)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, uid, gid, timeout=20):
        super().__init__("localhost", timeout=timeout)
        self.path, self.uid, self.gid = path, uid, gid

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with acting_as(self.uid, self.gid):  # the kernel notes who connects
            self.sock.connect(self.path)


acting = threading.RLock()  # the identity is the whole process's: one thread at a time


@contextlib.contextmanager
def acting_as(uid, gid):
    with acting:
        if uid == os.geteuid():
            yield
            return
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(gid)
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):  # of an error
        return self.json.get("error", {}).get("code")

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Client:
    def __init__(self, path, uid=None, gid=None):
        self.path = path
        self.uid = os.geteuid() if uid is None else uid
        self.gid = os.getegid() if gid is None else gid

    def ask(self, method, path, body=None, headers=None, timeout=20):
        connection = UnixConnection(self.path, self.uid, self.gid, timeout)
        sent = {"Content-Type": "application/json"} if body is not None else {}
        sent.update(headers or {})
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            with contextlib.suppress(BrokenPipeError):  # refused before it had all: the answer is there
                connection.request(method, path, data, sent)
            reply = connection.getresponse()
            return Answer(reply.status, dict(reply.getheaders()), reply.read())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", path, body, **more)

    def submit(self, command, **spec):
        """A short job that is due: a policy that saves energy has no reason to let it wait."""
        answer = self.post("/v1/jobs", {"command": command, "estimate_s": 1, "deadline_s": 1, **spec})
        check(answer.status == 201, f"submit of {command} as uid {self.uid}: {answer}")
        return answer.json["ids"][0]

    def sh(self, script, **spec):
        return self.submit(["sh", "-c", script], **spec)

    def job(self, number):
        answer = self.get(f"/v1/jobs/{number}")
        check(answer.status == 200, f"job {number}: {answer}")
        return answer.json

    def wait(self, number, seconds=30):
        final = ("done", "failed", "cancelled", "timed_out")
        return until(lambda: (lambda j: j if j["state"] in final else None)(self.job(number)), f"job {number} is final",
                     seconds)

    def log(self, number):
        """"" before its start."""
        answer = self.get(f"/v1/jobs/{number}/log")
        message = answer.json["error"]["message"] if answer.status == 404 else ""
        if "has not started" in message or message.endswith("has no log"):
            return ""
        check(answer.status == 200, f"log of job {number}: {answer}")
        return answer.body.decode(errors="replace")


def raw(path, data, uid=None, gid=None, timeout=20, wait_for_end=True):
    """Sends bytes as they are and returns what comes back until the server closes."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
        s.settimeout(timeout)
        with acting_as(os.geteuid() if uid is None else uid, os.getegid() if gid is None else gid):
            s.connect(path)
        try:
            s.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has heard enough
        got = b""
        try:
            while True:
                part = s.recv(65536)
                got += part
                if not part or (not wait_for_end and b"\r\n\r\n" in got):
                    return got
        except (ConnectionResetError, socket.timeout):
            return got


class Station:
    """An installation in a directory of its own, and at most one daemon at a time on it."""

    def __init__(self, build):
        self.root = tempfile.mkdtemp(prefix="smartmig-e2e-")
        os.chmod(self.root, 0o755)
        for program in PROGRAMS:
            place = os.path.join(self.root, "bin", program)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            # By a process of its own: a file that this one has open for writing while another thread forks cannot be run.
            subprocess.run(["cp", "--", os.path.join(build, program), place], check=True)
            os.chmod(place, 0o755)
        self.program = os.path.join(self.root, "bin/smartmig")
        self.state, self.socket = os.path.join(self.root, "state"), os.path.join(self.root, "socket")
        self.config = os.path.join(self.root, "serve.toml")
        self.process = self.words = None

    def serve(self, gpus="2xa100-40gb", config="", state=None, before=None, arguments=()):
        with open(self.config, "w") as file:
            file.write(config)
        command = [self.program, "serve", "--config", self.config, "--socket", self.socket, "--state",
                   state or self.state, *arguments]
        if gpus:
            command += ["--emulate", gpus]
        self.words = open(os.path.join(self.root, "daemon.log"), "ab")
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.words, stderr=self.words,
                                        preexec_fn=before)
        until(lambda: self.process.poll() is not None or self.answers(), "the daemon answers")
        check(self.process.poll() is None, f"the daemon ended: {self.said()}")

    def answers(self):
        try:
            return self.client().get("/readyz").status == 200
        except OSError:
            return False

    def said(self):
        if not self.words:
            return ""  # no daemon was started
        self.words.flush()
        with open(os.path.join(self.root, "daemon.log"), errors="replace") as file:
            return file.read()

    def client(self, uid=None, gid=None):
        return Client(self.socket, uid, gid)

    def supervisors(self):
        """Those whose attempt lies in this installation."""
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/fd/5").startswith(self.root + "/"):
                    if open(f"/proc/{entry}/comm").read().startswith("smartmig-superv"):
                        found.append(int(entry))
        return found

    def end(self):
        """SIGTERM: the daemon stores its queue and goes, the jobs stay."""
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                equal(self.process.wait(20), 0, "exit code of the daemon")
            finally:
                if self.process.poll() is None:
                    self.process.kill()
                    self.process.wait()
        self.process = None

    def close(self):
        if sys.exc_info()[0]:
            print(self.said()[-2000:], file=sys.stderr)
        try:
            if self.process and self.process.poll() is None and self.answers():
                root = self.client()
                for job in root.get("/v1/jobs?state=active&limit=10000").json["jobs"]:
                    root.ask("DELETE", f"/v1/jobs/{job['id']}")
                with contextlib.suppress(Failed):
                    until(lambda: not self.supervisors(), "no job is left", 5)
            self.end()
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            for pid in self.supervisors():
                for child in children_of(pid):
                    with contextlib.suppress(OSError):
                        os.killpg(child, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            shutil.rmtree(self.root, ignore_errors=True)


@contextlib.contextmanager
def running(station, gpus="1xa100-40gb", **more):
    """A station with its daemon, closed at the end."""
    try:
        station.serve(gpus, **more)
        yield station
    finally:
        station.close()


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


def children_of(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(word) for word in file.read().split()]
    return []


def main(tests, name):
    """tests: functions of a build directory; each is its own verdict."""
    if len(sys.argv) < 2 or not os.path.exists(os.path.join(sys.argv[1], "smartmig")):
        sys.exit(f"usage: {sys.argv[0]} BUILD-DIRECTORY [TEST...]")
    build, chosen = os.path.abspath(sys.argv[1]), sys.argv[2:]
    os.chdir("/")
    for variable in [v for v in os.environ if v.startswith("SMARTMIG_")]:
        del os.environ[variable]
    os.umask(0o022)
    failures, skips, ran, why, began = 0, 0, 0, "", time.monotonic()
    for test in tests:
        if chosen and test.__name__ not in chosen:
            continue
        start = time.monotonic()
        ran += 1
        try:
            skipped = test(build)
            skips += bool(skipped)
            why = skipped or why
            verdict = f"skipped: {skipped}" if skipped else "ok"
        except Exception as problem:  # the other tests still run
            failures += 1
            verdict = f"FAILED: {problem}"
            if not isinstance(problem, Failed):
                traceback.print_exc()
        print(f"{test.__name__:<44} {time.monotonic() - start:5.1f} s  {verdict}", flush=True)
    print(f"{name}: {failures} failed, {skips} skipped, {time.monotonic() - began:.1f} s")
    if skips == ran > 0:
        print(f"skipped: {why}")
        sys.exit(77)
    sys.exit(1 if failures else 0)
