// Do an ONNX file and our own inference agree? Cases are observations recorded on a simulated day that the controller
// drives itself, and random ones far outside what it ever saw; half of each with random masks (a GPU may always keep
// its layout). The expected numbers come from Network, as in use; the file's from onnx_reader.h. Deterministic.
#pragma once
#include <string>
#include <vector>

#include "learn/onnx_reader.h"
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

struct Parity {
  std::size_t cases = 0, recorded = 0;
  double matrix = 0;   // greatest absolute difference of a probability
  double value = 0;    // greatest difference of a value, relative where the value is above 1
  double row_sum = 0;  // greatest distance of a row's sum from 1, in the file's answer
  bool holds() const { return matrix <= kParityTolerance && value <= kParityTolerance && row_sum <= kParityTolerance; }
};

// The day is one of the policy's own training config, or a day of paper:20x on eight GPUs where it has none.
Result<std::vector<ParityCase>> parity_cases(const PolicyFile& file, const Controller& controller, int recorded,
                                             int random, std::uint64_t seed);
void infer(const Network& network, ParityCase& one);  // fills matrix and value

Result<Parity> parity_of(const OnnxModel& model, const Controller& controller, const std::vector<ParityCase>& cases);
// {"model": ..., "tolerance": ..., "cases": [{"observation": [...], "mask": [...], "matrix": [...], "value": ...}]}
std::string parity_json(const std::string& model, const Controller& controller, const std::vector<ParityCase>& cases);

}  // namespace smartmig
