// Does an ONNX file answer as our own inference does? It is run by onnx_reader.h, which shares no code with either.
#pragma once
#include <vector>

#include "onnx/onnx_reader.h"
#include "research/learn/onnx_cases.h"

namespace smartmig {

struct Parity {
  std::size_t cases = 0, recorded = 0;
  double matrix = 0;   // greatest absolute difference of a probability
  double value = 0;    // greatest difference of a value, relative where the value is above 1
  double row_sum = 0;  // greatest distance of a row's sum from 1, in the file's answer
  bool holds() const { return matrix <= kParityTolerance && value <= kParityTolerance && row_sum <= kParityTolerance; }
};

Result<Parity> parity_of(const OnnxModel& model, const Controller& controller, const std::vector<ParityCase>& cases);

}  // namespace smartmig
