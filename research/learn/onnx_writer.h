// A trained controller as an ONNX model (opset 13, IR version 7), written by hand in the protobuf wire format: one
// small file that any ONNX runtime loads. It contains the normaliser, the action mask and the softmax, so its user
// feeds raw observations and reads probabilities. docs/checkpoint.md has the inputs, outputs and metadata.
//
//   observation [N, inputs] -> Sub mean -> Mul scale -> Clip -> Gemm, Tanh ... Gemm -> Reshape [N, L, L]
//     -> Where(mask, logits, -1e30) -> Softmax over the last axis -> matrix [N, L, L]
//   the same (plus foresight [N, F], if the critic has any) -> Gemm, Tanh ... Gemm -> value [N]
//
// Pure; the same controller gives the same bytes.
#pragma once
#include <string>

#include "policy/net/network_file.h"

namespace smartmig {

inline constexpr float kMaskedLogit = -1e30f;  // finite, so that a row without an allowed layout is uniform, not NaN

std::string to_onnx(const Controller& controller);

}  // namespace smartmig
