#!/usr/bin/env python3
"""include_hubs.py HEADER... < SOURCES: prints "HEADER<tab>SOURCE" for each source, with the last of the given headers that the
source's first own include reaches, or "-". Having that header compiled beforehand hides no missing include of the source: it
comes first anyway."""
import functools
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.lru_cache(None)
def own_includes(path):
    names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
    return [ROOT / folder / name for name in names for folder in ("src", "nvml-sim", ".", path.parent)
            if (ROOT / folder / name).is_file()]


@functools.lru_cache(None)
def reached(path):
    found, todo = set(), [path]
    while todo:
        at = todo.pop()
        if at not in found:
            found.add(at)
            todo += own_includes(at)
    return found


for line in sys.stdin:
    first = own_includes(ROOT / line.strip())[:1]
    hubs = [hub for hub in sys.argv[1:] if first and ROOT / "src" / hub in reached(first[0])]
    print((hubs or ["-"])[-1], line.strip(), sep="\t")
