// The shared file of a machine: made once, mapped by every process, changed whole or not at all (state.h says how).
// Thread rule: every method is thread-safe; read() and change() hold the machine's lock while the function runs, so the
// function must not call back into the store.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "state.h"

namespace smartmig::nvsim {

struct MachineSpec {
  std::string gpus = "8xa100-40gb";  // "8xa100-40gb,2xh200-141gb"
  std::string clock = "real";        // real, zero, virtual
  std::string power = "auto";        // a model of data/power.csv, or linear:IDLE_W:W_PER_SLICE:CAP_W
  bool mig = true;
  bool require_root = false;
  std::uint64_t seed = 0;  // of UUIDs; 0: drawn from the system
};

class Store {
 public:
  // Makes DIR/state unless it is there; two processes that race get one machine.
  static Result<Ok> create(const std::string& directory, const MachineSpec& spec, bool replace = false);
  static Result<std::shared_ptr<Store>> open(const std::string& directory);
  static Result<Ok> remove_of_earlier_boot(const std::string& directory);       // no effect on any other file
  static Result<std::shared_ptr<Store>> make_private(const MachineSpec& spec);  // memory of this process alone
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const std::string& directory() const { return directory_; }  // empty: private
  Header& header() { return shared_->header; }
  std::uint32_t clock_mode() const { return shared_->header.clock_mode; }
  std::uint64_t now() const;  // of the machine's clock; needs no lock

  // `look` sees the present state. `edit` works on the spare copy; the change happens iff it returns true.
  void read(const std::function<void(const State&)>& look);
  bool change(const std::function<bool(State&)>& edit);

  // Waits until something changed after `bell` was read, a signal came, or `timeout_us` of host time passed.
  std::uint32_t bell() const { return shared_->header.bell.load(std::memory_order_acquire); }
  void wait(std::uint32_t bell, std::uint64_t timeout_us);
  void ring();

  class Lock {  // for the clock's slots, which lie outside the copies
   public:
    explicit Lock(Store& store);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Store& store_;
  };

 private:
  Store(std::string directory, Shared* shared) : directory_(std::move(directory)), shared_(shared) {}
  std::string directory_;
  Shared* shared_;
};

// Futexes in the shared file. `futex_wait` also returns when a signal comes.
void futex_wait(const void* word, std::uint32_t value, std::uint64_t timeout_us);
void futex_wake(const void* word);

Owner self();                    // this process
Owner owner_of(int pid);         // pid 0 if there is no such process
bool alive(const Owner& owner);  // a zombie is not
int parent_of(int pid);          // 0 if unknown
std::uint64_t host_now_us();     // CLOCK_MONOTONIC
int thread_id();

// Tests only: SIGKILL to this process at the n-th crash point that it passes (environment NVML_SIM_CRASH_AT); one lies
// before, inside and after each step that makes a change true.
void crash_point();

}  // namespace smartmig::nvsim
