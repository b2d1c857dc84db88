#include "cluster/slice_book.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "cluster/private_folder.h"
#include "live/durable_file.h"

namespace smartmig {
namespace {

constexpr const char *kHeld = ".env", *kGivenBack = ".ended", *kFenced = ".fenced";

bool one_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (unsigned char)(c) < ' '; });
}

}  // namespace

std::optional<SliceHolder> parse_slice_file(std::string_view text) {
  SliceHolder out;
  for (const std::string_view line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == line.npos) continue;
    const std::string_view name = line.substr(0, equals), value = line.substr(equals + 1);
    if (name == "SMARTMIG_GPU") out.gpu = int(std::clamp<std::int64_t>(parse_int(value).value_or(-1), -1, 1 << 20));
    if (name == "SMARTMIG_SLICE") out.slice = value;
    if (name == "SMARTMIG_DEVICE") out.device = value;
    if (name == "SMARTMIG_DEVICES")
      for (const std::string_view file : split(value, ':')) out.files.emplace_back(file);
  }
  if (out.gpu < 0 || out.slice.empty()) return std::nullopt;
  return out;
}

std::string SliceBook::path(std::uint32_t job, const char* suffix) const {
  return fmt::format("{}/{}{}", folder_, job, suffix);
}

Result<SliceBook> SliceBook::open(std::string folder) {
  SMARTMIG_RETURN_IF_ERROR(make_private_folder(folder));
  ::chmod(folder.c_str(), 0755);
  SliceBook book(std::move(folder));
  for (const char* suffix : {kGivenBack, kHeld})
    for (const std::string& path : files_in(book.folder_, "", suffix)) {
      const std::string name = std::filesystem::path(path).stem().string();
      const auto job = parse_int(name);
      const auto text = read_file(path);
      if (!job || *job <= 0 || *job > 0xFFFFFFFELL || !text) continue;
      auto holder = parse_slice_file(*text);
      if (!holder) continue;
      holder->ended = suffix == kGivenBack;
      book.jobs_[std::uint32_t(*job)] = std::move(*holder);
    }
  return book;
}

void SliceBook::look() {
  std::error_code ignored;
  for (auto& [job, holder] : jobs_)
    if (!holder.ended && !std::filesystem::exists(path(job, kHeld), ignored)) holder.ended = true;
}

std::optional<std::uint32_t> SliceBook::holder(int gpu, const std::string& slice) const {
  for (const auto& [job, holder] : jobs_)
    if (!holder.ended && holder.gpu == gpu && holder.slice == slice) return job;
  return std::nullopt;
}

Result<Ok> SliceBook::give(std::uint32_t job, int gpu, const std::string& slice, const std::string& device,
                           const Environment& environment) {
  look();
  if (const auto other = holder(gpu, slice); other && *other != job)
    return busy_error("slice {} of GPU {} belongs to job {}", slice, gpu, *other);
  std::string text = fmt::format("SMARTMIG_GPU={}\nSMARTMIG_SLICE={}\nSMARTMIG_DEVICE={}\n", gpu, slice, device);
  for (const auto& [name, value] : environment)
    if (one_line(name) && one_line(value)) text += fmt::format("{}={}\n", name, value);
  SMARTMIG_RETURN_IF_ERROR(remove_durably(path(job, kFenced)));  // of a run before
  SMARTMIG_RETURN_IF_ERROR(write_durably(path(job, kHeld), text));
  ::chmod(path(job, kHeld).c_str(), 0644);
  (void)remove_durably(path(job, kGivenBack));
  jobs_[job] = *parse_slice_file(text);
  return Ok{};
}

Result<Ok> SliceBook::forget(std::uint32_t job) {
  for (const char* suffix : {kHeld, kGivenBack, kFenced}) SMARTMIG_RETURN_IF_ERROR(remove_durably(path(job, suffix)));
  jobs_.erase(job);
  return Ok{};
}

Result<Ok> SliceBook::fenced(std::uint32_t job) {
  SMARTMIG_RETURN_IF_ERROR(write_file(path(job, kFenced), ""));
  ::chmod(path(job, kFenced).c_str(), 0644);
  return Ok{};
}

}  // namespace smartmig
