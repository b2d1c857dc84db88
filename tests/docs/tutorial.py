#!/usr/bin/env python3
"""Every command of docs/tutorial.md prints what the page says.

    tests/docs/tutorial.py [--update] BUILD-DIRECTORY

A block ```console holds commands ("$ ", continued by "> ") and what each prints; they all run in one fresh directory, one after
another, with a daemon of their own. In a block ```console varies (a live queue: times, watts, ids of devices) words that
contain a digit, the day of a time that is not today's, the words "cooperative isolation", and the room between words, are
left out of the comparison. --update writes into the page what the commands print now: read the diff. Whoever runs the test is called anna on the page. No process and no file stays behind.
"""
import difflib
import os
import pwd
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

page = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
TIMEOUT_S = 120


def blocks(lines):
    """(first line, line after the last, whether it varies) of each block of commands."""
    begin = None
    for number, line in enumerate(lines):
        if begin is None and re.fullmatch(r"```console( varies)?", line):
            begin = number + 1
        elif begin is not None and line == "```":
            yield begin, number, lines[begin - 1].endswith("varies")
            begin = None


def commands(lines):
    """(command, its lines on the page, the lines it should print) in order."""
    shown, expected = [], []
    for line in lines:
        if line.startswith("$ "):
            if shown:
                yield shown, expected
            shown, expected = [line], []
        elif line.startswith("> ") and not expected:
            shown.append(line)
        else:
            expected.append(line)
    if shown:
        yield shown, expected


# `top` says so where cgroups cannot be written, as in containers.
NOT_COMPARED = re.compile(r"\bcooperative isolation\b|[=.+~|-]{2,}|\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b(?= \d\d:\d\d)")


def plain(lines, varies):
    if not varies:
        return [line.rstrip() for line in lines]
    return [" ".join("#" if re.search(r"\d", word) else word for word in NOT_COMPARED.sub(" ", line).split()) for line in lines]


class Shell:
    """Runs commands as a reader would type them, in a directory with ./smartmig and build/release."""

    def __init__(self, build, directory):
        self.directory, self.daemons, self.user = directory, [], pwd.getpwuid(os.getuid()).pw_name
        os.symlink(build / "smartmig", directory / "smartmig")
        (directory / "build").mkdir()
        os.symlink(build, directory / "build" / "release")
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SMARTMIG_")}
        self.environment = kept | {"SMARTMIG_SOCKET": str(directory / "socket"), "SMARTMIG_STATE": str(directory / "state"),
                                   "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1", "COLUMNS": "110", "TERM": "dumb"}

    def run(self, command):
        if command.endswith("&"):
            self.daemons.append(subprocess.Popen(["bash", "-c", "exec " + command[:-1]], cwd=self.directory, env=self.environment,
                                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            for _ in range(400):
                if not self.status("./smartmig queue >/dev/null 2>&1"):
                    break
                time.sleep(0.05)
            return []
        done = subprocess.run(["bash", "-c", command], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT_S)
        text = re.sub(rf"\b{re.escape(self.user)}\b", "anna", done.stdout)
        said = text.rstrip("\n").split("\n") if text.strip() else []
        return said + ([f"[exit {done.returncode}]"] if done.returncode else [])

    def status(self, command):
        return subprocess.run(["bash", "-c", command], cwd=self.directory, env=self.environment).returncode

    def close(self):
        if not self.daemons:
            return
        self.status("./smartmig cancel --all >/dev/null 2>&1; timeout 20 ./smartmig wait >/dev/null 2>&1")
        for daemon in self.daemons:
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()


def main():
    arguments = sys.argv[1:]
    update = arguments[:1] == ["--update"]
    build = Path(arguments[-1]).resolve() if arguments else Path()
    if len(arguments) != 1 + update or not (build / "smartmig").exists():
        sys.exit("usage: tests/docs/tutorial.py [--update] BUILD-DIRECTORY")
    lines, written, after, wrong, count = page.read_text(encoding="utf-8").split("\n"), [], 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="smartmig-tutorial-", ignore_cleanup_errors=True) as directory:
        shell = Shell(build, Path(directory))
        try:
            for begin, end, varies in blocks(lines):
                written += lines[after:begin]
                after = end
                for shown, expected in commands(lines[begin:end]):
                    count += 1
                    said = shell.run("\n".join(line[2:] for line in shown))
                    written += shown + (said if plain(said, varies) != plain(expected, varies) else expected)
                    if plain(said, varies) != plain(expected, varies):
                        wrong += 1
                        print(f"docs/tutorial.md:{begin + 1}: {shown[0]}" + (" (numbers do not count)" if varies else ""))
                        print("\n".join(difflib.unified_diff(expected, said, "the page", "the program", lineterm="")))
        finally:
            shell.close()
    if update:
        page.write_text("\n".join(written + lines[after:]), encoding="utf-8")
        print(f"docs/tutorial.md: {wrong} of {count} commands rewritten")
        return 0
    print(f"docs/tutorial.md: {count} commands, {wrong} print something else")
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
