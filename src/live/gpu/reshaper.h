// Carries out a reshape so that no failure or crash leaves a GPU in an intermediate state. Before the first call an
// intent (GPU, from, to) is written durably; after the last one the device is read back and the intent removed. A
// failure in between is handled in this order: continue to the requested layout, return to the old one, or quarantine
// with name and reason. recover() does the same at the next start for every intent that a dead process left behind.
// Invariant: an instance on which a process runs is never destroyed, not even to continue or to return. Thread rule: as
// MigDriver: one call at a time for each GPU, GPUs in parallel; recover() before all others.
#pragma once
#include <functional>

#include "live/gpu/quarantine.h"
#include "live/gpu/reshape.h"

namespace smartmig {

struct ReshapeOutcome {
  enum Kind { kDone, kRolledBack, kQuarantined } kind = kDone;
  Layout layout;      // what the device shows now; meaningless when quarantined
  int calls = 0;      // creates and destroys that the driver was asked for
  std::string words;  // empty when done; else what failed and where things stand
  GpuBoard board{};   // as last read
};

class Reshaper {
 public:
  struct Options {
    int rounds = 4;                                    // reads and repairs before a direction is given up
    std::function<void(std::string_view)> checkpoint;  // after each durable step; tests kill the process here
  };
  static Result<Reshaper> open(MigDriver& driver, std::string state_dir) { return open(driver, state_dir, Options()); }
  static Result<Reshaper> open(MigDriver& driver, std::string state_dir, Options options);

  // The plan must start from what the device shows. An error means that nothing was changed.
  Result<ReshapeOutcome> execute(GpuId gpu, const ReshapePlan& plan);
  // One step from whatever the device shows; done at once if it shows the outcome already.
  Result<ReshapeOutcome> apply(GpuId gpu, Operation operation);
  // Finishes what a dead process began; one sentence for each intent. `only`: of the GPU with this UUID.
  Result<std::vector<std::string>> recover(const std::string& only = "");

  Quarantine& quarantine() { return quarantine_; }
  const Quarantine& quarantine() const { return quarantine_; }

 private:
  Reshaper(MigDriver& driver, std::string state_dir, Options options, Quarantine quarantine)
      : driver_(&driver),
        state_dir_(std::move(state_dir)),
        options_(std::move(options)),
        quarantine_(std::move(quarantine)) {}
  Result<GpuBoard> sound_board(GpuId gpu);
  Result<ReshapeOutcome> execute(const GpuBoard& board, const ReshapePlan& plan);
  Result<Ok> allowed(const GpuBoard& board, const Move& move) const;
  Result<ReshapeOutcome> settle(const GpuBoard& board, Layout from, Layout to);
  Result<GpuBoard> converge(GpuId gpu, Layout target, int& calls);
  Result<Ok> one_round(GpuId gpu, const GpuBoard& board, Layout target, int& calls);
  Result<Layout> busy_for(GpuId gpu, const GpuBoard& board, Layout target);
  Result<ReshapeOutcome> give_up(const GpuBoard& board, Layout from, std::string reason, int calls);
  void reached(std::string_view step) const {
    if (options_.checkpoint) options_.checkpoint(step);
  }

  MigDriver* driver_;
  std::string state_dir_;
  Options options_;
  Quarantine quarantine_;
};

}  // namespace smartmig
