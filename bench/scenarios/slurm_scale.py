#!/usr/bin/env python3
"""The controller of a large Slurm cluster: `smartmig slurm serve --shadow` over a recorded Slurm, that is squeue and sinfo
which print files. Jobs arrive and end at the given rate in real time. Prints decisions, their time, memory, and what
slurmctld would have had to answer. bench/scenarios/slurm_scale.py [BUILD-DIRECTORY [NODES GPUS JOBS_A_DAY SECONDS]]"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    nodes, gpus, per_day, length = (int(a) for a in (sys.argv[2:6] if len(sys.argv) > 5 else (1000, 8, 1_000_000, 60)))
    folder = tempfile.mkdtemp(prefix="smartmig-scale-")
    rng = random.Random(18)
    for name in ("squeue", "sinfo", "scontrol"):
        with open(f"{folder}/{name}", "w") as file:
            file.write(f"#!/bin/sh\nexec cat {folder}/{name}.txt\n")
        os.chmod(f"{folder}/{name}", 0o755)
    with open(f"{folder}/sinfo.txt", "w") as file:
        for i in range(nodes):
            file.write(f"n{i}|idle|127.0.0.1|mig:{8 * gpus}\n")
    rate, mean_s = per_day / 86400, 600.0  # ten minutes a job
    jobs, number = {}, 0

    def add(now, began):
        nonlocal number
        number += 1
        seconds = rng.expovariate(1 / mean_s) + 5
        jobs[number] = (began + seconds, {
            "job_id": number, "array_job_id": 0, "array_task_id": None, "array_task_string": "", "priority": 0,
            "job_state": "PENDING", "partition": "mig", "user_id": 1000 + number % 50, "name": "job", "requeue": True,
            "comment": f"smartmig:mem={rng.choice([2, 4, 8, 16, 30])}G,estimate={int(seconds)}s", "submit_time": int(began)})

    def write(now):
        rows = []
        for key in list(jobs):
            end, row = jobs[key]
            if now > end:
                row["job_state"], row["end_time"] = "COMPLETED", int(end)
                rows.append(row)
                if now > end + 10:
                    del jobs[key]
                continue
            rows.append(row)
        with open(f"{folder}/squeue.new", "w") as file:
            json.dump({"jobs": rows}, file)
        os.rename(f"{folder}/squeue.new", f"{folder}/squeue.txt")
        return len(rows)

    begin = time.time()
    for _ in range(int(rate * mean_s)):  # what is there already: as many as arrive in one job's time
        add(begin, begin)
    present = write(begin)
    log = open(f"{folder}/log", "w")
    program = subprocess.Popen(
        [f"{build}/smartmig", "slurm", "serve", "--shadow", "--gpus", f"{gpus}xa100-40gb", "--state", f"{folder}/state",
         "--metrics", f"{folder}/metrics"], env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), stdout=log, stderr=log)
    arrived = 0
    try:
        while time.time() < begin + length:
            time.sleep(0.5)
            now = time.time()
            while arrived < rate * (now - begin):
                arrived += 1
                add(now, now)
            present = write(now)
            if program.poll() is not None:
                raise SystemExit("the controller ended: " + open(f"{folder}/log").read()[-2000:])
        with open(f"/proc/{program.pid}/status") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        with open(f"/proc/{program.pid}/stat") as file:
            cpu = sum(int(x) for x in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")
        if not os.path.exists(f"{folder}/metrics"):
            raise SystemExit(f"no figures within {length} s: " + open(f"{folder}/log").read()[-2000:])
        figures = {}
        for line in open(f"{folder}/metrics"):
            if not line.startswith("#"):
                name, value = line.split()
                figures[name.removeprefix("smartmig_slurm_")] = float(value)
        ran = figures["written_seconds"] - begin
        count = max(1.0, figures["decisions_total"])
        print(f"{nodes} nodes x {gpus} GPUs, {per_day} jobs a day, {ran:.0f} s; load of the machine {os.getloadavg()[0]:.1f}")
        print(f"  jobs: {present} in Slurm, {figures['jobs_with_slice']:.0f} with a slice, {figures['jobs_waiting']:.0f} wait, "
              f"{figures['starts_total']:.0f} starts, {figures['ended_total']:.0f} ends")
        print(f"  decisions: {figures['decisions_total']:.0f} ({figures['decisions_total'] / ran:.1f} a second), mean "
              f"{1e3 * figures['decision_seconds_total'] / count:.2f} ms, longest {1e3 * figures['longest_decision_seconds']:.0f} ms")
        print(f"  slurmctld: {figures['queries_total'] / ran:.2f} questions a second, "
              f"{figures['action_batches_total'] / ran:.2f} calls with {figures['actions_total'] / ran:.1f} actions a second")
        print(f"  memory {int(status['VmHWM'].split()[0]) / 1024:.0f} MiB at most, threads {status['Threads'].strip()}, "
              f"processor {cpu:.0f} s")
    finally:
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(30)
        except subprocess.TimeoutExpired:
            program.kill()
            program.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
