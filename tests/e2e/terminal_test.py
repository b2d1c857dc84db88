#!/usr/bin/env python3
"""Jobs with a terminal (smartmig run --pty), with a real daemon, emulated GPUs and a terminal of Python's: keys, size,
exit codes, a client that is gone, a daemon that is restarted: tests/e2e/terminal_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until


class Screen:
    """A client of `run --pty` whose terminal is ours."""

    def __init__(self, station, *command, rows=30, columns=100):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [station.program, "run", "--socket", station.socket, "--estimate", "1m", "--pty", "--", *command],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave, self.seen = slave, ""

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self):
        while select.select([self.master], [], [], 0)[0]:
            with contextlib.suppress(OSError):
                part = os.read(self.master, 65536)
                if part:
                    self.seen += part.decode(errors="replace")
                    continue
            return

    def expect(self, text, seconds=20):
        def there():
            self.read()
            return text in self.seen
        try:
            until(there, f"the screen shows {text!r}", seconds)
        except harness.Failed as problem:
            raise harness.Failed(f"{problem}; it shows {self.seen[-600:]!r}")
        self.seen = self.seen[self.seen.index(text) + len(text):]

    def end(self, seconds=20):
        def over():
            self.read()
            return self.process.poll() is not None
        until(over, "the client ends", seconds)
        return self.process.returncode

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.master, self.slave):
            with contextlib.suppress(OSError):
                os.close(fd)


@contextlib.contextmanager
def shell(build, *command):
    station = harness.Station(build)
    screen = None
    try:
        station.serve("1xa100-40gb")
        screen = Screen(station, *(command or ("sh", "-i")))
        yield station, screen
    finally:
        if screen:
            screen.close()
        station.close()


def a_shell_has_keys_size_and_an_exit_code(build):
    with shell(build) as (m, s):
        s.type("tty; test -t 0 && echo is a ter''minal\n")
        s.expect("is a terminal")
        s.type("echo size $(stty size)\n")
        s.expect("size 30 100\r\n")
        s.resize(41, 133)
        os.killpg(s.process.pid, signal.SIGWINCH)
        s.type("sleep 0.2; echo size $(stty size)\n")
        s.expect("size 41 133\r\n")
        s.type("echo dev''ice $CUDA_VISIBLE_DEVICES\n")
        s.expect("device MIG-")
        s.type("sleep 600\n")
        time.sleep(0.3)
        s.type("\x03echo after $?\n")  # Ctrl-C ends the sleep, not the shell and not the job
        s.expect("after 130\r\n")
        equal(m.client().job(1)["state"], "running", "the job")
        s.type("cat\n")
        s.type("line\n\x04echo end of in''put\n")  # Ctrl-D ends the cat
        s.expect("end of input\r\n")
        s.type("exit 7\n")
        equal(s.end(), 7, "exit code of the client")
        job = m.client().wait(1)
        equal((job["state"], job["exit_code"], job["name"]), ("failed", 7, "sh"), "the job")
        equal(termios.tcgetattr(s.slave)[:6], s.before[:6], "the terminal is as it was")
        check("end of input" in m.client().log(1), "the log has it, too")


def a_client_that_is_gone_is_a_hangup(build):
    with shell(build, "sh", "-c", "trap 'echo hung up; exit 9' HUP; echo rea''dy; while :; do sleep 0.1; done") as (m, s):
        s.expect("ready")
        s.process.kill()
        job = m.client().wait(1)
        equal((job["state"], job["exit_code"]), ("failed", 129), f"the job: {job['reason']}")


def a_job_whose_client_is_gone_before_it_starts_ends(build):
    m = harness.Station(build)
    try:
        m.serve("1xa100-40gb")
        equal(m.client().post("/v1/queue/pause", {}).status, 200, "pause")
        s = Screen(m, "sh", "-i")
        until(lambda: m.client().get("/v1/jobs").json["jobs"], "the job is queued")
        s.close()
        equal(m.client().post("/v1/queue/resume", {}).status, 200, "resume")
        job = m.client().wait(1)
        equal((job["state"], job["exit_code"]), ("failed", 129), f"the job: {job['reason']}")
        check("the terminal of this job is closed" in m.client().log(1), f"its log says why: {m.client().log(1)!r}")
    finally:
        m.close()


def the_daemon_may_be_restarted_in_between(build):
    with shell(build) as (m, s):
        s.type("echo be''fore\n")
        s.expect("before")
        m.process.kill()
        m.process.wait()
        s.type("echo with''out\n")
        s.expect("without")
        m.serve("1xa100-40gb")
        s.type("echo af''ter\n")
        s.expect("after")
        equal(m.client().job(1)["state"], "running", "the job")
        s.type("exit 3\n")
        equal(s.end(), 3, "exit code of the client")
        equal(m.client().wait(1)["exit_code"], 3, "exit code of the job")


def cancelling_ends_a_shell(build):
    with shell(build, "bash", "--norc", "-i") as (m, s):
        s.type("echo rea''dy\n")
        s.expect("ready")
        equal(m.client().ask("DELETE", "/v1/jobs/1").status, 200, "cancel")
        check(s.end(10) != 0, "the client ends")
        equal(m.client().wait(1)["state"], "cancelled", "the job")


def without_a_terminal_it_is_refused(build):
    m = harness.Station(build)
    try:
        done = subprocess.run([m.program, "run", "--socket", m.socket, "--pty", "--", "true"], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True)
        equal((done.returncode, done.stderr), (2, "smartmig: --pty needs a terminal as standard input\n"), "the refusal")
    finally:
        m.close()


TESTS = [a_shell_has_keys_size_and_an_exit_code, a_client_that_is_gone_is_a_hangup,
         a_job_whose_client_is_gone_before_it_starts_ends, the_daemon_may_be_restarted_in_between,
         cancelling_ends_a_shell, without_a_terminal_it_is_refused]

if __name__ == "__main__":
    harness.main(TESTS, "terminal_test")
