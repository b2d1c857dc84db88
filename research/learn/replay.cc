#include "research/learn/replay.h"

#include <algorithm>

#include "base/check.h"

namespace smartmig {
namespace {
enum End : std::uint8_t { kGoesOn, kDone, kCut };
}

Replay::Replay(std::size_t envs, std::size_t calls_each, std::size_t inputs, std::size_t n_step)
    : envs_(envs),
      calls_(calls_each),
      inputs_(inputs),
      n_step_(n_step),
      added_(envs),
      raw_(envs * calls_each * inputs),
      reward_(envs * calls_each),
      action_(envs * calls_each),
      end_(envs * calls_each) {
  SMARTMIG_CHECK(calls_each > n_step, "room for {} calls of an environment and {} to look ahead", calls_each, n_step);
}

void Replay::add(std::size_t env, std::span<const float> raw, std::uint8_t action, float reward, bool done, bool cut) {
  const std::size_t place = env * calls_ + added_[env]++ % calls_;
  std::copy(raw.begin(), raw.end(), raw_.begin() + std::ptrdiff_t(place * inputs_));
  action_[place] = action;
  reward_[place] = reward;
  end_[place] = done ? kDone : cut ? kCut : kGoesOn;
}

std::vector<Replay::Reward> Replay::last_rewards(std::size_t env, std::size_t calls) const {
  std::vector<Reward> out;
  for (std::size_t call = added_[env] - std::min({calls, calls_, added_[env]}); call < added_[env]; ++call) {
    const std::size_t place = env * calls_ + call % calls_;
    out.push_back({reward_[place], end_[place] != kGoesOn});
  }
  return out;
}

bool Replay::can_draw() const {
  return std::all_of(added_.begin(), added_.end(), [&](std::size_t n) { return n > 2 * n_step_; });
}

// The call that is `back` calls before the last one that may be drawn.
bool Replay::try_draw(std::size_t env, std::size_t back, double gamma, Sample& out) const {
  const std::size_t call = added_[env] - 1 - n_step_ - back;
  const auto place = [&](std::size_t c) { return env * calls_ + c % calls_; };
  out = {place(call), place(call), 0, 1};
  for (std::size_t i = 0; i < n_step_; ++i) {
    const std::size_t now = place(call + i);
    if (end_[now] == kCut) return false;
    out.reward += out.discount * double(reward_[now]);
    out.discount *= gamma;
    if (end_[now] == kDone) {
      out.discount = 0;
      return true;
    }
  }
  out.after = place(call + n_step_);
  return true;
}

Replay::Sample Replay::draw(Rng& rng, double gamma) const {
  Sample out;
  for (;;) {
    const std::size_t env = rng.below(envs_);
    const std::size_t kept = std::min(added_[env], calls_) - n_step_;
    if (try_draw(env, rng.below(kept), gamma, out)) return out;
  }
}

}  // namespace smartmig
