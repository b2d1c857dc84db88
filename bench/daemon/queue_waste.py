#!/usr/bin/env python3
"""Where the slice-seconds of a queue went, from a daemon's journal: bench/daemon/queue_waste.py JOURNAL [JOBS.jsonl...] [--json]

One row for each time that the queue was busy (from a submit to the end of all jobs), in compute-slice-seconds of the whole fleet:
  launch      jobs ran, before they were ready; known where JOBS.jsonl say so (bench/hardware/h200_jobs.py), else part of `work`
  work        jobs ran
  first       idle before the first job began
  making      idle beside waiting jobs while slices were made or destroyed
  gaps        idle beside waiting jobs, all else
  tail        idle while no job waited: the end of the queue
`first start`: seconds from the first submit to the first and to the seventh start. The journal: GET /v1/journal, or journal.jsonl."""
import json, os, re, sys

PARTS = ("launch", "work", "first", "making", "gaps", "tail")
APART_S = 0.5  # a queue that is empty for less is one that is planned anew


def slices_of(platform):
    """Compute slices of `2xa100-40gb,1xa30-24gb`."""
    return sum(int(n) * (4 if "a30-" in model else 7) for n, model in re.findall(r"(\d+)x([a-z0-9-]+)", platform))


def size_of(slice_name, platform):
    """Compute slices of the fleet that a slice takes: those in its name, half of them on the halves of soft slices."""
    size, memory = re.match(r"(\d+)g\.(\d+)gb", slice_name).groups()
    whole = re.search(r"-(\d+)gb-soft", platform)
    return int(size) / (2 if whole and int(memory) <= int(whole[1]) / 16 + 0.5 else 1)


def read_runs(path):
    """Each start of the daemon: its header and its events."""
    runs = []
    for line in open(path):
        if not line.strip(): continue
        row = json.loads(line)
        if "smartmig_journal" in row: runs.append((row, []))
        elif "ev" in row and runs: runs[-1][1].append(row)
    return runs


def busy_times(events):
    """Events, in groups: between two of them nothing waits or runs."""
    group, live = [], set()
    for event in events:
        if group and not live and (event["t"] - group[-1]["t"]) / 1e6 >= APART_S:
            yield group
            group = []
        if event["ev"] in ("submitted", "started", "finished", "withdrawn") or group: group.append(event)
        if event["ev"] == "submitted": live.add(event["job"])
        if event["ev"] in ("finished", "withdrawn"): live.discard(event["job"])
    if any(e["ev"] == "started" for e in group): yield group


def account(events, platform, launch):
    """Slice-seconds by part. `launch`: of a job's name, seconds after its start until it was ready."""
    slices = slices_of(platform)
    out = dict.fromkeys(PARTS, 0.0)
    waiting, running, making, names, starts = set(), {}, {}, {}, []
    begin = last = events[0]["t"]
    until = max(e["t"] for e in events if e["ev"] in ("finished", "withdrawn", "started"))
    for event in events:
        t = min(event["t"], until)
        used = sum(size for size, _, _ in running.values())
        for size, since, ready in running.values():
            ahead = max(0, min(t, since + ready * 1e6) - last)
            out["launch"] += size * ahead / 1e6
            out["work"] += size * (t - last - ahead) / 1e6
        idle = "tail" if not waiting else "first" if not starts else "making" if making else "gaps"
        out[idle] += (slices - used) * (t - last) / 1e6
        last = t
        kind, job = event["ev"], event.get("job")
        if kind == "submitted":
            waiting.add(job)
            names[job] = event.get("name", str(job))
        elif kind == "started":
            waiting.discard(job)
            running[job] = (size_of(event["slice"], platform), t, launch.get(names.get(job), 0))
            starts.append((t - begin) / 1e6)
        elif kind == "stopped":
            running.pop(job, None)
            waiting.add(job)
        elif kind in ("finished", "withdrawn"):
            running.pop(job, None)
            waiting.discard(job)
        elif kind == "reshape": making[event["gpu"]] = set(event["slices"])
        elif kind == "created" and event["gpu"] in making:
            making[event["gpu"]] -= set(event["slices"])
            if not making[event["gpu"]]: del making[event["gpu"]]
    seconds = (until - begin) / 1e6
    return {"seconds_s": seconds, "jobs": len(starts), "slices": slices, "first_start_s": starts[0] if starts else None,
            "seventh_start_s": starts[6] if len(starts) > 6 else None, "slice_seconds": {k: round(v, 3) for k, v in out.items()}}


def launches(paths):
    """By name: of jobs that were there in several rounds, the mean."""
    seen = {}
    for path in filter(os.path.exists, paths):
        for line in open(path):
            job = json.loads(line)
            if "ready" in job: seen.setdefault(job["job"] or job["name"], []).append(job["ready"] - job["begin"])
    return {name: sum(all) / len(all) for name, all in seen.items()}


def main(arguments):
    paths = [a for a in arguments if not a.startswith("--")]
    if not paths or not os.path.exists(paths[0]): sys.exit(__doc__)
    launch = launches(paths[1:])
    rows = [account(group, header["platform"], launch) for header, events in read_runs(paths[0]) for group in busy_times(events)]
    if "--json" in arguments:
        print(json.dumps(rows))
        return 0
    print(f"{'jobs':>4} {'seconds':>8} {'first start':>16} " + " ".join(f"{p:>14}" for p in PARTS) + "   slice-seconds, share of the fleet's")
    for row in rows:
        all = max(1e-9, row["slices"] * row["seconds_s"])
        first = f"{row['first_start_s']:.2f} {row['seventh_start_s']:.2f} s" if row["seventh_start_s"] is not None else f"{row['first_start_s']:.2f} s"
        print(f"{row['jobs']:4} {row['seconds_s']:8.1f} {first:>16} " + " ".join(f"{row['slice_seconds'][p]:7.1f} {100 * row['slice_seconds'][p] / all:4.1f} %" for p in PARTS))
    return 0


if __name__ == "__main__": sys.exit(main(sys.argv[1:]))
