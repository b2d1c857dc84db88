// Trained controllers as a file, and the container that checkpoints share with it (docs/checkpoint.md).
//
// Container, little endian: 8 bytes magic "SMIGNET1", u32 version, u32 number of sections; each section: 4 bytes tag,
// u64 length, bytes; last u64 hash of all before it. A policy file has the sections "head" (JSON: what each controller
// sees, chooses from and was trained with) and "netw" (float32: parameters, mean, scale of each controller); a
// checkpoint has further ones, which a reader of policies ignores. A damaged or foreign file, or one of a newer
// version, is refused with its name and the reason.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/net/network.h"
#include "policy/net/observation.h"

namespace smartmig {

struct Section {
  std::string tag;  // four characters
  std::string bytes;
};
std::string to_container(const std::vector<Section>& sections);
Result<std::vector<Section>> parse_container(const std::string& name, std::string_view bytes);
const Section* find_section(const std::vector<Section>& sections, std::string_view tag);

// How GPUs take their next layout from the row of their present layout, cut to its k largest entries and renormalised.
//   sample  each GPU draws for itself (SMART-MIG)
//   quota   the n GPUs of a row draw together, at the quantiles (i + u) / n with one u: each layout gets its expected
//           number of GPUs up to rounding, with the same mean and far less spread
//   greedy  every GPU takes the largest entry
enum class Sampling : std::uint8_t { kSample, kQuota, kGreedy };
Result<Sampling> parse_sampling(std::string_view name);
const char* name_of(Sampling sampling);

struct Controller {
  std::string gpu;                   // training model
  bool paper_shapes = false;         // true: it serves every model of the 7-slice family
  std::vector<std::string> shapes;   // rows and columns
  std::vector<std::string> initial;  // shapes at time 0, repeated over the GPUs
  Features features = Features::kPaper;
  int top_k = 3;
  Sampling sampling = Sampling::kSample;
  Network network;
};

struct PolicyFile {
  std::vector<Controller> controllers;
  std::uint64_t first_seed = 0, last_seed = 0;  // of the training days; both 0: none
  std::string note;                             // how the file was made
  std::string config;                           // the training's, as TOML
  std::string cost, placer;                     // the training's: "paper" or "hardware", "cedf"; empty: unknown

  const Controller* for_model(const GpuModel& model) const;  // by name, else by family; nullptr: none
};

std::vector<Section> policy_sections(const PolicyFile& file);
Result<PolicyFile> policy_from_sections(const std::string& name, const std::vector<Section>& sections);
std::string to_bytes(const PolicyFile& file);
Result<PolicyFile> parse_policy_file(const std::string& name, std::string_view bytes);
Result<PolicyFile> load_policy_file(const std::string& path);

// Numbers in sections, little endian.
void append_u32(std::string& bytes, std::uint32_t value);
void append_u64(std::string& bytes, std::uint64_t value);
void append_floats(std::string& bytes, std::span<const float> values);
void append_doubles(std::string& bytes, std::span<const double> values);

class SectionReader {
 public:
  explicit SectionReader(std::string_view bytes) : rest_(bytes) {}
  bool u64(std::uint64_t& value);
  bool floats(std::span<float> values);    // false if too short or not finite
  bool doubles(std::span<double> values);  // the same
  bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace smartmig
