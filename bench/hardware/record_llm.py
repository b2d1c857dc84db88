#!/usr/bin/env python3
"""Real LLM programs under real allocators on one GPU: what the device shows, what is asked of CUDA, what tensors hold, and every
line the programs print. For the study of early restarts (docs/memory.md).

    python3 bench/hardware/record_llm.py OUT [--seconds 130] [--preload libsmartmig-preload.so]     needs torch, transformers
    python3 bench/hardware/record_llm.py OUT --round 2 --seconds 235                                 and jax, where it is there
    python3 bench/hardware/record_llm.py OUT --dry --seconds 10                                      the flow alone, without any

The first round made research/data/llm_runs.csv, the second llm_runs_2.csv: other commands of the same programs, programs that the first did not
have (llm_programs_2.py), and JAX with its own allocator (llm_jax.py). convert_llm.py makes data/ of what is written here.

One process for each allocator imports torch and forks a process for each run. A group is a command under an allocator: two runs
with room (other input each), then four with the memory of a slice, enforced by the allocator itself, at 0.5 to 1.6 of what the first
runs held; without a cache what is shown is what is held, and limits can be set afterwards. OUT gets runs.csv, rows.csv (MiB), lines.csv,
machine.txt.
"""
import argparse, csv, glob, json, os, random, signal, struct, subprocess, sys, tempfile, threading, time, traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import llm_jax, llm_programs, llm_programs_2

MIB, ROOM_MIB, LONGEST_S = 1 << 20, 4000, 30
ALLOCATORS = {"default": "", "expandable": "expandable_segments:True", "async": "backend:cudaMallocAsync",
              "roundup": "roundup_power2_divisions:8", "collected": "garbage_collection_threshold:0.7", "uncached": "",
              "doubling": "", "reserved": "", "jax": "", "jaxreserved": ""}
ROUNDS = {1: ["default", "expandable", "async", "roundup", "collected", "uncached", "doubling", "reserved"],
          2: ["default", "expandable", "async", "roundup", "collected", "doubling", "reserved", "jax", "jaxreserved"]}


def programs_of(group):
    kind = group.split("/")[1]
    return llm_jax if kind in llm_jax.KINDS else llm_programs_2 if kind in llm_programs_2.KINDS else llm_programs


class Refused(Exception): pass
class Late(Exception): pass


class Run:
    """What a program sees of the recorder, and the recorder of the program."""
    def __init__(self, torch, task, parameters):
        self.torch, self.group, self.task, self.command = torch, task["group"], task, ""
        self.begin, self.seconds, self.rows, self.lines, self.arena, self.retries = time.monotonic(), parameters["seconds"], [], [], None, 0
        self.said_at, self.peak_held, self.peak_device, self.stop, self.note = -1.0, 0, 0, threading.Event(), ""
        self.pending_peak, self.saved, self.stats = 0, False, None

    def now(self): return time.monotonic() - self.begin

    def say(self, text):
        if self.now() - self.said_at < 0.06: return
        self.said_at = self.now()
        self.lines.append((self.said_at, text))

    def pace(self, share):
        ahead = share * self.seconds - self.now()
        if ahead > 0: time.sleep(ahead)
        if self.now() > LONGEST_S: raise Late()

    def empty(self):
        if not self.arena: self.torch.cuda.empty_cache()

    def requested(self):  # as the preload library counts it: (bytes now, requests, frees, refusals); none: -1
        files = glob.glob(f"{os.environ.get('SMARTMIG_MEMORY_DIR', '/nonexistent')}/{os.getpid()}-*.mem")
        if not files: return -1, 0, 0, 0
        words = struct.unpack("<32Q", open(files[-1], "rb").read(256))
        return words[8], words[11], words[12], words[13]

    def figures(self):  # shown, held at the most since last asked
        if self.task.get("dry"): return self.fake(), self.fake()
        if self.stats: return self.stats.figures(self.task["allocator"] == "jaxreserved")
        if self.arena:
            held, self.arena.held_peak = self.arena.held_peak, self.arena.held
            return self.arena.device, held
        if self.task["allocator"] == "uncached": return max(0, self.requested()[0]), max(0, self.requested()[0])
        s = self.torch.cuda.memory_stats_as_nested_dict(0)
        self.retries = s.get("num_alloc_retries", 0)
        self.torch.cuda.reset_peak_memory_stats(0)
        return s["reserved_bytes"]["all"]["current"], s["allocated_bytes"]["all"]["peak"]

    def held(self):
        if self.arena: return self.arena.held
        if self.task["allocator"] == "uncached" or self.task.get("dry"): return self.figures()[1]
        return self.torch.cuda.memory_allocated(0)

    def fake(self): return int(MIB * (200 + 100 * self.now()))

    def sample(self, last=False):
        try: shown, held = self.figures()
        except Exception as e:
            self.note = f"{type(e).__name__}: {e}"
            return
        asked = self.requested()
        self.pending_peak = max(self.pending_peak, held)
        self.peak_held, self.peak_device = max(self.peak_held, held), max(self.peak_device, shown)
        row = (self.now(), shown // MIB, self.pending_peak // MIB, asked[0] // MIB if asked[0] >= 0 else -1, asked[1], asked[2], asked[3])
        if last or not self.rows or abs(row[1] - self.rows[-1][1]) >= 1 or abs(row[2] - self.rows[-1][2]) > 0.01 * row[2] or row[0] - self.rows[-1][0] >= 0.5:
            self.rows.append(row)
            self.pending_peak = 0

    def watch(self):
        while not self.stop.wait(0.05): self.sample()

    def save(self, outcome):
        if self.saved: return
        self.saved = True
        self.sample(True)
        t = self.task
        answer = dict(t, outcome=outcome, seconds=self.now(), held_mib=self.peak_held // MIB, device_mib=self.peak_device // MIB, retries=self.retries,
                      command=self.command, rows=self.rows, lines=self.lines, note=self.note)
        with open(t["to"] + ".part", "w") as f: json.dump(answer, f)
        os.rename(t["to"] + ".part", t["to"])


def refuse(run, size):  # called by the arena, in the middle of a request
    run.lines.append((run.now(), f"OutOfMemoryError: out of memory trying to allocate {size / MIB:.2f} MiB"))
    run.save("refused")
    os._exit(0)


def work(torch, task):
    programs = programs_of(task["group"])
    parameters = programs.parameters(task["group"])
    run = Run(torch, task, parameters)
    source = random.Random(f"{task['group']}/{task['input']}")
    more = 2.718281828 ** (0.25 * source.gauss(0, 1))
    try:
        if task.get("dry"):
            threading.Thread(target=run.watch, daemon=True).start()
            for i in range(40):
                run.say(f"step {i + 1}/40")
                run.pace(0.3 * (i + 1) / 40)
                if run.fake() > (task["limit_mib"] or ROOM_MIB) * MIB: raise Refused()
            return run.save("ended")
        most = (task["limit_mib"] or ROOM_MIB) * MIB
        if programs is llm_jax:
            jax = llm_jax.start(most, total_memory(), task["allocator"] == "jaxreserved")
            run.stats = llm_jax.Stats(jax)
            if task["limit_mib"]: task["limit_mib"] = (jax.devices()[0].memory_stats() or {}).get("bytes_limit", most) // MIB
            run.begin = time.monotonic()
            threading.Thread(target=run.watch, daemon=True).start()
            getattr(llm_jax, parameters["kind"])(jax, run, parameters, source, more)
            return run.save("ended")
        if task["allocator"] in ("doubling", "reserved"):
            from llm_arena import Arena
            run.arena = Arena(torch, most, task["allocator"] == "reserved", lambda size: refuse(run, size))
        torch.cuda.init()
        torch.manual_seed(1)
        if not run.arena: torch.cuda.set_per_process_memory_fraction(min(1.0, most / torch.cuda.get_device_properties(0).total_memory), 0)
        torch.zeros(1, device="cuda")
        run.begin = time.monotonic()
        threading.Thread(target=run.watch, daemon=True).start()
        getattr(programs, parameters["kind"])(torch, run, parameters, source, more)
        run.save("ended")
    except Late: run.save("late")
    except Exception as e:
        text = f"{type(e).__name__}: {' '.join(str(e).split())[:160]}"
        run.lines.append((run.now(), text))
        refused = isinstance(e, Refused) or "out of memory" in text.lower() or "ALLOC_FAILED" in text or "RESOURCE_EXHAUSTED" in text
        if not refused: run.note = text + " " + traceback.format_exc()[-300:].replace("\n", " ; ")
        run.save("refused" if refused else "error")


def total_memory():
    try: return int(subprocess.run(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits"], capture_output=True, text=True, timeout=10).stdout.split()[0]) * MIB
    except Exception: return 143771 * MIB


def groups_of(o):
    if o.allocator.startswith("jax"): return [f"{o.allocator}/{k}/{n}" for n in (2, 3) for k in llm_jax.KINDS]
    if o.round == 1:
        kinds = list(llm_programs.KINDS)
        random.Random(o.allocator).shuffle(kinds)
        return [f"{o.allocator}/{k}/{n}" for n in range(2) for k in kinds]
    kinds = llm_programs.KINDS + llm_programs_2.KINDS  # every allocator begins elsewhere: time is not enough for all of them
    random.Random("second round").shuffle(kinds)
    begin = ROUNDS[2].index(o.allocator) * len(kinds) // 7
    return [f"{o.allocator}/{k}/{n}" for n in (2, 3) for k in kinds[begin:] + kinds[:begin]]


def limits_of(group, held_mib, allocator):
    r = random.Random(group + "limits")
    usable = 0.75 if allocator == "reserved" else 1
    return [int(held_mib / usable * r.uniform(*part)) for part in [(0.5, 0.8), (1.04, 1.3), (0.7, 0.96), (1.1, 1.6)]]


def allocate_runs(o):
    """The process of one allocator: forks runs, at most so many at once, until the deadline."""
    torch = None
    if not o.dry and not o.allocator.startswith("jax"):
        import torch
        try:
            if not o.plain: import transformers.models.bert.modeling_bert, transformers.models.gpt2.modeling_gpt2
            if not o.plain and o.round == 2: import transformers.models.llama.modeling_llama, transformers.models.t5.modeling_t5
        except Exception: traceback.print_exc()
    waiting = [dict(group=group, input=0, limit_mib=0) for group in groups_of(o)]
    children, number, room_runs = {}, 0, 4 if o.allocator == "uncached" else 2
    while (waiting or children) and time.time() < o.deadline:
        while waiting and len(children) < o.at_once and time.time() < o.deadline - 9:
            task = waiting.pop(0)
            number += 1
            task.update(run=f"{o.allocator}-{number:03d}", allocator=o.allocator, to=f"{o.scratch}/{o.allocator}-{number:03d}.json", dry=o.dry)
            pid = os.fork()
            if pid == 0:
                try: work(torch, task)
                except BaseException: traceback.print_exc()
                finally:
                    sys.stderr.flush()
                    os._exit(0)
            children[pid] = (task, time.time())
        for pid, (task, begun) in list(children.items()):
            if os.waitpid(pid, os.WNOHANG)[0] == 0:
                if time.time() - begun > LONGEST_S + 15: os.kill(pid, signal.SIGKILL)
                continue
            del children[pid]
            try: answer = json.load(open(task["to"]))
            except Exception: continue
            if "forked subprocess" in answer["note"] and not o.plain:  # an import has touched the GPU: each run imports for itself
                for other in children: os.kill(other, signal.SIGKILL)
                os.execv(sys.executable, [sys.executable, *sys.argv, "--plain"])
            if task["limit_mib"] == 0 and answer["outcome"] == "ended":
                more = [dict(group=task["group"], input=task["input"] + 1, limit_mib=0)] if task["input"] + 1 < room_runs else []
                if task["input"] == 0 and o.allocator != "uncached":
                    more += [dict(group=task["group"], input=2 + i, limit_mib=n) for i, n in enumerate(limits_of(task["group"], answer["held_mib"], o.allocator))]
                waiting = more + waiting
        time.sleep(0.02)
    for pid in children: os.kill(pid, signal.SIGKILL)


def write(o, answers):
    runs = csv.writer(open(f"{o.out}/runs.csv", "w"), lineterminator="\n")
    rows = csv.writer(open(f"{o.out}/rows.csv", "w"), lineterminator="\n")
    lines = csv.writer(open(f"{o.out}/lines.csv", "w"), lineterminator="\n")
    runs.writerow("run group allocator kind input limit_mib outcome seconds held_mib device_mib retries command note".split())
    rows.writerow("run at_ms device_mib held_mib requested_mib requests frees refusals".split())
    lines.writerow("run at_ms text".split())
    for a in answers:
        runs.writerow([a["run"], a["group"], a["allocator"], a["group"].split("/")[1], a["input"], a["limit_mib"], a["outcome"],
                       f"{a['seconds']:.2f}", a["held_mib"], a["device_mib"], a["retries"], a["command"], a["note"]])
        for row in a["rows"]: rows.writerow([a["run"], int(1000 * row[0]), *row[1:]])
        for at, text in a["lines"]: lines.writerow([a["run"], int(1000 * at), text])


def machine():
    from importlib import metadata
    versions = []
    for name in ("torch", "transformers", "jax"):
        try: versions.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError: pass
    try: gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True, timeout=20).stdout.strip()
    except Exception: gpu = "no GPU"
    return f"{gpu.replace(', ', ', driver ')}, Linux {os.uname().release}, {', '.join(versions)}"


def main():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--seconds", type=float, default=130)
    p.add_argument("--preload", default="")
    p.add_argument("--at-once", type=int, default=3, help="runs of one allocator at a time")
    p.add_argument("--round", type=int, default=1, choices=[1, 2])
    p.add_argument("--dry", action="store_true")
    for hidden in ("--allocator", "--scratch"): p.add_argument(hidden, help=argparse.SUPPRESS)
    p.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    o = p.parse_args()
    if o.allocator: return allocate_runs(o)
    os.makedirs(o.out, exist_ok=True)
    with open(f"{o.out}/machine.txt", "w") as f: print(machine(), file=f)
    with tempfile.TemporaryDirectory() as scratch:
        deadline, started = time.time() + o.seconds - 4, []
        log = open(f"{o.out}/log.txt", "w")
        for name in ROUNDS[o.round]:
            setting = ALLOCATORS[name]
            env = dict(os.environ, PYTORCH_NVML_BASED_CUDA_CHECK="1", OMP_NUM_THREADS="1", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
            for variable in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"): env.pop(variable, None)
            if setting: env["PYTORCH_CUDA_ALLOC_CONF"] = env["PYTORCH_ALLOC_CONF"] = setting
            if name == "uncached": env["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
            if o.preload and os.path.exists(o.preload):
                os.makedirs(f"{scratch}/{name}", mode=0o700)
                env.update(LD_PRELOAD=os.path.abspath(o.preload), SMARTMIG_MEMORY_DIR=f"{scratch}/{name}")
            command = [sys.executable, os.path.abspath(__file__), o.out, "--allocator", name, "--scratch", scratch, "--deadline", str(deadline), "--at-once", str(o.at_once),
                       "--round", str(o.round)]
            started.append(subprocess.Popen(command + (["--dry"] if o.dry else []), env=env, stdout=log, stderr=log, start_new_session=True))
        for process in started:
            try: process.wait(max(1, deadline + 3 - time.time()))
            except subprocess.TimeoutExpired: pass
            try: os.killpg(process.pid, signal.SIGKILL)  # and the runs it forked
            except ProcessLookupError: pass
        answers = []
        for path in sorted(glob.glob(f"{scratch}/*.json")):
            try: answers.append(json.load(open(path)))
            except Exception as e: print(path, e, file=log)
        write(o, answers)
    outcomes = {}
    for a in answers: outcomes.setdefault(a["allocator"], []).append(a["outcome"])
    for name, all_of in sorted(outcomes.items()): print(name, {k: all_of.count(k) for k in sorted(set(all_of))})
    for a in answers:
        if a["outcome"] == "error" or a["note"]: print(a["run"], a["group"], a["outcome"], a["note"][:300])


if __name__ == "__main__": main()
