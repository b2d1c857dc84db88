#!/usr/bin/env bash
# smartmig estimate on programs that a real CUDA toolkit made: static arrays, local memory and constant requests as the
# source has them, linked statically and dynamically, optimised or not.   tests/e2e/cuda_program_test.sh BUILD-DIRECTORY
# Without a toolkit it exits 77 and says so; made files are tested everywhere (src/memory/cuda_program/*_test.cc).
set -u
binary=$(readlink -f -- "${1:?BUILD-DIRECTORY}/smartmig")
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "no nvcc: real CUDA programs are not read in this run"; exit 77; }
scratch=$(mktemp -d) || exit 1
trap 'rm -rf -- "$scratch"' EXIT
cat >"$scratch/program.cu" <<'END'
__device__ float array[1 << 20];
__constant__ float table[1024];
__global__ void kernel(float* p, int n) {
  float local[256];
  for (int i = 0; i < 256; ++i) local[i] = p[(i * n) % 97];
  float sum = 0;
  for (int i = 0; i < n; ++i) sum += local[(i * 7 + n) & 255];
  p[threadIdx.x] = sum + array[n] + table[n & 1023];
}
int main() {
  float *p, *q;
  cudaMalloc(&p, 64 << 20);
  cudaMalloc((void**)&q, 3000000000ull);
  kernel<<<1, 32>>>(p, 5);
  return cudaDeviceSynchronize();
}
END
failed=0 checks=0
for how in "-O2" "-O2 -cudart shared" "-O0 -cudart shared"; do
  # shellcheck disable=SC2086
  "$nvcc" $how -arch=native -o "$scratch/program" "$scratch/program.cu" 2>/dev/null ||
    "$nvcc" $how -arch=sm_80 -o "$scratch/program" "$scratch/program.cu" || { echo "nvcc $how failed"; exit 1; }
  "$binary" estimate "$scratch/program" --json >"$scratch/out" || { cat "$scratch/out"; failed=1; continue; }
  for want in '"static_arrays_bytes": 4194304' '"local_bytes_per_thread": 1024' \
    '"constant_requests_bytes": 3067108864' '"constant_request_calls": 2'; do
    checks=$((checks + 1))
    grep -qF "$want" "$scratch/out" || { echo "nvcc $how: no $want in:"; cat "$scratch/out"; failed=1; }
  done
done
[ "$failed" = 0 ] && echo "$checks checks of real CUDA programs passed"
exit "$failed"
