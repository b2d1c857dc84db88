#!/usr/bin/env python3
"""Prints a job file (docs/workloads.md) of a kind that no generator of smartmig draws.

  made_jobs.py long  --seed S --gpus G --load L --days D [--median M] [--spread X]
      Jobs of minutes to days: lognormal times on the whole GPU (median M minutes, 40; spread X, 1.6; 2 minutes to 3 days),
      Poisson arrivals. L is the share of the slice-minutes of G A100s that the jobs need on the sizes that take fewest.
      Deadlines of 1 to 1.5 times the time on the whole GPU.
  made_jobs.py room  --seed S --long N --hours H --scaling A
      N jobs of H hours on the whole GPU a minute apart, then 60 jobs of 1 to 10 minutes over 8 hours; all need 4 GB, on k
      slices they run at (k/7)^A of the speed; nobody has a deadline.
  made_jobs.py burst --seed S --jobs N
      N jobs of the papers' kinds at once, with deadlines 30 to 45 times their time on the whole GPU.
"""
import argparse
import random

SIZES = (1, 2, 3, 4, 7)
CURVES = {  # docs/workloads.md: throughput by slices, the papers' four kinds
    "bert-train": (2.2, 4.1, 5.8, 7.1, 10.5),
    "resnet-train": (3.4, 6, 7.85, 8.4, 9.75),
    "bert-infer": (1, 2, 3, 4, 7),
    "resnet-infer": (3.2, 6.4, 9.6, 12.5, 18.4),
}


def job(submit_s, whole_s, deadline_s, kind, curve, mem=""):
    works = [whole_s * curve[-1] / c for c in curve]
    return submit_s, f"{submit_s:.3f},{deadline_s},{kind}," + ",".join(f"{w:.3f}" for w in works) + f",{mem},"


def paper_kind(rng):
    train = rng.random() < 0.2
    return ("bert-" if rng.random() < 2 / 3 else "resnet-") + ("train" if train else "infer")


def long_jobs(a, rng):
    def whole_s():
        while True:
            t = 60 * a.median * pow(2.718281828459045, rng.gauss(0, a.spread))
            if 120 <= t <= 3 * 86400:
                return t
    drawn = [(whole_s(), kind := paper_kind(rng), CURVES[kind]) for _ in range(20000)]
    areas = [min(t * c[-1] / c[i] * k for i, k in enumerate(SIZES)) for t, _, c in drawn]
    gap_s = sum(areas) / len(areas) / (7 * a.gpus * a.load)
    now, out = 0.0, []
    for t, kind, curve in drawn:
        now += rng.expovariate(1 / gap_s)
        if now > a.days * 86400:
            break
        out.append(job(now, t, f"{now + rng.uniform(1, 1.5) * t:.3f}", kind, curve))
    return out


def room_jobs(a, rng):
    curve = [(k / 7) ** a.scaling for k in SIZES]
    out = [job(60 * i, 3600 * a.hours, "", "long", curve, 4096) for i in range(a.long)]
    return out + [job(60 * a.long + rng.uniform(0, 8 * 3600), rng.uniform(60, 600), "", "short", curve, 4096)
                  for _ in range(60)]


def burst_jobs(a, rng):
    out = []
    for _ in range(a.jobs):
        kind = paper_kind(rng)
        curve = CURVES[kind]
        one_g = rng.lognormvariate(3.892, 0.1232) if kind.endswith("train") else rng.expovariate(1 / 3)
        whole = max(1, 60 * one_g * curve[0] / curve[-1])
        out.append(job(0, whole, f"{rng.uniform(30, 45) * whole:.3f}", kind, curve))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    modes = parser.add_subparsers(dest="mode", required=True)
    for name, make in (("long", long_jobs), ("room", room_jobs), ("burst", burst_jobs)):
        mode = modes.add_parser(name)
        mode.add_argument("--seed", type=int, required=True)
        mode.set_defaults(make=make)
        if name == "long":
            mode.add_argument("--gpus", type=int, required=True)
            mode.add_argument("--load", type=float, required=True)
            mode.add_argument("--days", type=float, required=True)
            mode.add_argument("--median", type=float, default=40)
            mode.add_argument("--spread", type=float, default=1.6)
        if name == "room":
            mode.add_argument("--long", type=int, required=True)
            mode.add_argument("--hours", type=float, required=True)
            mode.add_argument("--scaling", type=float, required=True)
        if name == "burst":
            mode.add_argument("--jobs", type=int, required=True)
    a = parser.parse_args()
    rows = sorted(a.make(a, random.Random(a.seed)))
    print("# gpu=a100-40gb")
    print("job_id,submit_s,deadline_s,kind,work_1g_s,work_2g_s,work_3g_s,work_4g_s,work_7g_s,mem_mib,restart_s")
    for i, (_, row) in enumerate(rows):
        print(f"{i},{row}")


if __name__ == "__main__":
    main()
