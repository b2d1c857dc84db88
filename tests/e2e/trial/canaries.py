"""Files that nobody has a reason to touch, of each user and of root: in the homes, in /tmp and in root's own home. They
are compared at the end, and fanotify tells who opens one meanwhile."""
import contextlib
import ctypes
import os
import struct

from trial.notes import make_for

PRECIOUS = "precious\n"
FAN_OPEN, FAN_MARK_ADD, FAN_NONBLOCK, FAN_CLOEXEC, AT_FDCWD = 0x20, 1, 2, 1, -100


def fingerprint(path):
    entry = os.lstat(path)
    with open(path, "rb") as file:
        return (entry.st_ino, entry.st_uid, entry.st_gid, entry.st_mode, entry.st_mtime_ns, entry.st_ctime_ns,
                file.read())


class Canaries:
    """`homes`: the home of each user, made here with a file for the marks of that user's jobs."""

    def __init__(self, root, homes):
        self.homes, self.owner = homes, {}
        name = os.path.basename(root)
        self.outside = [f"/tmp/{name}-of-", os.path.expanduser(f"~root/.trial-{name}")]
        self.roots = [f"{root}/roots-own", f"{root}/roots-private", self.outside[1]]
        for user, home in homes.items():
            os.mkdir(home, 0o755)
            os.chown(home, *user)
            make_for(f"{home}/marks", *user)
            self.lay(f"{home}/letters", *user, 0o600)
            self.lay(f"{home}/open", *user, 0o666 if len(self.owner) == 1 else 0o644)
            self.lay(f"{self.outside[0]}{user[0]}", *user, 0o600)
        self.lay(f"{self.outside[0]}0", 0, 0, 0o644)
        for path in self.roots:
            self.lay(path, 0, 0, 0o644 if path.endswith("own") else 0o600)
        self.before = {path: fingerprint(path) for path in self.owner}

    def lay(self, path, uid, gid, mode):
        with open(path, "w") as file:
            file.write(PRECIOUS)
        os.chown(path, uid, gid)
        os.chmod(path, mode)
        self.owner[path] = uid

    def lay_again(self, path):
        """After it was told that it changed."""
        self.lay(path, self.owner[path], self.before[path][2], self.before[path][3] & 0o7777)
        self.before[path] = fingerprint(path)

    def changed(self, path):
        return fingerprint(path) != self.before[path]

    def of_others(self, user):
        return [path for path, uid in self.owner.items() if uid != user[0] and not path.endswith("/open")]

    def touched(self):
        """Files that are not as they were, and files in homes that are not their owner's."""
        wrong = []
        for path, was in self.before.items():
            try:
                if self.changed(path):
                    wrong.append(f"{path} is not as it was: {was[1:]} -> {fingerprint(path)[1:]}")
            except OSError as problem:
                wrong.append(f"{path}: {problem}")
        for user, home in self.homes.items():
            for folder, _, names in os.walk(home):
                for name in names:
                    owner = os.lstat(f"{folder}/{name}").st_uid
                    if owner != user[0]:
                        wrong.append(f"{folder}/{name} is the file of uid {owner} in the home of uid {user[0]}")
        return wrong

    def remove(self):
        """Those outside of the trial's own directory."""
        for path in self.owner:
            if path.startswith(tuple(self.outside)):
                with contextlib.suppress(OSError):
                    os.remove(path)


class Openings:
    """Who opens one of these files, whatever the name and the mount namespace by which it is reached."""

    def __init__(self, paths):
        libc = ctypes.CDLL(None, use_errno=True)
        libc.fanotify_mark.argtypes = [ctypes.c_int, ctypes.c_uint, ctypes.c_uint64, ctypes.c_int, ctypes.c_char_p]
        self.file = libc.fanotify_init(FAN_NONBLOCK | FAN_CLOEXEC, os.O_RDONLY | os.O_CLOEXEC)
        if self.file < 0 or any(libc.fanotify_mark(self.file, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, path.encode()) != 0
                                for path in paths):
            raise OSError(ctypes.get_errno(), "fanotify, which tells who opens a file")

    def seen(self):
        """(path, pid, program) of each opening since the last call."""
        found = []
        with contextlib.suppress(BlockingIOError):
            while data := os.read(self.file, 65536):
                while data:
                    length, _, _, _, _, file, pid = struct.unpack_from("=IBBHQii", data)
                    data, program = data[length:], "gone"
                    if file < 0:
                        found.append(("(events were lost)", pid, program))
                        continue
                    with contextlib.suppress(OSError):
                        program = os.readlink(f"/proc/{pid}/exe")
                    found.append((os.readlink(f"/proc/self/fd/{file}"), pid, program))
                    os.close(file)
        return found
