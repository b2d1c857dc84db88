#!/usr/bin/env python3
"""A long trial of a real daemon, judged by what is seen from outside: users with every verb, a flood, an enemy; the
daemon is killed and restored from backups, its clock is set, its GPUs are lost and reset, its disk is full, descriptors
and processes are short (docs/chaos.md): tests/e2e/trial.py BUILD-DIRECTORY. Needs root.
JOBS (2000), KILLS (200), RESTORES (20), CLOCKS (10), LOSSES (10), SHORTAGES (26: all other deeds in turn) and SEED
choose another one. WITHOUT=a,b leaves out what the enemy does (junk drip stream giant_question many_questions
giant_environment large_environment crowd colons locks links) or what happens (clock_step loss full_disk ...).
KEEP=DIRECTORY keeps the evidence of a failed one."""
import collections
import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
import traceback

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check
from trial import judge, planted, users, watch
from trial.notes import now, read_lines, read_notes
from trial.world import World

DEFAULTS = {"JOBS": 2000, "KILLS": 200, "RESTORES": 20, "CLOCKS": 10, "LOSSES": 10, "SHORTAGES": 26}
SIZES = {name: int(os.environ.get(name, value)) for name, value in DEFAULTS.items()}
SEED = int(os.environ.get("SEED", time.time_ns() % 100_000))
WITHOUT = set(filter(None, os.environ.get("WITHOUT", "").split(",")))
KEEP = os.environ.get("KEEP")
DRAIN_S = 900
OTHER_DEEDS = ["full_disk", "few_descriptors", "few_processes", "failing_changes", "dead_mount", "operators_hold",
               "escapes", "secrets", "laid_links", "missing_store", "removed_log", "damaged_row", "killed_supervisor"]


def in_background(user, work, nice=-10):
    """A process of its own that is that user; nice: what it measures shall be the daemon's time, not the machine's."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        with contextlib.suppress(OSError):
            os.nice(nice)
        if user:
            os.setgroups([])
            os.setgid(user[1])
            os.setuid(user[0])
        work()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def before_other_work():
    """Where the kernel shares the machine among sessions first, nice counts within this one alone."""
    if not sys.stdin.isatty():
        with contextlib.suppress(OSError):
            os.setsid()
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as file:
        file.write("-10")


def kinds_of(violations):
    """Lists of those that differ in names and numbers alone."""
    kinds = {}
    for violation in violations:
        kinds.setdefault(re.sub(r"\S*\d\S*", "#", violation.words)[:50], []).append(violation)
    return list(kinds.values())


class Trial:
    def __init__(self, build):
        self.world = World(build, SEED, WITHOUT)
        self.clients, self.others = [], []

    def begin(self):
        world = self.world
        self.stop_watching = f"{world.root}/stop-watching"
        mark, seen, late = f"TRIAL={world.root}\0", world.new_diary(), world.new_diary()
        files, mine = list(world.canaries.owner), os.getpid()
        self.others.append(in_background(None, lambda: watch.watch(seen, mark, world.station, self.stop_watching, files,
                                                                   mine)))
        self.others.append(in_background(None, lambda: watch.heartbeat(late, self.stop_watching)))
        world.serve()
        world.set_groups()
        flood = SIZES["JOBS"] // 5
        share = (SIZES["JOBS"] - flood) // len(users.USERS)
        parties = [(users.User, user, share) for user in users.USERS] + [(users.Flooder, users.FLOODER, flood)]
        for k, (kind, user, jobs) in enumerate(parties):
            self.start(self.clients, user, lambda d: kind(world, user, d, SEED * 100 + k, jobs).run())
        parties = [(users.Operator, (0, 0)), (users.Stranger, users.STRANGER), (users.Enemy, users.ENEMY)]
        for k, (kind, user) in enumerate(parties):
            self.start(self.others, user, lambda d: kind(world, user, d, SEED * 100 + 50 + k).run())
        for k, user in enumerate(users.USERS):
            self.start(self.others, user, lambda d: users.Hurried(world, user, d, SEED * 100 + 70 + k, 0).run())
        if "locks" not in WITHOUT:
            self.start(self.others, users.ENEMY, lambda d: users.locker(d, world.lock_directories, world.stop))

    def start(self, those, user, work):
        diary = self.world.new_diary(user)
        those.append(in_background(user, lambda: work(diary), 0 if user == users.ENEMY else -10))

    def clients_are_done(self):
        for pid in list(self.clients):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                self.clients.remove(pid)
                harness.equal(os.waitstatus_to_exitcode(status), 0, "a client's end (its words are above)")
        return not self.clients

    def plan(self):
        deeds = (["kill"] * SIZES["KILLS"] + ["restore"] * SIZES["RESTORES"] + ["clock_step"] * SIZES["CLOCKS"] +
                 ["loss"] * SIZES["LOSSES"] + [OTHER_DEEDS[i % len(OTHER_DEEDS)] for i in range(SIZES["SHORTAGES"])])
        deeds = [deed for deed in deeds if deed not in WITHOUT]
        self.world.draw.shuffle(deeds)
        self.wanted = collections.Counter(deeds)
        return deeds

    def disturb(self):
        world, plan, said = self.world, self.plan(), now()
        while plan or not self.clients_are_done():
            time.sleep(world.draw.uniform(0.1, 1.5))
            if plan:
                deed = plan.pop()
                try:
                    getattr(world, deed)()
                except (harness.Failed, subprocess.TimeoutExpired) as problem:
                    world.violation(f"{deed}: {str(problem)[-400:]}")
            else:
                world.drained()  # lets go of what is held: the clients wait for room in the queue
            if world.station.process.poll() is not None:
                world.violation(f"the daemon ended by itself: {world.station.said()[-600:]}")
                world.serve()
            if now() - said > 60:
                said = now()
                print(f"  {len(plan)} deeds and {len(self.clients)} clients are left", flush=True)
        open(world.stop, "w").close()

    def drain(self):
        world, give_up = self.world, now() + DRAIN_S
        world.clock_back()
        world.mend()
        while not world.drained():
            if world.station.process.poll() is not None:
                world.violation(f"the daemon ended by itself: {world.station.said()[-600:]}")
                world.serve()
            if now() > give_up:
                for job in world.station.client().get("/v1/jobs?state=active&limit=20").json["jobs"]:
                    why = world.ask("GET", f"/v1/jobs/{job['id']}/why")
                    world.violation(f"job {job['id']} ({job['name']}) is still {job['state']} ({job['reason']}): "
                                    f"{why.body[:300] if why else ''}")
                return
            time.sleep(0.3)

    def verdict(self):
        world = self.world
        jobs = world.final_jobs()
        active = world.station.client().get("/v1/jobs?state=active&limit=10000").json["jobs"]
        orphans = [] if active else world.orphans()
        open(self.stop_watching, "w").close()
        ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in self.others]
        self.others = []
        marks = [line for user in [*users.USERS, users.FLOODER] for line in read_lines(f"{world.home(user)}/marks")]
        judged = judge.Judge(read_notes(world.diaries), marks, jobs + active, users.GROUPS)
        found = judged.judge()
        found += [judge.Violation(words) for words in world.canaries.touched()]
        found += judged.sizes(self.sizes())
        found += [judge.Violation(f"a party of the trial ended with {code}: its words are above")
                  for code in ends if code]
        found += [judge.Violation(f"process {pid} of a job is left over") for pid in orphans]
        self.tell(judged, jobs)
        for those in kinds_of(found):
            for violation in those[:5]:
                print(f"  VIOLATION: {violation.words[:700]}")
            if len(those) > 5:
                print(f"  ... and {len(those) - 5} more such violations")
        for violation in [next((v for v in those if v.key or v.at), None) for those in kinds_of(found)][:8]:
            if violation:
                print(f"  what led to: {violation.words[:160]}")
                for line in judged.history(violation):
                    print(f"    {line[:400]}")
        check(not found, f"{len(found)} violations")

    def sizes(self):
        """What must have happened, and how often."""
        seen = {deed: 1 for deed in users.DEEDS if deed not in WITHOUT}
        wanted = {what: many for what, many in self.wanted.items() if what not in self.world.left_out}
        return {**seen, **wanted, "jobs": SIZES["JOBS"], "daemons": self.wanted["kill"], "reset": self.wanted["loss"]}

    def tell(self, judged, jobs):
        states, world = {}, self.world
        for job in jobs:
            states[job["state"]] = states.get(job["state"], 0) + 1
        attempts = {(l["TRIAL_NAME"], l["SMARTMIG_JOB_ID"], l["SMARTMIG_ATTEMPT"]) for l in judged.lives}
        hostile = collections.Counter(n["deed"] for n in judged.of["attacks"])
        most = max((n["mib"] for n in judged.of["memory"]), default=0)
        print(f"  seed {SEED}: {len(jobs)} jobs {states}; {len(attempts)} attempts, {len(judged.lives)} processes seen")
        print(f"  {dict(sorted(world.counts.items()))}")
        print(f"  the enemy: {dict(sorted(hostile.items()))}; {len(judged.openings())} files opened")
        for note in judged.of["unwatched"]:
            print(f"  nobody saw who opens files: {note['words']}")
        saved = sum(m["what"] == "saved" for marks in judged.marks.values() for m in marks)
        shared = sum(f["singleton"] for f in judged.facts.values())
        print(f"  {saved} attempts saved themselves, {shared} singletons, {judged.in_windows} starts in reserved "
              f"windows, at most {judged.most_ahead} jobs ahead; left out: {world.left_out or 'nothing'}")
        print(f"  the daemon took {most:.0f} MiB at most; stalls of the machine over 0.1 s: {len(judged.of['stall'])}")
        for kind, (count, median, p99, most) in judged.times().items():
            print(f"  {kind:<10} {count:6} answers, median {1000 * median:6.0f} ms, p99 {1000 * p99:6.0f} ms, "
                  f"most {1000 * most:6.0f} ms")

    def close(self):
        open(self.world.stop, "w").close()
        open(self.stop_watching, "w").close()
        for pid in [*self.clients, *self.others]:
            with contextlib.suppress(OSError):
                os.kill(pid, 9)
                os.waitpid(pid, 0)
        if KEEP and sys.exc_info()[0]:
            left_out = shutil.ignore_patterns("bin", "socket", "machine", "filler")
            shutil.copytree(self.world.root, KEEP, dirs_exist_ok=True, symlinks=True, ignore=left_out)
        self.world.close()


def the_judge_finds_what_is_planted(_):
    complaints = planted.planted()
    check(not complaints, "; ".join(complaints))


def a_long_trial(build):
    if os.geteuid() != 0:
        return "needs root: it asks as several users"
    before_other_work()
    trial = Trial(build)
    try:
        trial.begin()
        trial.disturb()
        trial.drain()
        trial.verdict()
    except BaseException:
        sizes = " ".join(f"{name}={value}" for name, value in SIZES.items() if value != DEFAULTS[name])
        without = f"WITHOUT={','.join(sorted(WITHOUT))} " if WITHOUT else ""
        print(f"  again: SEED={SEED} {sizes} {without}python3 tests/e2e/trial.py {build}", flush=True)
        raise
    finally:
        trial.close()
    return None


if __name__ == "__main__":
    harness.main([the_judge_finds_what_is_planted, a_long_trial], "trial")
