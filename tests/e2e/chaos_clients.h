// Those who use the queue while it is being killed: clients that submit jobs of all kinds, cancel and requeue their
// own, and an operator who breaks GPUs and mends them. Each is a thread with its own random numbers. They never repeat
// a submission whose answer they did not get, so a name stands for one submission at most.
#pragma once
#include <atomic>
#include <thread>

#include "chaos_world.h"

namespace smartmig::chaos {

class Crowd {
 public:
  Crowd(const ChaosWorld& world, Ledger& ledger, int clients);
  ~Crowd() { stop(); }
  void stop();  // joins all; faults are cleared
  int faults() const { return faults_; }

 private:
  void client(int number);
  void operate();
  void break_something(Rng& rng);
  bool pause(Rng& rng, double low_s, double high_s) const;  // false: it is over

  const ChaosWorld& world_;
  Ledger& ledger_;
  std::atomic<bool> over_{false};
  std::atomic<int> faults_{0};
  std::vector<std::thread> threads_;
};

// Puts every GPU back to work that is out of it.
void mend(const ChaosWorld& world);

}  // namespace smartmig::chaos
