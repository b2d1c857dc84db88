#!/usr/bin/env python3
"""What jobs and GPUs do wrong, with a real daemon and emulated GPUs: jobs that die of memory at once, that leave
processes behind, that ignore their checkpoint signal, that write 100 MB without a newline, and memory that a dead
process holds: tests/e2e/faults_test.py BUILD-DIRECTORY [TEST...]."""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True  # nothing beside the sources
import harness
from harness import check, equal, until

# Each job gets the tightest slice that has its memory, which lets the tests name slices; samples are quick.
TIGHT = 'policy = "migm-b"\n[energy]\nsample = "0.1s"\n'
MIB = 1 << 20
OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."


class Machine(harness.Station):
    def __init__(self, build):
        super().__init__(build)
        self.emulated = f"{self.root}/bin/nvml-sim/smartmig-emulated-job"
        self.ctl = f"{self.root}/bin/nvml-sim/nvml-sim-ctl"
        shutil.copy(os.path.join(build, "nvml-sim/nvml-sim-ctl"), self.ctl)

    def job(self, curve, work_s, *more):
        return [self.emulated, "--mem-curve", curve, "--work-s", str(work_s), "--steps", "1", *more]

    def processes(self):
        """Processes of emulated jobs of this installation, however they were started."""
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == self.emulated:
                    found.append(int(entry))
        return found

    def trouble(self, *words):
        subprocess.run([self.ctl, words[0], f"{self.state}/machine", *words[1:]], check=True, timeout=20,
                       env={**os.environ, "LD_LIBRARY_PATH": f"{self.root}/bin/nvml-sim"})

    def run(self, *arguments, **more):
        return subprocess.run([self.program, *arguments, "--socket", self.socket], capture_output=True, timeout=60,
                              **more)

    def slices(self):
        return [s for gpu in self.client().get("/v1/gpus").json["gpus"] for s in gpu["slices"]]

    def used_mib(self):
        return sum(s["used_mib"] for s in self.slices())

    def notes(self, kind):
        lines = self.client().get("/v1/journal").body.decode().splitlines()
        return [line for line in map(json.loads, lines) if line.get("note") == kind]

    def daemon_kib(self, what="VmRSS"):
        with open(f"/proc/{self.process.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(what + ":"))


def running(build, gpus="1xa100-40gb", config=TIGHT):
    return harness.running(Machine(build), gpus, config=config)


def memory_of(slice_name):
    """"2g.10gb@4" -> 10"""
    return int(slice_name.split("@")[0].split(".")[1].rstrip("gb"))


def slices_used(machine, number):
    """By attempt, as the job itself was told."""
    attempts = machine.client().job(number)["attempt"]
    logs = (machine.client().get(f"/v1/jobs/{number}/log?attempt={a + 1}").body.decode() for a in range(attempts))
    return [log.splitlines()[0] for log in logs]


def on_slice(command):
    return ["sh", "-c", 'echo "$SMARTMIG_SLICE"; exec "$@"', "sh", *command]


def the_gpu_is_whole_again(machine):
    """A job that takes all of it ends well: nothing is left anywhere."""
    end = machine.client().wait(machine.client().sh("true", min_slices=7))
    equal((end["state"], end["reason"]), ("done", ""), "a job on the whole GPU")
    equal(machine.processes(), [], "processes that were left behind")


def out_of_memory_at_once(build):
    with running(build) as m:
        c = m.client()
        number = c.submit(on_slice(m.job("0:12G", 0.1)))
        end = c.wait(number)
        equal((end["state"], end["reason"]), ("done", ""), "a job of 12 GB that nothing was known of")
        sizes = [memory_of(name) for name in slices_used(m, number)]
        check(len(sizes) > 1 and sizes == sorted(set(sizes)), f"each attempt on a larger slice: {sizes}")
        equal(sizes[-1], 20, "GB of the slice that was enough")
        equal(end["oom_restarts"], len(sizes) - 1, "restarts for want of memory")
        words = [note["words"] for note in m.notes("requeued") if note["job"] == number]
        equal(len(words), len(sizes) - 1, "requeues on record")
        check(all("out of memory on" in w and "larger slice" in w for w in words), f"why it was requeued: {words}")
        # What it took is known from then on.
        again = c.wait(c.submit(on_slice(m.job("0:12G", 0.1))))
        equal((again["state"], again["attempt"]), ("done", 1), "the same command again")
        the_gpu_is_whole_again(m)


def a_job_that_runs_once(build):
    with running(build) as m:
        c = m.client()
        for wish, words in (("once", "--no-requeue forbids a restart"), ("oom_retry", "--no-oom-retry")):
            number = c.submit(on_slice(m.job("0:12G", 0.1)), mem_mib=4000, **{wish: wish == "once"})
            end = c.wait(number)
            equal((end["state"], end["attempt"], end["oom_restarts"]), ("failed", 1, 0), f"a job with {wish}")
            check(end["reason"].startswith("out of GPU memory on ") and words in end["reason"], end["reason"])
        the_gpu_is_whole_again(m)


def more_memory_than_any_slice_has(build):
    with running(build) as m:
        c = m.client()
        number = c.submit(on_slice(m.job("0:60G", 0.1)))
        end = c.wait(number)
        equal(end["state"], "failed", "a job of 60 GB on a GPU of 40")
        check(end["reason"].startswith("out of GPU memory on 7g.40gb@0") and "no slice of this fleet has more than "
              "40320 MiB" in end["reason"] and "requested" in end["reason"], f"its reason: {end['reason']}")
        sizes = [memory_of(name) for name in slices_used(m, number)]
        check(sizes == sorted(set(sizes)) and sizes[-1] == 40, f"each attempt on a larger slice: {sizes}")
        time.sleep(0.5)
        equal(c.job(number)["attempt"], len(sizes), "attempts, a while later")
        the_gpu_is_whole_again(m)


def killed_while_it_holds_memory(build):
    with running(build) as m:
        c = m.client()
        # At once, before anybody could look: nothing says that memory was the cause.
        number = c.sh(" ".join(m.job("0:4800M", 60)) + " & kill -9 $$")
        end = c.wait(number)
        equal((end["state"], end["attempt"], end["exit_signal"]), ("failed", 1, 9), "killed at once")
        check("signal 9" in end["reason"], f"its reason: {end['reason']}")
        until(lambda: m.used_mib() == 0 and not m.processes(), "its slice is free")
        # Its last words say it.
        number = c.sh(f"[ $SMARTMIG_ATTEMPT = 1 ] || exit 0; echo '{OUT_OF_MEMORY}'; kill -9 $$")
        end = c.wait(number)
        equal((end["state"], end["attempt"], end["oom_restarts"]), ("done", 2, 1), "killed after it said why")
        # Its slice was seen full, and it may be run again; else somebody may have meant it.
        number = c.submit(m.job("0:4800M", 60))
        until(lambda: c.job(number)["peak_mib"] == 4800, "4800 MiB of 4864 MiB are seen")
        os.kill(m.processes()[0], signal.SIGKILL)
        equal(c.wait(number)["state"], "failed", "killed with its slice full, without --requeue")
        until(lambda: m.used_mib() == 0 and not m.processes(), "its slice is free again")
        number = c.submit(m.job("0:4800M", 0.7), requeue=True)
        until(lambda: c.job(number)["peak_mib"] == 4800, "4800 MiB of 4864 MiB are seen")
        os.kill(m.processes()[0], signal.SIGKILL)
        end = c.wait(number)
        equal((end["state"], end["attempt"], end["oom_restarts"]), ("done", 2, 1), "killed with its slice full")
        check(memory_of(end["slice"]) > 5, f"it ended on {end['slice']}")
        words = [note["words"] for note in m.notes("requeued") if note["job"] == number]
        check(len(words) == 1 and "4800 MiB of 4864 MiB" in words[0], f"why it was requeued: {words}")
        # Killed with room left: that was not memory.
        number = c.submit(m.job("0:2G", 60))
        until(lambda: c.job(number)["peak_mib"] == 2048, "2048 MiB are seen")
        os.kill(m.processes()[0], signal.SIGKILL)
        end = c.wait(number)
        equal((end["state"], end["attempt"]), ("failed", 1), "killed with room left")
        the_gpu_is_whole_again(m)


# Two that hold memory in sessions of their own, one of them the child of a parent that is gone, deaf to polite signals;
# and fifty that hold none.
FAMILY = """deaf="--ignore-signal TERM,INT,HUP"
setsid {job} $deaf --mem-curve 0:1G --work-s 600 &
(setsid sh -c '{job} '"$deaf"' --mem-curve 0:2G --work-s 600 & exit' &)
for i in $(seq 50); do (trap '' TERM HUP; setsid sleep 601) & done
"""


def sleepers():
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and open(f"/proc/{entry}/cmdline").read() == "sleep\000601\000":
                found.append(int(entry))
    return found


def a_family_of_processes(build):
    with running(build) as m:
        c = m.client()
        family = FAMILY.format(job=m.emulated)
        there = lambda: len(m.processes()) == 3 and len(sleepers()) == 50 and m.used_mib() == 3584

        def all_gone(how):
            until(lambda: not m.processes() and not sleepers(), f"its processes are gone after {how}", 5)
            until(lambda: m.used_mib() == 0, f"its memory is free after {how}")
            the_gpu_is_whole_again(m)

        # The command ends and leaves the others behind.
        number = c.sh(f"{family}{m.emulated} --mem-curve 0:512M --work-s 0.3")
        until(there, "3 GiB of children and 512 MiB of its own are counted")
        end = c.wait(number)
        equal((end["state"], end["peak_mib"]), ("done", 3584), f"a job with a family ({end['reason']})")
        all_gone("its end")
        # It is cancelled.
        number = c.sh(f"{family}{m.emulated} --mem-curve 0:512M --work-s 600", grace_s=0.3)
        until(there, "all of them are counted")
        equal(c.ask("DELETE", f"/v1/jobs/{number}").status, 200, "cancel")
        equal(c.wait(number)["state"], "cancelled", "the job")
        all_gone("the cancel")
        # Its command is killed from outside, then its supervisor.
        for victim in ("command", "supervisor"):
            number = c.sh(f"{family}exec {m.emulated} --mem-curve 0:512M --work-s 600")
            until(there, "all of them are counted")
            supervisor = m.supervisors()[0]
            with open(f"{m.state}/spool/{number}/1/record") as record:
                check(f"pid {supervisor}\n" in record.read(), "the supervisor is the job's")
            command = next(pid for pid in m.processes() if parent_of(pid) == supervisor and group_of(pid) == pid
                           and b"0:512M" in open(f"/proc/{pid}/cmdline", "rb").read())
            os.kill(command if victim == "command" else supervisor, signal.SIGKILL)
            equal(c.wait(number)["state"], "failed", f"the job whose {victim} was killed")
            all_gone(f"the kill of its {victim}")


def stat_field(pid, field):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rsplit(")", 1)[1].split()[field])


def parent_of(pid):
    return stat_field(pid, 1)


def group_of(pid):
    return stat_field(pid, 2)


DEAF = {"checkpoint_signal": "USR1", "grace_s": 1}
KILLED = "killed, for it did not end after SIGUSR1"


def a_checkpoint_signal_that_is_ignored(build):
    with running(build) as m:
        c = m.client()
        number = c.submit(m.job("0:1G", 600, "--ignore-signal", "USR1"), **DEAF)
        until(lambda: c.job(number)["peak_mib"] == 1024, "it runs")
        began = time.monotonic()
        equal(c.post(f"/v1/jobs/{number}/requeue").status, 200, "requeue")
        until(lambda: c.job(number)["attempt"] == 2 and c.job(number)["state"] == "running", "its second attempt")
        took = time.monotonic() - began
        check(0.9 < took < 5, f"the second attempt began after {took:.2f} s; the grace is 1 s")
        words = [note["words"] for note in m.notes("requeued") if note["job"] == number]
        equal(words, [f"requeued by request; {KILLED}"], "the record")
        until(lambda: len(m.processes()) == 1, "one process of the job is there")
        c.ask("DELETE", f"/v1/jobs/{number}")
        equal(c.wait(number)["state"], "cancelled", "the job")
        # Growth that will not fit the slice: it is to move early, and does so without its checkpoint.
        number = c.submit(on_slice(m.job("0:500M,60:18G", 3, "--ignore-signal", "USR1")), estimate_s=20, **DEAF)
        end = c.wait(number, 40)
        equal((end["state"], end["reason"]), ("done", ""), "a job that grows and ignores its signal")
        early = [note for note in m.notes("early_restart") if note["job"] == number]
        check(early, f"it was restarted early: {m.notes('requeued')}")
        words = [note["words"] for note in m.notes("requeued") if note["job"] == number]
        check(any(w.startswith("early restart: ") and w.endswith(KILLED) for w in words), f"the record: {words}")
        sizes = [memory_of(name) for name in slices_used(m, number)]
        check(sizes == sorted(set(sizes)) and len(sizes) > 1, f"each attempt on a larger slice: {sizes}")
        the_gpu_is_whole_again(m)


# An LLM that decodes: memory grows with its tokens, which it prints; the emulated job beside it holds the memory.
DECODES = '''echo "$SMARTMIG_SLICE"; total=$1; shift; "$@" & n=0
while kill -0 $! 2>/dev/null; do n=$((n + 16)); echo "generated $n/$total tokens"; sleep 0.1; done; wait $!'''


def decoding(machine, total, curve, work_s):
    return ["sh", "-c", DECODES, "sh", str(total), *machine.job(curve, work_s)]


def what_a_job_prints_tells_whether_it_will_fit(build):
    """The same growth: with 3000 tokens to come it moves before it fails, with 600 it ends where it is."""
    with running(build) as m:
        c = m.client()
        short = c.submit(decoding(m, 600, "0:500M,20:8G", 0.6))
        end = c.wait(short, 60)
        equal((end["state"], end["attempt"], end["oom_restarts"]), ("done", 1, 0), "one that fits")
        number = c.submit(decoding(m, 3000, "0:500M,20:8G", 2))
        until(lambda: any(note["job"] == number for note in m.notes("early_restart")), "it is restarted early", 30)
        log = c.get(f"/v1/jobs/{number}/log?attempt=1").body.decode()
        check("out of memory" not in log.lower(), f"it did not fail before: {log[-300:]}")
        until(lambda: c.job(number)["attempt"] == 2 and c.job(number)["state"] == "running", "its second attempt", 20)
        until(lambda: c.get(f"/v1/jobs/{number}/log?attempt=2").body, "its second attempt prints", 20)
        sizes = [memory_of(name) for name in slices_used(m, number)]
        check(sizes[1] > sizes[0], f"on a larger slice: {sizes}")
        c.ask("DELETE", f"/v1/jobs/{number}")
        equal(c.wait(number)["state"], "cancelled", "the job")


def memory_held_by_a_dead_process(build):
    with running(build) as m:
        c = m.client()
        m.trouble("fault", "stuck-memory", "--gpu", "0", "--count", "1")
        number = c.submit(m.job("0:3G", 600))
        until(lambda: c.job(number)["peak_mib"] == 3072, "it holds 3 GiB")
        pid = m.processes()[0]
        os.kill(pid, signal.SIGKILL)
        equal(c.wait(number)["state"], "failed", "the killed job")
        place = c.job(number)["slice"]

        def bad_slice():
            return next((s for s in m.slices() if s["state"] == "quarantined"), None)

        dead = until(bad_slice, "its slice is out of service")
        words = f"dead process {pid} holds 3072 MiB there"
        equal((dead["name"], dead["job"], dead["used_mib"]), (place, None, 3072), "what the interface says of it")
        check(words in dead["words"], f"its words: {dead['words']}")
        note = m.notes("slice_quarantined")[-1]
        check(note["slice"] == place and words in note["words"], f"the journal: {note}")
        check(f"OUT OF SERVICE: {place} of GPU 0: {words}".encode() in m.run("queue").stdout, "smartmig queue names it")
        check(b"|dead" in m.run("top", "--once").stdout, "smartmig top shows it")
        metrics = c.get("/metrics").body.decode()
        check(f"}} {3072 * MIB}\n" in next(line + "\n" for line in metrics.splitlines()
                                         if line.startswith("smartmig_dead_process_memory_bytes{")), "the metric")
        check("46116860184" not in metrics, "the metrics name a job that does not exist")
        equal(c.get("/v1/gpus").json["gpus"][0]["state"], "ok", "the GPU")
        # The rest of the GPU works.
        ends = [c.wait(n) for n in [c.submit(m.job("0:1G", 0.05)) for _ in range(4)]]
        equal([e["state"] for e in ends], ["done"] * 4, "jobs beside it")
        check(all(e["slice"] != place for e in ends), f"slices that were used: {[e['slice'] for e in ends]}")
        # What needs that part of it waits and is told why; nobody takes it for a job of a year.
        waits = c.sh("true", min_slices=7)
        why = c.get(f"/v1/jobs/{waits}/why").json
        equal(why["code"], "slice_quarantined", f"why a job on the whole GPU waits ({why['sentence']})")
        check(f"{place} of GPU 0: {words}" in why["sentence"], f"the reason names the slice: {why['sentence']}")
        answer = m.run("why", str(waits))
        check(words.encode() in answer.stdout, f"smartmig why: {answer}")
        eta = c.get(f"/v1/jobs/{waits}/eta")
        check(eta.status != 200 or eta.json["finish_at"]["p50"] < time.time() + 86400, f"eta: {eta}")
        # A new daemon finds it out again.
        m.end()
        m.serve("1xa100-40gb", config=TIGHT)
        dead = until(bad_slice, "it is out of service under the next daemon, too")
        equal(dead["name"], place, "the slice")
        equal(c.job(waits)["state"], "queued", "the job on the whole GPU")
        # The memory is free: the slice returns, and the job runs.
        m.trouble("clear", "stuck-memory")
        equal(c.wait(waits)["state"], "done", "the job on the whole GPU")
        equal(bad_slice(), None, "slices out of service")
        equal(m.notes("slice_free")[-1]["slice"], place, "the journal")
        check(b"OUT OF SERVICE" not in m.run("queue").stdout, "smartmig queue names it no more")
        the_gpu_is_whole_again(m)


MANY = 100_000_000  # bytes
FLOOD = """import os, sys
def out(count):
    block = b'x' * 1000000
    while count > 0: count -= os.write(1, block[:count])
"""


def a_log_of_100_mb_without_a_newline(build):
    with running(build, config=TIGHT + "[logs]\nmax_mib = 8\n") as m:
        c = m.client()
        python = lambda text, **spec: c.submit([sys.executable, "-c", FLOOD + text], **spec)
        equal(c.wait(c.sh("true"))["state"], "done", "a first job")
        before = m.daemon_kib()
        # It ends well; the log has its bound, and its end is there, for a late reader and for one who follows.
        number = python(f"os.write(1, b'BEGIN'); out({MANY}); os.write(1, b'END')")
        until(lambda: c.job(number)["state"] != "queued", "it starts")
        follow = subprocess.Popen([m.program, "log", "-f", str(number), "--socket", m.socket],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        size, tail = 0, b""
        while part := follow.stdout.read(1 << 16):
            size, tail = size + len(part), (tail + part)[-100:]
        _, status, used = os.wait4(follow.pid, 0)
        follow.returncode = status
        end = c.wait(number)
        equal((end["state"], end["reason"]), ("done", ""), "a job of 100 MB of output")
        check(status == 0 and tail.endswith(b"END"), f"smartmig log -f ended with {status}: ...{tail[-20:]!r}")
        check(size <= MANY + 4096, f"smartmig log -f gave {size} bytes")
        check(used.ru_maxrss < 64 * 1024, f"smartmig log -f took {used.ru_maxrss} KiB")
        kept = [os.path.getsize(f"{m.state}/spool/{number}/1/{name}") for name in ("log", "log.1")]
        check(sum(kept) <= 8 * MIB + 4096, f"bytes of log and log.1: {kept}")
        shown = m.run("log", str(number))
        check(shown.returncode == 0 and shown.stdout.endswith(b"END"), f"smartmig log: ...{shown.stdout[-40:]!r}")
        equal(len(shown.stdout), sum(kept), "bytes that smartmig log shows")
        first, rest = shown.stdout.split(b"\n", 1)
        equal(first.decode(), f"[smartmig: {MANY + 8 - len(rest)} bytes dropped]", "what is said to be missing")
        equal(rest.strip(b"x"), b"END", "what is left")
        # Its last words are found behind all that, also where they lie across two parts of the log.
        message = f"os.write(1, {OUT_OF_MEMORY.encode()!r}); sys.exit(1)"
        for at in (MANY, 4 * MIB - 20, 8 * MIB - 20):
            number = python(f"if os.environ['SMARTMIG_ATTEMPT'] == '2': sys.exit(0)\nout({at}); {message}")
            end = c.wait(number)
            equal((end["state"], end["attempt"], end["oom_restarts"]), ("done", 2, 1),
                  f"a job that runs out of memory after {at} bytes ({end['reason']})")
        # Words that are not at the end do not count.
        number = python(f"os.write(1, {OUT_OF_MEMORY.encode()!r}); out({MANY // 50}); sys.exit(1)")
        end = c.wait(number)
        equal((end["state"], end["attempt"], end["oom_restarts"]), ("failed", 1, 0), "one that went on after it")
        grown = m.daemon_kib("VmHWM") - before
        check(grown < 32 * 1024, f"the daemon grew by {grown} KiB from {before} KiB")
        the_gpu_is_whole_again(m)


harness.main([out_of_memory_at_once, a_job_that_runs_once, more_memory_than_any_slice_has,
              killed_while_it_holds_memory, a_family_of_processes, a_checkpoint_signal_that_is_ignored,
              what_a_job_prints_tells_whether_it_will_fit, memory_held_by_a_dead_process,
              a_log_of_100_mb_without_a_newline], "faults")
