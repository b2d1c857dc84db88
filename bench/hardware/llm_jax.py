"""JAX programs of record_llm.py's second round, under JAX's own allocator: regions that grow, or memory taken at the start. Each run
imports JAX by itself, since the allocator is chosen by the environment.
"""
import os, random

MIB = 1 << 20
KINDS = ["jax_index", "jax_stages", "jax_decode", "jax_steady"]


def parameters(group):
    r = random.Random("jax " + group)
    p = dict(kind=group.split("/")[1], layers=r.choice([3, 4, 6]), hidden=r.choice([256, 512, 768]), seconds=r.uniform(6, 9), words=r.choice(["full", "full", "part", "none"]))
    p["top"], p["steps"], p["stages"], p["longest"] = r.uniform(500, 1800) * MIB, r.randint(50, 100), r.randint(3, 6), r.choice([256, 384, 512])
    p["doubles"] = r.random() < 0.5
    return p


def start(most_bytes, total_bytes, at_once):
    """JAX with so much memory at the most. Before anything of it is imported."""
    os.environ["XLA_CLIENT_MEM_FRACTION"] = f"{most_bytes / total_bytes:.5f}"  # with the older name beside it JAX falls back to the CPU
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "true" if at_once else "false"
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
    import jax
    if jax.devices()[0].platform not in ("gpu", "cuda"): raise RuntimeError("JAX has no GPU")
    return jax


class Stats:
    """held at the most since last asked, and what is taken of the device, by JAX's own count."""
    def __init__(self, jax): self.device, self.peak = jax.devices()[0], 0

    def figures(self, at_once):
        s = self.device.memory_stats() or {}
        held, peak = s.get("bytes_in_use", 0), s.get("peak_bytes_in_use", 0)
        if peak > self.peak: held, self.peak = peak, peak
        taken = s.get("bytes_limit", held) if at_once else s.get("pool_bytes", held)
        return max(taken, held), held


def tell(run, p, head, i, of, extra=""):
    if p["words"] == "full": run.say(f"{head} {i}/{of} {extra}")
    if p["words"] == "part": run.say(f"{head} {i} {extra}")


def weights(jax, p):
    keys = jax.random.split(jax.random.key(0), 2 * p["layers"])
    h = p["hidden"]
    return [(0.02 * jax.random.normal(keys[2 * i], (h, 4 * h)), 0.02 * jax.random.normal(keys[2 * i + 1], (4 * h, h))) for i in range(p["layers"])]


def forward(jax, w, x):
    for up, down in w: x = x + jax.nn.gelu(x @ up) @ down
    return x


def jax_index(jax, run, p, r, more):
    batches, kept = max(20, int(p["steps"] * more)), []
    run.command = f"embed_jax.py --layers {p['layers']} --hidden {p['hidden']} --batches {batches}"
    rows = max(8, int(p["top"] / p["steps"] / (4 * p["hidden"])))
    w, encode = weights(jax, p), jax.jit(lambda w, x: forward(jax, w, x))
    for i in range(batches):
        kept.append(encode(w, jax.random.normal(jax.random.key(i), (rows, p["hidden"]))))
        kept[-1].block_until_ready()
        tell(run, p, "batch", i + 1, batches)
        run.pace((i + 1) / batches)


def train(jax, p):
    def loss(w, x): return (forward(jax, w, x) ** 2).mean()
    update = jax.jit(lambda w, x: jax.tree.map(lambda a, g: a - 1e-5 * g, w, jax.grad(loss)(w, x)))
    return weights(jax, p), update


def rows_for(p): return max(1, int(p["top"] / (p["longest"] * p["layers"] * p["hidden"] * 40)))


def jax_stages(jax, run, p, r, more):
    steps, k, (w, update) = max(20, int(p["steps"] * more)), p["stages"], train(jax, p)
    run.command = f"train_jax.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --stages {k}"
    for i in range(steps):
        j = i * k // steps
        n = max(8, p["longest"] >> (k - 1 - j) if p["doubles"] else p["longest"] * (j + 1) // k)
        w = update(w, jax.random.normal(jax.random.key(i), (rows_for(p), n, p["hidden"])))
        jax.block_until_ready(w)
        tell(run, p, "step", i + 1, steps, f"seq_len {n}")
        run.pace((i + 1) / steps)


def jax_steady(jax, run, p, r, more):
    steps, (w, update) = max(20, int(p["steps"] * more)), train(jax, p)
    run.command = f"train_jax.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps}"
    for i in range(steps):
        w = update(w, jax.random.normal(jax.random.key(i), (rows_for(p), p["longest"], p["hidden"])))
        jax.block_until_ready(w)
        tell(run, p, "step", i + 1, steps, "lr 1e-5")
        run.pace((i + 1) / steps)


def jax_decode(jax, run, p, r, more):
    base = random.Random(run.group + "n").randint(400, 900)
    total, n, blocks = max(100, int(base * more)), 0, []
    run.command = f"decode_jax.py --layers {p['layers']} --hidden {p['hidden']} --max-new-tokens {total}"
    rows = max(1, int(p["top"] / base / (8 * p["layers"] * p["hidden"])))
    w, step = weights(jax, p), jax.jit(lambda w, x: forward(jax, w, x))
    x = jax.random.normal(jax.random.key(1), (rows, p["hidden"]))
    while n < total:
        x = step(w, x)
        if n % 16 == 0: blocks.append(jax.numpy.zeros((p["layers"], 2, rows, 16, p["hidden"])))  # keys and values of 16 tokens
        n += 4
        jax.block_until_ready(x)
        if n % 16 == 0: tell(run, p, "generated", min(n, total), total, "tokens" if p["words"] == "full" else "")
        run.pace(min(1, n / total))
