// What stands between the tensors of a job and the memory its device shows, as the common frameworks do it. Each is told of
// tensors that are made and freed, takes memory of the device in its own steps and fails where the device has no more.
//   direct         every tensor is a request of its own, in whole 2 MiB (plain CUDA programs)
//   caching        PyTorch: sizes in 512 bytes; up to 1 MiB out of segments of 2 MiB, below 10 MiB out of 20 MiB, larger ones
//                  alone in whole 2 MiB; the best fit is cut; freed ones are kept, and given back only when a request is refused
//   pool           cudaMallocAsync, expandable segments: whatever was used at once stays, in steps of 32 MiB, without holes
//   doubling       TensorFlow, JAX without preallocation: each region twice the one before, less where that is refused
//   preallocated   JAX: three quarters of the device at the start, and no more
//   paged          servers such as vLLM: nine tenths of the device for good; requests that find no room wait, none fails
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
  // A tensor; its name for give(), or -1: refused, the job fails. `cache`: of keys and values, which paged servers manage.
  int take(std::int64_t bytes, bool cache = false);
  void give(int tensor);

  std::int64_t device() const { return device_; }  // shown by the device
  std::int64_t held() const { return held_; }      // by tensors
  int refused() const { return refused_; }         // requests that went well after the cache was given back

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
  std::vector<int> unused_;        // places of blocks_ that are no block
  std::vector<int> segment_pool_;  // by segment
  std::set<std::pair<std::int64_t, int>> free_[2];
};

}  // namespace smartmig
