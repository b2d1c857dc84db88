"""Histories with one wrong each, and ones that are right: the judge has to know them apart, or it proves nothing."""
from trial.judge import Judge

FACTS = {"role": "ok", "seconds": 1, "prelaunch": False, "after": None, "tasks": None, "requeue": False, "group": "",
         "reservation": "", "hold": False, "trespass": False, "array_limit": 0, "shared": "", "singleton": False}
GROUPS = {"single": 1}


def ran(name, number, at, device, end=1.0, attempt=1, pid=100, task="-", last="end", code=0, granted=None):
    """(life, marks) of an attempt that began at that instant and lasted as long."""
    life = {"what": "life", "at": at + end, "pid": pid, "start": at, "last": at + end, "SMARTMIG_JOB_ID": str(number),
            "SMARTMIG_ATTEMPT": str(attempt), "CUDA_VISIBLE_DEVICES": device, "TRIAL_NAME": name,
            "SLURM_ARRAY_TASK_ID": str(task)}
    steps = [("born", at, 0), ("start", at if granted is None else granted, 0), (last, at + end, code)]
    return life, [f"{what} {name} {task} {attempt} {number} {pid} {int(t * 1e6)} {device} {c}" for what, t, c in steps
                  if granted != "never" or what == "born"]


def submitted(name, number, at, **more):
    tasks = more.get("tasks") or [None]
    return [{"what": "asks", "kind": "submit", "subject": name, "at": at, "facts": {**FACTS, **more}},
            {"what": "accepted", "subject": name, "at": at + 0.1, "ids": [number + k for k in range(len(tasks))]}]


def job(name, number, state="done", attempt=1, code=0, task=None, preemptions=0):
    return {"id": number, "name": name, "array_index": task, "state": state, "attempt": attempt, "exit_code": code,
            "reason": "", "started_at": 1, "ended_at": 2, "preemptions": preemptions}


def ordered(kind, name, number, at, status):
    return [{"what": "asks", "kind": kind, "subject": name, "at": at, "target": [name, number, None]},
            {"what": "answered", "kind": kind, "subject": name, "at": at + 0.1, "took": 0.1, "status": status}]


def event(what, at, **more):
    return {"what": "event", "event": what, "at": at, **more}


def found(notes, attempts, jobs, words, sizes=None):
    """`words`: what is to be found; None: nothing is."""
    lives, marks = [life for life, _ in attempts], [line for _, lines in attempts for line in lines]
    judge = Judge(sorted([*notes, *lives], key=lambda n: n["at"]), marks, jobs, GROUPS)
    said = [v.words for v in judge.judge() + judge.sizes(sizes or {})]
    if words is None:
        return [f"a right history is called wrong: {said}"] if said else []
    return [] if any(words in each for each in said) else [f"not found: {words} (said: {said})"]


def planted():
    """Complaints."""
    return lives_and_ends() + limits() + reservations() + stops() + around()


def lives_and_ends():
    a, b = ran("a", 1, 10, "MIG-1"), ran("b", 2, 11.5, "MIG-1", pid=101)
    early, elsewhere = ran("b", 2, 10.5, "MIG-1", pid=101), ran("b", 2, 10.5, "MIG-2", pid=101)
    again, meanwhile = ran("a", 1, 12, "MIG-2", attempt=2), ran("a", 1, 10.5, "MIG-2", attempt=2, pid=102)
    both, jobs = submitted("a", 1, 9) + submitted("b", 2, 9), [job("a", 1), job("b", 2)]
    twice = [job("a", 1, attempt=2), job("b", 2)]
    restore, log = event("restore", 30, since=8), event("removed_log", 30, since=8)
    places = [{"what": "device", "at": 1, "uuid": f"MIG-{k}", "gpu": 0, "instance": {"start": 0, "size": 2}}
              for k in (1, 2)]
    born_twice = (a[0], [*a[1], a[1][0]])
    refused, granted = ordered("requeue", "a", 1, 10.5, 409), ordered("requeue", "a", 1, 10.5, 200)
    after = submitted("a", 1, 9) + submitted("b", 2, 9, after=["after", ["a", 1, None]])
    a_bit_before = ran("b", 2, 9.9, "MIG-2", pid=101)
    lost = {**job("b", 2, "failed", code=None), "reason": "GPU 3 failed: GPU is lost (NVML 15)"}
    long_before = ran("b", 2, 8.0, "MIG-2", pid=101)
    cut = (a[0], a[1][:2])
    unwatched = {**job("a", 1, "failed", code=None), "reason": "its supervisor was killed"}
    return (found(both, [a, b], jobs, None)
            + found(both, [a, early], jobs, "alive at once on MIG-1")
            + found(both + places, [a, elsewhere], jobs, "alive at once on GPU 0, memory slice 0")
            + found(both, [a, again, b], twice, "ran 2 times unasked")
            + found(both + refused, [a, again, b], twice, "ran 2 times unasked")
            + found(both + granted, [a, again, b], twice, None)
            + found(both + granted, [a, meanwhile, b], twice, "two attempts of a job were alive at once")
            + found(both, [born_twice, b], jobs, "attempt 1 began 2 times")
            + found(both, [a], jobs[:1], "is not known any more")
            + found(both + [restore], [a], jobs[:1], None)
            + found(both + [log], [a], jobs[:1], None)
            + found(both + [restore], [a, b], jobs[:1], "ran and is not known")
            + found(both, [a, b], [job("a", 1, "failed", code=1), job("b", 2)], "called failed")
            + found(both, [a], [job("a", 1), job("b", 2, "failed", code=None)], "never began")
            + found(both + ordered("cancel", "b", 2, 9.5, 200) + [restore], [a],
                    [job("a", 1), job("b", 2, "failed", code=None)], "never began")
            + found(both + ordered("cancel", "b", 2, 9.5, 200) + [restore], [a],
                    [job("a", 1), job("b", 2, "cancelled", code=None)], None)
            + found([*both, event("loss", 12)], [a], [job("a", 1), lost], None)
            + found(both, [a], [job("a", 1), lost], "never began")
            + found([*both, event("killed_supervisor", 10.5, job=1)], [cut, b], [unwatched, job("b", 2)], None)
            + found(both, [cut, b], [unwatched, job("b", 2)], "failed with None")
            + found(both, [a], jobs, "left the ends []")
            + found(both, [a, b], [job("a", 1), job("b", 2, "cancelled")], "nobody asked")
            + found(both, [a, b], [job("a", 1), job("b", 2, "queued")], "at the end")
            + found(after, [a, a_bit_before], jobs, None)
            + found(after, [a, long_before], jobs, "on which it depends (after)")
            + found(after + ordered("requeue", "b", 2, 7.5, 409), [a, long_before], jobs, "on which it depends (after)")
            + found(after + ordered("cancel", "b", 2, 7, 200) + ordered("requeue", "b", 2, 7.5, 200), [a, long_before],
                    jobs, None))


def limits():
    a = ran("a", 1, 10, "MIG-1")
    meanwhile, then = ran("b", 2, 10.5, "MIG-2", pid=101), ran("b", 2, 11.5, "MIG-2", pid=101)
    jobs = [job("a", 1), job("b", 2)]
    grouped = submitted("a", 1, 9, group="single") + submitted("b", 2, 9, group="single")
    single = submitted("a", 1, 9, shared="s") + submitted("b", 2, 9, shared="s", singleton=True)
    array = submitted("a", 1, 9, tasks=[4, 5], array_limit=1)
    task, beside, later = (ran("a", 1, 10, "MIG-1", task=4), ran("a", 2, 10.5, "MIG-2", task=5, pid=101),
                           ran("a", 2, 11.5, "MIG-2", task=5, pid=101))
    tasks = [job("a", 1, task=4), job("a", 2, task=5)]
    eight = [n for k in range(8) for n in submitted(f"p{k}", k, 9, prelaunch=True)]
    waiting = [ran(f"p{k}", k, 10 + k / 100, "MIG-00000000-", end=9, pid=200 + k, granted=18) for k in range(8)]
    taken = [ran(f"p{k}", k, 10 + k / 100, "MIG-00000000-", end=9, pid=200 + k, granted=10.5) for k in range(8)]
    ends = [job(f"p{k}", k) for k in range(8)]
    return (found(grouped, [a, then], jobs, None)
            + found(grouped, [a, meanwhile], jobs, "of group single ran at once")
            + found(array, [task, later], tasks, None)
            + found(array, [task, beside], tasks, "2 tasks of array a ran at once, its limit is 1")
            + found(single, [a, then], jobs, None)
            + found(single, [a, meanwhile], jobs, "a singleton of s, began 0.50 s before a")
            + found(eight, waiting[:6], ends[:6], "p6, accepted")
            + found(eight, taken, ends, None)
            + found(eight, waiting, ends, "8 jobs waited ahead"))


def reservations():
    window = {"what": "reserved", "name": "r1", "gpus": [0], "asked": 9, "at": 9.1, "begin": 9.1, "end": 20}
    places = [window, {"what": "device", "at": 1, "uuid": "MIG-1", "gpu": 0, "instance": {"start": 0, "size": 2}},
              {"what": "device", "at": 1, "uuid": "MIG-2", "gpu": 1, "instance": {"start": 0, "size": 2}}]
    stranger, member = places + submitted("a", 1, 9), places + submitted("a", 1, 9, reservation="r1")
    inside, outside, over = ran("a", 1, 12, "MIG-1"), ran("a", 1, 12, "MIG-2"), ran("a", 1, 20.5, "MIG-1")
    removed = {"what": "unreserves", "name": "r1", "at": 11}
    return (found(stranger, [inside], [job("a", 1)], "which was reserved for r1")
            + found(stranger, [over], [job("a", 1)], None)
            + found(stranger, [outside], [job("a", 1)], None)
            + found([*stranger, removed], [inside], [job("a", 1)], None)
            + found([*stranger, event("clock_step", 10)], [inside], [job("a", 1)], None)
            + found(member, [inside], [job("a", 1)], None)
            + found(member, [outside], [job("a", 1)], "began on GPU 1, not on [0]"))


def stops():
    saves, goes_on = ran("c", 1, 10, "MIG-1", last="saved"), ran("c", 1, 12, "MIG-2", attempt=2)
    asked = submitted("c", 1, 9, role="checkpoint")
    return (found(asked, [saves, goes_on], [job("c", 1, attempt=2, preemptions=1)], None)
            + found(asked, [saves, goes_on], [job("c", 1, attempt=2)], "saved itself 1 times, 0 times for orders")
            + found(asked + ordered("requeue", "c", 1, 10.5, 200), [saves, goes_on], [job("c", 1, attempt=2)], None)
            + found(asked, [saves], [job("c", 1, preemptions=1)], "left the ends []")
            + found(submitted("c", 1, 9), [ran("c", 1, 10, "MIG-1")], [job("c", 1, preemptions=1)], "never agreed"))


def around():
    a, one, jobs = ran("a", 1, 10, "MIG-1"), submitted("a", 1, 9), [job("a", 1)]

    def answered(kind, took, status=200):
        return [{"what": "answered", "kind": kind, "subject": None, "status": status, "at": 20, "took": took}]

    opened = {"what": "opened", "at": 12, "path": "/tmp/x", "pid": 7, "program": "/usr/bin/smartmig"}
    hung = {"what": "hung", "at": 12, "began": 6, "request": "GET"}
    serves = {"what": "serves", "began": 7, "at": 8, "took": 1}
    kills = [event("kill", 20), {"what": "daemon", "at": 1, "pid": 7}, {"what": "daemon", "at": 21, "pid": 8}]
    return (found(one + answered("probe", 1.5), [a], jobs, "took longer than 1 s")
            + found(one + answered("probe", 0.1, 429), [a], jobs, "1 small requests were turned away")
            + found(one + answered("probe", 0.1, 503), [a], jobs, None)
            + found(one + answered("submit", 0.1, 429), [a], jobs, None)
            + found(one + answered("why", 2), [a], jobs, None)
            + found(one + answered("usage", 11), [a], jobs, "requests (usage) took longer than 10 s")
            + found(one + answered("batch", 2), [a], jobs, None)
            + found(one + answered("batch", 4), [a], jobs, "requests (batch) took longer than 3 s")
            + found(one + answered("why", 4), [a], jobs, "requests (why) took longer than 3 s")
            + found(one + answered("future", 11), [a], jobs, "requests (future) took longer than 10 s")
            + found([*one, {"what": "memory", "at": 40, "mib": 501}], [a], jobs, "grew to 501 MiB")
            + found([*one, opened], [a], jobs, "/tmp/x was opened 1 times, by /usr/bin/smartmig")
            + found([*one, hung], [a], jobs, "was not answered at all")
            + found([*one, hung, serves], [a], jobs, None)
            + found(one + kills, [a], jobs, None, {"kill": 1, "daemons": 2, "jobs": 1})
            + found(one + kills, [a], jobs, "1 kill, not 2", {"kill": 2})
            + found(one + kills, [a], jobs, "1 jobs, not 2", {"jobs": 2})
            + found(one, [a], jobs, "0 loss, not 1", {"loss": 1}))
