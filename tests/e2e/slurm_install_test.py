#!/usr/bin/env python3
"""deploy/slurm/install.sh on scratch roots: what it says, what it changes, that it changes nothing twice and nothing that
is a site's own: tests/e2e/slurm_install_test.py BUILD-DIRECTORY."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONF = """ClusterName=a
# a comment with NodeName=node[1-8] in it
NodeName=node[1-8] CPUs=64 RealMemory=100000
NodeName=other CPUs=4
PartitionName=mig Nodes=node[1-8]
"""


def check(condition, words):
    if not condition:
        raise AssertionError(words)


class Site:
    def __init__(self, program, folder, conf=CONF):
        self.program, self.folder = program, folder
        os.makedirs(f"{folder}/etc/slurm")
        self.write("slurm.conf", conf)

    def write(self, name, text):
        with open(f"{self.folder}/etc/slurm/{name}", "w") as file:
            file.write(text)

    def read(self, name):
        with open(f"{self.folder}/etc/slurm/{name}") as file:
            return file.read()

    def install(self, *options, code=0):
        done = subprocess.run([f"{ROOT}/deploy/slurm/install.sh", "--program", self.program, "--root", self.folder, *options],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        check(done.returncode == code, f"install.sh {options}: {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def files(self):
        found = {}
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = os.path.join(folder, name)
                with open(path) as file:
                    found[os.path.relpath(path, self.folder)] = (file.read(), os.stat(path).st_mode & 0o777)
        return found


ALL = ("all", "--gpus", "4xa100-40gb", "--nodes", "node[1-8]", "--user", "root")


def fresh(site):
    before = site.files()
    said = site.install(*ALL, "--dry-run")
    check(site.files() == before and "Nothing was done" in said, f"--dry-run changed something: {said}")
    check("new     " in said and "job_submit.lua" in said, said)
    site.install(*ALL)
    conf, part = site.read("slurm.conf"), site.read("smartmig.conf")
    check("NodeName=node[1-8] CPUs=64 RealMemory=100000 Gres=mig:32\n" in conf, conf)
    check("NodeName=other CPUs=4\n" in conf and "# a comment with NodeName=node[1-8] in it\n" in conf, conf)
    check(conf.endswith("Include /etc/slurm/smartmig.conf\n"), conf)
    wanted = subprocess.run([site.program, "slurm", "config", "--gpus", "4xa100-40gb"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    for line in wanted.splitlines():  # all that `slurm config` says is there
        if "=" in line and not line.startswith(("#", "NodeName", "PartitionName")):
            check(line + "\n" in part, f"{line} is not in\n{part}")
    check(site.read("gres.conf") == "NodeName=node[1-8] Name=mig Count=32\n", site.read("gres.conf"))
    check("most = 8" in site.read("smartmig_units.lua"), "units")
    for script in ("prolog", "task_prolog", "epilog"):
        check(os.access(f"{site.folder}/etc/slurm/smartmig/{script}.sh", os.X_OK), f"{script}.sh cannot be run")
    check(site.read("slurm.conf.before-smartmig") == CONF, "the old slurm.conf is not kept")
    check(os.path.exists(f"{site.folder}/etc/systemd/system/smartmig-agent.service"), "no unit of the agent")
    check(not os.path.exists(f"{site.folder}/etc/slurm/cli_filter.lua"), "a filter that nobody asked for")
    after = site.files()
    said = site.install(*ALL)
    check(site.files() == after, f"a second run changed something:\n{said}")
    check(all(line.split()[0] in ("same", "note") for line in said.splitlines()), said)
    # Another partition: only what says so changes, and the oldest copy is kept.
    said = site.install(*ALL, "--partitions", "mig,gpu", code=3)
    check("it has no partition gpu" in said, said)
    check("partitions=mig,gpu " in site.read("smartmig/prolog.sh"), site.read("smartmig/prolog.sh"))
    check(site.read("slurm.conf.before-smartmig") == CONF, "the oldest slurm.conf is lost")


def names(site):
    """Hooks and services agree about partitions, state and user, whatever they are."""
    site.install("all", "--gpus", "4xa100-40gb", "--nodes", "node[1-8]", "--user", "daemon", "--partitions", "mig", "--state",
                 "/srv/agent", "--units-dir", "/units", "--srun-filter")
    def unit(name):
        with open(f"{site.folder}/units/{name}.service") as file:
            return file.read()
    check(f"ExecStart={site.program} agent --allow daemon --state /srv/agent\n" in unit("smartmig-agent"), unit("smartmig-agent"))
    check("StateDirectory" not in unit("smartmig-agent"), unit("smartmig-agent"))
    check("root=/srv/agent " in site.read("smartmig/epilog.sh"), site.read("smartmig/epilog.sh"))
    check("User=daemon\n" in unit("smartmig-slurm"), unit("smartmig-slurm"))
    check("CliFilterPlugins=lua\n" in site.read("smartmig.conf") and "mig:" in site.read("cli_filter.lua"), "the filter of srun")
    site.install("all", "--gpus", "4xa100-40gb", "--nodes", "node[1-8]", "--partitions", "mig,gpu", "--units-dir", "/units", code=3)
    for name, verb in (("smartmig-agent", "agent --allow slurm"), ("smartmig-slurm", "slurm serve")):
        check(f"ExecStart={site.program} {verb} --partitions mig,gpu\n" in unit(name), unit(name))
    check("partitions=mig,gpu " in site.read("smartmig/prolog.sh"), site.read("smartmig/prolog.sh"))


def own_things(site):
    """What a site has is named, never replaced."""
    site.write("job_submit.lua", "-- ours\n")
    site.write("gres.conf", "Name=mig Count=3\n")
    said = site.install(*ALL, code=3)
    for words in ("Prolog=/opt/check.sh is your own script: call /etc/slurm/smartmig/prolog.sh from it",
                  "make it JobSubmitPlugins=throttle,lua",
                  "make it SchedulerParameters=bf_interval=2,nohold_on_prolog_fail,batch_sched_delay=0",
                  "has another Gres: add mig:32 to it", "job_submit.lua is your own", "has other lines with Name=mig",
                  "left to you"):
        check(words in said, f"'{words}' is not in\n{said}")
    part = site.read("smartmig.conf")
    check("TaskProlog=/etc/slurm/smartmig/task_prolog.sh\n" in part and "\nProlog=" not in part, part)
    check(site.read("job_submit.lua") == "-- ours\n" and site.read("gres.conf") == "Name=mig Count=3\n", "it was replaced")
    check("Gres=gpu:4\n" in site.read("slurm.conf"), site.read("slurm.conf"))


def calls(site):
    for options, words in (((), "controller, node, login or all?"), (("all",), "give the GPUs"), (("all", "--gpus"), "needs a value"),
                           (("all", "--gpus", "4xa100-40gb"), "which nodes"), (("everything",), "not understood")):
        check(words in site.install(*options, code=2), f"{options}: not '{words}'")
    check("--dry-run" in site.install("--help"), "--help")
    os.remove(f"{site.folder}/etc/slurm/slurm.conf")
    check("is Slurm installed?" in site.install(*ALL, code=1), "without slurm.conf")
    said = site.install("node", *ALL[1:])  # a node needs no slurm.conf of its own
    check("prolog.sh" in said and "job_submit.lua" not in said, said)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    program = f"{os.path.abspath(sys.argv[1])}/smartmig"
    theirs = CONF.replace("RealMemory=100000", "RealMemory=100000 Gres=gpu:4") + (
        "Prolog=/opt/check.sh # ours\njobsubmitplugins = throttle\nSchedulerParameters=bf_interval=2\n")
    scratch = tempfile.mkdtemp(prefix="smartmig-install-")
    try:
        for number, (test, conf) in enumerate(((fresh, CONF), (names, CONF), (own_things, theirs), (calls, CONF))):
            test(Site(program, f"{scratch}/{number}", conf))
    except AssertionError as failed:
        print(f"FAILED: {failed}")
        return 1
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print("install.sh: fresh, twice, a site's own things, wrong calls")
    return 0


if __name__ == "__main__":
    sys.exit(main())
