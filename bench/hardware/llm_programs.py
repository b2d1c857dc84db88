"""The programs of record_llm.py: decoders with several kinds of cache, chats, servers, training with lengths, stages and ramps,
evaluation, encoders. Random weights, random tokens: shapes decide memory. Each gets a Run (say, pace), its parameters, which
belong to the command, and a random source, which is its input; `more` is how much work that input is, about 1.
"""
import random

KINDS = ["decode", "hf_decode", "chat", "requests", "prefix", "lengths", "curriculum", "ramp", "accumulate", "evaluate", "encode"]
MIB = 1 << 20


def parameters(group):
    """What belongs to the command: model, schedule, words. By the name of the group."""
    r = random.Random(group)
    kind = group.split("/")[1]
    p = dict(kind=kind, layers=r.choice([4, 6, 8, 10]), hidden=r.choice([512, 768, 1024]), words=r.choice(["full", "full", "part", "bar", "none"]),
             seconds=r.uniform(5, 9), cache=r.choice(["cat", "cat", "double", "static", "blocks"]), hf=r.random() < 0.4,
             vocabulary=r.choice([8000, 16000, 32000]), memory_words=r.random() < 0.15, empties=r.random() < 0.15)
    p["top"] = r.uniform(500, 1800) * MIB  # about what grows comes to
    p["steps"], p["stages"], p["longest"] = r.randint(40, 80), r.randint(4, 6), r.choice([256, 384, 512])
    p["spread"], p["doubles"] = r.uniform(0.3, 0.6), r.random() < 0.5
    return p


def model_of(torch, p, trains):
    """A decoder of plain layers: model(tokens, past) -> logits, past. past: one cache for each layer, or None."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, h):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)
            self.qkv, self.out, self.up, self.down = nn.Linear(h, 3 * h), nn.Linear(h, h), nn.Linear(h, 4 * h), nn.Linear(4 * h, h)

        def forward(self, x, cache):
            b, s, h = x.shape
            q, k, v = self.qkv(self.norm1(x)).view(b, s, 3, h // 64, 64).permute(2, 0, 3, 1, 4)
            if cache is not None: k, v = cache.add(k, v)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=cache is None).transpose(1, 2).reshape(b, s, h))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    class Decoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(p["vocabulary"], p["hidden"])
            self.layers = nn.ModuleList(Layer(p["hidden"]) for _ in range(p["layers"]))
            self.head = nn.Linear(p["hidden"], p["vocabulary"], bias=False)

        def forward(self, ids, caches=None, last=False):
            x = self.embed(ids)
            for i, layer in enumerate(self.layers): x = layer(x, caches[i] if caches else None)
            return self.head(x[:, -1:] if last else x)

    with torch.device("cuda"): model = Decoder()
    return model if trains else model.half().eval()


def hf_model(torch, p, masked):
    from transformers import BertConfig, BertForMaskedLM, GPT2Config, GPT2LMHeadModel
    heads = p["hidden"] // 64
    if masked: make, sizes = BertForMaskedLM, BertConfig(vocab_size=p["vocabulary"], num_hidden_layers=p["layers"], hidden_size=p["hidden"], num_attention_heads=heads, intermediate_size=4 * p["hidden"])
    else: make, sizes = GPT2LMHeadModel, GPT2Config(vocab_size=p["vocabulary"], n_positions=2048, n_layer=p["layers"], n_embd=p["hidden"], n_head=heads)
    try:
        with torch.device("cuda"): return make(sizes).cuda()
    except (RuntimeError, NotImplementedError) as e:
        if "out of memory" in str(e): raise
        return make(sizes).cuda()


class Cache:
    """Keys and values of a layer: joined anew, in a buffer that doubles, in one of full length, or in blocks of 64 tokens."""
    def __init__(self, torch, kind, most):
        self.torch, self.kind, self.most, self.n, self.k, self.v, self.blocks = torch, kind, most, 0, None, None, []

    def room(self, like, n):
        if self.kind == "static" and self.k is None: return self.torch.empty((2, *like.shape[:2], self.most, like.shape[3]), dtype=like.dtype, device=like.device)
        return self.torch.empty((2, *like.shape[:2], n, like.shape[3]), dtype=like.dtype, device=like.device)

    def add(self, k, v):
        torch, s = self.torch, k.shape[2]
        if self.kind == "cat":
            self.k, self.v = (k, v) if self.k is None else (torch.cat([self.k, k], 2), torch.cat([self.v, v], 2))
            self.n += s
            return self.k, self.v
        if self.kind == "blocks":
            if not self.blocks or self.n % 64 + s > 64 or s > 64: self.blocks.append(self.room(k, max(64, s)))
            self.n += s
            return k, v
        if self.k is None or self.n + s > self.k.shape[3]:
            larger = self.room(k, max(64, 2 * (self.n + s)) if self.kind == "double" else self.n + s)
            if self.k is not None: larger[:, :, :, :self.n] = self.k[:, :, :, :self.n]
            self.k = larger
        self.k[0, :, :, self.n:self.n + s], self.k[1, :, :, self.n:self.n + s] = k, v
        self.n += s
        return self.k[0, :, :, :self.n], self.k[1, :, :, :self.n]


def batch_for(p, size, bytes_each):  # rows for which `size` tokens come to p["top"]
    return max(1, min(128, round(p["top"] / (size * bytes_each))))


def cache_bytes(p): return 2 * p["layers"] * p["hidden"] * 2


def ids_of(torch, p, rows, n): return torch.randint(0, p["vocabulary"], (rows, n), device="cuda")


def bar(done, of, t): return f"{100 * done // of:3d}%|{'#' * (10 * done // of):<10}| {done}/{of} [00:{int(t):02d}<00:{int(t * (of - done) / max(1, done)):02d}, {done / max(t, 0.01):.2f}it/s]"


def memory_words(torch, run, p):
    return f" | mem {run.held() // MIB} MiB allocated" if p["memory_words"] else ""


def decode(torch, run, p, r, more):
    base = random.Random(run.group + "n").randint(500, 1400)
    total = max(100, int(base * more))
    run.command = f"generate.py --layers {p['layers']} --hidden {p['hidden']} --max-new-tokens {total} --cache {p['cache']}"
    rows, model = batch_for(p, base, cache_bytes(p)), model_of(torch, p, False)
    caches, n, said = [Cache(torch, p["cache"], total + 16) for _ in range(p["layers"])], 0, 0
    with torch.no_grad():
        while n < total:
            model(ids_of(torch, p, rows, 4), caches, True)
            n += 4
            if n - said >= 24:
                said = n
                torch.cuda.synchronize()
                say_tokens(torch, run, p, n, total)
            run.pace(n / total)


def say_tokens(torch, run, p, n, total):
    if p["words"] == "full": run.say(f"generated {n}/{total} tokens" + memory_words(torch, run, p))
    if p["words"] == "part": run.say(f"tokens: {n}" + memory_words(torch, run, p))
    if p["words"] == "bar": run.say(bar(min(n, total), total, run.now()))


def hf_decode(torch, run, p, r, more):
    base = random.Random(run.group + "n").randint(400, 900)
    total = min(2000, max(100, int(base * more)))
    run.command = f"run_generation.py --layers {p['layers']} --hidden {p['hidden']} --length {total}"
    rows, model, past = batch_for(p, base, cache_bytes(p)), hf_model(torch, p, False).half().eval(), None
    with torch.no_grad():
        for n in range(2, total, 2):
            past = model(input_ids=ids_of(torch, p, rows, 2), past_key_values=past, use_cache=True).past_key_values
            if n % 24 == 0:
                torch.cuda.synchronize()
                say_tokens(torch, run, p, n, total)
            run.pace(n / total)


def chat(torch, run, p, r, more):
    turns = max(8, int(random.Random(run.group + "n").randint(20, 40) * more))
    run.command = f"chat.py --layers {p['layers']} --hidden {p['hidden']} --turns {turns}"
    rows, model, n = batch_for(p, 30 * 55, cache_bytes(p)), model_of(torch, p, False), 0
    caches = [Cache(torch, p["cache"], 4096) for _ in range(p["layers"])]
    with torch.no_grad():
        for turn in range(turns):
            for part in [r.randint(10, 50)] + [4] * r.randint(3, 12):
                model(ids_of(torch, p, rows, part), caches, True)
                n += part
            torch.cuda.synchronize()
            if p["words"] in ("full", "bar"): run.say(f"turn {turn + 1}/{turns} context {n} tokens" + memory_words(torch, run, p))
            if p["words"] == "part": run.say(f"turn {turn + 1} ({n} tokens in context)")
            run.pace((turn + 1) / turns)


def drawn(p, r): return max(16, min(p["longest"], int(p["longest"] * 0.35 * 2.718281828 ** (p["spread"] * r.gauss(0, 1)))))


def requests(torch, run, p, r, more):
    count = max(20, int(90 * more))
    run.command = f"serve_batch.py --layers {p['layers']} --hidden {p['hidden']} --requests {count} --max-len {p['longest']}"
    rows, model = batch_for(p, p["longest"], cache_bytes(p)), model_of(torch, p, False)
    with torch.no_grad():
        for i in range(count):
            caches, n = [Cache(torch, p["cache"], p["longest"] + 64) for _ in range(p["layers"])], drawn(p, r)
            for _ in range(4): model(ids_of(torch, p, rows, n // 4 + 1), caches, True)
            torch.cuda.synchronize()
            if p["words"] == "full": run.say(f"request {i + 1}/{count}: {n} tokens" + memory_words(torch, run, p))
            if p["words"] == "part": run.say(f"request {i + 1} length={n}")
            if p["words"] == "bar": run.say(bar(i + 1, count, run.now()))
            if p["empties"] and i % 20 == 19: run.empty()
            run.pace((i + 1) / count)


def prefix(torch, run, p, r, more):
    count = max(20, int(70 * more))
    run.command = f"prefix_server.py --layers {p['layers']} --hidden {p['hidden']} --requests {count}"
    rows, model, kept = batch_for(p, 70 * 60, cache_bytes(p)), model_of(torch, p, False), []
    with torch.no_grad():
        for i in range(count):
            caches = [Cache(torch, "cat", 0) for _ in range(p["layers"])]
            for _ in range(r.randint(6, 24)): model(ids_of(torch, p, rows, 4), caches, True)
            kept.append(caches)
            torch.cuda.synchronize()
            if p["words"] == "full": run.say(f"served {i + 1}/{count} requests" + memory_words(torch, run, p))
            if p["words"] == "part": run.say(f"served {i + 1} requests")
            if p["words"] == "bar": run.say(bar(i + 1, count, run.now()))
            run.pace((i + 1) / count)


def trainer(torch, p, masked):
    model = hf_model(torch, p, masked) if p["hf"] else model_of(torch, p, True)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step(rows, n, update=True):
        ids = ids_of(torch, p, rows, n)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if p["hf"]: loss = model(input_ids=ids, labels=ids).loss
            else: loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        if update:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        return loss.item()
    return model, step


def train_bytes(p): return p["layers"] * p["hidden"] * 40 + p["vocabulary"] * 12  # a token's activations and logits, about


def say_step(torch, run, p, i, of, loss, extra):
    if p["words"] == "full": run.say(f"step {i}/{of} | loss {loss:.3f} | {extra}" + memory_words(torch, run, p))
    if p["words"] == "part": run.say(f"iter {i}: loss {loss:.4f}, {extra}")
    if p["words"] == "bar": run.say(bar(i, of, run.now()))


def lengths(torch, run, p, r, more):
    steps = max(20, int(p["steps"] * more))
    run.command = f"train_mlm.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --max_seq_length {p['longest']}"
    rows, (model, step) = batch_for(p, p["longest"], train_bytes(p)), trainer(torch, p, True)
    for i in range(steps):
        n = max(drawn(p, r) for _ in range(2))
        say_step(torch, run, p, i + 1, steps, step(rows, n), f"seq_len {n}")
        run.pace((i + 1) / steps)


def curriculum(torch, run, p, r, more):
    steps, k = max(20, int(p["steps"] * more)), p["stages"]
    run.command = f"train_curriculum.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --stages {k}"
    sizes = [p["longest"] >> (k - 1 - i) for i in range(k)] if p["doubles"] else [p["longest"] * (i + 1) // k for i in range(k)]
    sizes = [max(8, int(n * (0.9 + 0.1 * more))) for n in sizes]
    rows, (model, step) = batch_for(p, p["longest"], train_bytes(p)), trainer(torch, p, False)
    for i in range(steps):
        n = sizes[i * k // steps]
        say_step(torch, run, p, i + 1, steps, step(rows, n), f"seq_len {n}")
        run.pace((i + 1) / steps)


def ramp(torch, run, p, r, more):
    steps, k = max(20, int(p["steps"] * more)), 2 * p["stages"]
    run.command = f"train_ramp.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --seq 128 --ramp {k}"
    most, (model, step) = batch_for(p, 128, train_bytes(p)), trainer(torch, p, False)
    for i in range(steps):
        rows = max(1, int(most * more * (1 + i * k // steps) / k))
        say_step(torch, run, p, i + 1, steps, step(rows, 128), f"batch {rows}")
        run.pace((i + 1) / steps)


def accumulate(torch, run, p, r, more):
    steps = max(15, int(p["steps"] // 2 * more))
    run.command = f"train_accumulate.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --accumulate 4"
    rows, (model, step) = batch_for(p, 192, train_bytes(p)), trainer(torch, p, False)
    for i in range(steps):
        for k in range(4): loss = step(rows, 192, k == 3)
        say_step(torch, run, p, i + 1, steps, loss, "lr 1e-05")
        run.pace((i + 1) / steps)


def evaluate(torch, run, p, r, more):
    steps = max(20, int(p["steps"] * more))
    run.command = f"train_eval.py --layers {p['layers']} --hidden {p['hidden']} --max_steps {steps} --eval_steps {steps // 5}"
    rows, (model, step) = batch_for(p, 256, 2 * train_bytes(p)), trainer(torch, p, False)
    for i in range(steps):
        say_step(torch, run, p, i + 1, steps, step(rows, 128), "lr 1e-05")
        if (i + 1) % (steps // 5) == 0:  # outputs kept on the device until the end of the pass, as a Trainer does
            kept = []
            with torch.no_grad():
                for k in range(6):
                    out = model(ids_of(torch, p, rows, 256))
                    kept.append((out.logits if p["hf"] else out).float())
                    if p["words"] != "none": run.say(f"eval {k + 1}/6")
        run.pace((i + 1) / steps)


def encode(torch, run, p, r, more):
    count, done, kept = max(200, int(4000 * more)), 0, []
    run.command = f"encode.py --layers {p['layers']} --hidden {p['hidden']} --texts {count}"
    model = (hf_model(torch, p, True).half().eval() if p["hf"] else model_of(torch, p, False))
    keep = int(p["top"] / 4000 / p["hidden"] / 2)  # vectors of a text
    with torch.no_grad():
        while done < count:
            rows = r.randint(16, 64)
            model(input_ids=ids_of(torch, p, rows, 64)) if p["hf"] else model(ids_of(torch, p, rows, 64))
            kept.append(torch.randn(rows, max(1, keep), p["hidden"], device="cuda", dtype=torch.half))
            done += rows
            torch.cuda.synchronize()
            if p["words"] == "full": run.say(f"encoded {min(done, count)}/{count} texts, batch {rows}")
            if p["words"] == "part": run.say(f"encoded {done} texts")
            if p["words"] == "bar": run.say(bar(min(done, count), count, run.now()))
            run.pace(min(1, done / count))
