"""gpu.svg: an A100-40GB, where its profiles may stand, a layout with jobs, and a reshape to another layout."""
import csv
from pathlib import Path

from svg import FILL, SOFT, box, lines, page, words

MODEL, STEP, LEFT, HEIGHT = "a100-40gb", 84, 216, 40
WIDTH = LEFT + 8 * STEP + 40


def profiles():
    table = Path(__file__).resolve().parents[2] / "data" / "profiles.csv"
    with open(table, encoding="utf-8") as file:
        rows = csv.DictReader(line for line in file if not line.startswith("#"))
        return {row["profile"]: dict(compute=int(row["compute_slices"]), memory=int(row["memory_slices"]),
                                     starts=[int(s) for s in row["starts"].split(";")])
                for row in rows if row["model"] == MODEL and row["variant"] in ("plain", "double-memory")}


PROFILES = profiles()


def run(profile, start, y, label, below="", kind=None, height=HEIGHT, dash=None):
    """One instance: its memory slices as one box on the axis. Refuses what the catalogue does not have."""
    it = PROFILES[profile]
    assert start in it["starts"], f"{profile} cannot stand at {start}"
    fill, edge = FILL[kind or it["compute"]]
    x, w = LEFT + start * STEP, it["memory"] * STEP
    middle = y + height / 2 + (5 if not below else -2)
    text = words(x + w / 2, middle, label, 12, "middle", bold=True)
    if below:
        text += words(x + w / 2, middle + 17, below, 12, "middle", color=SOFT)
    return box(x + 2, y, w - 4, height, fill, edge, dash=dash) + text


def nothing(start, y, label, height=HEIGHT):
    fill, edge = FILL["none"]
    x = LEFT + start * STEP
    return box(x + 2, y, STEP - 4, height, fill, edge, dash="4 3") + words(x + STEP / 2, y + height / 2 + 5, label, 12, "middle",
                                                                        color=SOFT)


def axis(y):
    return "".join(words(LEFT + i * STEP + STEP / 2, y, str(i), 12, "middle", color=SOFT) for i in range(8))


def head(y, title, below=()):
    return words(24, y, title, 15, bold=True) + lines(24, y + 19, below, 12, 16, color=SOFT)


def gpu():
    out, y = "", 40
    out += head(y, "1. One GPU", ["an A100 with 40 GB"])
    for i in range(7):
        out += box(LEFT + i * STEP + 2, y - 16, STEP - 4, HEIGHT, "#eef1f5", "#9aa5b1")
        out += words(LEFT + i * STEP + STEP / 2, y + 9, "compute", 12, "middle")
    out += words(LEFT + 7 * STEP + STEP / 2, y + 9, "no 8th", 12, "middle", color=SOFT)
    y += HEIGHT + 8
    for i in range(8):
        out += box(LEFT + i * STEP + 2, y - 16, STEP - 4, HEIGHT, "#e4e8ee", "#7b8794")
        out += words(LEFT + i * STEP + STEP / 2, y + 9, "5 GB", 12, "middle")
    out += words(24, y, "7 compute slices of 14 SMs,", 12, color=SOFT) + words(24, y + 16, "8 memory slices, 0 to 7", 12,
                                                                               color=SOFT)
    out += axis(y + 42)

    y += 92
    out += head(y - 4, "2. Profiles", ["a size, and the starts at", "which it may be placed: each",
                                       "box of a row is a possible", "place (a placement)"])
    y -= 20
    for name, it in PROFILES.items():
        for start in it["starts"]:
            out += run(name, start, y, f"{name}@{start}", height=30)
        y += 36
    out += words(LEFT + 7 * STEP + STEP / 2, y - 36 * 6 + 20, "no 1g here", 12, "middle", color=SOFT)
    out += axis(y + 10)

    y += 50
    out += head(y, "3. A layout", ["placements that exist", "together; each is a slice", "that runs one job"])
    out += words(LEFT + 2, y, "4g@0+2g@4+1g@6", 14, mono=True)
    out += words(LEFT + 164, y, "(its shape, without starts: 4g+2g+1g)", 13, color=SOFT)
    y += 12
    out += run("4g.20gb", 0, y, "4g.20gb@0", "job 12, training", height=52)
    out += run("2g.10gb", 4, y, "2g.10gb@4", "idle", "idle", height=52)
    out += run("1g.5gb", 6, y, "1g.5gb@6", "idle", "idle", height=52)
    out += nothing(7, y, "unused", 52)

    y += 96
    out += head(y, "4. A reshape", ["only what differs is changed,", "one operation after another;", "job 12 runs on"])
    out += words(LEFT + 2, y, "to 4g+3g:", 14, mono=True)
    out += words(LEFT + 100, y, "keep 4g@0; destroy 2g@4, 0.20 s; destroy 1g@6, 0.20 s; create 3g@4, 0.20 s", 13, color=SOFT)
    y += 12
    out += run("4g.20gb", 0, y, "4g.20gb@0", "job 12, training", height=52)
    out += run("3g.20gb", 4, y, "3g.20gb@4", "job 13, which needs 18 GB, starts here", height=52)
    out += axis(y + 68)
    return page(WIDTH, y + 86, "An A100: compute and memory slices, profiles and their placements, a layout, a reshape", out)
