"""More programs of record_llm.py, for its second round: kinds that were not there when constants were chosen in the first. Decoding
with a draft model, beams that widen, adapters with checkpointing, rollouts and updates, packed sequences that lengthen, an index that
is rebuilt, images that grow, experts with random routing, micro batches that grow, a server with arrivals, distillation, T5, long
documents. Models and words differ from the first round's too.
"""
import random

from llm_programs import Cache, MIB, bar, batch_for, cache_bytes, ids_of, model_of, train_bytes

KINDS = ["speculative", "beam", "lora", "rollout", "packing", "index", "vision", "experts", "micro", "server", "distill", "t5", "documents"]


def parameters(group):
    """What belongs to the command, by the name of the group."""
    r = random.Random("second round " + group)
    p = dict(kind=group.split("/")[1], layers=r.choice([3, 5, 6, 8, 12]), hidden=r.choice([384, 512, 640, 768, 1024]), seconds=r.uniform(5, 9),
             words=r.choice(["full", "full", "part", "bar", "log", "dict", "none"]), vocabulary=r.choice([4000, 12000, 24000, 32000]),
             memory_words=r.random() < 0.1, cache=r.choice(["cat", "double", "blocks"]), hf=False, llama=r.random() < 0.4)
    p["top"] = r.uniform(400, 2000) * MIB
    p["steps"], p["stages"], p["longest"] = r.randint(40, 110), r.randint(3, 9), r.choice([192, 320, 512, 640])
    p["spread"], p["grows"], p["doubles"] = r.uniform(0.15, 0.6), r.uniform(0.4, 1.6), r.random() < 0.4
    return p


def command(run, p, name, **options):
    run.command = f"{name}.py --layers {p['layers']} --hidden {p['hidden']}" + "".join(f" --{k} {v}" for k, v in options.items())


def tell(torch, run, p, head, i, of, extra=""):
    """A line of output in the command's style; in some neither the end nor the count can be known."""
    if p["words"] == "full": text = f"{head} {i}/{of} {extra}"
    elif p["words"] == "part": text = f"{head} {i}: {extra}"
    elif p["words"] == "bar": text = bar(min(i, of), of, run.now())
    elif p["words"] == "log": text = f"2026-11-18 10:00:{int(run.now()):02d} INFO [worker-0] {head}={i} {extra}"
    elif p["words"] == "dict": text = f"{{'loss': {2.5 - i / of:.4f}, 'learning_rate': 1e-05, 'epoch': {3 * i / of:.2f}}}"
    else: return
    run.say(text + (f" mem {run.held() // MIB} MiB allocated" if p["memory_words"] else ""))


def llama(torch, p):
    from transformers import LlamaConfig, LlamaForCausalLM
    heads = p["hidden"] // 64
    return LlamaForCausalLM(LlamaConfig(vocab_size=p["vocabulary"], hidden_size=p["hidden"], intermediate_size=3 * p["hidden"], num_hidden_layers=p["layers"],
                                        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=4096)).cuda()


def trainer(torch, p):
    """model, step(rows, n): one update on n tokens in each row."""
    model = llama(torch, p) if p["llama"] else model_of(torch, p, True)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step(rows, n):
        ids = ids_of(torch, p, rows, n)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if p["llama"]: loss = model(input_ids=ids, labels=ids).loss
            else: loss = torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        return loss.item()
    return model, step


def speculative(torch, run, p, r, more):
    base = random.Random(run.group + "n").randint(400, 1200)
    total = max(100, int(base * more))
    command(run, p, "speculative", **{"max-tokens": total, "draft-layers": 2})
    small = dict(p, layers=2, hidden=256)
    rows, model, draft = batch_for(p, base, cache_bytes(p)), model_of(torch, p, False), model_of(torch, small, False)
    caches, ahead, n, tried = [Cache(torch, p["cache"], 0) for _ in range(p["layers"])], [Cache(torch, "cat", 0) for _ in range(2)], 0, 0
    with torch.no_grad():
        while n < total:
            for _ in range(2): draft(ids_of(torch, small, rows, 2), ahead, True)
            kept = r.randint(2, 5)
            model(ids_of(torch, p, rows, kept), caches, True)
            n, tried = n + kept, tried + 5
            torch.cuda.synchronize()
            tell(torch, run, p, "output tokens", n, total, f"acceptance {n / tried:.2f}")
            run.pace(min(1, n / total))


def beam(torch, run, p, r, more):
    base, width = random.Random(run.group + "n").randint(200, 500), 1
    total, widest = max(60, int(base * more)), 2 ** min(4, max(2, p["stages"] // 2))
    command(run, p, "beam_search", **{"length": total, "num-beams": widest})
    prompts = max(1, batch_for(p, base, cache_bytes(p)) // widest)
    model, caches = model_of(torch, p, False), [Cache(torch, "cat", 0) for _ in range(p["layers"])]
    with torch.no_grad():
        for n in range(2, total, 2):
            model(ids_of(torch, p, prompts * width, 2), caches, True)
            if width < widest and n > total * width / widest:
                width *= 2
                for c in caches: c.k, c.v = c.k.repeat_interleave(2, 0), c.v.repeat_interleave(2, 0)
            elif n % 16 == 0:  # the best go on: rows change places
                order = torch.randint(0, prompts * width, (prompts * width,), device="cuda")
                for c in caches: c.k, c.v = c.k.index_select(0, order), c.v.index_select(0, order)
            torch.cuda.synchronize()
            tell(torch, run, p, "position", n, total, f"beams {width}")
            run.pace(n / total)


def lora(torch, run, p, r, more):
    from torch.utils.checkpoint import checkpoint
    nn, F = torch.nn, torch.nn.functional

    class Adapted(nn.Module):
        def __init__(self, base):
            super().__init__()
            self.base, self.down, self.up = base, nn.Linear(base.in_features, 16, bias=False), nn.Linear(16, base.out_features, bias=False)

        def forward(self, x): return self.base(x) + self.up(self.down(x))

    steps = max(20, int(p["steps"] * more))
    command(run, p, "finetune_lora", max_steps=steps, lora_r=16, max_seq_length=p["longest"])
    model = model_of(torch, p, True)
    for x in model.parameters(): x.requires_grad_(False)
    with torch.device("cuda"):
        for layer in model.layers: layer.qkv = Adapted(layer.qkv)
    optimiser = torch.optim.AdamW([x for x in model.parameters() if x.requires_grad], lr=1e-4)
    rows = batch_for(p, p["longest"], p["layers"] * p["hidden"] * 4 + p["vocabulary"] * 12)
    for i in range(steps):
        share = (i + 1) / steps if p["doubles"] else 0.6 * 2.718281828 ** (p["spread"] * r.gauss(0, 1))  # sorted by length, or drawn
        n = max(16, min(p["longest"], int(p["longest"] * share)))
        ids = ids_of(torch, p, rows, n)
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = model.embed(ids)
            for layer in model.layers: x = checkpoint(layer, x, None, use_reentrant=False)
            loss = F.cross_entropy(model.head(x).flatten(0, 1), ids.flatten())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss.item():.3f} len {n}")
        run.pace((i + 1) / steps)


def rollout(torch, run, p, r, more):
    p = dict(p, llama=False)
    rounds = max(10, int(random.Random(run.group + "n").randint(14, 30) * more))
    command(run, p, "ppo", rounds=rounds, minibatches=2)
    rows, (model, step), judge = batch_for(p, p["longest"], train_bytes(p)), trainer(torch, p), model_of(torch, p, False)
    for i in range(rounds):
        n = max(24, min(2 * p["longest"], int(p["longest"] * (0.4 + 0.6 * p["grows"] * i / rounds) * 2.718281828 ** (0.1 * r.gauss(0, 1)))))
        caches = [Cache(torch, "cat", 0) for _ in range(p["layers"])]
        with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
            for _ in range(n // 8): model(ids_of(torch, p, rows, 8), caches, True)
        with torch.no_grad(): judge(ids_of(torch, p, rows, n), None, True)
        del caches
        for _ in range(2): loss = step(rows, n)
        tell(torch, run, p, "round", i + 1, rounds, f"reward {loss:.3f} response {n}")
        run.pace((i + 1) / rounds)


def packing(torch, run, p, r, more):
    steps, warm = max(20, int(p["steps"] * more)), random.Random(run.group + "n").uniform(0.4, 1.3)
    command(run, p, "pretrain_packed", steps=steps, warmup=f"{warm:.2f}")
    rows, (model, step) = batch_for(p, p["longest"], train_bytes(p)), trainer(torch, p)
    for i in range(steps):
        n = int(48 + (p["longest"] - 48) * min(1, (i + 1) / (warm * steps))) // 8 * 8
        loss = step(rows, n)
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss:.3f} tokens_per_batch {rows * n}")
        run.pace((i + 1) / steps)


def index(torch, run, p, r, more):
    count, done, kept, since = max(200, int(3000 * more)), 0, [], 0
    command(run, p, "build_index", documents=count)
    model, wide = model_of(torch, p, False), max(64, int(p["top"] / 3000 / 2))
    with torch.no_grad():
        while done < count:
            rows = r.randint(12, 48)
            model(ids_of(torch, p, rows, 48), None, True)
            kept.append(torch.randn(rows, wide, device="cuda", dtype=torch.half))
            done, since = done + rows, since + 1
            if p["doubles"] and since == 12: kept, since = [torch.cat(kept)], 0  # made one piece
            torch.cuda.synchronize()
            tell(torch, run, p, "indexed", min(done, count), count, "documents")
            run.pace(min(1, done / count))


def vision(torch, run, p, r, more):
    nn, steps, k = torch.nn, max(20, int(p["steps"] * more)), p["stages"]
    sizes = [96 + 16 * ((192 * (j + 1) // k) // 16) for j in range(k)]
    command(run, p, "train_vit", steps=steps, resolutions=k)
    with torch.device("cuda"):
        patches, head = nn.Conv2d(3, p["hidden"], 16, 16), nn.Linear(p["hidden"], 1000)
        layers = nn.ModuleList(nn.TransformerEncoderLayer(p["hidden"], p["hidden"] // 64, 4 * p["hidden"], batch_first=True) for _ in range(p["layers"]))
    optimiser = torch.optim.AdamW([*patches.parameters(), *head.parameters(), *layers.parameters()], lr=1e-5)
    rows = batch_for(p, (288 // 16) ** 2, p["layers"] * p["hidden"] * 44)
    for i in range(steps):
        size = sizes[i * k // steps]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            x = patches(torch.randn(rows, 3, size, size, device="cuda")).flatten(2).transpose(1, 2)
            for layer in layers: x = layer(x)
            loss = nn.functional.cross_entropy(head(x.mean(1)), torch.randint(0, 1000, (rows,), device="cuda"))
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        if p["words"] in ("full", "log"): run.say(f"Epoch: [{5 * i // steps}][{i + 1:4d}/{steps}] Loss {loss.item():.3f} Res {size}")
        else: tell(torch, run, p, "step", i + 1, steps, f"res {size}")
        run.pace((i + 1) / steps)


def experts(torch, run, p, r, more):
    nn, steps, e, h = torch.nn, max(20, int(p["steps"] * more)), 8, p["hidden"]
    command(run, p, "train_moe", max_steps=steps, experts=e)
    embed, head = nn.Embedding(p["vocabulary"], h, device="cuda"), nn.Linear(h, p["vocabulary"], device="cuda")
    ups = [nn.Parameter(0.02 * torch.randn(e, h, 2 * h, device="cuda")) for _ in range(p["layers"])]
    downs = [nn.Parameter(0.02 * torch.randn(e, 2 * h, h, device="cuda")) for _ in range(p["layers"])]
    optimiser = torch.optim.AdamW([*embed.parameters(), *head.parameters(), *ups, *downs], lr=1e-5)
    tokens = max(256, min(16384, int(p["top"] / (p["layers"] * h * 40 + p["vocabulary"] * 12))))
    for i in range(steps):
        ids = torch.randint(0, p["vocabulary"], (tokens,), device="cuda")
        x = embed(ids)
        for up, down in zip(ups, downs):
            shares = [2.718281828 ** (p["spread"] * r.gauss(0, 1)) for _ in range(e)]
            counts = [int(tokens * s / sum(shares)) for s in shares]
            counts[0] += tokens - sum(counts)
            room, begin = max(counts), 0  # every expert has room for as many as the busiest one gets
            given = torch.zeros(e, room, h, device="cuda")
            for j, c in enumerate(counts):
                given[j, :c] = x[begin:begin + c]
                begin += c
            out = torch.bmm(torch.relu(torch.bmm(given, up)), down)
            x = x + torch.cat([out[j, :c] for j, c in enumerate(counts)])
        loss = nn.functional.cross_entropy(head(x), ids)
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss.item():.3f} aux_loss 0.01")
        run.pace((i + 1) / steps)


def micro(torch, run, p, r, more):
    steps, k = max(20, int(p["steps"] * more)), p["stages"]
    command(run, p, "train_growing", max_steps=steps, stages=k)
    most, (model, step) = batch_for(p, 160, train_bytes(p)), trainer(torch, p)
    for i in range(steps):
        j = i * k // steps
        rows = max(1, int(most * more / 2 ** (k - 1 - j)) if p["doubles"] else int(most * more * (j + 1) / k))
        loss = step(rows, 160)
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss:.3f} micro-batch {rows}")
        run.pace((i + 1) / steps)


def server(torch, run, p, r, more):
    ticks, when = 320, random.Random(run.group + "n").uniform(0.5, 1.1)
    command(run, p, "api_server", port=8000, **{"max-num-seqs": 256})
    model, active, served = model_of(torch, p, False), [], 0
    piece = max(4096, int(p["top"] / 60 / 8))  # a request has 8 pieces at its end, 60 are there at the busiest
    with torch.no_grad():
        for t in range(ticks):
            u = t / ticks
            busy = 60 * more * max(0.05, 1 - abs(u - when) / when)
            while len(active) < busy and r.random() < 0.7: active.append([r.randint(3, 8), [], r.randint(0, 7)])
            model(ids_of(torch, p, max(1, len(active) // 2), 8), None, True)
            for request in list(active):
                request[2] += 1
                if request[2] % 6 == 0: request[1].append(torch.empty(piece, dtype=torch.uint8, device="cuda"))
                if len(request[1]) >= request[0]:
                    active.remove(request)
                    served += 1
            if t % 4 == 0:
                torch.cuda.synchronize()
                if p["words"] in ("full", "log", "dict"): run.say(f"INFO Running: {len(active)} reqs, Waiting: 0 reqs, KV cache usage: {len(active) / 0.8:.1f}%")
                if p["words"] == "part": run.say(f"served {served} requests")
            run.pace((t + 1) / ticks)


def distill(torch, run, p, r, more):
    steps, kept = max(20, int(p["steps"] * more)), []
    command(run, p, "distill", max_steps=steps, temperature=2)
    student = dict(p, layers=2, hidden=256, llama=False)
    teacher, (model, step) = model_of(torch, p, False), trainer(torch, student)
    rows = max(1, min(64, round(p["top"] / 2 / (128 * train_bytes(p)))))
    each = max(1, int(p["top"] / p["steps"] / (rows * 128 * 2)))  # of a position's logits so many are kept for another epoch
    for i in range(steps):
        n = 128 if p["doubles"] else r.randint(64, 128)
        with torch.no_grad(): kept.append(teacher(ids_of(torch, p, rows, n))[:, :, :each].clone())
        loss = step(rows, n)
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss:.3f} kd {loss / 2:.3f}")
        run.pace((i + 1) / steps)


def t5(torch, run, p, r, more):
    from transformers import T5Config, T5ForConditionalGeneration
    steps = max(20, int(p["steps"] * more))
    command(run, p, "run_summarization", max_steps=steps, max_source_length=p["longest"])
    model = T5ForConditionalGeneration(T5Config(vocab_size=p["vocabulary"], d_model=p["hidden"], d_kv=64, d_ff=3 * p["hidden"], num_layers=max(2, p["layers"] // 2),
                                                num_heads=p["hidden"] // 64, use_cache=False)).cuda()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)
    rows = max(1, batch_for(p, p["longest"], train_bytes(p) + p["layers"] * p["hidden"] // 64 * p["longest"] * 4))
    for i in range(steps):
        n = max(24, min(p["longest"], int(p["longest"] * 0.4 * 2.718281828 ** (p["spread"] * r.gauss(0, 1)))))
        source, target = ids_of(torch, p, rows, n), ids_of(torch, p, rows, max(8, n // 4))
        with torch.autocast("cuda", dtype=torch.bfloat16): loss = model(input_ids=source, decoder_input_ids=target, labels=target, use_cache=False).loss
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        tell(torch, run, p, "step", i + 1, steps, f"loss {loss.item():.3f}")
        run.pace((i + 1) / steps)


def documents(torch, run, p, r, more):
    count = max(6, int(random.Random(run.group + "n").randint(8, 16) * more))
    command(run, p, "read_documents", documents=count, chunk=32)
    longest = 1600
    rows, model = batch_for(p, longest, cache_bytes(p)), llama(torch, p).half().eval()
    with torch.no_grad():
        for i in range(count):
            chunks, past = max(4, min(longest // 32, int(longest / 32 * 0.5 * 2.718281828 ** (p["spread"] * r.gauss(0, 1))))), None
            for k in range(chunks):
                past = model.model(input_ids=ids_of(torch, p, rows, 32), past_key_values=past, use_cache=True).past_key_values
                torch.cuda.synchronize()
                if p["words"] in ("full", "part"): run.say(f"document {i + 1}/{count} chunk {k + 1}/{chunks}")
                elif p["words"] == "bar": run.say(bar(k + 1, chunks, run.now()))
                elif p["words"] == "log": run.say(f"INFO reading document {i + 1}: {32 * (k + 1)} tokens")
                run.pace((i + (k + 1) / chunks) / count)
