#!/usr/bin/env python3
"""Draws the pictures of the documents: gpu.svg, loop.svg, step.svg, plan.svg.

    docs/drawings/make.py             writes them beside this file
    docs/drawings/make.py --check     exit 1 if a file is not what would be written

Geometry is read from data/profiles.csv, so the picture cannot show a placement that does not exist. Standard library only; the
same bytes on every machine (no dates, no measured fonts: text has room to spare).
"""
import sys
from pathlib import Path

sys.dont_write_bytecode = True
from gpu import gpu
from loop import loop
from plan import plan
from step import step

here = Path(__file__).resolve().parent


def main():
    wrong = []
    for name, draw in (("gpu.svg", gpu), ("loop.svg", loop), ("step.svg", step), ("plan.svg", plan)):
        text, file = draw(), here / name
        if sys.argv[1:] == ["--check"]:
            if not file.exists() or file.read_text(encoding="utf-8") != text:
                wrong.append(name)
        else:
            file.write_text(text, encoding="utf-8")
    for name in wrong:
        print(f"docs/drawings/{name} is not what docs/drawings/make.py draws: run it and look at the picture")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
