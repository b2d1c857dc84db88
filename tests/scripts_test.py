#!/usr/bin/env python3
"""The scripts that judge the tree and the tests: tests/scripts_test.py"""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

here = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(here))
sys.path.insert(0, str(here / "docs"))
import check_docs  # noqa: E402
import tutorial  # noqa: E402


class Scratch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def put(self, name, text=""):
        (self.root / name).parent.mkdir(parents=True, exist_ok=True)
        (self.root / name).write_text(text)


class WithoutGit(Scratch):
    def setUp(self):
        super().setUp()
        path, root = os.environ["PATH"], check_docs.root
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        self.addCleanup(setattr, check_docs, "root", root)
        os.environ["PATH"] = str(self.root / "nothing")

    def test_documents_are_checked_against_the_tree_without_build_outputs(self):
        checkout = self.root / "build" / "checkout"  # a folder of that name above it means nothing
        for name in ("README.md", "src/a.cc", "docs/b.md", "tests/shared/c.py", "build/release/x.o", "runs/y.csv", "web/build/z.js",
                     ".git/index", "shared/data.csv", "src/a.cc.tmp-1"):
            self.put(checkout.relative_to(self.root) / name)
        check_docs.root = checkout
        self.assertEqual(sorted(check_docs.tree_files()), ["README.md", "docs/b.md", "src/a.cc", "tests/shared/c.py"])

    def test_this_tree_is_found(self):
        self.assertIn("tests/check_docs.py", check_docs.tree_files())


class Tutorial(unittest.TestCase):
    def test_what_isolates_jobs_on_this_machine_is_not_compared(self):
        here, elsewhere = ["2 running  0 queued  cooperative isolation"], ["2 running  0 queued"]
        self.assertEqual(tutorial.plain(here, True), tutorial.plain(elsewhere, True))
        self.assertNotEqual(tutorial.plain(here, False), tutorial.plain(elsewhere, False))


class Totals(Scratch):
    def verdicts(self, name, **cases):
        body = "".join(f'<testcase name="{case}" time="1" status="{"run" if ok else "fail"}">{"" if ok else "<failure/>"}</testcase>'
                       for case, ok in cases.items())
        self.put(f"{name}.xml", f"<testsuite>{body}</testsuite>")

    def total(self, shared="0"):
        done = subprocess.run([sys.executable, here / "summary.py", "--total", "0", self.root], capture_output=True, text=True,
                              env={**os.environ, "SMARTMIG_TEST_SHARED": shared})
        return done.returncode, done.stdout.strip().splitlines()

    def test_what_passes_only_alone_has_failed_and_has_a_line_of_its_own(self):
        self.verdicts("release-processes-and-clocks", steady=True, unsteady=False)
        self.verdicts("release-second-try-alone", unsteady=True)
        code, said = self.total()
        self.assertEqual(said[-1], "1 passed, 1 failed, 0 skipped")
        self.assertIn("1 of the failed passed at the second try, alone: unsteady", said)
        self.assertEqual(code, 1)

    def test_on_a_shared_machine_what_passes_alone_is_named_and_does_not_fail(self):
        self.verdicts("release-processes-and-clocks", steady=True, unsteady=False, broken=False)
        self.verdicts("release-second-try-alone", unsteady=True, broken=False)
        code, said = self.total("1")
        self.assertEqual(said[-1], "2 passed, 1 failed, 0 skipped")
        self.assertIn("1 tests passed at the second try, alone: unsteady", said)
        self.assertEqual(code, 1)

    def test_what_fails_twice_has_failed(self):
        self.verdicts("release-processes-and-clocks", steady=True, broken=False)
        self.verdicts("release-second-try-alone", broken=False)
        code, said = self.total()
        self.assertEqual(said[-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(code, 1)


if __name__ == "__main__":
    unittest.main(verbosity=0)
