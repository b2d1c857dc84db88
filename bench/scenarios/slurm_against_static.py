#!/usr/bin/env python3
"""The same submissions to four real Slurm clusters on loopback, each with emulated A100s: plain Slurm with whole GPUs, plain
Slurm with the best fixed layouts that `smartmig search` finds on training seeds (of the papers' twelve shapes, so that most
jobs can take any slice, and of all shapes), and Slurm with smartmig. Prints energy,
tardiness, waiting and makespan. Jobs are processes that sleep as long as their kind takes on the slice that they were given;
arrivals, run times and deadlines are those of the workload divided by --faster, while Slurm and smartmig take what they take.
As root, with the packages of group [slurm].

bench/scenarios/slurm_against_static.py [BUILD-DIRECTORY] [--workload SPEC] [--seed N] [--faster N] [--nodes N] [--gpus N]
                                        [--policy POLICY] [--json] [--keep]
Example: bench/scenarios/slurm_against_static.py build/release --faster 8"""
import argparse
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, f"{ROOT}/tests/e2e")
import slurm_world
from slurm_cluster import MEMORY, MigCluster, check
from slurm_static_world import SIZES, StaticWorld

# $1 its name; $2.. seconds on 1, 2, 3, 4 and 7 compute slices, - where it cannot run.
JOB = """#!/bin/bash
if [ -n "$SMARTMIG_SLICE" ]; then gpu=$SMARTMIG_GPU slice=$SMARTMIG_SLICE
else read -r gpu slice <%(folder)s/devices/$SLURMD_NODENAME-$CUDA_VISIBLE_DEVICES.slice; fi
echo "begin $(date +%%s.%%N) $SLURMD_NODENAME $gpu $slice" >>%(folder)s/jobs/$1
declare -A seconds=([1]=$2 [2]=$3 [3]=$4 [4]=$5 [7]=$6)
sleep "${seconds[${slice%%%%g*}]}" || exit 1
echo "end $(date +%%s.%%N) $SLURMD_NODENAME $gpu $slice" >>%(folder)s/jobs/$1
"""


class Job:
    """Of the workload, in seconds of the experiment."""

    def __init__(self, row, faster, first):
        self.name, self.kind, self.mem = f"job{row['job_id']}", row["kind"], int(row["mem_mib"] or 1)
        self.submit = (float(row["submit_s"]) - first) / faster
        self.deadline = (float(row["deadline_s"]) - first) / faster
        self.work = {k: float(row[f"work_{k}g_s"]) / faster if row[f"work_{k}g_s"] else None for k in (1, 2, 3, 4, 7)}

    def seconds_on(self, profile):
        return self.work[SIZES[profile][0]] if MEMORY[profile] >= self.mem else None

    def arguments(self):
        return [self.name] + [f"{s:.3f}" if s is not None else "-" for s in self.work.values()]


class SmartmigWorld(MigCluster):
    def __init__(self, build, folder, nodes, gpus, policy):
        super().__init__(build, folder, nodes, gpus)
        self.policy = policy

    def start(self):
        super().start()
        for node in self.nodes:
            self.start_agent(node)
        self.start_controller("controller", "--policy", self.policy)
        self.wait(lambda: os.path.exists(f"{self.folder}/controller.prom"), "the controller")

    def request(self, job):
        return [f"--comment=smartmig:mem={job.mem}M,kind={job.kind},estimate={max(1, round(job.work[7]))}s,"
                f"deadline={round(job.deadline - job.submit)}s"]


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def jobs_of(program, spec, faster):
    text = output(program, "workload", spec, "-o", "-")
    rows = list(csv.DictReader(io.StringIO("".join(l + "\n" for l in text.splitlines() if not l.startswith("#")))))
    return [Job(row, faster, float(rows[0]["submit_s"])) for row in rows]


def watts_table():
    """Watts by busy compute slices: the power model that smartmig decides by on an A100-40GB."""
    with open(f"{ROOT}/data/power.csv") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            if "a100-40gb" in row["default_for"].split(";"):
                return [float(w) for w in row["table_w"].split(";")]
    raise AssertionError("data/power.csv has no table for a100-40gb")


def run(world, jobs, result):
    """Starts the cluster, submits in time, waits for the last job; what happened goes to result."""
    try:
        with open(f"{world.folder}/work.sh", "w") as file:
            file.write(JOB % {"folder": world.folder})
        os.chmod(f"{world.folder}/work.sh", 0o755)
        world.start()
        begin = time.time() + 1
        for job in jobs:
            time.sleep(max(0.0, begin + job.submit - time.time()))
            world.run("sbatch", "--parsable", "-o", f"{world.folder}/jobs/%j.log", *world.request(job), f"{world.folder}/work.sh",
                      *job.arguments())
        world.wait(lambda: world.run("squeue", "-h", "-t", "pending,running,completing").strip() == "", "the last job", 3600)
        result.update(begin=begin, runs=runs_of(world, jobs, begin))
    except (AssertionError, subprocess.SubprocessError, OSError) as failed:
        result["failed"] = str(failed)
    finally:
        world.stop()


def runs_of(world, jobs, begin):
    """(job, node, GPU, slice, begin, end) of each, in seconds since the first submission; each ran once, and none beside another."""
    runs = []
    for job in jobs:
        path = f"{world.folder}/jobs/{job.name}"
        check(os.path.exists(path), f"{job.name} has not begun")
        with open(path) as file:
            lines = [line.split() for line in file.read().splitlines()]
        check([line[0] for line in lines] == ["begin", "end"], f"{job.name}: {lines}")
        first, last = lines
        check(job.seconds_on(first[4].split("@")[0]) is not None, f"{job.name} of {job.mem} MiB ran on {first[4]}")
        runs.append((job, first[2], int(first[3]), first[4], float(first[1]) - begin, float(last[1]) - begin))
    places = {}
    for one in runs:
        profile, at = one[3].split("@")
        for unit in range(int(at), int(at) + SIZES[profile][1]):
            places.setdefault((one[1], one[2], unit), []).append((one[4], one[5], one[0].name))
    for place, used in places.items():
        used.sort()
        for left, right in zip(used, used[1:]):
            check(left[1] <= right[0], f"{place}: {left[2]} and {right[2]} at the same time")
    return runs


def joules(runs, gpus, window, watts):
    changes = {}
    for _, node, gpu, name, begin, end in runs:
        changes.setdefault((node, gpu), []).extend([(begin, SIZES[name.split("@")[0]][0]), (end, -SIZES[name.split("@")[0]][0])])
    total = (gpus - len(changes)) * window * watts[0]
    for events in changes.values():
        at, busy = 0.0, 0
        for when, change in sorted(events):
            total += (when - at) * watts[busy]
            at, busy = when, busy + change
        total += (window - at) * watts[0]
    return total


def figures(runs, gpus, window, watts):
    def part(values, share):
        return sorted(values)[min(len(values) - 1, int(share * len(values)))]
    late = [max(0.0, end - job.deadline) for job, _, _, _, _, end in runs]
    waits = [begin - job.submit for job, _, _, _, begin, _ in runs]
    shapes = {}
    for one in runs:
        shapes[one[3].split("@")[0]] = shapes.get(one[3].split("@")[0], 0) + 1
    return {"energy_wh": joules(runs, gpus, window, watts) / 3600, "tardiness_mean_s": sum(late) / len(late),
            "tardiness_p99_s": part(late, 0.99), "late_share": sum(t > 0 for t in late) / len(late),
            "waiting_mean_s": sum(waits) / len(waits), "waiting_p99_s": part(waits, 0.99),
            "makespan_min": max(one[5] for one in runs) / 60,
            "jobs_by_slice": {profile: shapes[profile] for profile in SIZES if profile in shapes}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", default=f"{ROOT}/build/release")
    parser.add_argument("--workload", default="miso:16x,hours=9-11,slack=1-4")
    parser.add_argument("--seed", type=int, default=200001, help="of the submissions; the layouts are searched on 1 to 20")
    parser.add_argument("--faster", type=float, default=8)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--gpus", type=int, default=4, help="of each node")
    parser.add_argument("--policy", default="best")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--keep", action="store_true", help="the clusters' folders")
    options = parser.parse_args()
    if why_not := slurm_world.missing():
        print(f"skipped: no Slurm here: {why_not}")
        return 77
    build = os.path.abspath(options.build)
    program, gpus = f"{build}/smartmig", options.nodes * options.gpus
    folder = tempfile.mkdtemp(prefix="smartmig-static-")
    os.chmod(folder, 0o755)
    search = ["search", "-w", options.workload, "--gpus", f"{gpus}xa100-40gb", "--placer", "fifo", "--cost", "hardware", "--restart",
              "none", "--days", "20"]
    shapes = {"plain Slurm, whole GPUs": ["7g.40gb"] * gpus}
    for name, more in (("plain Slurm, searched layouts", []), ("plain Slurm, searched, all shapes", ["--all-shapes"])):
        shapes[name] = json.loads(output(program, *search, *more, "-j", "1", "--json"))["day"]
    jobs = jobs_of(program, f"{options.workload},seed={options.seed}", options.faster)
    worlds = {name: StaticWorld(f"{folder}/static{i}", options.nodes, options.gpus, layouts)
              for i, (name, layouts) in enumerate(shapes.items())}
    worlds[f"Slurm with smartmig, {options.policy}"] = SmartmigWorld(build, make(f"{folder}/smartmig"), options.nodes, options.gpus,
                                                                    options.policy)
    results = {name: {} for name in worlds}
    threads = [threading.Thread(target=run, args=(world, jobs, results[name])) for name, world in worlds.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = {name: result["failed"] for name, result in results.items() if "failed" in result}
    if not options.keep and not failed:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print(f"kept: {folder}", file=sys.stderr)
    if failed:
        print("\n".join(f"FAILED: {name}: {words}" for name, words in failed.items()))
        return 1
    window = max(one[5] for result in results.values() for one in result["runs"])
    watts = watts_table()
    table = {name: figures(result["runs"], gpus, window, watts) for name, result in results.items()}
    used = {"workload": f"{options.workload},seed={options.seed}", "jobs": len(jobs), "faster": options.faster,
            "nodes": options.nodes, "gpus_a_node": f"{options.gpus}xa100-40gb", "slurm": output("slurmctld", "-V").split()[1],
            "searched": f"smartmig {' '.join(search)}",
            "layouts": {name: {l: layouts.count(l) for l in dict.fromkeys(layouts)} for name, layouts in shapes.items()},
            "window_min": window / 60}
    print(json.dumps({"run": used, "results": table}, indent=1) if options.json else words_of(used, table))
    return 0


def make(folder):
    os.makedirs(folder)
    return folder


def words_of(used, table):
    lines = [f"{used['workload']}: {used['jobs']} jobs, {used['faster']:g} times faster than the workload, on {used['nodes']} nodes of "
             f"{used['gpus_a_node']}, Slurm {used['slurm']}",
             f"searched by: {used['searched']}",
             *("  " + name + ": " + ", ".join(f"{n} GPUs {layout}" for layout, n in layouts.items())
               for name, layouts in used["layouts"].items()),
             f"energy: the power model's watts (data/power.csv) over {used['window_min']:.1f} min, the longest makespan", "",
             f"{'':34} energy Wh  tardiness s    p99 s    late  waiting s    p99 s  makespan min  jobs on slices"]
    for name, f in table.items():
        lines.append(f"{name:34} {f['energy_wh']:9.1f}  {f['tardiness_mean_s']:11.2f}  {f['tardiness_p99_s']:7.1f}  {100 * f['late_share']:5.1f} %"
                     f"  {f['waiting_mean_s']:8.2f}  {f['waiting_p99_s']:7.1f}  {f['makespan_min']:12.2f}  " +
                     ", ".join(f"{n} {profile}" for profile, n in f["jobs_by_slice"].items()))
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
