// The key of a command's runs: a signature, so that `train.py --lr 0.1` and `train.py --lr 0.2` learn from each other,
// and the numbers that it leaves out.
//
// Signature: the last path component of argv[0]; then each argument in order: of an option its name, and its value
// unless that is a number; any other argument as it is unless it is a number. A number (also with k, M, G or % behind
// it, or a comma-separated list of numbers) reads as '#'. A script's text comes in as a hash. Longer than 200 bytes:
// cut, and a hash of the whole behind it.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "eval/run_model.h"

namespace smartmig {

inline constexpr std::size_t kLongestSignature = 200;

struct CommandKey {
  std::string signature;
  RunNumbers numbers{};  // logarithms of the first that are above 0, in order
};

CommandKey key_of(const std::vector<std::string>& command, std::string_view script = {});
CommandKey key_of(const std::vector<std::string>& command, std::uint64_t script);  // hash of its text; 0: none
std::string signature_of(const std::vector<std::string>& command, std::string_view script = {});

// Commands of one program: what stands before the first option or number, two words at most ("python3 train.py").
std::string_view program_of(std::string_view signature);
// How alike two signatures are: words that both have over words that either has; 0..1.
double likeness(std::string_view a, std::string_view b);

}  // namespace smartmig
