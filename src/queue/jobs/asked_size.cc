#include "queue/jobs/asked_size.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/text.h"
#include "model/speed.h"

namespace smartmig {
namespace {

const GpuModel& first_model(const Platform& platform) { return *platform.models()[0].gpu; }

bool ends_in_gb(std::string_view word) { return word.size() > 2 && word.ends_with("gb"); }

std::vector<std::string> words_of_model(std::string_view name) {
  std::string text = lower(name);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '_' || c == ' '; }, '-');
  std::vector<std::string> out;
  for (const std::string_view word : split(text, '-'))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

// "h100", "a100_80gb", "nvidia_h100_80gb_hbm3": the model's words without its memory and its form, and the memory where
// it is given. A form (sxm, pcie) that is given must be the model's if that has one.
bool names_model(std::string_view asked, const GpuModel& model) {
  const auto said = words_of_model(asked), own = words_of_model(model.name());
  const auto has = [](const std::vector<std::string>& list, std::string_view word) {
    return std::find(list.begin(), list.end(), word) != list.end();
  };
  const auto form = [](std::string_view word) { return word.starts_with("sxm") || word == "pcie"; };
  bool own_form = false;
  for (const std::string& word : own) {
    own_form |= form(word);
    if (!ends_in_gb(word) && !form(word) && word != "soft" && !has(said, word)) return false;
  }
  for (const std::string& word : said) {
    if (ends_in_gb(word) && !has(own, word)) return false;
    if (form(word) && own_form && !has(own, word.starts_with("sxm") ? "sxm" : "pcie")) return false;
  }
  return true;
}

std::string names_of_models(const Platform& platform) {
  std::string out;
  for (const Platform::Model& model : platform.models()) out += (out.empty() ? "" : ", ") + model.gpu->name();
  return out;
}

// Calls `see` for each slice type that policies make (not for those with media engines, say).
template <class See>
void each_type(const Platform& platform, See see) {
  for (std::size_t t = 0; t < platform.types().size(); ++t) {
    const SliceType& type = platform.types()[t];
    if (platform.models()[std::size_t(type.model)].gpu->schedulable_profiles() >> type.profile & 1)
      see(TypeId(t), type);
  }
}

std::string names_of_profiles(const Platform& platform) {
  std::vector<std::string> names;
  each_type(platform, [&](TypeId id, const SliceType&) {
    const std::string& name = platform.profile(id).name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  });
  return fmt::format("{}", fmt::join(names, ", "));
}

// The size of the first model that has about as many SMs as this type: its own, if it is of that model.
int size_on_first(const Platform& platform, TypeId type) {
  const Profile& profile = platform.profile(type);
  if (platform.type(type).model == 0 || profile.sms == 0) return profile.compute_slices;
  const Profile* nearest = nullptr;
  for (const Profile& own : first_model(platform).profiles())
    if (own.variant == Variant::kPlain && own.sms > 0 &&
        (!nearest || std::abs(own.sms - profile.sms) < std::abs(nearest->sms - profile.sms)))
      nearest = &own;
  return nearest ? nearest->compute_slices : profile.compute_slices;
}

// The slice type of that name; of several models the one with the least memory. kNoType: there is none.
TypeId type_named(const Platform& platform, std::string_view profile) {
  TypeId found = kNoType;
  if (profile.empty()) return found;
  each_type(platform, [&](TypeId id, const SliceType& type) {
    if (platform.profile(id).name != profile) return;
    if (found == kNoType || type.memory_mib < platform.type(found).memory_mib) found = id;
  });
  return found;
}

int known_memory(const JobRecord& job) {
  if (job.memory.mib >= 0) return job.memory.mib;
  return SpeedTable::builtin().mem_mib(job.spec.kind).value_or(-1);
}

// The fewest compute slices within these bounds that have the memory; 0: none do.
int least_with(const Platform& platform, const AskedSize& bounds, int mem_mib) {
  int least = 0;
  each_type(platform, [&](TypeId, const SliceType& type) {
    const bool holds = mem_mib < 0 || type.memory_mib == 0 || type.memory_mib >= mem_mib;
    if (type.model == 0 && bounds.takes(type.compute_slices) && holds && (least == 0 || type.compute_slices < least))
      least = type.compute_slices;
  });
  return least;
}

}  // namespace

SizeRules size_rules(const Settings& settings) {
  return {settings.defaults.max_slices, settings.defaults.pty_max_slices};
}

bool names_a_size(const JobSpec& spec) {
  return spec.exclusive || !spec.profile.empty() || spec.min_slices > 1 || spec.max_slices > 0;
}

std::string size_words(const JobSpec& spec) {
  if (spec.exclusive) return "--exclusive";
  if (!spec.profile.empty()) return "--profile " + spec.profile;
  std::string out = spec.min_slices > 1 ? fmt::format("--min-slices {}", spec.min_slices) : "";
  if (spec.max_slices > 0) out += fmt::format("{}--max-slices {}", out.empty() ? "" : " ", spec.max_slices);
  return out;
}

Result<Ok> check_size(const JobSpec& spec, const Platform& platform) {
  if (!spec.gpu_model.empty()) {
    std::size_t named = 0;
    for (const Platform::Model& model : platform.models()) named += names_model(spec.gpu_model, *model.gpu);
    if (named == 0)
      return invalid("this machine has no GPU of model '{}'; it has {}", spec.gpu_model, names_of_models(platform));
    if (named < platform.models().size())
      return invalid(
          "a job cannot choose '{}' among several models ({}); leave out the model, or reserve "
          "GPUs of it (smartmig reserve)",
          spec.gpu_model, names_of_models(platform));
  }
  if (!spec.profile.empty() && type_named(platform, spec.profile) == kNoType)
    return invalid("no GPU of this machine has the profile '{}'; it has {}", spec.profile, names_of_profiles(platform));
  if (!names_a_size(spec)) return Ok{};
  if (least_with(platform, asked_size(spec, platform), -1) == 0) {
    std::set<int> sizes;
    each_type(platform, [&](TypeId, const SliceType& type) {
      if (type.model == 0) sizes.insert(type.compute_slices);
    });
    return invalid("no GPU of this machine has a slice for {}; slices have {} compute slices", size_words(spec),
                   fmt::join(sizes, ", "));
  }
  if (const int most = largest_memory_mib(spec, platform); spec.mem_mib && most > 0 && *spec.mem_mib > most)
    return invalid("the job asks for {} MiB of GPU memory, but the largest slice for {} has {} MiB", *spec.mem_mib,
                   size_words(spec), most);
  return Ok{};
}

void settle_size(JobSpec& spec, const Platform& platform, const Settings& settings) {
  if (spec.one_gpu && !names_a_size(spec) && settings.defaults.gpu_means == "whole") spec.exclusive = true;
  if (spec.profile.empty() || spec.mem_mib) return;
  if (const TypeId type = type_named(platform, spec.profile); type != kNoType && platform.type(type).memory_mib > 0)
    spec.mem_mib = platform.type(type).memory_mib;
}

AskedSize asked_size(const JobSpec& spec, const Platform& platform) {
  if (spec.exclusive) return {first_model(platform).compute_slices(), first_model(platform).compute_slices()};
  if (!spec.profile.empty())
    if (const TypeId type = type_named(platform, spec.profile); type != kNoType)
      return {size_on_first(platform, type), size_on_first(platform, type)};
  return {std::max(1, spec.min_slices), spec.max_slices > 0 ? spec.max_slices : kMaxComputeSlices};
}

AskedSize allowed_size(const JobRecord& job, const Platform& platform, const SizeRules& rules, int user_slices) {
  AskedSize out = asked_size(job.spec, platform);
  if (job.place.gpu >= 0) return out;  // it has a slice, whatever the rules say by now
  const int needs = least_with(platform, out, known_memory(job));
  const auto cap = [&](int most) {
    if (most > 0 && needs > 0) out.most = std::min(out.most, std::max(most, needs));
  };
  cap(user_slices);
  if (names_a_size(job.spec)) return out;
  cap(rules.max_slices);
  if (job.spec.pty) cap(rules.pty_max_slices);
  return out;
}

int asked_slices(const JobRecord& job, const Platform& platform) {
  const AskedSize bounds = asked_size(job.spec, platform);
  const int least = least_with(platform, bounds, known_memory(job));
  return least > 0 ? least : bounds.least;
}

int largest_memory_mib(const JobSpec& spec, const Platform& platform) {
  if (const TypeId type = type_named(platform, spec.profile); type != kNoType) return platform.type(type).memory_mib;
  const AskedSize bounds = asked_size(spec, platform);
  int most = 0, of_all = 0;
  each_type(platform, [&](TypeId, const SliceType& type) {
    of_all = std::max(of_all, type.memory_mib);
    if (bounds.takes(type.compute_slices)) most = std::max(most, type.memory_mib);
  });
  return most > 0 ? most : of_all;
}

}  // namespace smartmig
