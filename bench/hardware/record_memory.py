#!/usr/bin/env python3
"""Memory over time of real PyTorch jobs on one GPU: research/data/memory_curves.csv.

Starts every job below at once, each a process of its own that works for SECONDS and looks at the memory its caching allocator has
reserved on the device four times a second (the CUDA context, constant, is not in it). A row is written when the figure
changes by 2 MiB or more, and every 2 s. Random weights and random data: shapes decide memory, values do not.
    python3 bench/hardware/record_memory.py SECONDS OUT.csv        needs torch, torchvision, transformers
"""
import multiprocessing as mp, random, sys, threading, time


def sample(rows, stop):
    import torch
    begin, last, last_at = time.monotonic(), -1e9, -1e9
    while not stop.is_set():
        now, mib = time.monotonic() - begin, torch.cuda.memory_reserved() / 2**20
        if abs(mib - last) >= 2 or now - last_at >= 2:
            rows.append((now, mib))
            last, last_at = mib, now
        time.sleep(0.25)
    rows.append((time.monotonic() - begin, torch.cuda.memory_reserved() / 2**20))


def train(model, batch, make, left, optimiser=None):
    import torch
    opt = optimiser or torch.optim.AdamW(model.parameters(), lr=1e-5)
    step = 0
    while left():
        loss = make(model, batch, step)
        loss.backward()
        opt.step()
        opt.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        step += 1
        yield step


def resnet():
    import torchvision
    return torchvision.models.resnet50().cuda()


def image_loss(model, size):
    import torch
    images = torch.randn(size[0], 3, size[1], size[1], device="cuda")
    return torch.nn.functional.cross_entropy(model(images), torch.randint(0, 1000, (size[0],), device="cuda"))


def bert(layers=12):
    from transformers import BertConfig, BertForMaskedLM
    return BertForMaskedLM(BertConfig(num_hidden_layers=layers)).cuda()


def gpt(layers=12, hidden=768):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(n_layer=layers, n_embd=hidden, n_head=hidden // 64)).cuda()


def text_loss(model, batch, length):
    import torch
    ids = torch.randint(0, 30000, (batch, length), device="cuda")
    return model(input_ids=ids, labels=ids).loss


def resnet50_train_64(left):
    for _ in train(resnet(), 64, lambda m, b, s: image_loss(m, (b, 224)), left): pass

def resnet50_train_sizes(left):  # images of random size: fragments of the allocator
    for _ in train(resnet(), 32, lambda m, b, s: image_loss(m, (b, 32 * random.randint(4, 14))), left): pass

def bert_train_32(left):
    for _ in train(bert(), 32, lambda m, b, s: text_loss(m, b, 128), left): pass

def bert_train_lengths(left):  # random lengths
    for _ in train(bert(6), 16, lambda m, b, s: text_loss(m, b, random.randint(16, 512)), left): pass

def bert_curriculum(left):  # longer sequences stage by stage
    begin = time.monotonic()
    for _ in train(bert(6), 16, lambda m, b, s: text_loss(m, b, 64 << min(3, int((time.monotonic() - begin) / 25))), left): pass

def gpt2_train_leak(left):  # losses kept with their graph's tail: what a careless running sum does
    kept = []
    def make(m, b, s):
        loss = text_loss(m, b, 128)
        kept.append(loss.detach().repeat(1 << 18))
        return loss
    for _ in train(gpt(6), 8, make, left): time.sleep(0.2)

def resnet50_validation(left):  # a larger batch without gradients every so often
    import torch
    model = resnet()
    for step in train(model, 32, lambda m, b, s: image_loss(m, (b, 224)), left):
        if step % 120 == 0:
            with torch.no_grad(): image_loss(model, (512, 224))
            torch.cuda.empty_cache()

def resnet50_infer_batches(left):  # a server: random batches, cache emptied now and then
    import torch
    model, n = resnet().eval(), 0
    while left():
        with torch.no_grad(): model(torch.randn(random.randint(1, 256), 3, 224, 224, device="cuda")).sum().item()
        n += 1
        if n % 40 == 0: torch.cuda.empty_cache()
        time.sleep(0.05)

def decode(left, keep, tokens):
    import torch
    model, kept = gpt(24, 1024).half().eval(), []
    while left():
        past, ids = None, torch.randint(0, 30000, (16, 1), device="cuda")
        if not keep: torch.cuda.empty_cache()
        with torch.no_grad():
            for _ in range(tokens()):
                if not left(): return
                out = model(input_ids=ids, past_key_values=past, use_cache=True)
                past, ids = out.past_key_values, out.logits[:, -1:].argmax(-1)
                torch.cuda.synchronize()
        if keep: kept.append(past)

def llm_decode_long(left): decode(left, False, lambda: 1000)
def llm_decode_requests(left): decode(left, False, lambda: random.randint(100, 1000))
def llm_prefix_cache(left): decode(left, True, lambda: random.randint(50, 150))

def dataset_on_gpu(left):  # cached during the first pass, then only used
    import torch
    cache = []
    def make(m, b, s):
        if len(cache) < 400: cache.append(torch.randn(b, 3, 224, 224, device="cuda"))
        images = cache[s % len(cache)]
        return torch.nn.functional.cross_entropy(m(images), torch.randint(0, 1000, (b,), device="cuda"))
    for _ in train(resnet(), 32, make, left): time.sleep(0.02)

def replay_doubling(left):  # a buffer that doubles when full
    import torch
    buffer, used = torch.empty(1 << 24, device="cuda"), 0
    while left():
        used += 1 << 22
        if used > buffer.numel():
            larger = torch.empty(2 * buffer.numel(), device="cuda")
            larger[: buffer.numel()] = buffer
            buffer = larger
            torch.cuda.empty_cache()
        time.sleep(0.1)

JOBS = [resnet50_train_64, resnet50_train_sizes, bert_train_32, bert_train_lengths, bert_curriculum, gpt2_train_leak,
        resnet50_validation, resnet50_infer_batches, llm_decode_long, llm_decode_requests, llm_prefix_cache, dataset_on_gpu,
        replay_doubling]


def work(job, seconds, answers):
    import torch
    random.seed(1)
    torch.manual_seed(1)
    rows, stop = [], threading.Event()
    error = ""
    try:
        torch.cuda.init()
        torch.zeros(1, device="cuda")
        watcher = threading.Thread(target=sample, args=(rows, stop), daemon=True)
        end = time.monotonic() + seconds
        watcher.start()
        job(lambda: time.monotonic() < end)
    except Exception as e:
        error = f"{type(e).__name__}: {str(e)[:300]}"
    stop.set()
    watcher.join()
    answers.put((job.__name__, rows, error))


if __name__ == "__main__":
    seconds, out = float(sys.argv[1]), sys.argv[2]
    mp.set_start_method("spawn")
    answers = mp.Queue()
    started = [mp.Process(target=work, args=(job, seconds, answers)) for job in JOBS]
    for p in started: p.start()
    results = sorted(answers.get(timeout=seconds + 120) for _ in started)
    import torch
    with open(out, "w") as f:
        f.write(f"# Source: measured. Memory reserved on an {torch.cuda.get_device_name()} by real PyTorch {torch.__version__} jobs, CUDA context not included;\n")
        f.write(f"# measured by bench/hardware/record_memory.py {seconds:g} on {time.strftime('%Y-%m-%d')}, all jobs at the same time.\n")
        f.write("job,at_s,mib\n")
        for name, rows, error in results:
            print(name, len(rows), f"{rows[-1][0]:.0f} s" if rows else "", max((r[1] for r in rows), default=0), error)
            for at, mib in rows: f.write(f"{name},{at:.2f},{mib:.0f}\n")
