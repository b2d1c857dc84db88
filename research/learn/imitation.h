// Lessons from a teacher. Any policy by name can teach: at every controller call it is asked which layouts it wants. In
// the first round its answer is carried out. In later rounds the learner drives and the teacher only says what it would
// have done (DAgger), so the learner also learns to recover from its own mistakes. GPUs are interchangeable: a lesson
// is the number of GPUs per layout before and after, with the transitions that move the fewest GPUs.
#pragma once
#include <string>
#include <vector>

#include "research/learn/env.h"
#include "research/learn/worker_pool.h"

namespace smartmig {

struct Lessons {
  std::size_t inputs = 0, layouts = 0;
  std::vector<float> raw;               // [call][inputs]
  std::vector<std::uint16_t> from, to;  // [call][layouts]
  std::vector<float> reward;            // [call]
  std::vector<std::uint8_t> ends;       // [call]: the last of its day
  double day_return = 0;
  std::size_t days = 0;

  std::size_t size() const { return reward.size(); }
  void append(const Lessons& other);
};

// Weights of the transitions from -> to, [layouts][layouts]. They sum to 1 over the rows in use. Rows without GPUs get
// `spread` in total, distributed as `to` is.
void transition_weights(std::span<const std::uint16_t> from, std::span<const std::uint16_t> to, double spread,
                        std::span<float> out);

// Days first .. first + days - 1. `student`, if given, drives.
Result<Lessons> record_lessons(std::shared_ptr<const EnvSetup> setup, const std::string& teacher,
                               const PolicyFile* student, std::uint64_t first, std::size_t days, std::uint64_t seed,
                               WorkerPool& pool);

}  // namespace smartmig
