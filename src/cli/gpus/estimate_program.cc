#include "cli/gpus/estimate_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdio>

#include "base/json.h"
#include "base/printable.h"
#include "cli/command.h"
#include "cli/model_lookup.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "mig/choose.h"

namespace smartmig::cli {
namespace {

constexpr std::size_t kMostFile = std::size_t(2) << 30;
constexpr double kMib = 1048576;

// The tightest slice, and what the program needs there at the least: local memory grows with the slice's SMs.
struct Fit {
  Result<int> profile = invalid("no slice");
  double needed_mib = 0, local_mib = 0;
  int sms = 0;
};

Fit find_slice(const ProgramMemory& m, const ProgramQuestion& q, const GpuModel& gpu) {
  const double fixed =
      (double(m.arrays) + double(m.constants) + double(m.code) + double(m.requests)) / kMib + q.overhead_mib;
  Fit out;
  for (int round = 0; round < 16; ++round) {
    out.local_mib = double(m.local(out.sms)) / kMib;
    out.needed_mib = std::ceil((fixed + out.local_mib) * (1 + q.margin_percent / 100));
    out.profile = out.needed_mib > 2e9
                      ? Result<int>(invalid("{:g} MiB is more memory than any GPU has", out.needed_mib))
                      : choose_profile(gpu, int(out.needed_mib), 0);
    if (!out.profile) return out;
    const int sms = gpu.profiles()[std::size_t(*out.profile)].sms;
    if (sms <= out.sms) return out;
    out.sms = sms;
  }
  return out;
}

}  // namespace

int estimate_program(const ProgramQuestion& q, const GpuModel& gpu) {
  const auto bytes = read_start(q.path, kMostFile);
  if (!bytes) return failure(bytes.error());
  const auto memory = read_program_memory(q.path, *bytes);
  if (!memory) return failure(memory.error());
  const ProgramMemory& m = *memory;
  const Fit fit = find_slice(m, q, gpu);
  const Profile* slice = fit.profile ? &gpu.profiles()[std::size_t(*fit.profile)] : nullptr;
  if (q.json) {
    nlohmann::ordered_json out{
        {"program", q.path},
        {"modules", m.modules},
        {"kernels", m.kernels},
        {"architectures", m.architectures},
        {"static_arrays_bytes", m.arrays},
        {"constants_bytes", m.constants},
        {"code_bytes", m.code},
        {"local_bytes_per_thread", m.local_per_thread},
        {"local_kernel", m.local_kernel},
        {"local_mib", std::round(fit.local_mib)},
        {"constant_requests_bytes", m.requests},
        {"constant_request_calls", m.request_calls},
        {"unknown_request_calls", m.unknown_calls},
        {"overhead_mib", q.overhead_mib},
        {"margin_percent", q.margin_percent},
        {"at_least_mib", fit.needed_mib},
        {"gpu", gpu.name()},
        {"profile", slice ? nlohmann::ordered_json(slice->name) : nlohmann::ordered_json(nullptr)},
        {"not_read", m.unread}};
    if (!slice) out["reason"] = fit.profile.error().what;
    fmt::print("{}\n", json_dump(out, 2));
    return slice ? 0 : 1;
  }
  Table table({"part", "MiB", "what"});
  const auto row = [&](const char* part, double mib, std::string what) {
    table.add({part, fmt::format("{:.2f}", mib), std::move(what)});
  };
  std::string architectures;
  for (const int a : m.architectures) architectures += fmt::format("{}sm_{}", architectures.empty() ? ", " : " ", a);
  row("static arrays", double(m.arrays) / kMib, fmt::format("{} modules{}", m.modules, architectures));
  row("constants", double(m.constants) / kMib, "");
  row("code", double(m.code) / kMib, fmt::format("{} kernels", m.kernels));
  if (m.local_per_thread > 0)
    row("local memory", fit.local_mib,
        fmt::format("{} bytes per thread of {}, {} SMs x 2048 threads", m.local_per_thread,
                    printable(m.local_kernel.substr(0, 60)), fit.sms));
  if (m.request_calls > 0)
    row("requests", double(m.requests) / kMib,
        fmt::format("{} calls with constant sizes, if all are held at the same time", m.request_calls));
  row("overhead", q.overhead_mib, "CUDA context and libraries, an assumption");
  fmt::print("{}", table.text());
  for (const std::string& what : m.unread) fmt::print("not read: {}\n", printable(what));
  std::fflush(stdout);
  if (!slice) return failure(fit.profile.error());
  fmt::print(
      "With {:g} % spare: at least {:.0f} MiB. Smallest slice of {} that may be large enough: {} ({} "
      "MiB).\n",
      q.margin_percent, fit.needed_mib, gpu.name(), slice->name, slice->memory_mib);
  return 0;
}

}  // namespace smartmig::cli
