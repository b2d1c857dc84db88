#include "research/papers/allocators.h"

#include <algorithm>

namespace smartmig {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
std::int64_t whole(std::int64_t bytes, std::int64_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

const char* name_of(AllocatorKind kind) {
  constexpr const char* names[] = {"direct", "caching", "pool", "doubling", "preallocated", "paged"};
  return names[int(kind)];
}

DeviceAllocator::DeviceAllocator(AllocatorKind kind, std::int64_t device_bytes) : kind_(kind), most_(device_bytes) {
  if (kind == AllocatorKind::kPreallocated) add_segment(whole(most_ * 3 / 4, 512), 0);
}

int DeviceAllocator::new_block() {
  if (unused_.empty()) {
    blocks_.emplace_back();
    return int(blocks_.size()) - 1;
  }
  const int at = unused_.back();
  unused_.pop_back();
  blocks_[std::size_t(at)] = {};
  return at;
}

void DeviceAllocator::drop(int block) { unused_.push_back(block); }

void DeviceAllocator::add_segment(std::int64_t bytes, int pool) {
  const int at = new_block();
  Block& b = blocks_[std::size_t(at)];
  b.size = bytes;
  b.segment = int(segment_pool_.size());
  b.free = true;
  segment_pool_.push_back(pool);
  free_[pool].insert({bytes, at});
  device_ += bytes;
}

void DeviceAllocator::give_back() {  // segments that are completely free
  for (auto& pool : free_)
    for (auto at = pool.begin(); at != pool.end();) {
      const Block& b = blocks_[std::size_t(at->second)];
      if (b.before < 0 && b.after < 0) {
        device_ -= b.size;
        drop(at->second);
        at = pool.erase(at);
      } else {
        ++at;
      }
    }
}

bool DeviceAllocator::grow(std::int64_t bytes, int pool) {
  if (kind_ == AllocatorKind::kPreallocated) return false;
  if (kind_ == AllocatorKind::kCaching) {
    const std::int64_t segment = pool == 0 ? 2 * kMiB : bytes < 10 * kMiB ? 20 * kMiB : whole(bytes, 2 * kMiB);
    if (device_ + segment > most_) {
      give_back();
      if (device_ + segment > most_) return false;
      ++refused_;
    }
    add_segment(segment, pool);
    return true;
  }
  while (next_region_ < bytes) next_region_ *= 2;
  std::int64_t region = next_region_;
  while (device_ + region > most_ && region >= bytes) region = whole(region * 9 / 10, 256);
  if (region < bytes && device_ + bytes <= most_) region = bytes;
  if (region < bytes || device_ + region > most_) return false;
  next_region_ *= 2;
  add_segment(region, pool);
  return true;
}

int DeviceAllocator::take_block(std::int64_t bytes) {
  const bool caching = kind_ == AllocatorKind::kCaching;
  const std::int64_t size = whole(std::max<std::int64_t>(bytes, 1), caching ? 512 : 256);
  const int pool = caching && size > kMiB ? 1 : 0;
  auto best = free_[pool].lower_bound({size, -1});
  if (best == free_[pool].end()) {
    if (!grow(size, pool)) return -1;
    best = free_[pool].lower_bound({size, -1});
  }
  const int at = best->second;
  free_[pool].erase(best);
  const std::int64_t rest = blocks_[std::size_t(at)].size - size;
  const bool cut = caching ? (pool == 0 ? rest >= 512 : rest > kMiB) : rest >= size || rest >= 128 * kMiB;
  if (cut) {
    const int other = new_block();  // may move the blocks
    Block &left = blocks_[std::size_t(at)], &right = blocks_[std::size_t(other)];
    right.size = rest;
    right.segment = left.segment;
    right.before = at;
    right.after = left.after;
    right.free = true;
    if (left.after >= 0) blocks_[std::size_t(left.after)].before = other;
    left.after = other;
    left.size = size;
    free_[pool].insert({rest, other});
  }
  blocks_[std::size_t(at)].free = false;
  return at;
}

int DeviceAllocator::take(std::int64_t bytes, bool cache) {
  int at = -1;
  switch (kind_) {
    case AllocatorKind::kDirect:
      if (device_ + whole(bytes, 2 * kMiB) > most_) return -1;
      device_ += whole(bytes, 2 * kMiB);
      break;
    case AllocatorKind::kPool:
      if (held_ + bytes > most_) return -1;
      device_ = std::clamp(whole(held_ + bytes, 32 * kMiB), device_, most_);
      break;
    case AllocatorKind::kPaged:
      if (!cache && held_ + bytes > most_ * 9 / 10) return -1;
      device_ = cache ? most_ * 9 / 10 : std::max(device_, held_ + bytes);
      bytes = cache ? 0 : bytes;
      break;
    default:
      at = take_block(bytes);
      if (at < 0) return -1;
  }
  if (at < 0) at = new_block();
  blocks_[std::size_t(at)].asked = bytes;
  held_ += bytes;
  return at;
}

void DeviceAllocator::give(int tensor) {
  const std::int64_t bytes = blocks_[std::size_t(tensor)].asked;
  held_ -= bytes;
  if (kind_ == AllocatorKind::kDirect) device_ -= whole(bytes, 2 * kMiB);
  if (kind_ == AllocatorKind::kDirect || kind_ == AllocatorKind::kPool || kind_ == AllocatorKind::kPaged) {
    drop(tensor);
    return;
  }
  const int pool = segment_pool_[std::size_t(blocks_[std::size_t(tensor)].segment)];
  const auto join = [&](int left, int right) {  // merges two free neighbours; right is gone afterwards
    Block &l = blocks_[std::size_t(left)], &r = blocks_[std::size_t(right)];
    l.size += r.size;
    l.after = r.after;
    if (r.after >= 0) blocks_[std::size_t(r.after)].before = left;
    drop(right);
  };
  int at = tensor;
  if (const int after = blocks_[std::size_t(at)].after; after >= 0 && blocks_[std::size_t(after)].free) {
    free_[pool].erase({blocks_[std::size_t(after)].size, after});
    join(at, after);
  }
  if (const int before = blocks_[std::size_t(at)].before; before >= 0 && blocks_[std::size_t(before)].free) {
    free_[pool].erase({blocks_[std::size_t(before)].size, before});
    join(before, at);
    at = before;
  }
  Block& b = blocks_[std::size_t(at)];
  b.free = true;
  free_[pool].insert({b.size, at});
}

}  // namespace smartmig
