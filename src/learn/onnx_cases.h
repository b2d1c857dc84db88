// Cases for testing an ONNX file against our own inference: observations recorded on a simulated day that the controller
// drives itself, and random ones far outside what it ever saw; half of each with random masks (a GPU may always keep its
// layout). The expected numbers come from Network, as in use. Deterministic.
#pragma once
#include <string>
#include <vector>

#include "policy/network_file.h"

namespace smartmig {

inline constexpr double kParityTolerance = 1e-5;

struct ParityCase {
  bool recorded = false;
  std::vector<float> observation, foresight;
  std::vector<std::uint8_t> mask;  // [layouts][layouts], 1: allowed
  std::vector<float> matrix;       // [layouts][layouts], ours
  float value = 0;                 // ours
};

// The day is one of the policy's own training config, or a day of paper:20x on eight GPUs where it has none.
Result<std::vector<ParityCase>> parity_cases(const PolicyFile& file, const Controller& controller, int recorded,
                                             int random, std::uint64_t seed);
void infer(const Network& network, ParityCase& one);  // fills matrix and value

// {"model": ..., "tolerance": ..., "cases": [{"observation": [...], "mask": [...], "matrix": [...], "value": ...}]}
std::string parity_json(const std::string& model, const Controller& controller, const std::vector<ParityCase>& cases);

}  // namespace smartmig
