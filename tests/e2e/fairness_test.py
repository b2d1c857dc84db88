#!/usr/bin/env python3
"""Who gets the GPU when several users want it, with a real daemon: tests/e2e/fairness_test.py BUILD-DIRECTORY [TEST...].
Needs root, to submit as two users; skipped by name otherwise."""
import contextlib
import os
import sys
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

GREEDY, MODEST = (65534, 65534), (1, 1)
WHOLE = {"min_slices": 7, "mem_mib": 30000}  # one at a time on a GPU


@contextlib.contextmanager
def running(build, gpus="1xa100-40gb", **how):
    station = harness.Station(build)
    try:
        station.serve(gpus, **how)
        yield station
    finally:
        station.close()


def jobs_of(client, user=None):
    found = client.get("/v1/jobs?limit=10000").json["jobs"]
    return [j for j in found if user is None or j["uid"] == user[0]]


def started_order(client):
    return [j["id"] for j in sorted((j for j in jobs_of(client) if j["started_at"]), key=lambda j: j["started_at"])]


def a_greedy_user_does_not_monopolise(build):
    """60 jobs that all claim to be due now, against three that are due in a while, on one GPU."""
    with running(build) as s:
        root, greedy, modest = s.client(), s.client(*GREEDY), s.client(*MODEST)
        body = {"jobs": [dict(command=["sleep", "0.3"], estimate_s=60, deadline_s=1, **WHOLE)] * 60}
        equal(greedy.post("/v1/jobs", body).status, 201, "60 tight jobs")
        until(lambda: any(j["state"] == "done" for j in jobs_of(root)), "the first of them has ended")
        mine = [modest.submit(["sleep", "0.3"], estimate_s=60, deadline_s=600, **WHOLE) for _ in range(3)]
        until(lambda: all(modest.job(n)["started_at"] for n in mine), "the modest user's three jobs have started", 25)
        order = started_order(root)
        places = [order.index(n) + 1 for n in mine]
        print(f"  the modest user's jobs started as numbers {places} of {len(order)} so far, of 63")
        check(places[0] <= 6 and places[2] <= 16, f"places {places}: one user monopolises by tight deadlines")
        check(len(order) >= len(mine) + 2, "the greedy user's jobs no longer start")


def equal_urgency_takes_turns(build):
    with running(build) as s:
        root, users = s.client(), (s.client(*GREEDY), s.client(*MODEST))
        equal(root.post("/v1/queue/pause").status, 200, "pause")
        for user in users:  # all of one user first
            for _ in range(4):
                user.submit(["sleep", "0.2"], estimate_s=30, deadline_s=300, **WHOLE)
        equal(root.post("/v1/queue/resume").status, 200, "resume")
        until(lambda: len(started_order(root)) >= 4, "four have started", 20)
        owners = {j["id"]: j["uid"] for j in jobs_of(root)}
        first = [owners[n] for n in started_order(root)[:4]]
        check(first.count(GREEDY[0]) <= 3 and first.count(MODEST[0]) >= 1, f"the first four belong to {first}")


def priority_is_the_operators(build):
    with running(build, config=f"[priorities]\ndaemon = 50\n") as s:
        root, plain, preferred = s.client(), s.client(*GREEDY), s.client(*MODEST)
        root.post("/v1/queue/pause")
        first = [plain.submit(["sleep", "0.2"], **WHOLE) for _ in range(3)]
        late = preferred.submit(["sleep", "0.2"], deadline_s=3600, **WHOLE)
        roots = root.submit(["sleep", "0.2"], priority=100, deadline_s=7200, **WHOLE)
        nice = plain.submit(["sleep", "0.2"], priority=-5, **WHOLE)
        equal([preferred.job(n)["priority"] for n in (first[0], late, roots, nice)], [0, 50, 100, -5], "priorities")
        root.post("/v1/queue/resume")
        for number in (*first, late, roots, nice):
            root.wait(number)
        order = started_order(root)
        equal(order[:2], [roots, late], "what went first")
        equal(order[-1], nice, "what went last")


def a_users_slices_are_capped(build):
    with running(build, "2xa100-40gb", config="[limits]\nuser_slices = 3\nuser_queued = 5\n") as s:
        root, greedy, modest = s.client(), s.client(*GREEDY), s.client(*MODEST)
        size = {"3g.20gb": 3, "2g.10gb": 2, "1g.5gb": 1, "1g.10gb": 1}  # none is offered more than the cap
        most, tries = 0, 0

        def held(user):
            # Each asked for no more than one slice of 4 GB: what the policy gave beyond that does not count.
            return sum(min(1, size[j["slice"].split("@")[0]]) for j in jobs_of(root, user)
                       if j["state"] in ("starting", "running", "stopping"))

        mine = [greedy.submit(["sleep", "1.5"], mem_mib=4000) for _ in range(5)]
        others = modest.submit(["sleep", "1"], mem_mib=4000)
        end = time.monotonic() + 30
        while time.monotonic() < end and any(greedy.job(n)["ended_at"] is None for n in mine):
            most, tries = max(most, held(GREEDY)), tries + 1
            time.sleep(0.05)
        print(f"  the capped user's jobs asked for at most {most} compute slices of 3 allowed, over {tries} looks")
        check(1 <= most <= 3, f"{most} slices at a time, 3 are allowed")
        equal([greedy.job(n)["state"] for n in mine], ["done"] * 5, "the capped user's jobs")
        equal(root.wait(others)["state"], "done", "the other user's job")

        root.post("/v1/queue/pause")
        for _ in range(5):
            greedy.submit(["true"])
        answer = greedy.post("/v1/jobs", {"command": ["true"]})
        check(answer.status == 409 and "5" in answer.json["error"]["message"], f"the sixth waiting job: {answer}")
        answer = greedy.post("/v1/jobs", {"command": ["true"], "array": [0, 1]})
        equal(answer.status, 409, "an array beyond the cap")
        equal(greedy.post(f"/v1/jobs/{mine[0]}/requeue").status, 409, "an ended job brought back beyond the cap")
        equal(modest.post("/v1/jobs", {"command": ["true"]}).status, 201, "another user's job")
        # A new configuration, taken over by SIGHUP.
        with open(s.config, "w") as file:
            file.write("[limits]\nuser_queued = 6\n")
        s.process.send_signal(1)
        until(lambda: greedy.post("/v1/jobs", {"command": ["true"]}).status == 201, "the sixth, after a reload", 5)
        with open(s.config, "w") as file:
            file.write("[limits]\nuser_quoted = 6\n")
        s.process.send_signal(1)
        until(lambda: "user_quoted" in s.said() and "configuration not reloaded" in s.said(), "a bad key is named", 5)
        equal(greedy.post("/v1/jobs", {"command": ["true"]}).status, 409, "the limit after a bad reload")


def a_board_stays_below_its_cap(build):
    cap = 200
    with running(build, "2xa100-40gb", config=f"[power]\nboard_cap_w = {cap}\n") as s:
        root = s.client()
        equal(root.get("/v1/status").json["board_cap_w"], cap, "the cap in the status")
        numbers = [root.submit(["sleep", "1"], mem_mib=4000) for _ in range(10)]
        seen = []
        end = time.monotonic() + 25
        while time.monotonic() < end and any(root.job(n)["ended_at"] is None for n in numbers):
            for gpu in root.get("/v1/gpus").json["gpus"]:
                seen.append(gpu["watts_w"])
            time.sleep(0.05)
        print(f"  boards drew up to {max(seen):.0f} W of {cap} W allowed, over {len(seen)} looks")
        check(max(seen) <= cap * 1.001, f"a board drew {max(seen)} W, {cap} W are allowed")
        check(max(seen) > 60, "nothing ran")
        equal({root.job(n)["state"] for n in numbers}, {"done"}, "the jobs")
        answer = root.post("/v1/jobs", {"command": ["true"], "mem_mib": 30000})
        if answer.status == 201:  # the whole GPU draws more than the cap: it must not start, and say why
            number = answer.json["ids"][0]
            time.sleep(1)
            job = root.job(number)
            check(job["state"] in ("queued", "done", "running"), f"{job}")
            check(max(g["watts_w"] for g in root.get("/v1/gpus").json["gpus"]) <= cap * 1.001, "the cap, again")


def deadlines(build):
    with running(build, "1xa100-40gb") as s:
        root = s.client()
        # Without one: never late, and it runs.
        free = root.post("/v1/jobs", {"command": ["sleep", "0.2"]}).json["ids"][0]
        end = root.wait(free)
        equal((end["state"], end["deadline_at"], end["late_s"]), ("done", None, 0), "a job without a deadline")
        # In the past: accepted, run, late from its beginning.
        past = root.post("/v1/jobs", {"command": ["sleep", "0.2"], "deadline_at": time.time() - 3600})
        equal(past.status, 201, "a deadline in the past")
        print(f"  a deadline in the past: warnings {past.json['warnings']}")
        check(any("deadline" in w for w in past.json["warnings"]), "no warning of a deadline that has passed")
        end = root.wait(past.json["ids"][0])
        equal(end["state"], "done", "a job whose deadline has passed")
        check(3599 < end["late_s"] < 3700, f"late by {end['late_s']} s, not by an hour")
        # Too tight for its own estimate: accepted, with a warning.
        tight = root.post("/v1/jobs", {"command": ["true"], "estimate_s": 3600, "deadline_s": 60})
        equal(tight.status, 201, "a deadline that its estimate breaks")
        print(f"  a deadline before its estimated end: warnings {tight.json['warnings']}")
        check(any("deadline" in w for w in tight.json["warnings"]), "no warning of a deadline that cannot be kept")
        root.wait(tight.json["ids"][0])
        # Kept, and shown as kept.
        kept = root.post("/v1/jobs", {"command": ["true"], "estimate_s": 5, "deadline_s": 600})
        equal(kept.json["warnings"], [], "warnings of a deadline that can be kept")
        equal(root.wait(kept.json["ids"][0])["late_s"], 0, "lateness of a kept deadline")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("skipped: it must be root to submit as several users")
        raise SystemExit(77)
    harness.main([a_greedy_user_does_not_monopolise, equal_urgency_takes_turns, priority_is_the_operators,
                  a_users_slices_are_capped, a_board_stays_below_its_cap, deadlines], "fairness")
