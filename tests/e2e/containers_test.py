#!/usr/bin/env python3
"""Jobs in containers: tests/e2e/containers_test.py BUILD-DIRECTORY [TEST...]. Podman is Debian's, with an image made
here; apptainer is not in Debian 12, so a stand-in shows its command line. As root, in a mount namespace of its own."""
import contextlib
import json
import os
import pwd
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing beside the sources
if os.geteuid() == 0 and os.environ.get("CONTAINERS_TEST_INSIDE") != "1":
    os.environ["CONTAINERS_TEST_INSIDE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private", sys.executable, *sys.argv])

import harness
from harness import check, equal, until

IMAGE = "localhost/smartmig-test:1"
USER = f"smartmig-ct{os.getpid()}"


def hide_hybrid():
    """crun refuses machines on which cgroup v2 has controllers beside v1: here they have v1 alone."""
    with open("/proc/self/mounts") as file:
        mounts = [line.split() for line in file]
    v1 = any(kind == "cgroup" for _, _, kind, *_ in mounts)
    for _, place, kind, *_ in mounts:
        if v1 and kind == "cgroup2":
            subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)


def missing():
    if os.geteuid() != 0:
        return "needs root, to run as several users"
    for program in ("podman", "crun", "unshare"):
        if not shutil.which(program):
            return f"{program} is not installed"
    if not os.path.exists("/bin/busybox") or subprocess.run(["ldd", "/bin/busybox"], capture_output=True).returncode == 0:
        return "busybox-static is not installed, of which the image is made"
    return ""


@contextlib.contextmanager
def user():
    """A user of its own with a home directory; (name, uid, gid, home)."""
    home = tempfile.mkdtemp(prefix="smartmig-home-")
    # Without a range in /etc/subuid: its own podman then needs no newuidmap.
    subprocess.run(["useradd", "--no-create-home", "--home-dir", home, "--key", "SUB_UID_COUNT=0", "--key",
                    "SUB_GID_COUNT=0", USER], check=True, capture_output=True)
    try:
        entry = pwd.getpwnam(USER)
        os.chown(home, entry.pw_uid, entry.pw_gid)
        yield USER, entry.pw_uid, entry.pw_gid, home
    finally:
        # Podman's pause process, of this user alone; userdel refuses while it is there.
        until(lambda: subprocess.run(["pkill", "-KILL", "-u", str(entry.pw_uid)]).returncode == 1, "no process is left")
        subprocess.run(["userdel", USER], capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def image_tar(folder):
    root = os.path.join(folder, "root")
    for name in ("bin", "tmp", "etc", "proc", "dev", "sys"):
        os.makedirs(os.path.join(root, name))
    shutil.copy("/bin/busybox", os.path.join(root, "bin/busybox"))
    for name in ("sh", "cat", "echo", "sleep", "id", "env", "ls", "kill", "touch", "head", "test"):
        os.symlink("busybox", os.path.join(root, "bin", name))
    os.chmod(os.path.join(root, "tmp"), 0o1777)
    tar = os.path.join(folder, "root.tar")
    subprocess.run(["tar", "-C", root, "-cf", tar, "."], check=True)
    os.chmod(folder, 0o755)
    return tar


def as_user(uid, gid, home, command):
    done = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups", *command], cwd=home,
                          capture_output=True, text=True, timeout=120,
                          env={"HOME": home, "USER": USER, "PATH": os.environ["PATH"]})
    equal(done.returncode, 0, f"{command}: {done.stderr}")
    return done.stdout


@contextlib.contextmanager
def world(build):
    """A daemon, a user's client, their home directory, and the image in their store."""
    hide_hybrid()
    station = harness.Station(build)
    with user() as (_, uid, gid, home), tempfile.TemporaryDirectory() as folder:
        tar = image_tar(folder)
        try:
            as_user(uid, gid, home, ["podman", "import", "-c", "ENV NVIDIA_VISIBLE_DEVICES=all", "-c",
                                     "ENV COLOUR=of-image", tar, IMAGE])
            station.serve("1xa100-40gb")
            yield station, station.client(uid, gid), home, (uid, gid)
        finally:
            station.close()


def spec(home, **more):
    return {"container": IMAGE, "directory": home, "estimate_s": 5,
            "environment": [f"HOME={home}", f"PATH={os.environ['PATH']}", "COLOUR=red", "OWN=yes"], **more}


def podman_runs_a_job(build):
    if why := missing():
        return why
    with world(build) as (s, client, home, ids):
        job = client.sh("id -u; pwd; echo $CUDA_VISIBLE_DEVICES $NVIDIA_VISIBLE_DEVICES $SMARTMIG_JOB_ID $COLOUR $OWN; "
                        "echo made >here; echo err >&2; exit 7", **spec(home))
        ended = client.wait(job, 90)
        log = client.log(job)
        equal((ended["state"], ended["exit_code"]), ("failed", 7), f"its end: {ended['reason']} {log}")
        lines = log.splitlines()
        equal(lines[:2], ["0", home], "user and directory inside")
        equal(lines[2], f"{ended['device']} {ended['device']} {job} of-image yes",
              "the slice's variables win over the image, the image over the user's")
        check("err" in lines, log)
        with open(f"{home}/here") as file:
            equal(file.read(), "made\n", "a file made inside")
        equal(os.stat(f"{home}/here").st_uid, ids[0], "its owner outside")
        equal(os.listdir(f"{s.state}/memory"), [], "directories of ended containers")
        # The user's own podman is as it was: the image is there, no container.
        check(IMAGE in as_user(*ids, home, ["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"]), "the image")
        equal(as_user(*ids, home, ["podman", "ps", "--all", "--external", "--quiet"]).strip(), "", "containers left")


def a_script_runs_in_the_image(build):
    if why := missing():
        return why
    with world(build) as (_, client, home, _ids):
        job = client.submit(["/bin/sh", "one"], script="#!/bin/sh\necho script $1\n", **spec(home))
        ended = client.wait(job, 90)
        equal((ended["state"], client.log(job)), ("done", "script one\n"), ended["reason"])


def mounts_are_as_asked(build):
    if why := missing():
        return why
    with world(build) as (s, client, home, ids):
        data = f"{s.root}/data"
        os.mkdir(data)
        with open(f"{data}/file", "w") as file:
            file.write("there\n")
        os.chown(data, *ids)
        job = client.sh("cat /mnt/file; touch /mnt/new || echo read-only; ls /root-only 2>/dev/null",
                        **spec(home, container_mounts=[f"{data}:/mnt:ro"]))
        client.wait(job, 90)
        log = client.log(job)
        check(log.startswith("there\n") and log.endswith("read-only\n"), log)


def processes_of(job, uid):
    """[(pid, cgroups)] of the live processes of a user whose environment names the job's first attempt."""
    token = f"SMARTMIG_ATTEMPT_TOKEN={job}.1-".encode()
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/{entry}").st_uid != uid or token not in open(f"/proc/{entry}/environ", "rb").read():
                continue
            if open(f"/proc/{entry}/stat").read().rsplit(")", 1)[1].split()[0] not in "ZX":
                found.append((entry, open(f"/proc/{entry}/cgroup").read()))
    return found


def signals_and_cancels_reach_it(build):
    if why := missing():
        return why
    with world(build) as (_, client, home, ids):
        small = {"mem_mib": 1000, "max_slices": 1}  # both at once
        told = client.sh("trap 'echo told; exit 3' TERM; echo up; while :; do sleep 0.1; done", **spec(home, **small))
        deaf = client.sh("trap '' TERM; echo up; while :; do sleep 0.1; done", **spec(home, grace_s=1, **small))
        for job in (told, deaf):
            until(lambda: "up" in client.log(job), f"job {job} is up: {client.job(job)['reason']}", 90)
        for job in (told, deaf):
            # All that it is lives below its supervisor and in its cgroups.
            inside = processes_of(job, ids[0])
            check(len(inside) >= 3, f"job {job}: podman, its monitor and the program: {inside}")
            fenced = [text for _, text in inside if f"/{job}.1-" in text]
            check(not fenced or len(fenced) == len(inside), f"job {job}: a process outside its cgroups: {inside}")
        for job in (told, deaf):
            equal(client.ask("DELETE", f"/v1/jobs/{job}").status, 200, "cancel")
            client.wait(job, 60)
        check(client.log(told).endswith("told\n"), client.log(told))
        for job in (told, deaf):
            equal(processes_of(job, ids[0]), [], f"what outlives job {job}")


def several_at_once(build):
    if why := missing():
        return why
    with world(build) as (_, client, home, ids):
        jobs = [client.sh(f"sleep 1; exit {i}", **spec(home, mem_mib=1000, max_slices=1)) for i in range(4)]
        equal([client.wait(job, 120)["exit_code"] for job in jobs], [0, 1, 2, 3], "exit codes")
        check(IMAGE in as_user(*ids, home, ["podman", "images", "--format", "{{.Repository}}:{{.Tag}}"]), "the image")


def the_slice_comes_by_its_cdi_name(build):
    """hooks.slices writes the specification, as nvidia-ctk would on a machine with GPUs; it names each slice."""
    if why := missing():
        return why
    hide_hybrid()
    os.makedirs("/var/run/cdi", exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", "/var/run/cdi"], check=True)
    station = harness.Station(build)
    with user() as (_, uid, gid, home), tempfile.TemporaryDirectory() as folder:
        tar = image_tar(folder)
        hook = f"{station.root}/hook"
        with open(hook, "w") as file:
            file.write(f"""#!{sys.executable}
import json, re, subprocess
shown = subprocess.run(["{build}/nvml-sim/nvml-sim-ctl", "show", "{station.state}/machine", "--json"],
                       capture_output=True, text=True).stdout
names = sorted(set(re.findall(r"MIG-[0-9a-f-]{{36}}", shown)))
spec = {{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [
    {{"name": name, "containerEdits": {{"env": ["GIVEN=" + name]}}}} for name in names + ["all"]]}}
open("/var/run/cdi/nvidia.json", "w").write(json.dumps(spec))
""")
        os.chmod(hook, 0o755)
        try:
            as_user(uid, gid, home, ["podman", "import", tar, IMAGE])
            station.serve("1xa100-40gb", config=f'[hooks]\nslices = "{hook}"\n')
            client = station.client(uid, gid)
            job = client.sh("echo $GIVEN $NVIDIA_VISIBLE_DEVICES", **spec(home, max_slices=1, mem_mib=1000))
            ended = client.wait(job, 90)
            events = subprocess.run([station.program, "export", "--journal", "--socket", station.socket],
                                    capture_output=True, text=True).stdout
            check("job_ended" in events and "hook_failed" not in events, events)
            equal(client.log(job), f"{ended['device']} void\n", f"what the specification gave: {ended['reason']}")
        finally:
            station.close()


def apptainer_is_called_as_documented(build):
    """A stand-in, since Debian 12 has no apptainer: it writes down how it was called, then runs the command."""
    station = harness.Station(build)
    try:
        place = f"{station.root}/stand-in"
        os.mkdir(place)
        with open(f"{place}/apptainer", "w") as file:
            file.write('#!/bin/sh\necho "called: $*"\nenv | grep ^APPTAINERENV_CUDA\n'
                       'while [ "$1" != /image.sif ]; do shift; done\nshift\nexec "$@"\n')
        os.chmod(f"{place}/apptainer", 0o755)
        station.serve("1xa100-40gb")
        client = station.client()
        job = client.sh("echo inside; exit 4", container="/image.sif", directory="/tmp",
                        environment=[f"PATH={place}:/usr/bin:/bin"], container_mounts=["/usr:/mnt:ro"])
        ended = client.wait(job)
        userns = "" if os.geteuid() == 0 else "--userns "
        equal(client.log(job).splitlines(),
              [f"called: exec --nv {userns}--bind /tmp:/tmp --bind /usr:/mnt:ro --pwd /tmp /image.sif sh -c "
               "echo inside; exit 4", f"APPTAINERENV_CUDA_VISIBLE_DEVICES={ended['device']}",
               "APPTAINERENV_CUDA_DEVICE_ORDER=PCI_BUS_ID", "inside"],
              f"its log; {ended['reason']}")
        equal(ended["exit_code"], 4, "exit code")
        shown = subprocess.run([station.program, "show", str(job), "--socket", station.socket], capture_output=True,
                               text=True).stdout
        check("/image.sif by apptainer, with /usr:/mnt:ro" in shown, shown)
        refused = client.post("/v1/jobs", {"command": ["a"], "container": "/i.sif", "pty": True})
        check(refused.status == 400 and "terminal" in refused.json["error"]["message"], refused)
    finally:
        station.close()


TESTS = [podman_runs_a_job, a_script_runs_in_the_image, mounts_are_as_asked, signals_and_cancels_reach_it,
         several_at_once, the_slice_comes_by_its_cdi_name, apptainer_is_called_as_documented]

if __name__ == "__main__":
    harness.main(TESTS, "containers")
