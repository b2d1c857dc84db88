#!/usr/bin/env python3
"""What an operator meets, with a real daemon, emulated GPUs and real processes: a backup restored under running jobs, time
limits, many jobs at once, shortages: tests/e2e/operator_test.py BUILD-DIRECTORY [TEST...]."""
import json
import os
import resource
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

NOBODY, DAEMON = (65534, 65534), (1, 1)


def running(build, gpus="1xa100-40gb", **more):
    return harness.running(harness.Station(build), gpus, **more)


def notes(station, kind):
    lines = station.client().get("/v1/journal").body.decode().splitlines()
    return [note for note in map(json.loads, lines) if note.get("ev") == kind or note.get("note") == kind]


def a_backup_restored_under_running_jobs(build):
    whole = {"gpus": "4xa100-40gb", "config": 'policy = "none+edf"\n'}  # each job has a GPU of its own
    with running(build, **whole) as m:
        c, copy = m.client(), os.path.join(m.root, "copy.db")
        marks = os.path.join(m.root, "marks")
        equal(c.post("/v1/queue/pause", {}).status, 200, "pause")
        waited = c.sh(f"echo ran >>{marks}")
        stays = c.sh(f"echo stays >>{marks}; sleep 600")
        equal(c.post("/v1/backup", {"path": copy}).status, 200, "backup")
        equal(c.post("/v1/queue/resume", {}).status, 200, "resume")
        equal(c.wait(waited)["state"], "done", "the job that waited when the copy was made")
        later = c.sh("sleep 600", name="later")
        short = c.sh("exit 3")
        equal(c.wait(short)["state"], "failed", "a job of later that has ended")
        until(lambda: c.job(later)["state"] == c.job(stays)["state"] == "running", "both run")
        place = [c.job(n)["device"] for n in (later, stays)]
        m.end()
        done = subprocess.run([m.program, "restore", copy, "--state", m.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        m.serve(**whole)
        equal(c.job(waited)["state"], "done", "it is not run again")
        equal(c.job(later)["name"], "later", "the job of the time after the backup")
        equal([c.job(n)["state"] for n in (later, stays)], ["running"] * 2, "what runs")
        equal([c.job(n)["device"] for n in (later, stays)], place, "where it runs")
        equal((c.job(short)["state"], c.job(short)["exit_code"]), ("failed", 3), "how the short one ended")
        held = [s["job"] for gpu in c.get("/v1/gpus").json["gpus"] for s in gpu["slices"]]
        check({later, stays} <= set(held), f"their slices are theirs: {held}")
        check(c.post("/v1/queue/resume", {}).status == 200, "the copy was made in a pause")
        fresh = [c.sh("sleep 600") for _ in range(2)]
        check(min(fresh) > short, f"numbers are not given twice: {fresh}")
        until(lambda: c.job(fresh[0])["state"] == "running", "new work starts")
        places = [j["device"] for j in map(c.job, [later, stays, *fresh]) if j["state"] == "running"]
        equal(len(places), len(set(places)), f"slices are not shared: {places}")
        for number in (later, stays):
            equal(c.ask("DELETE", f"/v1/jobs/{number}").status, 200, "cancel")
            equal(c.wait(number)["state"], "cancelled", "a job that was taken over")
        equal(sorted(open(marks).read().split()), ["ran", "stays"], "each ran once")


def a_time_limit_is_not_success(build):
    with running(build) as m:
        c = m.client()
        number = c.sh("trap 'exit 0' TERM; sleep 600 & wait", time_limit_s=1)
        after = c.sh("true", dependencies=[f"afterok:{number}"])
        otherwise = c.sh("true", dependencies=[f"afternotok:{number}"])
        equal(c.wait(number)["state"], "timed_out", "a job that ends politely at its time limit")
        equal(c.wait(after)["state"], "cancelled", "what was to run after its success")
        equal(c.wait(otherwise)["state"], "done", "what was to run after its failure")


def a_shortage_of_descriptors_fails_no_job(build):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (72, 72))

    with running(build, "8xa100-40gb", before=few) as m:
        c = m.client()
        numbers = [c.sh("sleep 0.5", mem_mib=1000) for _ in range(60)]
        ends = [c.wait(n, 120) for n in numbers]
        equal({e["state"] for e in ends}, {"done"}, f"the jobs: {[e['reason'] for e in ends if e['state'] != 'done'][:2]}")


def a_reservation_keeps_a_gpu(build):
    """On the real clock: before, in and after the window, with a restart of the daemon in between."""
    with running(build, "1xa100-40gb", config='policy = "none+edf"\n') as m:
        c = m.client()
        for body in ({"name": "x", "duration_s": 5}, {"name": "x y", "gpus": [0], "duration_s": 5},
                     {"name": "x", "gpus": [9], "duration_s": 5}, {"name": "x", "gpus": [0], "users": ["nobody-at-all"],
                                                                  "duration_s": 5}):
            check(c.post("/v1/reservations", body).status in (400, 404), f"{body} is refused")
        made = c.post("/v1/reservations", {"name": "course", "gpus": [0], "begin_s": 6, "duration_s": 8, "users": ["root"]})
        equal(made.status, 200, f"reserve: {made}")
        row = made.json["reservations"][0]
        short = c.sh("true", estimate_s=1)
        long = c.sh("true", estimate_s=600)
        inside = c.sh("true", reservation="course", estimate_s=1)
        equal(c.wait(short)["state"], "done", "what ends before the window")
        equal(c.job(long)["state"], "queued", "what would run into it")
        equal(c.job(inside)["state"], "held", "what is to run in it")
        why = c.get(f"/v1/jobs/{long}/why").json
        check("GPU 0 is reserved for root from" in why["sentence"], f"why: {why}")
        eta = c.get(f"/v1/jobs/{long}/eta").json
        m.process.kill()
        m.process.wait()
        m.serve("1xa100-40gb", config='policy = "none+edf"\n')
        equal(c.get("/v1/gpus").json["gpus"][0]["reserved"]["name"], "course", "the GPU is reserved after a kill")
        end = c.wait(inside)
        check(row["begin_at"] <= end["started_at"] < row["end_at"], f"in the window: {end['started_at']}, {row}")
        end = c.wait(long)
        check(row["end_at"] <= end["started_at"] < row["end_at"] + 5, f"after the window: {end['started_at']}, {row}")
        check(abs(eta["expected_start_at"] - end["started_at"]) < 5, f"as expected: {eta}, {end['started_at']}")
        equal(c.get("/v1/reservations").json["reservations"], [], "it is over")
        kinds = [n.get("ev") or n.get("note") for n in map(json.loads, c.get("/v1/journal").body.decode().splitlines())]
        check({"reserved", "reservation_begins", "reservation_ends"} <= set(kinds), "the journal says so")


def a_sites_tables_are_named_in_the_settings(build):
    with running(build) as m:
        unknown = {"command": ["true"], "kind": "sites-own-kind", "estimate_s": 1}
        check("is not in the speed table" in str(m.client().post("/v1/jobs", unknown).json["warnings"]), "an unknown kind")
        m.end()
        table = os.path.join(m.root, "speeds.csv")
        with open(table, "w") as file:
            file.write("kind,gpu,profile,throughput,unit,mem_mib,source\n")
            for profile, rate in (("1g.5gb", 1), ("2g.10gb", 2), ("3g.20gb", 3), ("4g.20gb", 4), ("7g.40gb", 7)):
                file.write(f"sites-own-kind,a100-40gb,{profile},{rate},relative,,here\n")
        m.serve("1xa100-40gb", config=f'tables.speeds = ["{table}"]\n')
        equal(m.client().post("/v1/jobs", unknown).json["warnings"], [], "a kind of the site's own")
        m.end()
        with open(table, "a") as file:
            file.write("sites-own-kind,a100-40gb,9g.90gb,1,relative,,here\n")
        with open(m.config, "w") as file:
            file.write(f'tables.speeds = ["{table}"]\n')
        done = subprocess.run([m.program, "serve", "--config", m.config, "--socket", m.socket, "--state", m.state,
                               "--emulate", "1xa100-40gb"], capture_output=True, text=True)
        check(done.returncode == 1 and "speeds.csv" in done.stderr, f"a wrong row: {done.returncode} {done.stderr}")


def root_submits_for_another_user(build):
    """smartmig submit --for USER: the job is that user's, and nobody else may do so."""
    if os.geteuid() != 0:
        return "it must be root to act as other users"
    with running(build) as s:
        submit = [s.program, "submit", "--socket", s.socket, "--parsable", "--chdir", "/", "--for", "nobody", "--",
                  "sh", "-c", "id -u; id -G; echo $USER; echo home=$HOME; echo mark=$MARK; sleep 1"]
        environment = {**os.environ, "HOME": "/root", "USER": "root", "LOGNAME": "root", "MARK": "kept"}
        done = subprocess.run(submit, capture_output=True, text=True, env=environment, timeout=20)
        equal(done.returncode, 0, f"submit --for nobody: {done.stderr}")
        number = int(done.stdout)
        nobody, other = s.client(*NOBODY), s.client(*DAEMON)
        equal((s.client().job(number)["user"], s.client().job(number)["uid"]), ("nobody", NOBODY[0]), "whose it is")
        check("spec" in nobody.job(number), "its owner sees its spec")
        check("spec" not in other.job(number), "others do not")
        equal(other.ask("DELETE", f"/v1/jobs/{number}").status, 403, "cancel by a third")
        equal(nobody.wait(number)["state"], "done", "the job")
        lines = nobody.log(number).splitlines()
        equal(lines[0], str(NOBODY[0]), "its user")
        check("0" not in lines[1].split(), f"root's group is not its own: {lines[1]}")
        equal(lines[2], "nobody", "USER")
        check(lines[3] != "home=/root", f"HOME: {lines[3]}")
        equal(lines[4], "mark=kept", "other variables go along")
        equal(other.get(f"/v1/jobs/{number}/log").status, 403, "its log for a third")
        mine = subprocess.run(submit[:-1] + ["sleep 30"], capture_output=True, text=True, env=environment, timeout=20)
        until(lambda: nobody.job(int(mine.stdout))["state"] == "running", "a second one runs")
        equal(nobody.ask("DELETE", f"/v1/jobs/{int(mine.stdout)}").status, 200, "cancel by its owner")
        body = {"command": ["true"], "directory": "/"}
        for user in ("root", "daemon", "nobody"):
            wanted = (201,) if user == "daemon" else (403,)
            got = other.post(f"/v1/jobs?user={user}", body).status
            check(got in wanted, f"daemon submits for {user}: {got}")
        check(s.client().post("/v1/jobs?user=no-such-user", body).status in (400, 404), "a user who is not there")
        unknown = subprocess.run([*submit[:8], "no-such-user", "--", "true"], capture_output=True, text=True, timeout=20)
        check(unknown.returncode == 1 and "no-such-user" in unknown.stderr, f"said so: {unknown.stderr}")


TESTS = [a_reservation_keeps_a_gpu, root_submits_for_another_user, a_sites_tables_are_named_in_the_settings,
         a_shortage_of_descriptors_fails_no_job, a_backup_restored_under_running_jobs, a_time_limit_is_not_success]

if __name__ == "__main__":
    harness.main(TESTS, "operator_test")
