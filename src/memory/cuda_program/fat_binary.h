// The fat binaries of a CUDA program: one container for each compiled module, which holds the same code for several GPU
// architectures, as cubin or as PTX. NVIDIA does not document the layout. This is the layout that nvcc 13.0 writes; it
// agrees with what other readers found (github.com/n-eiling/cuda-fatbin-decompression). Compressed parts are named and
// not read. Pure; every size is checked.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace smartmig {

struct FatPart {
  enum Kind { kPtx, kCubin, kOther } kind = kOther;
  int architecture = 0;  // 80 is sm_80
  bool compressed = false;
  std::string_view bytes;
};
struct FatContainer {
  std::vector<FatPart> parts;
};
struct FatBinary {
  std::vector<FatContainer> containers;
  std::vector<std::string> damaged;  // the parts that could not be read, in words
};
FatBinary read_fat_binary(std::string_view section);  // the bytes of .nv_fatbin or __nv_relfatbin

}  // namespace smartmig
