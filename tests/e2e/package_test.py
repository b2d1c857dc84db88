#!/usr/bin/env python3
"""The Debian package, made, looked at, installed by dpkg on a machine of its own, upgraded under running jobs, removed and
purged: tests/e2e/package_test.py BUILD-DIRECTORY [TEST...]. As root; made is it without."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
import installed
from harness import check, equal, until
from installed import CONFIG, STATE, does, dpkg, output_of, supervisors

HERE = os.path.dirname(os.path.abspath(__file__))


def both(build):
    """The package of what is built, not compressed, and the same with a higher version. They are kept beside the build,
    where the machine of a test can read them, until something in them is newer."""
    directory = os.path.join(build, "package", "test")
    first, second = os.path.join(directory, "first.deb"), os.path.join(directory, "second.deb")
    parts = [os.path.join(build, name) for name in ("CPackConfig.cmake", "package/smartmig.1", *harness.PROGRAMS)]
    parts += glob.glob(f"{HERE}/../../deploy/**/*", recursive=True) + glob.glob(f"{HERE}/../../cmake/package*")
    if not os.path.exists(second) or os.path.getmtime(second) < max(map(os.path.getmtime, parts)):
        shutil.rmtree(directory, ignore_errors=True)
        does("cpack", "-G", "DEB", "--config", f"{build}/CPackConfig.cmake", "-B", directory, "-D",
             "CPACK_DEBIAN_COMPRESSION_TYPE=none")
        os.rename(glob.glob(f"{directory}/smartmig_*-1_*.deb")[0], first)
        does("dpkg-deb", "-R", first, f"{directory}/files")
        does("sed", "-i", "s/^Version: .*-1$/&+later/", f"{directory}/files/DEBIAN/control")
        does("dpkg-deb", "-b", "-Znone", f"{directory}/files", second)
    return first, second


def inside(program, scenario, build, *more, options=()):
    """Runs a scenario of a test program on a machine of its own. Returns why not, or nothing."""
    done = subprocess.run([os.path.join(HERE, "private_root.sh"), *options, "/usr/bin/python3", program, "--inside", scenario,
                           *both(build)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 77:
        return done.stdout.strip().rsplit("skipped: ", 1)[-1]
    check(done.returncode == 0, f"{scenario}: {done.stdout[-3000:]}")
    return None


def tools_are_missing():
    missing = [tool for tool in ("cpack", "dpkg-deb", "dpkg-shlibdeps") if not shutil.which(tool)]
    return f"{', '.join(missing)} not installed" if missing else None


# ---- on this machine


def lintian_has_no_errors(build):
    if tools_are_missing() or not shutil.which("lintian"):
        return tools_are_missing() or "lintian is not installed"
    status, words = output_of("lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags",
                              "initial-upload-closes-no-bugs,uses-no-compression-for-data-tarball", both(build)[0])
    equal(status, 0, f"lintian: {words}")


def an_installation_without_a_package(build):
    """cmake --install: the program finds what belongs to it, wherever that is."""
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(["cmake", "--install", build, "--prefix", directory, "--component", "Unspecified"],
                              capture_output=True, text=True)
        equal(done.returncode, 0, done.stderr)
        for name in ("share/man/man1/smartmig.1", "share/bash-completion/completions/smartmig",
                     "share/zsh/site-functions/_smartmig", "share/fish/vendor_completions.d/smartmig.fish",
                     "lib/systemd/system/smartmig.service", "libexec/smartmig/smartmig-supervisor",
                     "lib/smartmig/libsmartmig-preload.so", "lib/smartmig/python/sitecustomize.py",
                     "lib/smartmig/python/smartmig_held.py"):
            check(os.path.getsize(os.path.join(directory, name)) > 0, name)
        program, socket = os.path.join(directory, "bin/smartmig"), os.path.join(directory, "socket")
        daemon = subprocess.Popen([program, "serve", "--emulate", "1xa100-40gb", "--quiet", "--socket", socket, "--state",
                                   os.path.join(directory, "state")])
        try:
            until(lambda: output_of(program, "queue", "--socket", socket)[0] == 0, "the daemon answers")
            words = does(program, "run", "--socket", socket, "--", "echo", "it", "runs")
            check("it runs" in words, words)
        finally:
            daemon.terminate()
            daemon.wait(20)


def the_package_of_studies(build):
    """smartmig-research: it depends on smartmig and on Cbc, and smartmig finds it."""
    if tools_are_missing() or not os.path.exists(os.path.join(build, "smartmig-research")):
        return tools_are_missing() or "smartmig-research was not built"
    with tempfile.TemporaryDirectory() as directory:
        does(f"{HERE}/../../deploy/debian/research.sh", build, "0.1.0-1", directory)
        package = glob.glob(f"{directory}/smartmig-research_0.1.0-1_*.deb")[0]
        depends = does("dpkg-deb", "-f", package, "Depends")
        check("smartmig (= 0.1.0-1)" in depends and "coinor-libcbc" in depends, depends)
        does("dpkg-deb", "-x", package, directory)
        os.mkdir(f"{directory}/usr/bin")
        shutil.copy(os.path.join(build, "smartmig"), f"{directory}/usr/bin/smartmig")
        check("[train]" in does(f"{directory}/usr/bin/smartmig", "lab", "train", "--gen-config"), "its settings")


def the_container_file_names_what_exists(_):
    """No registry can be reached from a test, so it is read: what it copies is there, and it has no list of packages of
    its own but for Debian's tools."""
    root = os.path.join(HERE, "..", "..")
    with open(os.path.join(root, "deploy/Containerfile")) as file:
        lines = [line for line in file.read().replace("\\\n", " ").split("\n") if line and not line.startswith("#")]
    check(all(re.match(r"(FROM|WORKDIR|COPY|RUN|VOLUME|CMD) ", line) for line in lines), f"instructions: {lines}")
    copied = [word for line in lines if line.startswith("COPY ") and "--from" not in line for word in line.split()[1:-1]]
    equal([name for name in copied if not os.path.exists(os.path.join(root, name))], [], "files that are not there")
    needed = {line.split()[0] for line in re.findall(r"(?:add_subdirectory|include)\((\S+?)[/)]", cmake_lists(root))}
    equal([name for name in needed if os.path.exists(os.path.join(root, name)) and name not in copied], [], "left out")
    packages = [word for line in lines for part in re.findall(r"apt-get install (.*?)(?:&&|$)", line)
                for word in part.split() if not word.startswith("-")]
    equal(packages, ["dpkg-dev", "file", "/tmp/*.deb"], "packages named in it")
    check(any("ensure_packages build" in line for line in lines), "the packages of packages.txt")


def cmake_lists(root):
    with open(os.path.join(root, "CMakeLists.txt")) as file:
        return file.read()


def an_upgrade_under_running_jobs(build):
    return tools_are_missing() or inside(__file__, "upgraded", build)


def a_removal_and_a_purge(build):
    return tools_are_missing() or inside(__file__, "removed", build)


# ---- inside: no systemd, the daemon is started by hand


class Serving:
    def __enter__(self):
        self.process = subprocess.Popen(["/usr/bin/smartmig", "serve", "--config", CONFIG, "--quiet"],
                                        stdin=subprocess.DEVNULL)
        until(lambda: self.process.poll() is not None or installed.answers(), "the daemon answers")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        equal(self.process.wait(20), 0, "exit code of the daemon")


def version():
    return does("dpkg-query", "-W", "-f", "${Version}", "smartmig")


def upgraded(first, second):
    dpkg("-i", first)
    installed.emulate()
    equal(os.stat(STATE).st_mode & 0o777, 0o711, "who may enter the state directory")
    work = None
    with Serving():
        work = installed.Work("work", 6)
        work.runs(4)  # two slices of 20 GB on each of two GPUs
        before = supervisors()
        old = version()
        dpkg("-i", second)
        equal(version(), f"{old}+later", "the version after the upgrade")
        equal(supervisors(), before, "supervisors while dpkg was there")
        check(installed.answers(), "the old daemon still answers")
    equal(supervisors(), before, "supervisors without a daemon")
    check('emulate:2xa100-40gb' in open(CONFIG).read(), "the operator's settings stay")
    with Serving():
        equal(supervisors(), before, "supervisors under the new daemon")
        equal(work.states().count("running"), 4, "jobs that were taken over")
        work.ends_once()


def removed(first, _):
    dpkg("-i", first)
    installed.emulate()
    files = [name for name in does("dpkg-query", "-L", "smartmig").split("\n") if os.path.isfile(name)]
    check(len(files) > 40, f"{len(files)} files")
    with Serving():
        work = installed.Work("work", 1)
        work.runs(1)
        before = supervisors()
    words = dpkg("-r", "smartmig")
    check("jobs still run" in words, words)
    equal([name for name in files if os.path.exists(name)], [CONFIG], "what stays")
    check(os.path.exists(f"{STATE}"), "the queue stays")
    words = dpkg("-P", "smartmig")
    check("jobs still run; /var/lib/smartmig is left" in words, words)
    check(os.path.exists(STATE) and not os.path.exists(CONFIG), "a purge beside a running job")
    equal(supervisors(), before, "the job runs on")
    dpkg("-i", first)
    installed.emulate()
    with Serving():
        work.ends_once()
        until(lambda: not supervisors(), "nothing runs")
    dpkg("-P", "smartmig")
    left = [name for name in [*files, STATE, "/etc/smartmig", "/usr/lib/smartmig", "/usr/libexec/smartmig",
                              "/usr/share/doc/smartmig"] if os.path.exists(name)]
    equal(left, [], "what a purge leaves")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        {"upgraded": upgraded, "removed": removed}[sys.argv[2]](*sys.argv[3:])
    else:
        harness.main([lintian_has_no_errors, an_installation_without_a_package, the_package_of_studies,
                      the_container_file_names_what_exists,
                      an_upgrade_under_running_jobs, a_removal_and_a_purge], "package")
