#!/usr/bin/env python3
"""What starting jobs costs slurmctld: requests by the count of sdiag, and time, of the lines that the controller gives to one
scontrol, against other ways to write them, on a real Slurm on loopback. bench/scenarios/slurm_requests.py [JOBS]"""
import os
import re
import shutil
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/e2e"))
import slurm_world  # noqa: E402


def requests(world):
    found = re.findall(r"^\s+(REQUEST_\w+)\s+\(\s*\d+\) count:(\d+)", world.run("sdiag"), re.M)
    return {name.removeprefix("REQUEST_").lower(): int(count) for name, count in found if name in (
        "REQUEST_UPDATE_JOB", "REQUEST_JOB_INFO_SINGLE", "REQUEST_FED_INFO", "REQUEST_JOB_INFO")}


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    why_not = slurm_world.missing()
    if why_not:
        print(f"skipped: no Slurm here: {why_not}")
        return 77
    folder = tempfile.mkdtemp(prefix="smartmig-requests-")
    os.chmod(folder, 0o755)
    world = slurm_world.SlurmWorld(folder, nodes=1, gpus=2)

    def one(job, *lines):
        return "".join(line.format(job=job, node=world.nodes[0], note="smartmig:mem=4096M,slices=1 used:node=n1,gpu=0,slice=1g.5gb@0")
                       for line in lines)

    def measure(name, text_of):
        jobs = [world.run("sbatch", "--parsable", "-H", "-p", "plain", "--begin=now+1hour", "-o", "/dev/null", "--wrap", "true").strip()
                for _ in range(count)]
        text, before, began = text_of(jobs), requests(world), time.monotonic()
        world.run("scontrol", stdin=text)
        took, after = time.monotonic() - began, requests(world)
        kinds = {kind: (after[kind] - before.get(kind, 0)) / count for kind in after if after[kind] > before.get(kind, 0)}
        print(f"  {name:<46}{sum(kinds.values()):>5.2f} requests a start ({', '.join(f'{k} {v:g}' for k, v in sorted(kinds.items()))}), "
              f"{count / took:.0f} starts a second")
        world.run("scancel", *jobs)
    pin, note, release = "update JobId={job} ReqNodeList={node}\n", 'update JobId={job} AdminComment="{note}"\n', "release {job}\n"
    both = 'update JobId={job} ReqNodeList={node} AdminComment="{note}"\n'
    try:
        world.start()
        print(f"{world.run('scontrol', '--version').strip()}, {count} held jobs, one scontrol; load of the machine {os.getloadavg()[0]:.1f}")
        measure("pin, note, release: three lines", lambda jobs: "".join(one(j, pin, note, release) for j in jobs))
        measure("pin with note, release: as it is done", lambda jobs: "".join(one(j, both, release) for j in jobs))
        measure("the same, releases as one list", lambda jobs: "".join(one(j, both) for j in jobs) + "release " + ",".join(jobs) + "\n")
        measure("a task that has its pin: note, release", lambda jobs: "".join(one(j, note, release) for j in jobs))
    finally:
        world.stop()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
