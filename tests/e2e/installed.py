"""A machine on which the package is installed, seen from inside (private_root.sh): dpkg, the daemon's socket, and jobs that
run until they are let go and write down each start and each end."""
import contextlib
import os
import subprocess

from harness import Client, check, equal, until

SOCKET, STATE, CONFIG = "/run/smartmig/smartmig.sock", "/var/lib/smartmig", "/etc/smartmig/serve.toml"


def output_of(*command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300)
    return done.returncode, done.stdout


def does(*command):
    status, words = output_of(*command)
    equal(status, 0, f"{' '.join(command)}: {words}")
    return words


def dpkg(*arguments):
    """Without triggers: the index of all manual pages is nobody's matter here."""
    return does("dpkg", "--no-triggers", *arguments)


def emulate(gpus="2xa100-40gb"):
    """In the configuration file of the package, as an operator would set it."""
    with open(CONFIG) as file:
        text = file.read()
    wanted = f'driver = "emulate:{gpus}"'
    check('# driver = "nvml"' in text, f"{CONFIG} names the driver")
    with open(CONFIG, "w") as file:
        file.write(text.replace('# driver = "nvml"', wanted))


def client():
    return Client(SOCKET)


def answers():
    with contextlib.suppress(OSError):
        return client().get("/readyz").status == 200
    return False


def supervisors():
    """Of jobs that have begun: a child that is about to become its job has the same name."""
    found = set()
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and open(f"/proc/{entry}/comm").read().startswith("smartmig-superv"):
                found.add(int(entry))
    return found


class Work:
    """Jobs that wait for a file; more of them than there are slices, so that some are queued."""

    def __init__(self, name, count):
        self.go, self.marks = f"/tmp/{name}.go", f"/tmp/{name}.marks"
        script = f"echo start $0 >>{self.marks}; until [ -e {self.go} ]; do sleep 0.05; done; echo end $0 >>{self.marks}"
        self.jobs = [client().submit(["sh", "-c", script, f"{name}-{i}"], mem_mib=18000) for i in range(count)]
        self.names = [f"{name}-{i}" for i in range(count)]

    def states(self):
        return [client().job(number)["state"] for number in self.jobs]

    def begun(self):
        with contextlib.suppress(FileNotFoundError), open(self.marks) as file:
            return file.read().count("start")
        return 0

    def runs(self, count):
        until(lambda: self.states().count("running") == count and self.begun() == count, f"{count} of {self.states()} run")

    def ends_once(self):
        open(self.go, "w").close()
        for number in self.jobs:
            job = client().wait(number)
            equal((job["state"], job["exit_code"]), ("done", 0), f"job {number}")
        with open(self.marks) as file:
            equal(sorted(file.read().split("\n")), sorted([""] + [f"{word} {name}" for name in self.names
                                                                   for word in ("start", "end")]), "starts and ends")
