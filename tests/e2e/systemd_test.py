#!/usr/bin/env python3
"""The package on a machine whose process 1 is a real systemd (tests/e2e/private_root.sh): start, status, reload, restart and
upgrade under running jobs, a daemon that hangs or is killed, stop, purge; and with cgroup v2 alone:
tests/e2e/systemd_test.py BUILD-DIRECTORY [TEST...]."""
import os
import signal
import sys

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
import installed
import package_test
from harness import check, equal, until
from installed import STATE, does, dpkg, output_of, supervisors

DROP_IN = "/etc/systemd/system/smartmig.service.d"


def show(name):
    return does("systemctl", "show", "-P", name, "smartmig").strip()


def main_pid():
    return int(show("MainPID"))


def runs_anew(old, words):
    """Another daemon than `old` is ready; returns its number."""
    until(lambda: main_pid() not in (0, old) and show("ActiveState") == "active",
          f"{words}: {output_of('systemctl', 'status', 'smartmig')}")
    check(installed.answers(), f"{words}: a daemon that is active answers")
    return main_pid()


def lived(first, second):
    # No GPU: the package is installed and enabled, the daemon says why it does not start.
    words = dpkg("-i", first)
    check(installed.answers() or "the daemon did not start; smartmig doctor says what is missing" in words, words)
    equal(does("systemctl", "is-enabled", "smartmig").strip(), "enabled", "after the installation")
    installed.emulate()
    does("systemctl", "restart", "smartmig")
    check(installed.answers(), "systemctl start returns when the daemon is ready")
    pid = main_pid()
    until(lambda: "0 jobs running, 0 waiting" in show("StatusText"), f"status in words: {show('StatusText')}")

    work = installed.Work("work", 6)
    work.runs(4)
    before = supervisors()
    same = lambda words: equal(supervisors(), before, f"supervisors after {words}")
    does("systemctl", "reload", "smartmig")
    until(lambda: show("ActiveState") == "active", "reloaded")
    equal(main_pid(), pid, "the daemon after a reload")
    does("systemctl", "daemon-reexec")
    equal(main_pid(), pid, "the daemon after a new systemd")
    does("systemctl", "restart", "smartmig")
    pid = runs_anew(pid, "restart")
    same("restart")
    dpkg("-i", second)
    pid = runs_anew(pid, "upgrade")
    same("upgrade")

    # A daemon that hangs gives no sign of life and is replaced; so is one that is killed.
    os.makedirs(DROP_IN)
    with open(f"{DROP_IN}/watch.conf", "w") as file:
        file.write("[Service]\nWatchdogSec=1s\nTimeoutAbortSec=500ms\nRestartSec=100ms\n")
    does("systemctl", "daemon-reload")
    does("systemctl", "restart", "smartmig")
    pid = runs_anew(pid, "restart with a watchdog")
    until(lambda: "4 jobs running, 2 waiting" in show("StatusText"), "status in words")
    os.kill(pid, signal.SIGSTOP)
    pid = runs_anew(pid, "hang")
    equal(show("NRestarts"), "1", "restarts")
    same("hang")
    os.kill(pid, signal.SIGKILL)
    pid = runs_anew(pid, "kill")
    same("kill")

    does("systemctl", "stop", "smartmig")
    equal((show("ActiveState"), show("Result")), ("inactive", "success"), "after a stop")
    same("stop")
    does("systemctl", "start", "smartmig")
    equal(work.states().count("running"), 4, "jobs that were taken over")
    work.ends_once()
    until(lambda: not supervisors(), "nothing runs")
    dpkg("-P", "smartmig")
    equal((show("LoadState"), show("ActiveState"), os.path.exists(STATE)), ("not-found", "inactive", False), "after a purge")


def on_v2(first, second):
    """cgroup v2 alone: jobs lie beside the unit, so that a restart finds its group free, and are killed by their group."""
    check(not [line for line in open("/proc/self/mounts") if line.split()[2] == "cgroup"], "v1 is mounted")
    dpkg("-i", first)
    installed.emulate()
    does("systemctl", "restart", "smartmig")
    work = installed.Work("work", 2)
    work.runs(2)
    before = supervisors()
    places = {place for pid in before for child in harness.children_of(pid) for place in groups_of(child)}
    check(len(places) == 2 and all(place.startswith("/smartmig/") for place in places), f"groups of the jobs: {places}")
    pid = main_pid()
    dpkg("-i", second)
    runs_anew(pid, "upgrade")
    equal(supervisors(), before, "supervisors after the upgrade")
    equal(installed.client().ask("DELETE", f"/v1/jobs/{work.jobs[0]}").status, 200, "cancel")
    equal(installed.client().wait(work.jobs[0])["state"], "cancelled", "a job that was taken over")
    open(work.go, "w").close()
    equal(installed.client().wait(work.jobs[1])["state"], "done", "the other one")
    until(lambda: not supervisors(), "nothing runs")
    equal([entry.name for entry in os.scandir("/sys/fs/cgroup/smartmig") if entry.is_dir()], [], "groups left")


def groups_of(pid):
    with open(f"/proc/{pid}/cgroup") as file:
        return [line.strip().split(":", 2)[2] for line in file if line.startswith("0::")]


def a_service_of_systemd(build):
    return package_test.tools_are_missing() or package_test.inside(__file__, "lived", build, options=["--systemd"])


def a_service_with_cgroup_v2_alone(build):
    return package_test.tools_are_missing() or package_test.inside(__file__, "on_v2", build, options=["--v2", "--systemd"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        {"lived": lived, "on_v2": on_v2}[sys.argv[2]](*sys.argv[3:])
    else:
        harness.main([a_service_of_systemd, a_service_with_cgroup_v2_alone], "systemd")
