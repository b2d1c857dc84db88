#!/usr/bin/env python3
"""What CTest's JUnit files say, for ./test.
  summary.py WORDS XML LOG       one line of counts; each skipped test with its reason; the output of each failed one
  summary.py --failed XML        the failed tests as a pattern for ctest -R
  summary.py --total N FOLDER    the slowest tests, then the counts of all in FOLDER; N: steps that failed before. A test that
                                 passes only at its second try has failed, except under
                                 ./test --shared; a line of its own says which these are"""
import os
import re
import sys
import xml.etree.ElementTree as tree
from pathlib import Path


class Case:
    def __init__(self, element):
        self.name = element.get("name")
        self.seconds = float(element.get("time") or 0)
        self.output = (element.findtext("system-out") or "").strip()
        skipped = element.find("skipped")  # a missing program is "notrun" too, for another reason
        self.skipped = skipped is not None and "SKIP_RETURN_CODE" in skipped.get("message", "")
        # A test that timed out, crashed or has no program is no "run".
        self.failed = not self.skipped and (element.find("failure") is not None or element.get("status") != "run")


def cases(path):
    try:
        return [Case(element) for element in tree.parse(path).getroot().iter("testcase")]
    except (OSError, tree.ParseError):
        return None


def report(words, path, log):
    found = cases(path)
    if not found:
        print(f"FAILED  {words}: CTest did not run; {log}")
        print(Path(log).read_text(errors="replace")[-4000:] if Path(log).exists() else "")
        return
    failed, skipped = [c for c in found if c.failed], [c for c in found if c.skipped]
    print(f"{'FAILED' if failed else 'ok':7} {words:36} {sum(c.seconds for c in found):7.0f} s  {len(found)} tests, "
          f"{len(failed)} failed, {len(skipped)} skipped", flush=True)
    for case in skipped:
        print(f"  skipped {case.name}: {(case.output.splitlines() or ['no reason given'])[-1].removeprefix('skipped: ')}")
    for case in failed:
        print(f"  FAILED {case.name}, {case.seconds:.1f} s; {log}")
        print("\n".join("    | " + line for line in case.output.splitlines()[-60:]))
    sys.stdout.flush()


def total(failed, folder):
    passed = skipped = 0
    unsteady, slow = [], []
    files = sorted(Path(folder).glob("*.xml"))
    for path in files:
        found = cases(path)
        if not found:
            failed += 1
            continue
        if path.stem.endswith("-second-try-alone"):
            continue
        second = cases(path.with_name(path.stem.split("-")[0] + "-second-try-alone.xml")) or []
        alone = {c.name for c in second if not c.failed} if path.stem.endswith("processes-and-clocks") else set()
        for case in found:
            slow.append((case.seconds, case.name, path.stem.split("-")[0]))
            if case.failed and case.name in alone:
                unsteady.append(case.name)
            forgiven = case.failed and case.name in alone and os.environ.get("SMARTMIG_TEST_SHARED") == "1"
            failed += case.failed and not forgiven
            passed += (not case.failed or forgiven) and not case.skipped
            skipped += case.skipped
    print("\n   wall s  slowest tests")
    for seconds, name, build in sorted(slow, reverse=True)[:20]:
        print(f"{seconds:9.1f}  {name} ({build})")
    if unsteady:
        words = "tests" if os.environ.get("SMARTMIG_TEST_SHARED") == "1" else "of the failed"
        print(f"\n{len(unsteady)} {words} passed at the second try, alone: {', '.join(unsteady)}")
    # A run of CTest that left no verdicts.
    failed += sum(not log.with_suffix(".xml").exists() for log in Path(folder).glob("*.log") if "first-try" not in log.name)
    if not files:
        failed = max(failed, 1)
    print(f"\n{passed} passed, {failed} failed, {skipped} skipped")
    return 0 if failed == 0 else 1


if sys.argv[1] == "--total":
    sys.exit(total(int(sys.argv[2]), sys.argv[3]))
elif sys.argv[1] == "--failed":
    names = [re.escape(c.name).replace("/", "[/]") for c in cases(sys.argv[2]) or [] if c.failed]
    print("^(" + "|".join(names) + ")$" if names else "")
else:
    report(*sys.argv[1:4])
