"""Rules of the judge about what may run at once, and where: groups, arrays, jobs of one name, processes started ahead,
reserved GPUs, attempts of one job, and who may be stopped for others."""
import collections

from trial.notes import name_of

AHEAD = 6  # prelaunch.jobs of the trial's daemon
AHEAD_S = 2  # as long may more of them be alive: one goes, the next comes
BEGINS_S = 1.5  # from a decision to start until the process is there
TAKEN_OVER_S = 30  # what a restored queue takes over runs already
SLACK_S = 0.03
WINDOWS_END = ("clock_step", "clock_back", "restore", "removed_log")  # then nobody knows when a window ends


def peaks(spans, most, slack=SLACK_S):
    """(begin, end, how many, who came last) of each time in which more than `most` of {who: (begin, end)} are there."""
    steps = [(begin + slack, 1, who) for who, (begin, end) in spans.items() if end > begin + slack]
    steps += [(end, -1, who) for who, (begin, end) in spans.items() if end > begin + slack]
    count, since, highest, last, out = 0, None, 0, None, []
    for at, step, who in sorted(steps, key=lambda s: s[:2]):
        count += step
        if step > 0 and count > most and (since is None or count > highest):
            since, highest, last = at if since is None else since, count, who
        elif since is not None and count <= most:
            out.append((since, at, highest, last))
            since = None
    return out


class Limits:
    def limits_hold(self, stays):
        self.groups_keep_their_limits(stays)
        self.arrays_keep_their_limits(stays)
        self.singletons_run_alone(stays)
        self.few_are_ahead()
        self.reserved_gpus_are_kept(stays)
        for key, (job, *_) in sorted(self.jobs.items(), key=str):
            if key[0] in self.facts:
                self.stopped_for_others(key, job)

    def restored(self, at):
        return any(begin <= at <= end + TAKEN_OVER_S for begin, end in self.undone)

    def at_once(self, stays, name_of_set, most_of):
        """`name_of_set`: of a stay, what limits it; `most_of`: of that, how many."""
        members = collections.defaultdict(dict)
        for stay in stays:
            if name := name_of_set(stay):
                begin, last = members[name].get((stay.key, stay.attempt), (stay.begin, stay.last))
                members[name][stay.key, stay.attempt] = (min(begin, stay.begin), max(last, stay.last))
        for name, spans in members.items():
            for at, _, count, who in peaks(spans, most_of(name)):
                if not self.restored(at):
                    yield name, count, who[0], at

    def groups_keep_their_limits(self, stays):
        of = lambda stay: self.facts.get(stay.key[0], {}).get("group")  # noqa: E731
        for group, count, key, at in self.at_once(stays, of, lambda name: self.groups[name]):
            self.say(f"{count} jobs of group {group} ran at once, its limit is {self.groups[group]}", key, at=at)

    def arrays_keep_their_limits(self, stays):
        limit = lambda name: self.facts.get(name, {}).get("array_limit")  # noqa: E731
        of = lambda stay: stay.key[0] if limit(stay.key[0]) else None  # noqa: E731
        for name, count, key, at in self.at_once(stays, of, limit):
            self.say(f"{count} tasks of array {name} ran at once, its limit is {limit(name)}", key, at=at)

    def singletons_run_alone(self, stays):
        """A singleton begins after the last process of each earlier job of its owner and name is gone."""
        number = {note["subject"]: note["ids"][0] for note in self.of["accepted"]}
        spans = collections.defaultdict(list)
        for stay in stays:
            spans[stay.key[0]].append((stay.begin, stay.last))
        of_name = collections.defaultdict(list)
        for subject, facts in self.facts.items():
            untouched = subject in number and not self.may_run_again((subject, None))
            if facts.get("shared") and untouched and not self.taken_back(self.asked_at[subject]):
                of_name[facts["shared"]].append(subject)
        for shared, subjects in of_name.items():
            for single in [s for s in subjects if self.facts[s]["singleton"] and spans[s]]:
                begin = min(span[0] for span in spans[single])
                for other in [s for s in subjects if number[s] < number[single] and spans[s]]:
                    last = max(span[1] for span in spans[other])
                    if begin + SLACK_S < last:
                        self.say(f"{single} (job {number[single]}), a singleton of {shared}, began "
                                 f"{last - begin:.2f} s before {other} (job {number[other]}) was gone", (single, None),
                                 at=begin)

    def few_are_ahead(self):
        """Processes that wait for their slice at their first CUDA call."""
        spans = {}
        for life in self.lives:
            if life["CUDA_VISIBLE_DEVICES"].startswith(self.no_device):
                key, attempt = self.whose(life)
                granted = self.granted(key, attempt)
                begin, last = spans.get((key, attempt), (life["start"], life["last"]))
                last = max(last, life["last"])
                spans[key, attempt] = (min(begin, life["start"]), min(last, granted["at"]) if granted else last)
        self.most_ahead = max((count for _, _, count, _ in peaks(spans, 0)), default=0)
        for begin, end, count, who in peaks(spans, AHEAD):
            if end - begin > AHEAD_S and not self.restored(begin):
                self.say(f"{count} jobs waited ahead of their slices for {end - begin:.1f} s, {AHEAD} may", who[0],
                         at=begin)

    def reserved_gpus_are_kept(self, stays):
        """While a window is on for certain: its GPUs begin its jobs alone, and its jobs begin nowhere else."""
        self.in_windows = 0
        for window in self.of["reserved"]:
            name, begin = window["name"], window["begin"] + BEGINS_S
            over = [e["at"] for e in self.events if e["event"] in WINDOWS_END]
            over += [n["at"] for n in self.of["unreserves"] if n["name"] == name]
            end = min([window["end"], *(at for at in over if at >= window["asked"] - 0.5)]) - 0.1
            for stay in stays:
                gpu = self.places.get(stay.device, (None,))[0]
                if not begin <= stay.begin < end or gpu is None or stay.again:
                    continue
                theirs = self.facts.get(stay.key[0], {}).get("reservation") == name
                self.in_windows += theirs or gpu in window["gpus"]
                if gpu in window["gpus"] and not theirs:
                    self.say(f"{stay} began on GPU {gpu}, which was reserved for {name} from {begin:.2f} to {end:.2f}",
                             stay.key, stay.device, stay.begin)
                elif theirs and gpu not in window["gpus"] and "release" not in {o[0] for o in self.orders[stay.key]}:
                    self.say(f"{stay} of reservation {name} began on GPU {gpu}, not on {window['gpus']}", stay.key,
                             stay.device, stay.begin)

    def stopped_for_others(self, key, job):
        """Only jobs that agreed to it, and as often as it is told."""
        facts, marks = self.facts[key[0]], self.marks[key]
        told = job.get("preemptions", 0)
        if told and not (facts["requeue"] or facts["role"] == "checkpoint"):
            self.say(f"{name_of(key)} was stopped {told} times for others, and never agreed to it", key)
        saved = sum(m["what"] == "saved" for m in marks)
        if saved and facts["role"] != "checkpoint":
            self.say(f"{name_of(key)} ({facts['role']}) was told to save itself", key)
        asked = sum(kind in ("cancel", "requeue") and status in (200, None) for kind, _, _, status in self.orders[key])
        excused = any(self.lost_while(m["at"], m["at"]) or self.taken_back(m["at"]) for m in marks)
        if saved > told + asked and not excused:
            self.say(f"{name_of(key)} saved itself {saved} times, {asked} times for orders, and the daemon tells of "
                     f"{told}", key)
