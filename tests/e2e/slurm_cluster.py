"""The Slurm cluster of slurm_world.py with smartmig on it: what install.sh writes, an agent on each node with emulated A100s,
a controller; and jobs that write down from inside what they were given."""
import os

from slurm_world import ROOT, SlurmWorld

# Every job writes one line when it begins and one when it ends; whatever is shared or wrong shows in them.
JOB = """#!/bin/bash
out=%(jobs)s/${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
echo "begin $(date +%%s.%%N) $SLURMD_NODENAME $SMARTMIG_GPU $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES" >> $out
sleep "$1"
[ -z "$2" ] || srun -n 2 sh -c 'echo "step $(date +%%s.%%N) $SLURMD_NODENAME $SMARTMIG_GPU $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES"' >> $out
echo "end $(date +%%s.%%N) $SLURMD_NODENAME $SMARTMIG_GPU $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES" >> $out
exit ${3:-0}
"""
# Needs more memory than it says: fails as PyTorch does on every slice of less than $1 GB.
HUNGRY = """#!/bin/bash
out=%(jobs)s/$SLURM_JOB_ID
echo "begin $(date +%%s.%%N) $SLURMD_NODENAME $SMARTMIG_GPU $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES" >> $out
sleep 0.5
profile=${SMARTMIG_SLICE%%@*}
size=${profile#*.}
if [ "${size%%gb}" -lt "$1" ]; then
  echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."
  exit 1
fi
echo "end $(date +%%s.%%N) $SLURMD_NODENAME $SMARTMIG_GPU $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES" >> $out
"""
MEMORY = {"1g.5gb": 4864, "1g.10gb": 9984, "2g.10gb": 9984, "3g.20gb": 20096, "4g.20gb": 20096, "7g.40gb": 40320}


def check(condition, words):
    if not condition:
        raise AssertionError(words)


def lines_of(world, name):
    path = f"{world.folder}/jobs/{name}"
    if not os.path.exists(path):
        return []
    with open(path) as file:
        return [line.split() for line in file.read().splitlines()]


class MigCluster(SlurmWorld):
    """The cluster with smartmig on it."""

    def __init__(self, build, folder, nodes, gpus, accounts=False):
        super().__init__(folder, nodes=nodes, gpus=gpus, accounts=accounts)
        self.program = f"{build}/smartmig"
        self.env["SMARTMIG_NVML_SIM"] = f"{build}/nvml-sim"
        os.chmod(folder, 0o755)
        self.expected = {}
        with open(f"{folder}/job.sh", "w") as file:
            file.write(JOB % {"jobs": f"{folder}/jobs"})
        os.chmod(f"{folder}/job.sh", 0o755)
        with open(f"{folder}/hungry.sh", "w") as file:
            file.write(HUNGRY % {"jobs": f"{folder}/jobs"})
        os.chmod(f"{folder}/hungry.sh", 0o755)

    def write_configuration(self):
        super().write_configuration()
        said = self.run(f"{ROOT}/deploy/slurm/install.sh", "all", "--gpus", f"{self.gpus}xa100-40gb", "--nodes", self.nodes[0],
                        "--slurm-dir", f"{self.folder}/etc", "--state", f"{self.folder}/agents", "--units-dir",
                        f"{self.folder}/units", "--user", "root", "--program", self.program, "--no-start", "--srun-filter", check=False)
        for script in ("prolog", "task_prolog", "epilog"):
            path = f"{self.folder}/etc/smartmig/{script}.sh"
            check(os.path.exists(path), f"install.sh: {said}")
            with open(path) as file:
                text = file.read()
            check(f"root={self.folder}/agents" in text, f"{script}.sh names the agent's state")
            with open(path, "w") as file:
                # The hooks run in a clean environment: the configuration is not at Slurm's own place here.
                file.write(text.replace("#!/bin/sh\n", f"#!/bin/sh\nexport SLURM_CONF={self.conf}\n", 1))
        gres = self.run(self.program, "slurm", "config", "--gpus", f"{self.gpus}xa100-40gb", "--part", "gres", "--nodes",
                        ",".join(self.nodes))
        with open(f"{self.folder}/etc/gres.conf") as file:
            check(file.read() == gres, f"slurm config prints another gres.conf: {gres}")

    def start_agent(self, node, fallback="0"):
        self.spawn(f"agent-{node}", self.program, "agent", "--emulate", f"{self.gpus}xa100-40gb", "--node", node,
                   "--listen", f"127.0.0.1:{self.agent_ports[node]}", "--state", f"{self.folder}/agents",
                   "--munge-socket", f"{self.folder}/munge/socket", "--fallback", fallback)

    def start_controller(self, name="controller", *options):
        agents = ",".join(f"{node}=127.0.0.1:{port}" for node, port in self.agent_ports.items())
        self.spawn(name, self.program, "slurm", "serve", "--agents", agents, "--munge-socket",
                   f"{self.folder}/munge/socket", "--state", f"{self.folder}/{name}", "--metrics", f"{self.folder}/{name}.prom",
                   "--news", "127.0.0.1:0", "--http-port", "0", *options)

    def submit(self, *options, seconds=1.0, step="", code=0, mem=0, user=None, tasks=None):
        job = self.run("sbatch", "--parsable", "-o", "/dev/null", *options, f"{self.folder}/job.sh", str(seconds), step,
                       str(code), user=user).strip()
        for task in tasks or [None]:
            name = job if task is None else f"{job}_{task}"
            self.expected[name] = {"state": "COMPLETED" if code == 0 else "FAILED", "mem": mem}
        return job

    def submit_hungry(self, needs_gb, *options, state="COMPLETED", user="nobody"):
        """Says 4 GiB and needs more; its output goes where the agent can read it."""
        job = self.run("sbatch", "--parsable", "-o", f"{self.folder}/jobs/%x-%j.log", "--comment=smartmig:mem=4G,estimate=1s",
                       *options, f"{self.folder}/hungry.sh", str(needs_gb), user=user).strip()
        self.expected[job] = {"state": state, "mem": 4096}
        return job

    def log(self, name):
        with open(f"{self.folder}/log/{name}.out") as file:
            return file.read()
