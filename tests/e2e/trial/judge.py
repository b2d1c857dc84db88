"""The judge: holds what the daemon says of its jobs against what was seen from outside. It knows no code of the product
and asks nothing; it is given diaries, marks, lives of processes and the final list of jobs, and returns violations.
planted.py proves that it finds what it is there for."""
import collections
import dataclasses

from trial.limits import Limits
from trial.notes import key_of, name_of, own_name

FINAL = {"done", "failed", "cancelled", "timed_out"}
NO_DEVICE = "MIG-00000000-"
SLACK_S = 0.03  # of start times, which /proc has in hundredths of a second
SLOW_S = 1.0
# About one job; about all jobs, over many simulated futures; about all jobs that ended, which share threads with those;
# the flooder's submissions of fifty jobs each.
QUESTIONS_S = {"why": 3, "future": 10, "usage": 10, "batch": 3}
STARTED_S = 1  # between the births of two jobs that are started in this order at once
SLOW_START_S = 15  # from the call until it answers, with some thousand jobs behind it
STALLED_S = 0.3  # where the machine let a process wait so long, slowness is not the daemon's
MOST_MIB = 500
TIME_LIMIT_S = 1.0


@dataclasses.dataclass(frozen=True)
class Violation:
    words: str
    key: tuple = ()  # of the job: (name, task)
    device: str = ""
    at: float = 0.0


@dataclasses.dataclass
class Stay:
    """An attempt's process on a slice, as seen from outside."""
    begin: float
    last: float
    attempt: tuple  # (job, attempt)
    key: tuple
    device: str
    pid: int
    again: bool = False  # not the first process of its attempt

    def __str__(self):
        return f"{name_of(self.key)} (job {self.attempt[0]}, attempt {self.attempt[1]}, pid {self.pid})"


def read_marks(lines):
    marks = collections.defaultdict(list)
    broken = []
    for line in lines:
        words = line.split(" ")
        if len(words) != 9:
            broken.append(line)
            continue
        what, name, task, attempt, job, pid, at, device, code = words
        marks[key_of(name, task)].append({"what": what, "attempt": int(attempt), "job": int(job), "pid": int(pid),
                                          "at": int(at) / 1e6, "device": device, "code": int(code)})
    return marks, broken


class Judge(Limits):
    no_device = NO_DEVICE

    def __init__(self, notes, mark_lines, jobs, groups):
        self.notes, self.groups = notes, groups
        self.marks, broken = read_marks(mark_lines)
        self.found = [Violation(f"a broken mark: {line!r}") for line in broken]
        of = collections.defaultdict(list)
        for note in notes:
            of[note["what"]].append(note)
        self.of = of
        self.facts = {n["subject"]: n["facts"] for n in of["asks"] if "facts" in n}
        self.jobs = self.known_jobs(jobs)
        self.asked_at = {n["subject"]: n["at"] for n in of["asks"] if "facts" in n}
        self.lives = of["life"]
        self.events = of["event"]
        # What a restore takes back: orders and submissions from the copy on, until the restored daemon serves.
        # So does a log of the store that was removed.
        self.undone = [(e["since"] - 0.1, e["at"] + 5) for e in self.events if e["event"] in ("restore", "removed_log")]
        self.windows = self.loss_windows()
        self.unwatched = {e["job"] for e in self.events if e["event"] == "killed_supervisor"}
        self.orders = self.read_orders()
        self.grants = {(key, (m["job"], m["attempt"])): m for key, marks in self.marks.items() for m in marks
                       if m["what"] == "start"}
        self.places = {n["uuid"]: (n["gpu"], n["instance"]["start"], n["instance"]["size"]) for n in of["device"]}

    def known_jobs(self, jobs):
        """By key. One that was taken over from its processes may have lost its task's number: its own number tells."""
        task_of = {(note["subject"], number): task for note in self.of["accepted"]
                   for number, task in zip(note["ids"], self.facts[note["subject"]]["tasks"] or [None])}
        out = collections.defaultdict(list)
        for job in jobs:
            task, name = job["array_index"], own_name(job)
            wanted = task_of.get((name, job["id"]))
            if task is None and wanted is not None:
                self.say(f"job {job['id']} ({name}) is not called task {wanted} of its array any more")
                task = wanted
            out[key_of(name, task)].append(job)
        return out

    def loss_windows(self):
        """Of each lost GPU: from the loss until it is in service again."""
        begun, out = {}, []
        ends = {round(n["began"], 3): n["at"] for n in self.of["window"]}
        for event in self.events:
            if event["event"] == "loss":
                end = min((at for began, at in ends.items() if began >= event["at"] - 0.1), default=float("inf"))
                out.append((event["at"] - 0.1, ends.get(round(event["at"], 3), end) + 10))
        return out

    def read_orders(self):
        """By job: (order, asked at, answered at or None, status or None)."""
        out = collections.defaultdict(list)
        answers = collections.defaultdict(list)
        for note in self.of["answered"]:
            answers[note["kind"], note["subject"]].append(note)
        for note in self.of["asks"]:
            target = note.get("target")
            if not target:
                continue
            name, _, task = target
            reply = next((a for a in answers[note["kind"], note["subject"]] if a["at"] >= note["at"]), None)
            row = (note["kind"], note["at"], reply["at"] if reply else None, reply["status"] if reply else None)
            tasks = self.facts.get(name, {}).get("tasks")
            for each in [task] if task is not None or not tasks else tasks:
                out[key_of(name, each)].append(row)
        return out

    def taken_back(self, at):
        return any(begin <= at <= end for begin, end in self.undone)

    def lost_while(self, begin, end):
        return any(begin <= to and end >= since for since, to in self.windows)

    # ---- everything

    def judge(self):
        self.accepted_jobs_are_known_and_final()
        for key, (job, *_) in sorted(self.jobs.items(), key=str):
            if key[0] in self.facts:
                self.one_job(key, job)
        self.dependencies_hold()
        stays = self.stays()
        self.no_slice_is_shared(stays)
        self.no_job_runs_twice_at_once()
        self.limits_hold(stays)
        self.the_daemon_answers()
        self.nobody_touches_what_is_others()
        for note in self.of["unnamed"]:
            self.say(f"job {note['job']} ({note['name']}) runs as attempt {note['attempt']} on {note['device']}, and "
                     f"the daemon calls it {note['said']}", (note["name"], None), note["device"], note["at"])
        for note in self.of["violation"]:
            self.say(note["words"], at=note["at"])
        for note in {n["request"]: n for n in self.of["fooled"]}.values():
            self.say(f"the request {note['request']} was answered with {note['reply']}", at=note["at"])
        for note in self.of["refused"]:
            if not note["expected"]:
                self.say(f"a submission was refused with {note['status']}: {note['words']}", at=note["at"])
        for note in self.of["memory"]:
            if note["mib"] > MOST_MIB:
                self.say(f"the daemon grew to {note['mib']:.0f} MiB")
        return self.found

    def say(self, words, key=(), device="", at=0.0):
        self.found.append(Violation(words, key, device, at))

    def accepted_jobs_are_known_and_final(self):
        for key, found in self.jobs.items():
            if key[0] in self.facts and len(found) != 1:
                self.say(f"{name_of(key)} is there {len(found)} times: jobs {[j['id'] for j in found]}", key)
        for note in self.of["accepted"]:
            for task in self.facts[note["subject"]]["tasks"] or [None]:
                key = key_of(note["subject"], task)
                if key in self.jobs:
                    continue
                begun = [m for m in self.marks[key] if m["what"] == "born"]
                if not self.taken_back(note["at"]):
                    self.say(f"{name_of(key)}, accepted as job {note['ids']}, is not known any more, and no restore "
                             "explains it", key)
                elif any(note["at"] < m["at"] for m in begun):
                    self.say(f"{name_of(key)} ran and is not known any more", key)

    def one_job(self, key, job):
        facts, marks, orders = self.facts[key[0]], self.marks[key], self.orders[key]
        state, last = job["state"], job["attempt"]
        if state not in FINAL:
            self.say(f"{name_of(key)} is {state} at the end", key)
            return
        begun, started = count_by_attempt(marks, "born"), count_by_attempt(marks, "start")
        for attempt, count in begun.items():
            if count > 1:
                self.say(f"{name_of(key)}: attempt {attempt} began {count} times", key)
            if attempt > last:
                self.say(f"{name_of(key)}: attempt {attempt} began, the daemon knows {last}", key)
        ends = [m for m in marks if m["what"] == "end"]
        lives = [l for l in self.lives if key_of(l["TRIAL_NAME"], l["SLURM_ARRAY_TASK_ID"]) == key]
        spans = [(l["start"], l["last"]) for l in lives] + [(m["at"], m["at"]) for m in marks]
        lost = any(self.lost_while(*span) for span in spans)
        asked = {kind for kind, *_ in orders}
        requeues = self.requeues(key)
        again = facts["requeue"] or facts["role"] == "checkpoint" or lost
        # That it came to CUDA is not in a backup: one that began ahead and failed meanwhile may be tried once more.
        again = again or facts["prelaunch"] and any(self.taken_back(m["at"]) for m in marks)
        if len(started) > 1 + requeues and not again:
            self.say(f"{name_of(key)} ran {len(started)} times unasked (attempts {sorted(started)})", key)
        clean = [m for m in ends if m["code"] == 0]
        if len(clean) > 1 + requeues:
            self.say(f"{name_of(key)} ran to its end {len(clean)} times", key)
        if facts["trespass"]:
            if begun:
                self.say(f"{name_of(key)} ran though its output is another's file", key)
        elif state == "done":
            self.is_done(key, facts, last, ends)
        elif state == "failed":
            self.has_failed(key, job, facts, begun, ends, lost)
        elif state == "timed_out":
            self.timed_out(key, facts, lives)
        elif not ({"cancel"} & asked or facts["after"]):
            self.say(f"{name_of(key)} is cancelled, and nobody asked for it ({job['reason']})", key)
        self.cancels_hold(key, job, orders)
        backwards = job["started_at"] and job["ended_at"] and job["ended_at"] < job["started_at"] - 0.5
        if backwards and not self.clock_set(spans):
            self.say(f"{name_of(key)} ended {job['started_at'] - job['ended_at']:.1f} s before it began", key)

    def requeues(self, key):
        """Those that were granted, or may have been."""
        return sum(kind == "requeue" and status in (200, None) for kind, _, _, status in self.orders[key])

    def may_run_again(self, key):
        spans = [(m["at"], m["at"]) for m in self.marks[key]]
        return self.requeues(key) > 0 or any(self.lost_while(*span) for span in spans)

    def clock_set(self, spans):
        """Between the first and the last that was seen of it: wall-clock instants say nothing then."""
        if not spans:
            return True
        begin, end = min(s[0] for s in spans) - 5, max(s[1] for s in spans) + 5
        return any(begin <= e["at"] <= end for e in self.events if e["event"] in ("clock_step", "clock_back"))

    def is_done(self, key, facts, last, ends):
        codes = [m["code"] for m in ends if m["attempt"] == last]
        if codes != [0]:
            self.say(f"{name_of(key)} is done, but its last attempt {last} left the ends {codes}", key)
        if facts["role"] in ("fail", "timed"):
            self.say(f"{name_of(key)} is done, and such a job ({facts['role']}) cannot be", key)

    def has_failed(self, key, job, facts, begun, ends, lost):
        codes = [m["code"] for m in ends if m["attempt"] == job["attempt"]]
        if facts["role"] == "fail" and codes == [7] and job["exit_code"] == 7:
            return
        if job["id"] in self.unwatched:
            return
        if codes == [0]:
            self.say(f"{name_of(key)} ended with 0 and is called failed ({job['reason']})", key)
        elif not begun:
            # A GPU may be lost under an attempt that starts. Nobody saw when: after the submission.
            if "GPU is lost" not in job["reason"] or not self.lost_while(self.asked_at[key[0]], float("inf")):
                self.say(f"{name_of(key)} failed and never began ({job['reason']})", key)
        elif not lost:
            self.say(f"{name_of(key)} ({facts['role']}) failed with {job['exit_code']}, its marks are {codes} "
                     f"({job['reason']})", key)

    def timed_out(self, key, facts, lives):
        if facts["role"] != "timed":
            self.say(f"{name_of(key)} timed out and has no limit", key)
            return
        by_attempt = collections.defaultdict(list)
        for life in lives:
            by_attempt[int(life["SMARTMIG_ATTEMPT"])].append(life)
        if by_attempt:
            last = by_attempt[max(by_attempt)]
            began = min(l["start"] for l in last)
            took, at_most = max(l["last"] for l in last) - began, max(l["at"] for l in last) - began
            if at_most < TIME_LIMIT_S - 0.1:
                self.say(f"{name_of(key)} was ended for its time limit of {TIME_LIMIT_S} s after {at_most:.2f} s", key)
            suspended = any(kind == "suspend" for kind, *_ in self.orders[key])
            if took > TIME_LIMIT_S + 8 and not suspended:
                self.say(f"{name_of(key)} has a time limit of {TIME_LIMIT_S} s and lived for {took:.1f} s", key)

    def cancels_hold(self, key, job, orders):
        """One that was granted, and that neither a restore nor a requeue took back, is the end of the job."""
        for kind, asked, answered, status in orders:
            if kind != "cancel" or status != 200 or len([o for o in orders if o[0] == "cancel"]) > 1:
                continue
            later = [o for o in orders if o[0] == "requeue" and (o[2] or float("inf")) >= asked]
            undone = any(begin <= answered and end >= asked for begin, end in self.undone)
            if later or undone or self.by_name(asked, key):
                continue
            if job["state"] not in ("cancelled",):
                self.say(f"the cancel of {name_of(key)} was granted, and it is {job['state']}", key, at=asked)

    def by_name(self, at, key):
        """Cancels by name are answered with 200 also where all were final."""
        return any(n["subject"] == key[0] and abs(n["at"] - at) < 1e-9 and n["target"][1] is None
                   for n in self.of["asks"] if n.get("target"))

    def dependencies_hold(self):
        """Between jobs to which nothing was done: what it waited for was there before it began."""
        for name, facts in self.facts.items():
            if not facts["after"] or not facts["after"][1] or self.taken_back(self.asked_at[name]):
                continue
            kind, (other, _, task) = facts["after"]
            other = key_of(other, task)
            if self.orders[other] or other not in self.jobs or self.taken_back(self.asked_at.get(other[0], 0)):
                continue
            there = [m["at"] for m in self.marks[other] if m["what"] == ("born" if kind == "after" else "end")]
            theirs = self.facts[other[0]]
            if theirs["trespass"] or kind != "after" and theirs["role"] in ("timed", "checkpoint"):
                continue
            for task_ in facts["tasks"] or [None]:
                key = key_of(name, task_)
                start = min((m["at"] for m in self.marks[key] if m["what"] == "start"), default=None)
                slack = STARTED_S if kind == "after" else 0
                if self.requeues(key):  # "run it now": whatever it waited for counts no more
                    continue
                if start is not None and not any(at < start + slack for at in there) and not self.events_hide(other):
                    self.say(f"{name_of(key)} began before {name_of(other)}, on which it depends ({kind})", key,
                             at=start)
                state = self.jobs[other][0]["state"]
                if start is not None and (kind, state) in (("afterok", "failed"), ("afternotok", "done")):
                    self.say(f"{name_of(key)} ran {kind} of {name_of(other)}, which is {state}", key, at=start)

    def events_hide(self, key):
        """Its processes may have been ended by the loss of a GPU, or before they could leave a mark."""
        return not self.marks[key] or self.jobs[key][0]["state"] in ("failed", "cancelled")

    # ---- slices

    def stays(self):
        """Every process with its slice: that of its environment; where it began without one, of its attempt's mark."""
        first, out = {}, []
        for life in sorted(self.lives, key=lambda l: l["start"]):
            if not life["SMARTMIG_JOB_ID"].isdigit():
                continue
            key, attempt = self.whose(life)
            begin, device = life["start"], life["CUDA_VISIBLE_DEVICES"]
            if device.startswith(NO_DEVICE):
                mark = self.granted(key, attempt)
                if not mark or mark["device"].startswith(NO_DEVICE):
                    continue
                begin, device = max(begin, mark["at"]), mark["device"]
            if life["last"] >= begin:
                again = first.setdefault((key, attempt), life["pid"]) != life["pid"]
                out.append(Stay(begin, life["last"], attempt, key, device, life["pid"], again))
        return out

    def whose(self, life):
        attempt = int(life["SMARTMIG_JOB_ID"]), int(life["SMARTMIG_ATTEMPT"])
        return key_of(life["TRIAL_NAME"], life["SLURM_ARRAY_TASK_ID"]), attempt

    def granted(self, key, attempt):
        """The mark at which it had its slice, or None."""
        return self.grants.get((key, attempt))

    def no_job_runs_twice_at_once(self):
        """Whatever the slices: an attempt's processes are gone before the next one begins."""
        of = collections.defaultdict(list)
        for life in self.lives:
            if life["SMARTMIG_JOB_ID"].isdigit():
                key, attempt = self.whose(life)
                device = life["CUDA_VISIBLE_DEVICES"]
                of[key].append(Stay(life["start"], life["last"], attempt, key, device, life["pid"]))
        for key, those in sorted(of.items(), key=str):
            for a, b in overlaps(those):
                self.say(f"two attempts of a job were alive at once: {a} on {a.device} and {b} on {b.device}, "
                         f"{min(a.last, b.last) - b.begin:.2f} s long", key, b.device, b.begin)
                break

    def no_slice_is_shared(self, stays):
        places = collections.defaultdict(list)
        for stay in stays:
            places[stay.device].append(stay)
            gpu, start, size = self.places.get(stay.device, (None, 0, 0))
            for slot in range(start, start + size):
                places[f"GPU {gpu}, memory slice {slot}"].append(stay)
        told = set()
        for place, those in sorted(places.items()):
            for a, b in overlaps(those):
                pair = (a.attempt, a.key, b.attempt, b.key)
                if pair in told:
                    continue
                told.add(pair)
                self.say(f"{a} and {b} were alive at once on {place}, {min(a.last, b.last) - b.begin:.2f} s long from "
                         f"{b.begin:.2f}", b.key, b.device, b.begin)

    # ---- answers

    def the_daemon_answers(self):
        stalls = [(n["begin"], n["begin"] + n["seconds"]) for n in self.of["stall"] if n["seconds"] > STALLED_S]
        slow = collections.defaultdict(list)
        for note in self.of["answered"] + self.of["unanswered"]:
            most = QUESTIONS_S.get(note["kind"], SLOW_S)
            if note["kind"] == "attack" or (note.get("took") or 0) <= most:
                continue
            begin, end = note["at"] - note["took"], note["at"]
            # What comes while the daemon starts waits for its start.
            begin = max([begin, *(n["at"] for n in self.of["serves"] if n["began"] <= begin <= n["at"])])
            if end - begin > most and not any(b <= end and e >= begin for b, e in stalls):
                slow[note["kind"], most].append((end - begin, begin))
        # To be told to come back is no answer either, where the daemon is not going down (503).
        turned_away = [n for n in self.of["answered"] if n["status"] == 429 and n["kind"] in ("probe", "status", "order")]
        if turned_away:
            self.say(f"{len(turned_away)} small requests were turned away for want of room", at=turned_away[0]["at"])
        for (kind, most), those in slow.items():
            worst, at = max(those)
            self.say(f"{len(those)} requests ({kind}) took longer than {most:g} s, the worst {worst:.1f} s", at=at)
        for note in self.of["hung"]:
            if not any(note["began"] - 1 <= n["at"] and n["began"] <= note["at"] for n in self.of["serves"]):
                self.say(f"the request {note['request']} was not answered at all", at=note["at"])
        longest = max((n["took"] for n in self.of["serves"]), default=0)
        if longest > SLOW_START_S:
            self.say(f"a start took {longest:.1f} s")

    def nobody_touches_what_is_others(self):
        for (path, program), those in self.openings().items():
            self.say(f"{path} was opened {len(those)} times, by {program} (pid {those[0]['pid']}), and nobody has a "
                     "reason to", at=those[0]["at"])

    def openings(self):
        of = collections.defaultdict(list)
        for note in self.of["opened"]:
            of[note["path"], note["program"]].append(note)
        return of

    def sizes(self, wanted):
        """The trial was as large as it was asked to be: {what: how many}, of events and the enemy's deeds by name,
        "jobs", and "daemons", which are counted by who watches."""
        seen = collections.Counter(e["event"] for e in self.events)
        seen["jobs"] = sum(len(n["ids"]) for n in self.of["accepted"])
        seen["daemons"] = len({n["pid"] for n in self.of["daemon"]})
        seen.update(n["deed"] for n in self.of["attacks"])
        return [Violation(f"too small a trial: {seen[what]} {what}, not {most}") for what, most in wanted.items()
                if seen[what] < most]

    def times(self):
        """By kind: (count, median, p99, most) in seconds."""
        took = collections.defaultdict(list)
        for note in self.of["answered"]:
            took[note["kind"]].append(note["took"])
        for note in self.of["serves"]:
            took["(start)"].append(note["took"])
        out = {}
        for kind, those in sorted(took.items()):
            those.sort()
            last = len(those) - 1
            out[kind] = len(those), those[last // 2], those[int(0.99 * last)], those[last]
        return out

    # ---- what led to it

    def history(self, violation):
        """Lines in order of time: of the job, of its slice, of the machine."""
        key, device, lines = violation.key, violation.device, []
        numbers = {m["job"] for m in self.marks.get(key, [])} | {j["id"] for j in self.jobs.get(key, [])}
        for name in {key[0]} if key else ():
            for note in self.notes:
                if note.get("subject") == name:
                    more = next((note[k] for k in ("facts", "ids", "target", "words") if note.get(k)), "")
                    words = f"{note['what']} {note.get('kind', '')} {note.get('status', '')} {more}"
                    lines.append((note["at"], words))
        for mark in self.marks.get(key, []):
            lines.append((mark["at"], f"mark {mark['what']} of job {mark['job']}, attempt {mark['attempt']}, pid "
                                      f"{mark['pid']} on {mark['device']}, code {mark['code']}"))
        for life in self.lives:
            theirs = key_of(life["TRIAL_NAME"], life["SLURM_ARRAY_TASK_ID"])
            if (device and life["CUDA_VISIBLE_DEVICES"] == device) or theirs == key:
                who = (f"pid {life['pid']}: {name_of(theirs)}, job {life['SMARTMIG_JOB_ID']}, attempt "
                       f"{life['SMARTMIG_ATTEMPT']}")
                lines.append((life["start"], f"{who} begins on {life['CUDA_VISIBLE_DEVICES']}"))
                lines.append((life["last"], f"{who} is seen for the last time"))
        around = [at for at, _ in lines] or [violation.at]
        low, high = (violation.at - 15, violation.at + 15) if violation.at else (min(around) - 1, max(around) + 1)
        own = lambda words: key and key[0] in words  # noqa: E731
        for event in self.events:
            more = {k: v for k, v in event.items() if k not in ("what", "at", "event")}
            if low <= event["at"] <= high:
                lines.append((event["at"], f"== {event['event']} {more or ''}"))
        lines = [f"{at:12.2f}  {words}" for at, words in sorted(lines)
                 if low <= at <= high or own(words) or not words.startswith("pid")]
        for number in sorted(numbers):
            said = [j for j in self.jobs.get(key, []) if j["id"] == number]
            lines.append(f"              the daemon on job {number}: {said}"[:600])
        return lines[:60]


def count_by_attempt(marks, what):
    return collections.Counter(m["attempt"] for m in marks if m["what"] == what)


def overlaps(stays):
    """Pairs of different attempts, the second of which began while the first was still seen alive."""
    longest = []  # of the attempts so far the two that last longest
    for stay in sorted(stays, key=lambda s: s.begin):
        for other in longest:
            if (other.attempt, other.key) != (stay.attempt, stay.key) and stay.begin + SLACK_S < other.last:
                yield other, stay
        same = [o for o in longest if (o.attempt, o.key) == (stay.attempt, stay.key)]
        others = [o for o in longest if o not in same]
        best = max([*same, stay], key=lambda o: o.last)
        longest = sorted([best, *others], key=lambda o: -o.last)[:2]
