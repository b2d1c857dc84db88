#!/usr/bin/env python3
"""The jobs and the meter of bench/hardware/h200_queue.sh: plain PyTorch, random weights, random data, a fixed amount of work.

    h200_jobs.py batch [SEED [SCALE]]     the batch, one job a line: NAME KIND STEPS; with a seed: 16 jobs of six kinds in random
                                          order, sizes from 0.3 to 2.5, times SCALE
    h200_jobs.py arrivals SEED SECONDS GAP BATCH   a stream of jobs of that batch (a file), one a line: AT ID NAME KIND STEPS SLACK;
                                          Poisson with GAP seconds between two; SLACK: its deadline is so many times its time on a seventh
    h200_jobs.py job NAME KIND STEPS      one job; KIND as in data/speeds.csv: bert-train-32, resnet50-train-64,
                                          resnet50-infer-8, llm-decode-8; mlp-small uses little of the GPU, augment is bound by the host
    h200_jobs.py oom GIB SECONDS          asks for GIB at once, then works for SECONDS
    h200_jobs.py grow MIB_PER_S GIB       grows steadily up to GIB, then ends
    h200_jobs.py meter FILE               board energy counter (mJ) and watts ten times a second, processes (FILE.processes) and their
                                          use of SMs and memory (FILE.use, in per cent) once a second, until it is ended

A job appends one JSON line to $H200_RESULTS: begin (process), ready (model built, first step done), end, all Unix seconds; its name is
$H200_AS where that is set. With $H200_STANDIN=SECONDS, for machines without a GPU, a job sleeps: so long before its first CUDA call, which
is a real one of whatever libcuda.so.1 is found, and then for its steps, less on larger slices.
"""
import ctypes, json, os, random, sys, time

BEGIN = time.time()
# Steps: about six to nine seconds each on a whole H200 without the start-up.
BATCH = [("bert", "bert-train-32"), ("infer", "resnet50-infer-8"), ("resnet", "resnet50-train-64"), ("llm", "llm-decode-8")]
STEPS = {"bert-train-32": 230, "resnet50-infer-8": 1900, "resnet50-train-64": 340, "llm-decode-8": 3200, "mlp-small": 6000, "augment": 450}
SIX = BATCH + [("mlp", "mlp-small"), ("augment", "augment")]
SIZES = [1.0, 1.0, 1.0, 1.0, 0.8, 0.8, 0.8, 0.8, 1.2, 1.2, 1.2, 1.2, 1.0, 1.0]


def sized(kind, draw, scale):
    return max(1, int(STEPS[kind] * scale * 0.3 * (2.5 / 0.3) ** draw))


def seeded(seed, scale=1.0):
    """Every kind twice at least, the rest by chance."""
    draw = random.Random(seed)
    kinds = SIX * 2 + [draw.choice(SIX) for _ in range(16 - 2 * len(SIX))]
    draw.shuffle(kinds)
    for i, (name, kind) in enumerate(kinds):
        print(f"{name}{i + 1} {kind} {sized(kind, draw.random(), scale)}")


def arrivals(seed, seconds, gap, batch):
    jobs = [line.split() for line in open(batch) if line.strip()]
    draw, at, i = random.Random(seed), 0.0, 0
    while (at := at + draw.expovariate(1 / gap)) < seconds:
        i += 1
        print(f"{at:.2f} s{i}", *draw.choice(jobs), f"{draw.uniform(1.2, 4):.2f}")


def batch():
    for i, size in enumerate(SIZES):
        name, kind = BATCH[i % len(BATCH)]
        print(f"{name}{i // len(BATCH) + 1} {kind} {int(STEPS[kind] * size)}")


def tell(**facts):
    line = json.dumps(facts)
    print(line, flush=True)
    if path := os.environ.get("H200_RESULTS"):
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(fd, (line + "\n").encode())
        os.close(fd)


def bert_train():
    import torch
    from torch import nn
    layer = nn.TransformerEncoderLayer(768, 12, 3072, dropout=0.1, activation="gelu", batch_first=True)

    class Bert(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = nn.Embedding(30522, 768), nn.Embedding(512, 768)
            self.body = nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)
            self.head = nn.Linear(768, 30522)

        def forward(self, ids):
            return self.head(self.body(self.words(ids) + self.places.weight[: ids.shape[1]]))

    with torch.device("cuda"):
        model = Bert()
    model.cuda().train()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step(_):
        ids = torch.randint(0, 30522, (32, 128), device="cuda")
        with torch.autocast("cuda", torch.bfloat16):
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


def resnet50():
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, inner, width, stride):
            super().__init__()
            out = width * 4
            self.body = nn.Sequential(
                nn.Conv2d(inner, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
                nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
            self.skip = nn.Sequential() if inner == out and stride == 1 else nn.Sequential(
                nn.Conv2d(inner, out, 1, stride, bias=False), nn.BatchNorm2d(out))

        def forward(self, x):
            return torch.relu_(self.body(x) + self.skip(x))

    layers, inner = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)], 64
    for stage, depth in enumerate((3, 4, 6, 3)):
        for i in range(depth):
            width = 64 << stage
            layers.append(Block(inner, width, 2 if i == 0 and stage else 1))
            inner = width * 4
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))
    return net.cuda().to(memory_format=torch.channels_last)


def resnet50_train():
    import torch
    model = resnet50().train()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    images = torch.randn(64, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
    labels = torch.randint(0, 1000, (64,), device="cuda")

    def step(_):
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


def resnet50_infer():
    import torch
    model = resnet50().half().eval()
    images = torch.randn(8, 3, 224, 224, device="cuda", dtype=torch.half).to(memory_format=torch.channels_last)

    def step(_):
        with torch.inference_mode():
            model(images).argmax(1).cpu()  # an answer for each request
    return step


def llm_decode():
    """24 layers of 2048, fp16, batch 8, a cache of 1024 places: one token for each request a step, as a CUDA graph."""
    import torch
    import torch.nn.functional as F
    width, heads, layers, batch, places, words = 2048, 16, 24, 8, 1024, 32000
    make = lambda *shape: torch.randn(*shape, device="cuda", dtype=torch.half) * 0.02
    embed, head = make(words, width), make(words, width)
    weights = [(make(3 * width, width), make(width, width), make(4 * width, width), make(width, 4 * width)) for _ in range(layers)]
    cache = [(make(batch, heads, places, width // heads), make(batch, heads, places, width // heads)) for _ in range(layers)]
    ids, at = torch.zeros(batch, dtype=torch.long, device="cuda"), torch.zeros(1, dtype=torch.long, device="cuda")
    order = torch.arange(places, device="cuda")

    def token():
        x = embed[ids]
        seen = (order <= at).view(1, 1, 1, places)
        for (qkv, out, up, down), (keys, values) in zip(weights, cache):
            q, k, v = F.linear(F.layer_norm(x, (width,)), qkv).view(batch, 3, heads, width // heads).unbind(1)
            keys.index_copy_(2, at, k.unsqueeze(2))
            values.index_copy_(2, at, v.unsqueeze(2))
            y = F.scaled_dot_product_attention(q.unsqueeze(2), keys, values, attn_mask=seen)
            x = x + F.linear(y.reshape(batch, width), out)
            x = x + F.linear(F.gelu(F.linear(F.layer_norm(x, (width,)), up)), down)
        ids.copy_(F.linear(F.layer_norm(x, (width,)), head).argmax(1))
        at.copy_((at + 1) % places)

    graph = torch.cuda.CUDAGraph()
    with torch.inference_mode():
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            token()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            token()

    def step(n):
        graph.replay()
        if n % 8 == 7: ids.cpu()  # tokens leave in groups
    return step


def mlp_small():
    """Many small kernels: a few SMs are enough, and the processor that launches them is the limit."""
    import torch
    from torch import nn
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    data, labels = torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    def step(_):
        nn.functional.cross_entropy(model(data), labels).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


def augment():
    """Images are made ready on one core and then shown to a small network."""
    import torch
    from torch import nn
    model = nn.Sequential(nn.Conv2d(3, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 64, 3, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)).cuda()
    opt = torch.optim.SGD(model.parameters(), lr=1e-3)
    images, labels = torch.rand(32, 3, 160, 160), torch.randint(0, 10, (32,), device="cuda")

    def step(_):
        shown = nn.functional.interpolate(images.flip(3), size=(176, 176), mode="bilinear")[:, :, 8:168, 8:168]
        shown = (shown - shown.mean((2, 3), keepdim=True)) / shown.std((2, 3), keepdim=True)
        nn.functional.cross_entropy(model(shown.cuda()), labels).backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
    return step


def told(name):
    """As the environment is now: a job that began before it had a slice learned of it at its first CUDA call."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_char_p
    return (libc.getenv(name.encode()) or b"").decode()


KINDS = {"mlp-small": mlp_small, "augment": augment, "bert-train-32": bert_train, "resnet50-train-64": resnet50_train, "resnet50-infer-8": resnet50_infer, "llm-decode-8": llm_decode}


def stand_in(name, kind, steps, before):
    time.sleep(before)
    imported = time.time()
    cuda = ctypes.CDLL("libcuda.so.1")
    if cuda.cuInit(0): sys.exit("no GPU")
    begun = time.time()
    time.sleep(before / 4)
    ready, slices = time.time(), int((told("SMARTMIG_SLICE") or "1g")[0])
    time.sleep(steps / STEPS[kind] * before * 3 / slices ** (0.2 if kind in ("mlp-small", "augment") else 0.7))
    tell(name=name, kind=kind, steps=steps, begin=BEGIN, imported=imported, cuda=begun, ready=ready, end=time.time(), attempt=os.environ.get("SMARTMIG_ATTEMPT", ""),
         slice=told("SMARTMIG_SLICE"), job=os.environ.get("SMARTMIG_JOB_ID", ""), sms=0, peak_mib=100)


def job(name, kind, steps):
    name = os.environ.get("H200_AS") or name
    if before := os.environ.get("H200_STANDIN"): return stand_in(name, kind, steps, float(before))
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.backends.cuda.matmul.allow_tf32 = True
    imported = time.time()
    torch.cuda.init()
    begun = time.time()
    step = KINDS[kind]()
    for n in range(2): step(n)
    torch.cuda.synchronize()
    ready = time.time()
    for n in range(steps):
        step(n)
        if n % max(1, steps // 10) == 0:
            torch.cuda.synchronize()
            print(f"step {n}/{steps}", flush=True)
    torch.cuda.synchronize()
    tell(name=name, kind=kind, steps=steps, begin=BEGIN, imported=imported, cuda=begun, ready=ready, end=time.time(), attempt=os.environ.get("SMARTMIG_ATTEMPT", ""),
         slice=told("SMARTMIG_SLICE"), job=os.environ.get("SMARTMIG_JOB_ID", ""), pid=os.getpid(),
         sms=torch.cuda.get_device_properties(0).multi_processor_count, peak_mib=torch.cuda.max_memory_reserved() >> 20)


def busy(torch, seconds):
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.half)
    end = time.time() + seconds
    while time.time() < end:
        for _ in range(20): a @ a
        torch.cuda.synchronize()


def oom(gib, seconds):
    import torch
    print(f"attempt {os.environ.get('SMARTMIG_ATTEMPT', '')} on {os.environ.get('SMARTMIG_SLICE', '')}, limit "
          f"{os.environ.get('CUDA_MPS_PINNED_DEVICE_MEM_LIMIT', 'none')}", flush=True)
    held = torch.empty(int(gib * 2**30), dtype=torch.uint8, device="cuda").fill_(1)
    busy(torch, seconds)
    tell(name="oom", kind="oom", begin=BEGIN, end=time.time(), held_gib=held.numel() / 2**30, slice=os.environ.get("SMARTMIG_SLICE", ""),
         attempt=os.environ.get("SMARTMIG_ATTEMPT", ""))


def grow(mib_per_s, gib):
    import torch
    print(f"attempt {os.environ.get('SMARTMIG_ATTEMPT', '')} on {os.environ.get('SMARTMIG_SLICE', '')}", flush=True)
    held, first = [], time.time()
    while (mib := sum(t.numel() for t in held) >> 20) < gib * 1024:
        while mib < mib_per_s * (time.time() - first):
            held.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda").fill_(1))
            mib += 64
        print(f"holds {mib} MiB after {time.time() - first:.1f} s", flush=True)
        busy(torch, 0.5)
    tell(name="grow", kind="grow", begin=BEGIN, end=time.time(), held_mib=mib, slice=os.environ.get("SMARTMIG_SLICE", ""),
         attempt=os.environ.get("SMARTMIG_ATTEMPT", ""))


class Process(ctypes.Structure):  # nvmlProcessInfo_t
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("gpu_instance", ctypes.c_uint), ("compute_instance", ctypes.c_uint)]


class Use(ctypes.Structure):  # nvmlProcessUtilizationSample_t
    _fields_ = [("pid", ctypes.c_uint), ("at_us", ctypes.c_ulonglong), ("sm", ctypes.c_uint), ("memory", ctypes.c_uint), ("encoder", ctypes.c_uint), ("decoder", ctypes.c_uint)]


def meter(path):
    nvml = ctypes.CDLL("libnvidia-ml.so.1")
    gpu, energy, watts = ctypes.c_void_p(), ctypes.c_ulonglong(), ctypes.c_uint()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu)): sys.exit("no NVML")
    seen, since = 0, int(time.time() * 1e6)
    with open(path, "w", buffering=1) as out, open(path + ".processes", "w", buffering=1) as who, open(path + ".use", "w", buffering=1) as use:
        out.write("at_s,energy_mj,power_mw\n")
        who.write("at_s,list,pid,mib\n")
        use.write("at_us,pid,sm,memory\n")
        while True:
            failed = nvml.nvmlDeviceGetTotalEnergyConsumption(gpu, ctypes.byref(energy))
            at = time.time()
            nvml.nvmlDeviceGetPowerUsage(gpu, ctypes.byref(watts))
            if failed: sys.exit(f"no energy counter: NVML error {failed}")
            out.write(f"{at:.3f},{energy.value},{watts.value}\n")
            if seen != int(at):
                seen = int(at)
                for call in ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v3"):
                    infos, count = (Process * 64)(), ctypes.c_uint(64)
                    if getattr(nvml, call)(gpu, ctypes.byref(count), infos): continue
                    for p in infos[: count.value]: who.write(f"{at:.1f},{call[13:16]},{p.pid},{p.memory >> 20}\n")
                uses, count = (Use * 512)(), ctypes.c_uint(512)
                if answer := nvml.nvmlDeviceGetProcessUtilization(gpu, uses, ctypes.byref(count), ctypes.c_ulonglong(since)):
                    use.write(f"{int(at * 1e6)},error,{answer},\n")
                else:
                    for u in uses[: count.value]:
                        since = max(since, u.at_us)
                        if u.pid: use.write(f"{u.at_us},{u.pid},{u.sm},{u.memory}\n")
            time.sleep(0.1)


if __name__ == "__main__":
    verb, rest = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if verb == "batch" and not rest: batch()
    elif verb == "batch" and len(rest) in (1, 2): seeded(int(rest[0]), *map(float, rest[1:]))
    elif verb == "arrivals" and len(rest) == 4: arrivals(int(rest[0]), float(rest[1]), float(rest[2]), rest[3])
    elif verb == "job" and len(rest) == 3: job(rest[0], rest[1], int(rest[2]))
    elif verb == "oom" and len(rest) == 2: oom(float(rest[0]), float(rest[1]))
    elif verb == "grow" and len(rest) == 2: grow(float(rest[0]), float(rest[1]))
    elif verb == "meter" and len(rest) == 1: meter(rest[0])
    else: sys.exit(__doc__)
