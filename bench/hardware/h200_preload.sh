#!/usr/bin/env bash
# libsmartmig-preload.so with real CUDA; no setting of the card is changed and no compiler is needed to run it.
#   bench/hardware/h200_preload.sh pack BUILD DIR     builds the library and its test program in BUILD, copies them to DIR
#   bench/hardware/h200_preload.sh run DIR [OUTPUT]   on the machine with the GPU: checks and prints all
# run: every way to ask the driver for memory, and the runtime of PyTorch where it is there; what a call costs; PyTorch
# (TORCH_PYTHON, default /opt/torch/.venv/bin/python) with each of its three allocators (or those in TORCH_ALLOCATORS), and
# out of memory.
set -u
failed=0
say() { printf '\n== %s\n' "$*"; }
check() { if [ "$1" = 0 ]; then echo "PASS $2"; else echo "FAIL $2"; failed=$((failed + 1)); fi; }

pack() {  # BUILD DIR
  cmake --build "$1" --target smartmig_preload preload_gpu_client || exit 1
  mkdir -p "$2" || exit 1
  cp "$1/preload/libsmartmig-preload.so" "$1/preload/preload_gpu_client" "$2/" || exit 1
  ls -l "$2/libsmartmig-preload.so" "$2/preload_gpu_client"
}

torch_checks() {  # ALLOCATOR: its PYTORCH_CUDA_ALLOC_CONF; the name decides what equals what
  env SMARTMIG_MEMORY_DIR="$reports" LD_PRELOAD="$dir/libsmartmig-preload.so" PYTORCH_CUDA_ALLOC_CONF="$1" \
    "$python" - "$1" <<'PYTHON'
import glob, os, struct, subprocess, sys, time
allocator = sys.argv[1]
bad = 0
def own():
    paths = glob.glob(f"{os.environ['SMARTMIG_MEMORY_DIR']}/{os.getpid()}-*.mem")
    assert len(paths) <= 1, paths
    names = "magic version sequence pid ns ticks begun ended now peak managed allocations frees failures failed held at untracked".split()
    return dict(zip(names, struct.unpack("18Q", open(paths[0], "rb").read()[:144]))) if paths else None
def check(good, what):
    global bad
    bad += not good
    print("PASS" if good else "FAIL", f"[{allocator}] {what}")
import torch
print("torch", torch.__version__, "CUDA", torch.version.cuda)
check(own() is None, "no record before the first request")
reserved, allocated = torch.cuda.memory_reserved, torch.cuda.memory_allocated
# The pool of cudaMallocAsync belongs to the driver: there the requests are the tensors. Else they are the cache's segments.
own_cache = "cudaMallocAsync" not in allocator
held = reserved if own_cache else allocated
blocks = [torch.empty(n << 20, dtype=torch.uint8, device="cuda") for n in (3, 50, 200, 1000)]
r = own()
check(r is not None and r["now"] == held(), f"requested {r and r['now']} bytes, PyTorch says {held()}")
del blocks[3], blocks[1]
torch.cuda.empty_cache()
r = own()
check(r["now"] == held(), f"after giving back: requested {r['now']} bytes, PyTorch says {held()}")
if own_cache:
    check(r["peak"] == torch.cuda.max_memory_reserved(), f"peak {r['peak']} bytes, PyTorch says {torch.cuda.max_memory_reserved()}")
# Libraries below PyTorch ask for memory of their own.
a = torch.randn(4096, 4096, device="cuda")
loss = (a @ a).relu().sum(); torch.cuda.synchronize()
conv = torch.nn.Conv2d(16, 16, 3).cuda()(torch.randn(8, 16, 64, 64, device="cuda")); torch.cuda.synchronize()
r = own()
check(r["now"] >= held(), f"with cuBLAS and cuDNN: requested {r['now']} bytes, {r['now'] - held()} more than PyTorch's own")
begin = time.perf_counter()
for _ in range(20000): torch.empty(1024, device="cuda")
print(f"a small tensor from the cache: {(time.perf_counter() - begin) / 20000 * 1e9:.0f} ns")
total, before = torch.cuda.mem_get_info()[1], own()
try:
    torch.empty(total + (1 << 30), dtype=torch.uint8, device="cuda")
    check(False, "more than the device has is refused")
except torch.cuda.OutOfMemoryError:
    r = own()
    check(r["failures"] > before["failures"], f"out of memory: {r['failures'] - before['failures']} refused requests")
    if "expandable" not in allocator:   # those ask for 20 MiB at a time until refused
        check(abs(r["failed"] - total - (1 << 30)) <= 2 << 20, f"the refused one had {r['failed']} bytes")
    need = r["failed"] + r["held"]
    check(need > total * 0.9, f"exact need {need} bytes: {r['held']} held and {r['failed']} asked for; the device has {total}")
try:
    hog = []
    while True: hog.append(torch.empty(4 << 30, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError:
    used = torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]
    r = own()
    check(r["held"] + r["failed"] <= total + (5 << 30), f"filled up: {r['held']} bytes held at the refusal of {r['failed']}; device in use {used}, context and rounding {used - r['now']}")
hog.clear(); torch.cuda.empty_cache()
check(own()["untracked"] == 0, "nothing untracked")
code = subprocess.run([sys.executable, "-c", "import torch; torch.empty(5 << 20, dtype=torch.uint8, device='cuda')"]).returncode
check(code == 0 and len(os.listdir(os.environ["SMARTMIG_MEMORY_DIR"])) == 2, "a child process has its own record")
sys.stdout.flush()
sys.exit(bad)
PYTHON
}

run() {  # DIR
  dir=$(cd "$1" && pwd) || exit 1
  scratch=$(mktemp -d) || exit 1
  reports=$scratch/reports
  python=${TORCH_PYTHON:-/opt/torch/.venv/bin/python}
  fresh() { rm -rf -- "$reports" && mkdir -m 700 "$reports"; }
  say "machine"
  date -u +%Y-%m-%d
  ldd --version 2>/dev/null | head -n 1
  nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader 2>/dev/null

  say "driver and runtime"
  fresh
  runtime=
  [ -x "$python" ] && runtime=$(find "$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia" -name 'libcudart.so.1[0-9]*' 2>/dev/null | head -n 1)
  echo "runtime: ${runtime:-none found}"
  SMARTMIG_MEMORY_DIR=$reports LD_PRELOAD=$dir/libsmartmig-preload.so "$dir/preload_gpu_client" check ${runtime:+"$runtime"}; check $? "driver and runtime"
  ! "$dir/preload_gpu_client" check >"$scratch/plain" 2>&1; check $? "the same checks fail without the library"

  say "what a call costs"
  echo "without the library: $("$dir/preload_gpu_client" cost)"
  fresh
  echo "with it, off:        $(LD_PRELOAD=$dir/libsmartmig-preload.so "$dir/preload_gpu_client" cost)"
  echo "with it, reporting:  $(SMARTMIG_MEMORY_DIR=$reports LD_PRELOAD=$dir/libsmartmig-preload.so "$dir/preload_gpu_client" cost)"

  if [ -x "$python" ] && "$python" -c 'import torch' 2>/dev/null; then
    for allocator in ${TORCH_ALLOCATORS:-expandable_segments:False expandable_segments:True backend:cudaMallocAsync}; do
      say "PyTorch, $allocator"
      fresh
      torch_checks "$allocator"; check $? "PyTorch, $allocator"
    done
  else
    say "PyTorch: none at $python, left out"
  fi
  rm -rf -- "$scratch"
  printf '\n%s groups failed\n' "$failed"
  [ "$failed" = 0 ]
}

case ${1-} in
  '') echo "skipped: needs a real GPU; see $0 --help" ;;  # as bench/run calls it
  pack) [ $# = 3 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }; pack "$2" "$3" ;;
  run)
    [ $# = 2 ] || [ $# = 3 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2; }
    if [ $# = 3 ]; then set -o pipefail; run "$2" 2>&1 | tee "$3"; else run "$2"; fi ;;
  --help | -h) sed -n '2,7s/^# \{0,1\}//p' "$0" ;;
  *) sed -n '2,7s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
