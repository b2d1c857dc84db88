#include "memory/cuda_program/program_memory.h"

#include <algorithm>
#include <optional>
#include <set>

#include "memory/cuda_program/constant_requests.h"
#include "memory/cuda_program/cubin_memory.h"
#include "memory/cuda_program/elf_file.h"
#include "memory/cuda_program/fat_binary.h"

namespace smartmig {
namespace {

constexpr std::uint64_t kMostSum = std::uint64_t(1) << 50;

bool is_cuda_library(std::string_view name) {
  for (const std::string_view start : {"libcu", "libnccl", "libnv", "libtorch_cuda", "libonnxruntime"})
    if (name.starts_with(start)) return true;
  return false;
}

class ProgramReader {
 public:
  explicit ProgramReader(std::string name) : name_(std::move(name)) {}
  ProgramMemory out;

  void module(const CubinMemory& cubin) {
    out.arrays = std::min(kMostSum, out.arrays + cubin.arrays);
    out.constants = std::min(kMostSum, out.constants + cubin.constants);
    out.code = std::min(kMostSum, out.code + cubin.code);
    out.kernels += int(cubin.kernels.size());
    ++out.modules;
    if (const KernelMemory* most = cubin.hungriest(); most && most->local > out.local_per_thread) {
      out.local_per_thread = most->local;
      out.local_kernel = most->name;
    }
    dynamic_ +=
        int(std::count_if(cubin.kernels.begin(), cubin.kernels.end(), [](const auto& k) { return k.dynamic_stack; }));
  }

  void fat(std::string_view section) {
    const FatBinary binary = read_fat_binary(section);
    for (const std::string& what : binary.damaged) unread(what);
    for (const FatContainer& container : binary.containers) {
      std::optional<CubinMemory> least;
      bool compressed = false, ptx = false;
      for (const FatPart& part : container.parts) {
        if (part.kind == FatPart::kPtx) ptx = true;
        if (part.kind == FatPart::kOther) unread("a part of an unknown kind in a fat binary");
        if (part.kind != FatPart::kCubin) continue;
        if (part.compressed) {
          compressed = true;
          continue;
        }
        auto cubin = read_cubin(name_, part.bytes);
        if (!cubin) {
          unread(cubin.error().what);
          continue;
        }
        architectures_.insert(part.architecture);
        if (!least || cubin->total() < least->total()) least = std::move(*cubin);
      }
      if (least)
        module(*least);
      else if (compressed)
        ++compressed_;
      else if (ptx)
        ++ptx_only_;
    }
  }

  void host(const ElfFile& elf) {
    for (const ElfSection& s : elf.sections())
      if (s.name == ".nv_fatbin" || s.name == "__nv_relfatbin") fat(s.bytes);
    const ConstantRequests requests = read_constant_requests(elf);
    for (const std::uint64_t bytes : requests.bytes) out.requests = std::min(kMostSum, out.requests + bytes);
    out.request_calls = int(requests.bytes.size());
    out.unknown_calls = requests.unknown;
    if (elf.machine() != ElfFile::kX86)
      unread("memory requests: smartmig finds them only in x86-64 code");
    else if (!requests.possible)
      unread(
          "memory requests: the file names no cudaMalloc or similar call (it is stripped, or a "
          "library has the calls)");
    for (const std::string_view library : elf.needed())
      if (is_cuda_library(library)) unread(fmt::format("{}, a linked library: its own memory", library));
  }

  ProgramMemory finish() {
    out.architectures.assign(architectures_.begin(), architectures_.end());
    const auto count = [](int n, const char* one, const char* many) {
      return n == 1 ? fmt::format("1 {}", one) : fmt::format("{} {}", n, many);
    };
    if (compressed_)
      unread(count(compressed_, "module whose GPU code is compressed", "modules whose GPU code is compressed"));
    if (ptx_only_)
      unread(count(ptx_only_, "PTX-only module, compiled when it is loaded",
                   "PTX-only modules, compiled when they are loaded"));
    if (dynamic_)
      unread(count(dynamic_, "kernel whose stack has no fixed size", "kernels whose stack has no fixed size"));
    if (out.unknown_calls)
      unread(count(out.unknown_calls, "call that asks for memory of a size computed at run time",
                   "calls that ask for memory of sizes computed at run time"));
    return std::move(out);
  }

 private:
  void unread(std::string what) {
    if (out.unread.size() < 40 && seen_.insert(what).second) out.unread.push_back(std::move(what));
  }
  std::string name_;
  std::set<std::string> seen_;
  std::set<int> architectures_;
  int compressed_ = 0, ptx_only_ = 0, dynamic_ = 0;
};

}  // namespace

Result<ProgramMemory> read_program_memory(const std::string& name, std::string_view bytes) {
  ProgramReader reader(name);
  if (integer_at<std::uint32_t>(bytes, 0) == 0xBA55ED50u) {
    reader.fat(bytes);
    return reader.finish();
  }
  SMARTMIG_TRY(const ElfFile elf, ElfFile::parse(name, bytes));
  if (elf.machine() == ElfFile::kCuda) {
    SMARTMIG_TRY(const CubinMemory cubin, read_cubin(name, bytes));
    reader.module(cubin);
  } else {
    reader.host(elf);
  }
  ProgramMemory out = reader.finish();
  if (out.modules == 0 && out.request_calls + out.unknown_calls == 0 && !elf.find(".nv_fatbin"))
    return invalid("{} has no CUDA code and requests no device memory; check that it is the right file", name);
  return out;
}

}  // namespace smartmig
