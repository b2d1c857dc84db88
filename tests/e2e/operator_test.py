#!/usr/bin/env python3
"""What an operator meets, with a real daemon, emulated GPUs and real processes: a backup restored under running jobs, time
limits, many jobs at once, shortages: tests/e2e/operator_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import json
import os
import resource
import socket
import sqlite3
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
        tasks = c.post("/v1/jobs", {"command": ["sleep", "600"], "array": [4, 7], "array_limit": 1, "estimate_s": 1,
                                    "deadline_s": 1}).json["ids"]
        short = c.sh("exit 3")
        equal(c.wait(short)["state"], "failed", "a job of later that has ended")
        until(lambda: c.job(later)["state"] == c.job(stays)["state"] == c.job(tasks[0])["state"] == "running",
              "all run")
        place = [c.job(n)["device"] for n in (later, stays)]
        m.end()
        done = subprocess.run([m.program, "restore", copy, "--state", m.state], capture_output=True, text=True)
        equal(done.returncode, 0, f"restore: {done.stderr}")
        m.serve(**whole)
        equal(c.job(waited)["state"], "done", "it is not run again")
        equal(c.job(later)["name"], "later", "the job of the time after the backup")
        task = c.job(tasks[0])
        equal((task["array_id"], task["array_index"]), (tasks[0], 4), "the task of an array of that time")
        equal(c.ask("DELETE", f"/v1/jobs/{tasks[0]}").status, 200, "cancel of it")
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


def own_clock(build, station):
    """(sets the daemon's clock, what is to be done before it begins)"""
    shift = os.path.join(station.root, "shift")

    def set_clock(seconds):
        with open(shift + ".new", "w") as file:
            file.write(str(seconds))
        os.rename(shift + ".new", shift)

    def under_the_library():
        os.environ["LD_PRELOAD"] = os.path.join(build, "libclock_step.so")
        os.environ["SMARTMIG_TEST_CLOCK_FILE"] = shift

    set_clock(0)
    return set_clock, under_the_library


def a_requeued_job_is_of_today(build):
    """It ended before the clock was set back. Its instants lie ahead then, and move nothing else there."""
    station = harness.Station(build)
    set_clock, under_the_library = own_clock(build, station)
    with harness.running(station, "1xa100-40gb", config='policy = "none+edf"\n', before=under_the_library) as m:
        c = m.client()
        number = c.sh("true")
        equal(c.wait(number)["state"], "done", "the job")
        set_clock(-86400)
        until(lambda: len(notes(m, "clock_stepped")) == 1, "the step is in the journal")
        equal(c.post(f"/v1/jobs/{number}/requeue").status, 200, "requeue")
        until(lambda: c.job(number)["attempt"] == 2, "it runs again")
        equal(c.wait(number)["state"], "done", "the job, again")
        made = c.post("/v1/reservations", {"name": "now", "gpus": [0], "begin_s": 0, "duration_s": 600, "users": ["nobody"]})
        equal(made.status, 200, f"reserve: {made}")
        waits = c.sh("true")
        time.sleep(3)
        equal(c.job(waits)["state"], "queued", "a job beside a reservation of this hour")


def the_clock_is_set_under_running_jobs(build):
    """One daemon believes in another time of day than the machine's; its supervisors, whose clock nobody sets, do not."""
    station = harness.Station(build)
    set_clock, under_the_library = own_clock(build, station)

    def ran(job, least, most, words):
        took = job["ended_at"] - job["started_at"]
        check(job["state"] == "done" and least <= took <= most, f"{words}: it ran {took} s, {job['state']} {job['reason']}")

    serve = {"gpus": "4xa100-40gb", "config": 'policy = "none+edf"\n', "before": under_the_library}
    with harness.running(station, **serve) as m:
        c, long = m.client(), {"deadline_s": 36000, "estimate_s": 3}
        over = c.sh("sleep 4", **long)
        until(lambda: c.job(over)["state"] == "running", "a job runs")
        set_clock(3600)
        until(lambda: len(notes(m, "clock_stepped")) == 1, "the step is in the journal")
        ran(c.wait(over), 3.9, 60, "a job over a step forward")
        begun = time.monotonic()
        soon = c.sh("true", begin_s=2, **long)
        c.wait(soon, 60)
        check(1.9 <= time.monotonic() - begun, "it waited for its begin")
        back = c.sh("sleep 4", **long)
        until(lambda: c.job(back)["state"] == "running", "another runs")
        set_clock(-3600)
        ran(c.wait(back), 3.9, 60, "a job over a step back")
        later = c.sh("true", begin_s=3600, **long)
        equal(c.job(later)["state"], "held", "a job of the next hour")
        set_clock(1800)
        ran(c.wait(later), 0, 60, "a job whose begin came with the step")
        down = c.sh("sleep 8", **long)
        until(lambda: c.job(down)["state"] == "running", "a job runs")
        m.end()
        set_clock(-7200)
        m.serve(**serve)
        ran(c.wait(down), 7.9, 120, "a job over a step while the daemon was down")
        steps = notes(m, "clock_stepped")
        equal([round(s["by_s"] / 60) for s in steps], [60, -120, 90, -150], "the steps in the journal, in minutes")
        check("while the daemon was down" in steps[3]["words"], f"the last one: {steps[3]}")
        equal(c.get("/v1/status").json["queue"]["running"], 0, "nothing runs any more")


def fails_to_serve(station, *words, **serve):
    try:
        station.serve(**serve)
    except harness.Failed:
        for word in words:
            check(word in station.said(), f"'{word}' is told: {station.said()}")
        return
    raise harness.Failed("the daemon started")


def a_queue_that_is_gone_is_not_begun_anew(build):
    with running(build) as m:
        c = m.client()
        lives = c.sh("sleep 600")
        until(lambda: c.job(lives)["state"] == "running", "a job runs")
        device = c.job(lives)["device"]
        m.end()
        for name in os.listdir(m.state):
            if name.startswith("queue.db"):
                os.unlink(os.path.join(m.state, name))
        fails_to_serve(m, f"job {lives} (supervisor", "smartmig restore", "--new-queue", gpus="1xa100-40gb")
        check(not os.path.exists(os.path.join(m.state, "queue.db")), "a refusal makes no queue")
        m.serve("1xa100-40gb", arguments=["--new-queue"])
        equal((c.job(lives)["state"], c.job(lives)["device"]), ("running", device), "the job that ran")
        equal(c.ask("DELETE", f"/v1/jobs/{lives}").status, 200, "cancel")
        equal(c.wait(lives)["state"], "cancelled", "the job that was taken over")


def the_first_order_on_a_full_disk_changes_nothing(build):
    """The disk fills up while nothing is asked; then each order is refused, and none has happened."""
    station = harness.Station(build)
    os.makedirs(station.state)
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=0755", "tmpfs", station.state],
                                           stderr=subprocess.DEVNULL).returncode != 0:
        print("  nobody may mount a file system here: DaemonOrders and Store stand for it")
        station.close()
        return
    try:
        with harness.running(station) as m:
            c = m.client()
            held, other = c.sh("true", hold=True), c.sh("true", hold=True)
            with open(os.path.join(m.state, "filler"), "wb") as filler:
                with contextlib.suppress(OSError):
                    while True:
                        filler.write(bytes(65536))
                        filler.flush()
            answers = [c.ask("DELETE", f"/v1/jobs/{held}"), c.post("/v1/jobs/release", {"ids": [other]}),
                       c.post("/v1/jobs/cancel", {"all": True}), c.post("/v1/jobs", {"command": ["true"]})]
            for answer in answers:
                equal(answer.status, 507, "an order on a full disk")
                check("nothing was changed" in answer.json["error"]["message"], f"its words: {answer}")
            equal([c.job(number)["state"] for number in (held, other)], ["held", "held"], "the jobs")
            equal(len(c.get("/v1/jobs").json["jobs"]), 2, "jobs in the queue")
            os.unlink(os.path.join(m.state, "filler"))
            equal(c.ask("DELETE", f"/v1/jobs/{held}").status, 200, "a cancel with room")
            equal(c.post("/v1/jobs/release", {"ids": [other]}).status, 200, "a release with room")
            equal(c.wait(other)["state"], "done", "the released job")
            equal(c.job(held)["state"], "cancelled", "the cancelled job")
    finally:
        subprocess.run(["umount", "-l", station.state], stderr=subprocess.DEVNULL)


def damaged_rows_stop_nobody_else(build):
    with running(build, "2xa100-40gb", config='policy = "none+edf"\n') as m:
        c = m.client()
        lives = c.sh("sleep 600")
        until(lambda: c.job(lives)["state"] == "running", "a job runs")
        equal(c.post("/v1/queue/pause", {}).status, 200, "pause")
        waits, well = c.sh("true"), c.sh("true")
        device = c.job(lives)["device"]
        m.end()
        store = sqlite3.connect(os.path.join(m.state, "queue.db"))
        store.execute("UPDATE jobs SET state='{' WHERE id IN (?, ?)", (lives, waits))
        store.execute("UPDATE named SET value='{' WHERE name='energy'")
        store.commit()
        store.close()
        m.serve("2xa100-40gb", config='policy = "none+edf"\n')
        equal((c.job(lives)["state"], c.job(lives)["device"]), ("running", device), "the job that runs")
        equal(c.job(waits)["state"], "failed", "a job whose row is lost")
        check("damaged" in c.job(waits)["reason"], f"why: {c.job(waits)['reason']}")
        equal({n["what"] for n in notes(m, "damaged")}, {f"job {lives}", f"job {waits}", "value energy"}, "what was damaged")
        equal(c.post("/v1/queue/resume", {}).status, 200, "resume")
        equal(c.wait(well)["state"], "done", "the others")


def a_log_that_was_removed_is_named(build):
    with running(build) as m:
        c = m.client()
        lives = c.sh("sleep 600")
        until(lambda: c.job(lives)["state"] == "running", "a job runs")
        m.process.kill()
        m.process.wait()
        os.unlink(os.path.join(m.state, "queue.db-wal"))
        m.serve("1xa100-40gb")
        check(any("queue.db-wal" in n["words"] for n in notes(m, "damaged")), f"it is named: {notes(m, 'damaged')}")
        equal(c.job(lives)["state"], "running", "the job that runs is taken over")


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


def a_shortage_of_descriptors_turns_nobody_away(build):
    """Connections that never become requests take all descriptors that are left."""
    with running(build) as m:
        c, idle = m.client(), []

        def connect(count):
            for _ in range(count):
                idle.append(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                idle[-1].connect(m.socket)
                idle[-1].sendall(b"GET /v1/status HT")

        connect(5)
        until(lambda: c.get("/v1/status").status == 200, "an answer")
        pid = m.process.pid
        most, was = max(map(int, os.listdir(f"/proc/{pid}/fd"))), resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (most + 5, was[1]))
        connect(60)
        time.sleep(0.5)
        for words in ("while descriptors are short", "afterwards"):
            began = time.monotonic()
            equal(c.get("/v1/status", timeout=60).status, 200, f"a request {words}")
            check(time.monotonic() - began < 10, f"a request {words} took {time.monotonic() - began:.1f} s")
            resource.prlimit(pid, resource.RLIMIT_NOFILE, was)
        for one in idle:
            one.close()


def a_restore_that_is_killed_leaves_a_queue(build):
    with running(build) as m:
        c = m.client()
        for _ in range(10):
            c.sh("true", hold=True)
        copy = f"{m.root}/copy.db"
        equal(c.post("/v1/backup", {"path": copy}).status, 200, "backup")
        c.sh("true", hold=True)
        command = [m.program, "restore", copy, "--state", m.state]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=30)
        check(refused.returncode == 1 and "is controlled by" in refused.stderr, f"beside a daemon: {refused.stderr}")
        for pause in (0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.1):
            m.process.kill()
            m.process.wait()
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as restore:
                time.sleep(pause)
                restore.kill()
            m.serve("1xa100-40gb")
            check(len(m.client().get("/v1/jobs").json["jobs"]) in (10, 11), "the queue is the old or the new one")


def a_reservation_keeps_a_gpu(build):
    """On the real clock: before, in and after the window, with a restart of the daemon in between."""
    config = 'policy = "none+edf"\n[defaults]\nexact_estimates = true\n'
    with running(build, "1xa100-40gb", config=config) as m:
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
        m.serve("1xa100-40gb", config=config)
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
         a_shortage_of_descriptors_fails_no_job, a_backup_restored_under_running_jobs, a_time_limit_is_not_success,
         the_clock_is_set_under_running_jobs, a_queue_that_is_gone_is_not_begun_anew, damaged_rows_stop_nobody_else,
         the_first_order_on_a_full_disk_changes_nothing, a_log_that_was_removed_is_named, a_requeued_job_is_of_today,
         a_shortage_of_descriptors_turns_nobody_away, a_restore_that_is_killed_leaves_a_queue]

if __name__ == "__main__":
    harness.main(TESTS, "operator_test")
