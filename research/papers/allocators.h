// The allocators of the common frameworks, which stand between the tensors of a job and the memory that its device
// shows. Each is told of created and freed tensors, takes device memory in its own steps, and fails if the device has
// no more.
//   direct         every tensor is a separate request, in whole 2 MiB (plain CUDA programs)
//   caching        PyTorch: sizes in 512 bytes; up to 1 MiB out of segments of 2 MiB, below 10 MiB out of 20 MiB,
//                  larger ones alone in whole 2 MiB. The best fit is cut. Freed blocks are kept, and returned only when
//                  a request is refused
//   pool           cudaMallocAsync, expandable segments: keeps the peak of simultaneous use, in steps of 32 MiB,
//                  without holes
//   doubling       TensorFlow, JAX without preallocation: each region is twice the previous one, or less if that is
//                  refused
//   preallocated   JAX: three quarters of the device at the start, and no more
//   paged          servers such as vLLM: nine tenths of the device permanently; requests without room wait, none fails
// Deterministic; no device. Units: bytes.
#pragma once
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace smartmig {

enum class AllocatorKind : std::uint8_t { kDirect, kCaching, kPool, kDoubling, kPreallocated, kPaged };
inline constexpr int kAllocatorKinds = 6;
const char* name_of(AllocatorKind kind);

class DeviceAllocator {
 public:
  DeviceAllocator(AllocatorKind kind, std::int64_t device_bytes);
  // Takes a tensor. Returns its name for give(), or -1: refused, and the job fails. `cache`: a tensor of keys and
  // values, which paged servers manage.
  int take(std::int64_t bytes, bool cache = false);
  void give(int tensor);

  std::int64_t device() const { return device_; }  // as the device shows
  std::int64_t held() const { return held_; }      // by tensors
  int refused() const { return refused_; }         // requests that succeeded after the cache was returned

 private:
  struct Block {
    std::int64_t size = 0, asked = 0;
    int segment = -1, before = -1, after = -1;
    bool free = false;
  };
  int take_block(std::int64_t bytes);
  bool grow(std::int64_t bytes, int pool);
  void add_segment(std::int64_t bytes, int pool);
  void give_back();
  int new_block();
  void drop(int block);

  AllocatorKind kind_;
  std::int64_t most_, device_ = 0, held_ = 0, next_region_ = 2 << 20;
  int refused_ = 0;
  std::vector<Block> blocks_;
  std::vector<int> unused_;        // unused positions of blocks_
  std::vector<int> segment_pool_;  // by segment
  std::set<std::pair<std::int64_t, int>> free_[2];
};

}  // namespace smartmig
