"""Parts of slurm_test.py about what may never happen: two jobs on one slice, and jobs that keep slices without running."""
import time

from slurm_cluster import check, lines_of
from slurm_judge import sees_sharing


def ended(world, jobs):
    states = world.jobs()
    return all(job in states and states[job]["job_state"] in ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT") for job in jobs)


def slurmctld_is_away(world, judge, seconds):
    """While slurmctld is gone, squeue --json of 22.05 lists no job and exits with 0. A job that runs on through it keeps its
    slice, whoever comes next."""
    check(sees_sharing(world.conf + ".judge"), "the judge sees nothing")
    long = world.submit("--comment=smartmig:mem=30G,estimate=30s", seconds=seconds + 50, mem=30 * 1024)
    world.wait(lambda: lines_of(world, long), "the job that runs through the outage", 90)
    world.kill("slurmctld")
    began = time.monotonic()
    world.wait(lambda: "Slurm does not answer" in world.log("controller"), "the controller's word on it", 90)
    time.sleep(max(0.0, seconds - (time.monotonic() - began)))
    world.start_slurmctld()
    world.wait(lambda: "UP" in world.run("scontrol", "ping", check=False), "slurmctld")
    world.wait(lambda: "Slurm answers again" in world.log("controller").rsplit("Slurm does not answer", 1)[-1], "an answer", 90)
    more = [world.submit("--comment=smartmig:mem=30G,estimate=1s", mem=30 * 1024, seconds=3)
            for _ in range(len(world.nodes) * world.gpus)]
    world.wait(lambda: ended(world, more + [long]), "all jobs after the outage", 180)
    judge.check()
    check(long in judge.seen, "the judge has not seen the long job")
    return [long, *more]


def nodes_are_chosen_by_their_jobs(world):
    """-w, -x, -C and CPUs: jobs go where Slurm lets them run, and what can run nowhere keeps no slice and says why."""
    first, second, last = world.nodes[0], world.nodes[1], world.nodes[-1]
    mem = "--comment=smartmig:mem=30G,estimate=1s"
    only = world.submit(mem, "-x", ",".join(world.nodes[:-1]), mem=30 * 1024)
    asked = world.submit(mem, "-w", second, mem=30 * 1024)
    featured = world.submit(mem, "-C", "big", mem=30 * 1024)  # slurm_world: the last node has it
    said = world.run("sbatch", mem, "-w", f"{first},{second}", f"{world.folder}/job.sh", "0", check=False)
    check("name one node" in said or "invalid number of nodes" in said, f"-w with two nodes: {said}")
    nowhere = world.run("sbatch", "--parsable", "-o", "/dev/null", mem, "-C", "big", "-x", last, f"{world.folder}/job.sh", "0",
                        check=False).strip()
    wide = [world.submit("--comment=smartmig:mem=4G,estimate=1s", "-c", "48", mem=4096, seconds=20) for _ in world.nodes]
    world.wait(lambda: ended(world, [only, asked, featured]), "jobs that choose their node", 90)
    for job, node in ((only, last), (asked, second), (featured, last)):
        check(lines_of(world, job)[0][2] == node, f"job {job} ran on {lines_of(world, job)[0][2]}, not {node}")
    world.wait(lambda: all(lines_of(world, job) for job in wide), "jobs of 48 CPUs beside each other", 60)
    check(len({lines_of(world, job)[0][2] for job in wide}) == len(world.nodes), "two jobs of 48 CPUs on one node of 64")
    check(max(float(lines_of(world, job)[0][1]) for job in wide) - min(float(lines_of(world, job)[0][1]) for job in wide) < 20,
          "a job waited for CPUs beside a free node")
    if nowhere.isdigit():  # Slurm lets it wait
        world.wait(lambda: "no node may run it" in world.jobs()[nowhere]["admin_comment"], "why a job waits", 60)
        check(not lines_of(world, nowhere), "it ran")
        world.run("scancel", nowhere)
    world.wait(lambda: ended(world, wide), "their end", 60)


def srun_takes_a_profile(world):
    """srun asks for its gres again for its step: cli_filter.lua."""
    said = world.run("srun", "--gres=mig:1g.5gb", "sh", "-c", "echo $SMARTMIG_SLICE $CUDA_VISIBLE_DEVICES", check=False)
    check("g." in said and "MIG-" in said, f"srun --gres=mig:1g.5gb: {said}")


def array_accounts(world, accounts):
    """Each task has its own slice and joules in Slurm's accounts."""
    job = world.submit("--comment=smartmig:mem=4G,estimate=2s", "--array=0-3", seconds=2, mem=4096, tasks=range(4))
    names = [f"{job}_{task}" for task in range(4)]
    world.wait(lambda: ended(world, names), "an array", 90)
    world.wait(lambda: all("joules=" in accounts(world)[name][1] for name in names), "its joules", 60)
    rows = accounts(world)
    for name in names:
        line, comment = lines_of(world, name)[-1], rows[name][1]
        check(f"used:node={line[2]},gpu={line[3]},slice={line[4]}" in comment, f"task {name}: {comment}, and it ran on {line}")
