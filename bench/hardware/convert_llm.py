#!/usr/bin/env python3
"""What record_llm.py wrote, as research/data/llm_runs*.csv and llm_series*.csv.

    python3 bench/hardware/convert_llm.py OUT research/data/llm_runs_2.csv research/data/llm_series_2.csv --made "2026-11-18; record_llm.py --round 2 --seconds 235"

Runs that failed for another reason than memory, or never held any on the GPU, are left out. A figure is kept where what is shown changes, or what is held by more than
1 % (the most since the row before), and at a run's end; lines have spaces for commas and are cut at 80 characters.
"""
import argparse, csv, os


def kept(rows):
    out, most = [], 0
    for i, (at, shown, held) in enumerate(rows):
        most = max(most, held)
        if not out or i + 1 == len(rows) or shown != out[-1][1] or abs(most - out[-1][2]) > 0.01 * most:
            out.append((at, shown, most))
            most = 0
    return out


def table(path):
    with open(path) as f: return list(csv.DictReader(f))


def main():
    p = argparse.ArgumentParser()
    for name in ("out", "runs", "series"): p.add_argument(name)
    p.add_argument("--made", required=True)
    o = p.parse_args()
    machine = open(f"{o.out}/machine.txt").read().strip() if os.path.exists(f"{o.out}/machine.txt") else "an NVIDIA H200"
    source = f"# Source: measured. Real LLM programs on {machine}; {o.made}."
    runs = [r for r in table(f"{o.out}/runs.csv") if r["outcome"] in ("ended", "refused", "late") and int(r["held_mib"]) > 0]
    figures, lines = {}, {}
    for r in table(f"{o.out}/rows.csv"): figures.setdefault(r["run"], []).append((int(r["at_ms"]), int(r["device_mib"]), int(r["held_mib"])))
    for r in table(f"{o.out}/lines.csv"): lines.setdefault(r["run"], []).append((int(r["at_ms"]), r["text"].replace(",", " ").replace('"', "'")[:80].strip()))
    with open(o.runs, "w") as f:
        print(source + " One row a run; limit 0: 4000 MiB.", "run,group,input,limit_mib,outcome,seconds,command", sep="\n", file=f)
        for r in runs: print(r["run"], r["group"], r["input"], r["limit_mib"], r["outcome"], r["seconds"], r["command"].replace(",", " "), sep=",", file=f)
    with open(o.series, "w") as f:
        print(source + " MiB shown by the allocator (context aside) and held at the most since the row before; or a line that was printed.",
              "run,at_ms,device_mib,held_mib,text", sep="\n", file=f)
        for r in runs:
            both = [(at, f"{shown},{held},") for at, shown, held in kept(figures.get(r["run"], []))] + [(at, ",," + text) for at, text in lines.get(r["run"], [])]
            for at, rest in sorted(both): print(f"{r['run']},{at},{rest}", file=f)


if __name__ == "__main__": main()
