// The replay memory of DQN: the last calls of every environment, in rings, in order. A sample is a call, the rewards of
// the next n calls, and the state after them; n is smaller if the day ends first. Calls whose next n are not stored yet
// cannot be drawn, nor can windows in which a day was cut, since what follows is unknown.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "base/rng.h"

namespace smartmig {

class Replay {
 public:
  struct Sample {
    std::size_t at = 0, after = 0;  // positions of the call and of the state after it
    double reward = 0;              // discounted sum
    double discount = 0;            // factor of the value of `after`; 0: the day ended
  };

  Replay(std::size_t envs, std::size_t calls_each, std::size_t inputs, std::size_t n_step);
  void add(std::size_t env, std::span<const float> raw, std::uint8_t action, float reward, bool done, bool cut);
  // REQUIRES: can_draw().
  Sample draw(Rng& rng, double gamma) const;
  bool can_draw() const;

  struct Reward {
    float reward;
    bool ends;
  };
  std::vector<Reward> last_rewards(std::size_t env, std::size_t calls) const;  // the last `calls` ones, oldest first
  std::span<const float> raw(std::size_t place) const { return {raw_.data() + place * inputs_, inputs_}; }
  std::uint8_t action(std::size_t place) const { return action_[place]; }

 private:
  bool try_draw(std::size_t env, std::size_t back, double gamma, Sample& out) const;

  std::size_t envs_, calls_, inputs_, n_step_;
  std::vector<std::size_t> added_;  // by environment, since the start
  // [env][call % calls_]
  std::vector<float> raw_, reward_;
  std::vector<std::uint8_t> action_, end_;  // end: 0: goes on, 1: the day ended, 2: it was cut
};

}  // namespace smartmig
