// Cases for testing an ONNX file against our own inference: observations of a simulated day that the controller drives
// itself, and random ones far outside its experience. Half of each have random masks (a GPU may always keep its
// layout). Network gives the expected numbers, as in use. Deterministic.
#pragma once
#include <string>
#include <vector>

#include "policy/net/network_file.h"

namespace smartmig {

inline constexpr double kParityTolerance = 1e-5;

struct ParityCase {
  bool recorded = false;
  std::vector<float> observation, foresight;
  std::vector<std::uint8_t> mask;  // [layouts][layouts], 1: allowed
  std::vector<float> matrix;       // [layouts][layouts], from Network
  float value = 0;                 // from Network
};

// Uses a day of the policy's own training config, or if it has none, a day of paper:20x on eight GPUs.
Result<std::vector<ParityCase>> parity_cases(const PolicyFile& file, const Controller& controller, int recorded,
                                             int random, std::uint64_t seed);
void infer(const Network& network, ParityCase& one);  // fills matrix and value

// {"model": ..., "tolerance": ..., "cases": [{"observation": [...], "mask": [...], "matrix": [...], "value": ...}]}
std::string parity_json(const std::string& model, const Controller& controller, const std::vector<ParityCase>& cases);

}  // namespace smartmig
