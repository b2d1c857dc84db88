"""Diaries: what each party of the trial did and saw, a JSON object a line. Instants are seconds of CLOCK_BOOTTIME, by
which /proc tells when processes began and which no step of the clock moves."""
import json
import os
import time


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Diary:
    def __init__(self, path):
        self.file = open(path, "a", buffering=1)

    def note(self, what, **more):
        self.file.write(json.dumps({"what": what, "at": now(), **more}) + "\n")


def read_lines(path):
    with open(path, errors="replace") as file:
        return [line for line in file.read().split("\n") if line]


def read_notes(paths):
    notes = [json.loads(line) for path in paths for line in read_lines(path)]
    return sorted(notes, key=lambda note: note["at"])


def make_for(path, uid, gid, mode=0o644):
    """An empty file that is that user's."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, mode))
    os.chown(path, uid, gid)
    os.chmod(path, mode)
    return path


def key_of(name, task):
    return name, None if task in (None, "-", "") else int(task)


def name_of(key):
    return key[0] if key[1] is None else f"{key[0]}[{key[1]}]"


def own_name(job):
    """What a job is called in the diaries: jobs of the trial are told apart by their command, several share a name."""
    command = job.get("command") or []
    return command[2] if len(command) == 5 and command[0].endswith("/trial_job") else job["name"]
