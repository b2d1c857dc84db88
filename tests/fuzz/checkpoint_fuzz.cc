// Policies and checkpoints of others: never a crash; what is accepted is written back and read again as the same. The
// fuzzer does not find checksums, so the input also stands in for the body of a container that is whole.
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "base/check.h"
#include "fuzz/target.h"
#include "research/learn/trainer.h"

namespace {

void read_all(std::string_view bytes) {
  using namespace smartmig;
  if (const auto file = parse_policy_file("fuzz", bytes)) {
    const std::string again = to_bytes(*file);
    const auto back = parse_policy_file("again", again);
    SMARTMIG_CHECK(bool(back), "{}", back.error().what);
    SMARTMIG_CHECK(to_bytes(*back) == again, "a policy changes when it is read back");
  }
}

}  // namespace

SMARTMIG_FUZZ_TARGET(checkpoint) {
  using namespace smartmig;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  read_all(bytes);
  // The first byte says where the head ends, the rest is split into a head, numbers and an environment section.
  if (size < 3) return 0;
  const std::size_t head = std::min(size - 1, std::size_t(data[0]) * 8);
  const std::string_view rest = bytes.substr(1 + head);
  read_all(to_container({{"head", std::string(bytes.substr(1, head))}, {"netw", std::string(rest)}}));

  // A true checkpoint with one of its sections replaced. Making a trainer takes long: for one input in four.
  if (std::accumulate(data, data + size, 0u) % 4 != 0) return 0;
  static const std::vector<Section> sections = [] {
    TrainConfig config;
    config.gpus = "1xa100-40gb";
    config.workload = "paper:1x,hours=0-2";
    config.initial = "1";
    config.hidden = {2};
    config.num_envs = 1;
    config.num_steps = 1;
    config.minibatch = 1;
    config.total_jobs = 100;
    auto trainer = std::move(Trainer::make(config, 1).value());
    trainer->start().value();
    return parse_container("fuzz", trainer->checkpoint()).value();
  }();
  std::vector<Section> changed = sections;
  Section& section = changed[data[0] % changed.size()];
  if (section.tag == "conf") return 0;  // train_config_fuzz reads it; here it would only make large trainers
  section.bytes = std::string(bytes.substr(1));
  (void)Trainer::resume("fuzz", to_container(changed), 1);
  return 0;
}
