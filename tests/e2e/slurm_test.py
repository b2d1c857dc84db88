#!/usr/bin/env python3
"""A real Slurm on loopback with emulated A100s, an agent on each node and a controller: jobs by sbatch and srun, checked
from inside, and faults: tests/e2e/slurm_test.py BUILD-DIRECTORY [--soak] [--keep] [--accounts-if-possible] [--only=outage|nodes|srun|arrays].
--soak needs Slurm's accounts; with --accounts-if-possible it takes slurmctld's word for the states where slurmdbd does not run."""
import collections
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import slurm_world
import slurm_faults
from slurm_cluster import MEMORY, MigCluster, check, lines_of
from slurm_judge import Judge
from slurm_pages import page_is_served, seen_in_view


OUTAGE_S = 150  # of slurmctld in the soak


def all_ended(world):
    jobs = world.jobs()
    return all(name in jobs and jobs[name]["job_state"] in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL",
                                                             "DEADLINE") for name in world.expected)


def verify(world, may_restart=()):
    """Right states; each job on one slice that fits, told by its environment; no slice shared at any moment."""
    jobs = world.jobs()
    runs = collections.defaultdict(list)
    for name, wanted in world.expected.items():
        check(jobs[name]["job_state"] in wanted["state"].split("|"),
              f"job {name}: {jobs[name]['job_state']}, not {wanted['state']} ({jobs[name]['state_reason']})")
        if wanted.get("never_ran"):
            check(not lines_of(world, name), f"job {name} ran")
            continue
        lines = lines_of(world, name)
        begins = [line for line in lines if line[0] == "begin"]
        ends = [line for line in lines if line[0] == "end"]
        if name not in may_restart and "|" not in wanted["state"]:
            check(len(begins) == 1 and len(ends) == 1, f"job {name} ran {len(begins)} times: {lines}")
        starved = "|" in wanted["state"] and jobs[name]["job_state"] == "FAILED"
        check(len(ends) == (0 if starved else 1), f"job {name} ended {len(ends)} times")
        last = [line for line in lines if float(line[1]) >= float(begins[-1][1])]
        for line in last:
            check(len(line) == 6, f"job {name}: no slice in its environment: {line}")
            check(line[2:] == last[0][2:], f"job {name} saw two slices: {line} and {last[0]}")
        node, gpu, slice_name, device = last[0][2:]
        check(device.startswith("MIG-"), f"job {name}: CUDA_VISIBLE_DEVICES={device}")
        check(jobs[name]["nodes"] == node, f"job {name}: Slurm says {jobs[name]['nodes']}, the job {node}")
        check(MEMORY[slice_name.split("@")[0]] >= wanted["mem"], f"job {name} of {wanted['mem']} MiB ran on {slice_name}")
        runs[(node, gpu)].append((float(last[0][1]), float(last[-1][1]), name, slice_name, device))
    shapes = set()
    sizes = {"1g.5gb": 1, "1g.10gb": 2, "2g.10gb": 2, "3g.20gb": 4, "4g.20gb": 4, "7g.40gb": 8}
    for place, used in runs.items():
        for begin, end, name, slice_name, device in used:
            profile, start = slice_name.split("@")
            shapes.add(profile)
            mine = set(range(int(start), int(start) + sizes[profile]))
            for other in used:
                if other[2] == name or other[0] >= end or begin >= other[1]:
                    continue
                profile2, start2 = other[3].split("@")
                check(not mine & set(range(int(start2), int(start2) + sizes[profile2])),
                      f"{place}: jobs {name} on {slice_name} and {other[2]} on {other[3]} at the same time")
    return shapes


def refusals(world):
    """The hook: what it says, and what it lets pass."""
    def refused(words, *options):
        said = world.run("sbatch", "--parsable", *options, f"{world.folder}/job.sh", "0", check=False)
        check(words in said, f"sbatch {' '.join(options)}: {said}")
    refused("say how much of a GPU the job needs")
    refused("has the profiles", "--gres=mig:3g.21gb")
    refused("a job gets one slice", "--gres=mig:1g.5gb:2")
    refused("mem=lots is not an amount", "--comment=smartmig:mem=lots")
    refused("'speed=3' is not understood", "--comment=smartmig:mem=3G,speed=3")
    refused("is given twice", "--comment=smartmig:mem=3G,mem=4G")
    refused("no slice of this cluster has 92160 MiB", "--comment=smartmig:mem=90G")
    refused("one slice of one node", "--comment=smartmig:mem=3G", "-N", "2")
    refused("cannot wait in others too", "--comment=smartmig:mem=3G", "-p", "mig,plain")
    random.seed(18)
    for _ in range(12):
        text = "smartmig:" + "".join(random.choice("mem=slices,%\"'()[]G1..9:kd\\$ ;-") for _ in range(random.randint(0, 60)))
        world.run("sbatch", "--parsable", "-H", "-o", "/dev/null", f"--comment={text}", "--begin=now+1hour",
                  f"{world.folder}/job.sh", "0", check=False)
    check(len(world.jobs()) >= 0, "slurmctld is alive")
    for job in world.jobs():
        world.run("scancel", job)
    plain = world.run("sbatch", "--parsable", "-p", "plain", "-o", "/dev/null", "--wrap", "true").strip()
    world.wait(lambda: world.jobs()[plain]["job_state"] == "COMPLETED", "a job of another partition")
    check(world.jobs()[plain]["admin_comment"] == "", "the hook touched a job of another partition")


def strangers(world):
    """Who is not root gets nothing from an agent, nor does who repeats, forges or delays a message."""
    port, munge = world.agent_ports["n1"], f"{world.folder}/munge/socket"
    ask = ("import socket,sys\ns=socket.create_connection(('127.0.0.1',%d),5)\ns.sendall(sys.stdin.buffer.read())\n"
           "s.shutdown(1)\nd=b''\nwhile True:\n  p=s.recv(65536)\n  if not p: break\n  d+=p\nprint(d.decode())" % port)

    def sealed(user=None, node="n1", *options):
        text = json.dumps({"v": 1, "node": node, "op": "status", "id": 7})
        return world.run("munge", "--socket", munge, "-s", text, *options, user=user)

    def answer(text):
        said = world.run(sys.executable, "-c", ask, stdin=text).strip()
        return json.loads(world.run("unmunge", "--socket", munge, "-m", "/dev/null", stdin=said)) if said else None
    good = sealed()
    check(answer(good)["ok"], "root is answered")
    check(answer(good) is None, "a message that was seen before is refused")
    check(answer(json.dumps({"v": 1, "node": "n1", "op": "status"})) is None, "an unsigned message is refused")
    check(answer("MUNGE:AwQDAAAA:") is None, "a forged message is refused")
    check(answer(sealed(user="nobody"))["code"] == "no_permission", "another user is refused")
    check(answer(sealed(None, "n2"))["code"] == "no_permission", "a message for another node is refused")
    stale = sealed(None, "n1", "--ttl", "1")
    time.sleep(2.5)
    check(answer(stale) is None, "a message that is too old is refused")


def mixed_jobs(world, count, rng, hungry=False):
    """As users submit them: memory or a profile, deadlines, arrays, dependencies, steps, some that fail or need more memory than
    they say."""
    submitted = 0
    while submitted < count:
        kind = rng.randrange(8)
        seconds = round(rng.uniform(0.3, 2.5), 2)
        if kind < 3:
            gib = rng.choice([1, 3, 4, 8, 9, 12, 18, 30])
            world.submit(f"--comment=smartmig:mem={gib}G,estimate={max(1, int(seconds))}s" +
                         rng.choice(["", ",deadline=60s", ",deadline=5s"]), seconds=seconds, mem=gib * 1024)
        elif kind == 3:
            profile = rng.choice(list(MEMORY))
            world.submit(f"--gres=mig:{profile}", seconds=seconds, mem=MEMORY[profile])
        elif kind == 4:
            tasks = rng.randint(3, 6)
            world.submit("--comment=notes smartmig:mem=4G,estimate=1s", f"--array=0-{tasks - 1}%2", seconds=seconds, mem=4096,
                         tasks=range(tasks))
            submitted += tasks - 1
        elif kind == 5:
            first = world.submit("--comment=smartmig:mem=2G,estimate=2s", seconds=seconds, mem=2048)
            world.submit("--comment=smartmig:slices=2,estimate=2s", f"--dependency=afterok:{first}", seconds=seconds)
            submitted += 1
        elif kind == 6:
            world.submit("--comment=smartmig:mem=9G,estimate=2s", seconds=seconds, step="srun", mem=9216, user="nobody")
        elif hungry and rng.random() < 0.5:  # one that fails while no controller looks stays failed
            world.submit_hungry(rng.choice([10, 20]), state="COMPLETED|FAILED")
        else:
            world.submit("--comment=smartmig:mem=4G,estimate=1s", seconds=seconds, code=1, mem=4096)
        submitted += 1


def running_job(world, node=None):
    """A job that has begun and not ended, on that node or any."""
    for name in world.expected:
        lines = lines_of(world, name)
        if lines and lines[-1][0] == "begin" and node in (None, lines[-1][2]):
            return name
    return None


def healthy(world):
    states = world.run("sinfo", "-h", "-N", "-o", "%N %T").split("\n")
    return all(" drain" not in line and " down" not in line and "*" not in line for line in states)


def checked(world):
    """What slurm check finds: all good, or what is missing."""
    agents = ",".join(f"{node}=127.0.0.1:{port}" for node, port in world.agent_ports.items())
    return json.loads(world.run(world.program, "slurm", "check", "--json", "--agents", agents, "--munge-socket",
                                f"{world.folder}/munge/socket", check=False))


def out_of_memory(world):
    """A job that ran out of memory runs again on a larger slice, where it may run again and there is one."""
    world.kill("controller")
    world.start_controller("controller", "--policy", "migm-b")  # which gives each job the tightest slice
    hungry = world.submit_hungry(20)
    after = world.submit(f"--dependency=afterok:{hungry}", "--comment=smartmig:mem=4G,estimate=1s", mem=4096)
    once = world.submit_hungry(999, "--no-requeue")
    never = world.submit_hungry(999)
    for name, state in ((hungry, "COMPLETED"), (after, "COMPLETED"), (once, "FAILED")):
        world.wait(lambda name=name, state=state: world.jobs()[name]["job_state"] == state, f"job {name}: {state}", 90)
    slices = [line[4].split("@")[0] for line in lines_of(world, hungry) if line[0] == "begin"]
    memory = [MEMORY[one] for one in slices]
    check(memory == [4864, 9984, 20096], f"job {hungry} ran on {slices}")
    check("mem=20096M" in world.jobs()[hungry]["admin_comment"], f"job {hungry}: {world.jobs()[hungry]['admin_comment']}")
    check(float(lines_of(world, after)[0][1]) > float(lines_of(world, hungry)[-1][1]), "a job ran before the one it waits for")
    check(len(lines_of(world, once)) == 1, f"job {once} forbids a requeue and ran {len(lines_of(world, once))} times")
    world.wait(lambda: "no slice has more" in world.log("controller"), f"job {never}, too large for every slice", 90)
    check(world.jobs()[never]["job_state"] == "FAILED", f"job {never}: {world.jobs()[never]['job_state']}")
    check(lines_of(world, never)[-1][4].startswith("7g.40gb"), f"job {never} was last on {lines_of(world, never)[-1][4]}")
    world.kill("controller")
    world.start_controller()
    for name in (hungry, once, never):  # what they wrote is judged here
        del world.expected[name]


def prolog_fails_once(world):
    """A Prolog that fails drains its node, by Slurm's rules; ours never does, whatever happens to it on the way."""
    node = world.nodes[0]
    path = f"{world.folder}/etc/smartmig/prolog.sh"
    with open(path) as file:
        good = file.read()
    marker = f"{world.folder}/jobs/prolog-failed"
    # The site's own part fails before ours is reached, the first time on that node.
    with open(path, "w") as file:
        file.write(good.replace("#!/bin/sh\n", f"#!/bin/sh\n[ \"$SLURMD_NODENAME\" != {node} ] || [ -e {marker} ] || {{ touch {marker}; exit 1; }}\n", 1))
    os.chmod(path, 0o755)
    jobs = [world.submit("--comment=smartmig:mem=18G,estimate=1s", mem=18 * 1024) for _ in range(4 * world.gpus)]
    world.wait(lambda: os.path.exists(marker), "the Prolog that fails")
    # Slurm has drained the node, and the job is requeued: it runs elsewhere. The controller lets the node go on; one that
    # an operator drained, whatever he wrote, it leaves alone.
    other = world.nodes[2]
    world.run("scontrol", "update", f"NodeName={other}", "State=DRAIN", "Reason=Prolog error? I am looking")
    world.wait(lambda: node in world.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N"), "the drained node")
    world.wait(lambda: f"node {node} was drained because a script failed" in world.log("controller"), "its return", 60)
    world.wait(lambda: node not in world.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N"), "a node that takes jobs again")
    world.wait(lambda: all(world.jobs()[job]["job_state"] == "COMPLETED" for job in jobs), "jobs around a failing Prolog", 180)
    check(other in world.run("sinfo", "-h", "-N", "-t", "drain", "-o", "%N"), f"{other}, drained by an operator, was resumed")
    check(f"node {other} was drained because a script" not in world.log("controller"), "an operator's drain was touched")
    world.run("scontrol", "update", f"NodeName={other}", "State=RESUME")
    with open(path, "w") as file:
        file.write(good)
    os.chmod(path, 0o755)
    world.wait(lambda: healthy(world), "nodes that take jobs")
    return jobs


def shadow(world):
    """The day before it takes over: without agents it decides about real jobs, with and without the hook, and says so; to Slurm
    nothing happens."""
    waiting = [world.submit("--comment=smartmig:mem=18G,estimate=1s", mem=18 * 1024),
               world.submit("--gres=mig:2g.10gb", mem=MEMORY["2g.10gb"], user="nobody"),
               world.submit("--comment=smartmig:mem=4G,estimate=1s", "--array=0-1", mem=4096, tasks=range(2))]
    others = [world.run("sbatch", "--parsable", "-p", "plain", "-o", "/dev/null", "--wrap", "sleep 300").strip() for _ in range(2)]
    world.wait(lambda: all(world.jobs()[job]["job_state"] == "RUNNING" for job in others), "jobs of another partition")
    fields = ("job_state", "priority", "comment", "admin_comment", "required_nodes", "nodes", "restart_cnt")

    def seen():
        return {name: [job[field] for field in fields] for name, job in world.jobs().items()}
    before, nodes = seen(), world.run("scontrol", "show", "node", "-o").count("smartmig: ")
    world.spawn("shadow", world.program, "slurm", "serve", "--shadow", "--gpus", f"{world.gpus}xa100-40gb", "--partitions",
                "mig,plain", "--state", f"{world.folder}/shadow")
    wanted = waiting[:2] + [f"{waiting[2]}_{task}" for task in range(2)] + others
    for name in wanted:
        world.wait(lambda name=name: f"job {name} -> n" in world.log("shadow"), f"what shadow mode would do with job {name}")
    time.sleep(3)
    check(world.processes["shadow"].poll() is None, f"shadow mode ended: {world.log('shadow')}")
    check(seen() == before, f"shadow mode changed a job: {before} became {seen()}")
    check(world.run("scontrol", "show", "node", "-o").count("smartmig: ") == nodes, "shadow mode wrote to a node")
    world.run("scancel", *others)
    world.kill("shadow")


def agent_hangs_in_a_reshape(world):
    """One GPU's driver takes far too long to make a slice, then a whole agent stands still: jobs go elsewhere, the node is
    left alone until its agent answers, and then has jobs again."""
    node = world.nodes[1]
    machine = f"{world.folder}/agents/{node}/machine"
    world.kill("controller")
    world.start_controller("controller", "--reshape-limit", "2s", "--policy", "migm-b")  # each job gets the tightest slice
    ctl = f"{world.env['SMARTMIG_NVML_SIM']}/nvml-sim-ctl"

    def wave(count, seconds=1.0, gib=30):
        return [world.submit(f"--comment=smartmig:mem={gib}G,estimate=1s", mem=gib * 1024, seconds=seconds) for _ in range(count)]

    def done(jobs):
        states = world.jobs()
        return all(states[job]["job_state"] == "COMPLETED" for job in jobs)

    def ran_on(jobs):
        return collections.Counter(lines_of(world, job)[0][2] for job in jobs)
    whole = wave(2 * world.gpus * len(world.nodes))  # then every GPU is one slice, and halves must be made
    world.wait(lambda: done(whole), "jobs on whole GPUs", 120)
    world.run(ctl, "fault", machine, "slow", "--call", "nvmlDeviceCreateGpuInstance", "--ms", "12000")
    jobs = wave(6 * world.gpus * len(world.nodes), gib=18)
    world.wait(lambda: f"creating {node} GPU" in world.log("controller"), "a reshape that takes too long", 60)
    world.wait(lambda: done(jobs), "jobs around a GPU that hangs", 120)
    world.run(ctl, "clear", machine, "slow")
    world.wait(lambda: "has finished the operation that took too long" in world.log("controller"), "its end", 90)
    world.processes[f"agent-{node}"].send_signal(signal.SIGSTOP)
    more = wave(2 * world.gpus * len(world.nodes))
    world.wait(lambda: f"the agent on {node} does not answer" in world.log("controller"), "an agent that stands still", 60)
    world.wait(lambda: done(more), "jobs around an agent that stands still", 120)
    world.processes[f"agent-{node}"].send_signal(signal.SIGCONT)
    world.wait(lambda: "answers again" in world.log("controller").rsplit("does not answer", 1)[-1], "the agent", 60)
    last = wave(2 * world.gpus * len(world.nodes), 3)
    world.wait(lambda: done(last), "jobs on all nodes", 120)
    check(ran_on(last)[node] > 0, f"{node} got no job after its agent answered: {ran_on(last)}")
    world.wait(lambda: healthy(world), "nodes that take jobs")
    world.kill("controller")
    world.start_controller()


def devices_are_handed_over(world):
    """What a site needs that fences jobs in by device files: those of the slice and no other slice's."""
    jobs = [world.submit("--comment=smartmig:mem=4G,estimate=5s", seconds=5, mem=4096) for _ in range(2)]
    world.wait(lambda: all(lines_of(world, job) for job in jobs), "two jobs")
    caps = []
    for job in jobs:
        with open(f"{world.folder}/agents/{lines_of(world, job)[0][2]}/jobs/{job}.env") as file:
            said = dict(line.split("=", 1) for line in file.read().splitlines())
        files = said["SMARTMIG_DEVICES"].split(":")
        names = [one.rsplit("/dev/", 1)[1] for one in files]  # an emulated machine has them in its own folder
        check(f"nvidia{said['SMARTMIG_GPU']}" in names and "nvidiactl" in names, f"job {job}: {files}")
        caps.append((lines_of(world, job)[0][2], said["SMARTMIG_GPU"], {one for one in files if "nvidia-cap" in one}))
        check(len(caps[-1][2]) == 2, f"job {job}: a GPU instance and its compute instance, not {files}")
    check(caps[0][:2] != caps[1][:2] or not caps[0][2] & caps[1][2], f"two slices share a device file: {caps}")
    world.wait(lambda: all(world.jobs()[job]["job_state"] == "COMPLETED" for job in jobs), "their end")


def small(world, rng, judge):
    refusals(world)
    shadow(world)
    found = {one["what"]: one for one in checked(world)["findings"]}
    check(found["JobSubmitPlugins"]["good"] and "does not answer" in found["node n1"]["words"], f"slurm check: {found}")
    check(not found["agents"]["good"] and not found["device files"]["good"], f"slurm check without agents: {found}")
    for node in world.nodes:
        world.start_agent(node)
    world.start_controller()
    mixed_jobs(world, 12, rng)
    strangers(world)
    check(checked(world)["good"], f"slurm check: {checked(world)}")
    # Its owner holds a job and lets it go: it waits for its slice all the same.
    held = world.submit("-H", "--comment=smartmig:mem=4G,estimate=1s", mem=4096, user="nobody")
    world.run("scontrol", "release", held, user="nobody")
    # While jobs run: the controller dies, then an agent, then a slurmd after slices were made anew.
    world.wait(lambda: running_job(world), "a job that runs")
    world.kill("controller", signal.SIGKILL)
    mixed_jobs(world, 10, rng)
    world.start_controller()
    long = world.submit("--gres=mig:3g.20gb", seconds=8, mem=MEMORY["3g.20gb"])
    world.wait(lambda: lines_of(world, long), "the long job")
    node = lines_of(world, long)[0][2]
    mixed_jobs(world, 6, rng)
    time.sleep(2)
    world.kill(f"slurmd-{node}")
    world.start_slurmd(node)
    other = next(n for n in world.nodes if n != node)
    world.kill(f"agent-{other}", signal.SIGKILL)
    time.sleep(1)
    world.start_agent(other)
    mixed_jobs(world, 6, rng)
    world.wait(lambda: all_ended(world), "the end of all jobs", 120)
    slurm_faults.nodes_are_chosen_by_their_jobs(world)
    slurm_faults.srun_takes_a_profile(world)
    through = slurm_faults.slurmctld_is_away(world, judge, 30)
    devices_are_handed_over(world)
    page_is_served(world)
    out_of_memory(world)
    agent_hangs_in_a_reshape(world)
    again = prolog_fails_once(world)
    shapes = verify(world, may_restart=[*again, *through])
    check(len(shapes) >= 3, f"slices of one or two sizes only: {shapes}")
    world.wait(lambda: healthy(world), "nodes that take jobs")
    for name in world.expected:
        line, comment = lines_of(world, name)[-1], world.jobs()[name]["admin_comment"]
        check(f"used:node={line[2]},gpu={line[3]},slice={line[4]}" in comment, f"job {name}: {comment}, and it ran on {line}")
    with open(f"{world.folder}/controller.prom") as file:
        check("smartmig_slurm_gpus 8\n" in file.read(), "the controller's figures for Prometheus")
    check("smartmig: 0=" in world.run("scontrol", "show", "node", "n1"), "the layouts of n1 are not shown")
    seen_in_view(world)
    # Without a controller the agents let jobs go by themselves.
    world.kill("controller")
    for one in world.nodes:
        world.kill(f"agent-{one}")
        world.start_agent(one, fallback="2s")
    for gib in (3, 18, 4):
        world.submit(f"--comment=smartmig:mem={gib}G", seconds=0.5, mem=gib * 1024)
    world.wait(lambda: all_ended(world), "jobs without a controller", 100)
    verify(world)
    return f"{len(world.expected)} jobs on {len(world.nodes)} nodes, slices {', '.join(sorted(shapes))}"


def without_a_controller(world):
    """Agents alone run jobs, and book their joules where Slurm has accounts. How many of the three have them."""
    for name in ("controller", "standby"):
        world.kill(name)
    for node in world.nodes:
        world.kill(f"agent-{node}")
        world.start_agent(node, fallback="2s")
    jobs = [world.submit(f"--comment=smartmig:mem={gib}G", seconds=2, mem=gib * 1024) for gib in (3, 18, 4)]
    world.wait(lambda: all_ended(world), "jobs without a controller", 100)
    verify(world, may_restart={name for name, job in world.jobs().items() if job["restart_cnt"] > 0})
    if not world.accounts:
        return "no accounts"
    world.wait(lambda: all("joules=" in accounts(world)[job][1] for job in jobs), "the joules of jobs without a controller", 60)
    return f"{len(jobs)} of {len(jobs)}"


def faults_of(world, rng):
    """What breaks on the way, by name; each leaves the world whole."""
    def controller_dies():
        world.kill("controller", signal.SIGKILL)
        world.start_controller()

    def standby_takes_over():
        world.kill("controller", signal.SIGKILL)
        world.wait(lambda: "taking over" in world.log("standby").rsplit("standing by", 1)[-1], "the standby", 90)
        world.start_controller()  # and takes it back: a higher epoch

    def slurmd_restarts():
        node = rng.choice(world.nodes)
        world.kill(f"slurmd-{node}")
        time.sleep(1)
        world.start_slurmd(node)

    def slurmctld_restarts():
        world.kill("slurmctld")
        time.sleep(OUTAGE_S)
        world.start_slurmctld()
        world.wait(lambda: "UP" in world.run("scontrol", "ping", check=False), "slurmctld")

    def munge_restarts():
        world.kill("munged")
        time.sleep(2)
        world.start_munge()

    def agent_dies():
        node = rng.choice(world.nodes)
        world.kill(f"agent-{node}", signal.SIGKILL)
        time.sleep(3)
        world.start_agent(node)

    def agent_hangs():
        process = world.processes[f"agent-{rng.choice(world.nodes)}"]
        process.send_signal(signal.SIGSTOP)
        time.sleep(12)
        process.send_signal(signal.SIGCONT)

    def node_is_drained():
        node = rng.choice(world.nodes)
        world.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=test")
        time.sleep(6)
        world.run("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def reconfigured():
        world.run("scontrol", "reconfigure")
    return [controller_dies, standby_takes_over, slurmd_restarts, slurmctld_restarts, munge_restarts, agent_dies, agent_hangs,
            node_is_drained, reconfigured]


def accounts(world):
    """State and AdminComment of each job, by sacct."""
    rows = world.run("sacct", "-n", "-P", "-X", "-a", "-S", "now-2hours", "--format", "jobid,state,admincomment").splitlines()
    return {row[0]: row[1:] for row in (line.split("|") for line in rows)}


def soak(world, rng, count, judge):
    for node in world.nodes:
        world.start_agent(node)
    world.start_controller()
    world.start_controller("standby", "--standby", "--takeover", "10s")
    faults = faults_of(world, rng)
    for i, fault in enumerate(faults):
        mixed_jobs(world, count // (len(faults) + 1), rng, hungry=True)
        print(f"{fault.__name__} after {len(world.expected)} jobs", flush=True)
        fault()
        if i % 3 == 2:
            world.wait(lambda: sum(job["job_state"] == "PENDING" for job in world.jobs().values()) < 40, "a shorter queue", 300)
    mixed_jobs(world, count - len(world.expected), rng, hungry=True)
    world.wait(lambda: all_ended(world), "the end of all jobs", 600)
    time.sleep(12)  # one that ran out of memory is requeued within 10 s
    world.wait(lambda: all_ended(world), "the end of jobs that got more memory", 120)
    # A job that ran while something broke may have been requeued by Slurm's own rules, and then runs anew.
    restarted = {name for name, job in world.jobs().items() if job["restart_cnt"] > 0}
    shapes = verify(world, may_restart=restarted)
    world.wait(lambda: healthy(world), "nodes that take jobs")
    time.sleep(3)
    states = accounts(world) if world.accounts else {name: [job["job_state"], job["admin_comment"]] for name, job in world.jobs().items()}
    for name, wanted in world.expected.items():
        check(states[name][0] in wanted["state"].split("|"), f"sacct has job {name} as {states[name]}")
    slurm_faults.slurmctld_is_away(world, judge, OUTAGE_S)
    if world.accounts:
        slurm_faults.array_accounts(world, accounts)
    alone = without_a_controller(world)
    starving = [name for name, wanted in world.expected.items() if "|" in wanted["state"]]
    fed = sum(states[name][0] == "COMPLETED" for name in starving)
    check(fed > len(starving) // 2, f"of {len(starving)} jobs that need more memory than they say only {fed} got it")
    joules = sum("joules=" in row[1] for row in states.values())
    check(not world.accounts or joules > len(world.expected) // 2, f"only {joules} jobs have their joules in sacct")
    return (f"{len(world.expected)} jobs, {len(faults)} faults, {len(restarted)} jobs requeued by Slurm, "
            f"{f'{joules} with joules in sacct' if world.accounts else 'no accounts'}, joules of jobs without a controller: {alone}, "
            f"{fed} of {len(starving)} that needed more memory than they said got it, "
            f"slices {', '.join(sorted(shapes))}")


PARTS = {
    "outage": lambda world, judge: slurm_faults.slurmctld_is_away(world, judge, 30),
    "nodes": lambda world, judge: slurm_faults.nodes_are_chosen_by_their_jobs(world),
    "srun": lambda world, judge: slurm_faults.srun_takes_a_profile(world),
    "arrays": lambda world, judge: slurm_faults.array_accounts(world, accounts),
}


def main():
    only = next((a[7:] for a in sys.argv if a.startswith("--only=")), None)
    arguments = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(arguments) != 1:
        print(__doc__)
        return 2
    whole = "--soak" in sys.argv
    with_accounts = "if possible" if "--accounts-if-possible" in sys.argv else True
    why_not = slurm_world.missing(accounts=whole or only == "arrays")
    if why_not:
        print(f"skipped: no Slurm here: {why_not}")
        return 77
    seed = int(os.environ.get("SEED", random.randrange(1 << 30)))
    folder = tempfile.mkdtemp(prefix="smartmig-slurm-")
    world = MigCluster(os.path.abspath(arguments[0]), folder, nodes=4, gpus=4 if whole else 2,
                       accounts=(whole or only == "arrays") and with_accounts)
    try:
        world.start()
        rng = random.Random(seed)
        with Judge(world.conf) as judge:
            if only:
                for node in world.nodes:
                    world.start_agent(node)
                world.start_controller()
                print(only, PARTS[only](world, judge))
            else:
                print(soak(world, rng, int(os.environ.get("JOBS", 500)), judge) if whole else small(world, rng, judge))
        judge.check()
        passed = True
    except (AssertionError, subprocess.SubprocessError) as failed:
        passed = False
        print(f"FAILED with SEED={seed}: {failed}")
        for name in ("controller", "standby", "agent-n1"):
            if os.path.exists(f"{folder}/log/{name}.out"):
                print(f"--- {name}, the end\n" + world.log(name)[-3000:])
        print(world.run("squeue", "-a", check=False))
    finally:
        world.stop()
        if "--keep" in sys.argv:
            print(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
