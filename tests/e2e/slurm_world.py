"""A whole Slurm cluster on loopback: munged, slurmctld and several slurmd in one folder, nothing of the host touched.

Every node advertises `mig:N` (deploy/slurm); the sample hooks of deploy/slurm are the ones that run. Root only, because
slurmd starts jobs for their owners. With accounts=True there are mariadbd and slurmdbd too, for sacct.
"""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def missing(accounts=False):
    """Why no cluster can be had here; None if it can."""
    if os.geteuid() != 0:
        return "needs root"
    programs = ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol"]
    for program in programs + (["slurmdbd", "mariadbd", "sacct"] if accounts else []):
        if not shutil.which(program):
            return f"{program} is not installed (group [slurm] of packages.txt)"
    return None


def slurm_version():
    """Of the daemons here: (22, 5)."""
    said = subprocess.run(["slurmctld", "-V"], check=True, stdout=subprocess.PIPE, text=True).stdout.split()[-1]
    return tuple(int(part) for part in said.split(".")[:2])


def plain(value):
    """A number of squeue --json: since 23.02 it is an object that says whether it is set."""
    if isinstance(value, dict) and "number" in value and "set" in value:
        return value["number"] if value["set"] else None
    return value


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class NoAccounts(AssertionError):
    """slurmdbd does not run with the database that is here."""


class SlurmWorld:
    gres_name = "mig"

    def __init__(self, folder, nodes=4, gpus=2, units=8, fragment="", accounts=False, lua=None):
        self.folder, self.nodes = folder, [f"n{i + 1}" for i in range(nodes)]
        self.gpus, self.units, self.fragment, self.accounts = gpus, units, fragment, accounts
        self.conf = f"{folder}/etc/slurm.conf"
        self.processes = {}
        for part in ("etc", "log", "run", "state", "munge", "jobs"):
            os.makedirs(f"{folder}/{part}", exist_ok=True)
        os.chmod(folder, 0o755)
        os.chmod(f"{folder}/jobs", 0o1777)
        ports = free_ports(2 * nodes + 3)
        self.ctld_port, self.node_ports = ports[0], ports[1:nodes + 1]
        self.agent_ports = dict(zip(self.nodes, ports[nodes + 1:2 * nodes + 1]))
        self.dbd_port, self.sql_port = ports[-2], ports[-1]
        self.lua = lua
        self.env = dict(os.environ, SLURM_CONF=self.conf, MUNGE_SOCKET=f"{folder}/munge/socket")

    def write_configuration(self):
        host = socket.gethostname()
        with open(f"{self.folder}/munge/key", "wb") as key:
            key.write(os.urandom(1024))
        os.chmod(f"{self.folder}/munge/key", 0o600)
        os.chmod(f"{self.folder}/munge", 0o755)
        with open(f"{self.folder}/etc/gres.conf", "w") as gres:
            gres.write("".join(line + "\n" for line in self.gres_lines()))
        with open(f"{self.folder}/etc/cgroup.conf", "w") as cgroup:
            cgroup.write(f"CgroupPlugin={'cgroup/v1' if slurm_version() < (23, 11) else 'disabled'}\n")
        if self.lua:
            shutil.copy(self.lua, f"{self.folder}/etc/job_submit.lua")
        lines = [
            "ClusterName=smartmig", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root", "SlurmdUser=root",
            f"SlurmctldPort={self.ctld_port}", "AuthType=auth/munge", "CredType=cred/munge",
            f"AuthInfo=socket={self.folder}/munge/socket,cred_expire=5",  # else a requeued job waits for two minutes
            "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny",
            f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/run/spool-%n",
            f"SlurmctldPidFile={self.folder}/run/slurmctld.pid", f"SlurmdPidFile={self.folder}/run/slurmd-%n.pid",
            f"SlurmctldLogFile={self.folder}/log/slurmctld.log", f"SlurmdLogFile={self.folder}/log/slurmd-%n.log",
            "ProctrackType=proctrack/linuxproc", "MpiDefault=none",
            "SelectType=select/cons_tres", "SelectTypeParameters=CR_CPU", "SlurmdParameters=config_overrides",
            "SchedulerType=sched/backfill", "SchedulerParameters=sched_min_interval=100000,bf_interval=2",
            "ReturnToService=2", "MinJobAge=3600", "SlurmdTimeout=30", "KillWait=2", f"GresTypes={self.gres_name}",
            "JobRequeue=1", "TreeWidth=65533", "MaxArraySize=2000", "MaxJobCount=20000",
        ]
        if self.accounts:
            lines += ["AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
                      f"AccountingStoragePort={self.dbd_port}", "AccountingStoreFlags=job_comment",
                      f"AccountingStoragePass={self.folder}/munge/socket"]
        for name, port in zip(self.nodes, self.node_ports):
            feature = "Feature=big " if name == self.nodes[-1] else ""
            lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=64 RealMemory=100000 "
                         f"{feature}Gres={self.gres_of(name)}")
        lines += [f"PartitionName=mig Nodes={','.join(self.nodes)} Default=YES MaxTime=INFINITE State=UP",
                  f"PartitionName=plain Nodes={','.join(self.nodes)} MaxTime=INFINITE State=UP", self.fragment]
        with open(self.conf, "w") as conf:
            conf.write("\n".join(lines) + "\n")

    def gres_lines(self):
        """Of gres.conf: one number for a node, that never changes."""
        return [f"NodeName={','.join(self.nodes)} Name=mig Count={self.units * self.gpus}"]

    def gres_of(self, node):
        return f"mig:{self.units * self.gpus}"

    def spawn(self, name, *command, env=None):
        log = open(f"{self.folder}/log/{name}.out", "ab")
        self.processes[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                                env=env or self.env, start_new_session=True)
        return self.processes[name]

    def kill(self, name, how=signal.SIGTERM):
        process = self.processes.pop(name)
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def start_munge(self):
        self.spawn("munged", "munged", "-F", "--force", "--key-file", f"{self.folder}/munge/key", "--socket",
                   f"{self.folder}/munge/socket", "--pid-file", f"{self.folder}/munge/pid", "--log-file",
                   f"{self.folder}/log/munged.log", "--seed-file", f"{self.folder}/munge/seed")
        self.wait(lambda: os.path.exists(f"{self.folder}/munge/socket"), "munged")

    def start_accounts(self):
        data = f"{self.folder}/sql"
        subprocess.run(["mariadb-install-db", f"--datadir={data}", "--user=root", "--auth-root-authentication-method=normal",
                        "--skip-test-db"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.spawn("mariadbd", "mariadbd", "--no-defaults", f"--datadir={data}", "--user=root", "--bind-address=127.0.0.1",
                   f"--port={self.sql_port}", f"--socket={data}/socket", f"--pid-file={data}/pid",
                   "--innodb-buffer-pool-size=64M", "--innodb-flush-log-at-trx-commit=0")
        self.wait(lambda: subprocess.run(["mariadb", "--no-defaults", f"--socket={data}/socket", "-e",
                                          "create user if not exists slurm@localhost identified by 'slurm';"
                                          "grant all on slurm_acct_db.* to slurm@localhost;"
                                          "create user if not exists slurm@'127.0.0.1' identified by 'slurm';"
                                          "grant all on slurm_acct_db.* to slurm@'127.0.0.1'"],
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0, "mariadbd")
        with open(f"{self.folder}/etc/slurmdbd.conf", "w") as conf:
            conf.write("\n".join([
                "AuthType=auth/munge", f"AuthInfo=socket={self.folder}/munge/socket", "DbdHost=localhost", "DbdAddr=127.0.0.1",
                f"DbdPort={self.dbd_port}", "SlurmUser=root", f"LogFile={self.folder}/log/slurmdbd.log",
                f"PidFile={self.folder}/run/slurmdbd.pid", "StorageType=accounting_storage/mysql", "StorageHost=127.0.0.1",
                f"StoragePort={self.sql_port}", "StorageUser=slurm", "StoragePass=slurm", "StorageLoc=slurm_acct_db"]) + "\n")
        os.chmod(f"{self.folder}/etc/slurmdbd.conf", 0o600)
        self.spawn("slurmdbd", "slurmdbd", "-D")
        def registered():
            if self.processes["slurmdbd"].poll() is not None:
                with open(f"{self.folder}/log/slurmdbd.log") as file:
                    raise NoAccounts("slurmdbd ended: " + file.read().splitlines()[-1])
            self.run("sacctmgr", "-i", "add", "cluster", "smartmig", check=False)
            return "smartmig" in self.run("sacctmgr", "-nP", "show", "cluster", "format=cluster", check=False)
        self.wait(registered, "slurmdbd")

    def start_slurmctld(self):
        self.spawn("slurmctld", "slurmctld", "-D", "-i", "-f", self.conf)

    def start_slurmd(self, node):
        self.spawn(f"slurmd-{node}", "slurmd", "-D", "-N", node, "-f", self.conf)

    def start(self):
        self.write_configuration()
        self.start_munge()
        if self.accounts:
            try:
                self.start_accounts()
            except NoAccounts as failed:
                if self.accounts != "if possible":
                    raise
                print(f"without accounts: {failed}", flush=True)
                self.accounts = False
                self.write_configuration()
                self.kill("munged")  # it has another key now
                self.start_munge()
        self.start_slurmctld()
        for node in self.nodes:
            self.start_slurmd(node)
        self.wait(lambda: self.run("sinfo", "-h", "-p", "mig", "-t", "idle", "-o", "%D", check=False).strip()
                  == str(len(self.nodes)), "idle nodes")

    def stop(self):
        for name in sorted(self.processes, key=lambda n: ("slurmd-" not in n, n in ("slurmdbd", "mariadbd"), n == "munged")):
            self.kill(name)

    def run(self, *command, check=True, user=None, stdin=None):
        how = {}
        if user:
            entry = pwd.getpwnam(user)
            how = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        done = subprocess.run(command, env=self.env, input=stdin, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=60, cwd="/", **how)
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(command)}: {done.returncode}: {done.stdout}")
        return done.stdout

    def jobs(self):
        """All that slurmctld knows, by "12" or "12_3" for a task of an array that has a record of its own."""
        out = {}
        for job in json.loads(self.run("squeue", "--json", "--states=all"))["jobs"]:
            job = {key: plain(value) for key, value in job.items()}
            if isinstance(job["job_state"], list):  # since 23.11 with flags
                job["job_state"] = "COMPLETING" if "COMPLETING" in job["job_state"] else job["job_state"][0]
            task = job["array_task_id"]
            key = f"{job['array_job_id']}_{task}" if job["array_job_id"] and task is not None else str(job["job_id"])
            out[key] = job
        return out

    @staticmethod
    def wait(condition, what, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return
            time.sleep(0.1)
        raise AssertionError(f"waited {seconds} s in vain for {what}")
