#!/usr/bin/env python3
"""The controller of a large Slurm cluster in its steady state: `smartmig slurm serve --shadow` over a recorded Slurm, that is
squeue and sinfo which print files. Jobs arrive at the given rate in real time and last so long that they would fill the given
share of the fleet's memory slices if each had the least slice that fits; at the start as many are there as then run at once.
When those are placed, the measurement begins: decisions and their times, memory, threads, and what slurmctld would have had
to answer. bench/scenarios/slurm_scale.py [BUILD-DIRECTORY [NODES GPUS JOBS_A_DAY SECONDS [FILL]]]"""
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MEMORY = {2: 1, 4: 1, 8: 2, 16: 4, 30: 8}  # GiB that jobs ask for, and the memory slices of an A100 that this takes
WARM_UP_S = 420


def read_metrics(path):
    figures = {}
    if os.path.exists(path):
        with open(path) as file:
            for line in file:
                if not line.startswith("#"):
                    name, value = line.rsplit(" ", 1)
                    figures[name.removeprefix("smartmig_slurm_")] = float(value)
    return figures


def cpu_of(pid):
    with open(f"/proc/{pid}/stat") as file:
        return sum(int(x) for x in file.read().rsplit(")", 1)[1].split()[11:13]) / os.sysconf("SC_CLK_TCK")


def main():
    build = os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    nodes, gpus, per_day, length = (int(a) for a in (sys.argv[2:6] if len(sys.argv) > 5 else (1000, 8, 1_000_000, 60)))
    fill = float(sys.argv[6]) if len(sys.argv) > 6 else 0.8
    folder = tempfile.mkdtemp(prefix="smartmig-scale-")
    rng = random.Random(18)
    for name in ("squeue", "sinfo", "scontrol"):
        with open(f"{folder}/{name}", "w") as file:
            file.write(f"#!/bin/sh\nexec cat {folder}/{name}.txt\n")
        os.chmod(f"{folder}/{name}", 0o755)
    with open(f"{folder}/sinfo.txt", "w") as file:
        for i in range(nodes):
            file.write(f"n{i}|idle|127.0.0.1|mig:{8 * gpus}\n")
    rate = per_day / 86400
    at_once = fill * nodes * gpus * 8 / (sum(MEMORY.values()) / len(MEMORY))
    mean_s = at_once / rate
    jobs, number = {}, 0

    def add(began):
        nonlocal number
        number += 1
        seconds = rng.expovariate(1 / mean_s) + 1
        jobs[number] = (began + seconds, json.dumps({
            "job_id": number, "array_job_id": 0, "array_task_id": None, "array_task_string": "", "priority": 0,
            "job_state": "PENDING", "partition": "mig", "user_id": 1000 + number % 50, "name": "job", "requeue": True,
            "comment": f"smartmig:mem={rng.choice(list(MEMORY))}G,estimate={int(seconds) + 1}s", "submit_time": int(began)}))

    def write(now):
        rows = []
        for key in list(jobs):
            end, row = jobs[key]
            if now > end:
                rows.append(row.replace('"PENDING"', f'"COMPLETED", "end_time": {int(end)}'))
                if now > end + 30:
                    del jobs[key]
            else:
                rows.append(row)
        with open(f"{folder}/squeue.new", "w") as file:
            file.write('{"jobs": [' + ",\n".join(rows) + "]}")
            size = file.tell()
        os.rename(f"{folder}/squeue.new", f"{folder}/squeue.txt")
        return len(rows), size

    begin = time.time()
    for _ in range(int(at_once)):
        add(begin)
    write(begin)
    log = open(f"{folder}/log", "w")
    program = subprocess.Popen(
        [f"{build}/smartmig", "slurm", "serve", "--shadow", "--gpus", f"{gpus}xa100-40gb", "--state", f"{folder}/state",
         "--metrics", f"{folder}/metrics"], env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}"), stdout=log, stderr=log)
    arrived, before, before_cpu = 0, None, 0.0
    try:
        while True:
            time.sleep(1)
            now = time.time()
            while arrived < rate * (now - begin):
                arrived += 1
                add(now)
            present, size = write(now)
            if program.poll() is not None:
                raise SystemExit("the controller ended: " + open(f"{folder}/log").read()[-2000:])
            figures = read_metrics(f"{folder}/metrics")
            if before is None:
                # Once no more wait than come within some seconds, what was there at the start is placed.
                if figures and figures["jobs_waiting"] <= max(20, 10 * rate) and figures["starts_total"] >= 0.9 * at_once:
                    before, before_cpu = figures, cpu_of(program.pid)
                    warm = figures["written_seconds"] - begin
                    starts_s = figures["starts_total"] / warm
                elif now > begin + WARM_UP_S:
                    raise SystemExit(f"no steady state within {WARM_UP_S} s: {figures}")
            elif figures["written_seconds"] - before["written_seconds"] >= length:
                break
        with open(f"/proc/{program.pid}/status") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
        ran = figures["written_seconds"] - before["written_seconds"]
        cpu = cpu_of(program.pid) - before_cpu

        def more(name):
            return figures[name] - before[name]

        def quantile(name, share):
            return figures[name + '{quantile="' + share + '"}']
        print(f"{nodes} nodes x {gpus} GPUs, {per_day} jobs a day, jobs of {mean_s:.0f} s on average; load of the machine "
              f"{os.getloadavg()[0]:.1f}")
        print(f"  at the start: {starts_s:.0f} starts a second until {at_once:.0f} jobs were placed ({warm:.0f} s)")
        print(f"  then {ran:.0f} s: {more('starts_total') / ran:.1f} starts and {more('ended_total') / ran:.1f} ends a second, "
              f"{figures['jobs_with_slice']:.0f} jobs with a slice, {figures['jobs_waiting']:.0f} wait, "
              f"{100 * figures['compute_slices_busy'] / figures['compute_slices']:.0f} % of the compute slices busy; "
              f"{present} jobs in {size / 1e6:.1f} MB of squeue")
        print(f"  decisions: {more('decisions_total') / ran:.1f} a second, mean "
              f"{1e3 * more('decision_seconds_total') / max(1, more('decisions_total')):.1f} ms; of the last 4096, those of the start "
              f"among them: p50 {1e3 * quantile('decision_seconds', '0.5'):.1f} ms, p99 "
              f"{1e3 * quantile('decision_seconds', '0.99'):.1f} ms; longest ever "
              f"{1e3 * figures['longest_decision_seconds']:.0f} ms")
        print(f"  turns of the loop: p50 {1e3 * quantile('turn_seconds', '0.5'):.1f} ms, p99 "
              f"{1e3 * quantile('turn_seconds', '0.99'):.0f} ms, longest of the last 4096 "
              f"{1e3 * quantile('turn_seconds', '1'):.0f} ms")
        print(f"  slurmctld: {more('queries_total') / ran:.2f} questions a second, {more('action_batches_total') / ran:.2f} calls "
              f"of scontrol with {more('actions_total') / ran:.1f} actions in {more('action_requests_total') / ran:.1f} requests a second")
        print(f"  memory {int(status['VmHWM'].split()[0]) / 1024:.0f} MiB at most, threads {status['Threads'].strip()}, "
              f"processor {cpu:.1f} s in {ran:.0f} s")
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
