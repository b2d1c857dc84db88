#include "kubernetes/kube_objects.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "base/errors.h"
#include "base/text.h"
#include "live/gpu/memory_size.h"
#include "mig/catalog.h"

namespace smartmig {
namespace {

const Json kNothing;

const Json& at(const Json& object, const char* key) {
  if (!object.is_object()) return kNothing;
  const auto found = object.find(key);
  return found == object.end() ? kNothing : *found;
}

template <class... Keys>
const Json& at(const Json& object, const char* key, Keys... more) {
  return at(at(object, key), more...);
}

std::string text(const Json& value) { return value.is_string() ? value.get<std::string>() : std::string(); }

std::map<std::string, std::string> texts(const Json& value) {
  std::map<std::string, std::string> out;
  if (value.is_object())
    for (const auto& [key, one] : value.items())
      if (one.is_string()) out.emplace(key, one.get<std::string>());
  return out;
}

std::int64_t quantity(const Json& value, std::int64_t scale) {
  if (value.is_number_integer()) return value.get<std::int64_t>() * scale;
  return parse_quantity(text(value), scale).value_or(0);
}

int clamped(std::int64_t value) { return int(std::clamp<std::int64_t>(value, 0, 1'000'000'000)); }

// Set by the keys that users write; kInvalid names the key.
Result<Ok> set_key(JobRequest& request, const std::string& key, const std::string& value) {
  const auto bad = [&] { return invalid("smartmig: '{}' is not a valid value of {}", value, key); };
  if (key == "mem") {
    const auto bytes = parse_quantity(value, 1);
    if (!bytes || *bytes <= 0) return bad();
    request.mem_mib = clamped((*bytes + (1 << 20) - 1) >> 20);
    return Ok{};
  }
  if (key == "slices") {
    const auto slices = parse_int(value);
    if (!slices || *slices < 1 || *slices > 8) return bad();
    request.min_slices = int(*slices);
    return Ok{};
  }
  if (key == "profile") {
    int mem = 0, slices = 0;
    for (const auto& model : Catalog::builtin().models())
      for (const Profile& profile : model->profiles())
        if (profile.name == value && (mem == 0 || profile.memory_mib < mem)) {
          mem = profile.memory_mib;
          slices = profile.compute_slices;
        }
    if (mem == 0) return bad();
    request.mem_mib = std::max(request.mem_mib, mem);
    request.min_slices = std::max(request.min_slices, slices);
    return Ok{};
  }
  if (key == "workload") {
    if (value.empty() || value.size() > 64) return bad();
    request.kind = value;
    return Ok{};
  }
  if (key != "deadline" && key != "estimate" && key != "restart")
    return invalid(
        "smartmig: '{}' is not a key; keys are mem, slices, profile, deadline, estimate, restart and "
        "workload",
        key);
  const auto time = parse_duration(value);
  if (!time || *time < Time{0}) return bad();
  (key == "deadline" ? request.deadline : key == "estimate" ? request.estimate : request.restart) = *time;
  return Ok{};
}

void read_request(KubeClaim& claim, const Json& spec) {
  const Json& requests = at(spec, "devices", "requests");
  if (!requests.is_array()) return;
  for (const Json& one : requests) {
    const Json& exactly = at(one, "exactly");
    if (text(at(exactly, "deviceClassName")) != kKubeClass) continue;
    claim.request = text(at(one, "name"));
    const Json& count = at(exactly, "count");
    if (requests.size() > 1) claim.unreadable = "it has several requests; smartmig places only claims with one request";
    if (count.is_number_integer() && count.get<std::int64_t>() != 1)
      claim.unreadable = "it requests several devices; smartmig places one slice for each claim";
  }
  if (claim.request.empty() || !claim.unreadable.empty()) return;
  JobRequest request;
  const Json& configs = at(spec, "devices", "config");
  if (configs.is_array())
    for (const Json& config : configs) {
      if (text(at(config, "opaque", "driver")) != kKubeClass) continue;
      const Json& parameters = at(config, "opaque", "parameters");
      if (!parameters.is_object()) continue;
      for (const auto& [key, value] : parameters.items()) {
        if (key == "apiVersion" || key == "kind" || key == "metadata") continue;  // of the parameters themselves
        const std::string words = value.is_string() ? value.get<std::string>() : json_dump(value);
        if (const auto set = set_key(request, key, words); !set) {
          claim.unreadable = set.error().what;
          return;
        }
      }
    }
  claim.asked = request;
}

std::int64_t requests_of(const Json& container, const char* what, std::int64_t scale) {
  const Json& asked = at(container, "resources", "requests", what);
  return asked.is_null() ? quantity(at(container, "resources", "limits", what), scale) : quantity(asked, scale);
}

bool expression_holds(const Json& expression, const std::map<std::string, std::string>& labels) {
  const std::string key = text(at(expression, "key")), how = text(at(expression, "operator"));
  const Json& values = at(expression, "values");
  const auto label = labels.find(key);
  const bool is_there = label != labels.end();
  const auto among = [&] {
    return is_there && values.is_array() &&
           std::any_of(values.begin(), values.end(), [&](const Json& one) { return text(one) == label->second; });
  };
  if (how == "In") return among();
  if (how == "NotIn") return !among();
  if (how == "Exists") return is_there;
  if (how == "DoesNotExist") return !is_there;
  if (how == "Gt" || how == "Lt") {
    if (!is_there || !values.is_array() || values.size() != 1) return false;
    const auto has = parse_int(label->second), than = parse_int(text(values[0]));
    return has && than && (how == "Gt" ? *has > *than : *has < *than);
  }
  return true;  // not understood: the scheduler judges
}

bool term_holds(const Json& term, const KubeNode& node) {
  const Json& expressions = at(term, "matchExpressions");
  const Json& fields = at(term, "matchFields");
  if (!expressions.is_array() && !fields.is_array()) return false;
  if (expressions.is_array())
    for (const Json& one : expressions)
      if (!expression_holds(one, node.labels)) return false;
  if (fields.is_array())
    for (const Json& one : fields)
      if (!expression_holds(one, {{"metadata.name", node.meta.name}})) return false;
  return true;
}

bool tolerated(const Json& taint, const Json& tolerations) {
  if (!tolerations.is_array()) return false;
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Json& one) {
    const std::string effect = text(at(one, "effect")), key = text(at(one, "key"));
    if (!effect.empty() && effect != text(at(taint, "effect"))) return false;
    if (!key.empty() && key != text(at(taint, "key"))) return false;
    return text(at(one, "operator")) == "Exists" ||
           (!key.empty() && text(at(one, "value")) == text(at(taint, "value")));
  });
}

}  // namespace

KubeMeta meta_of(const Json& object) {
  const Json& meta = at(object, "metadata");
  KubeMeta out;
  out.space = text(at(meta, "namespace"));
  out.name = text(at(meta, "name"));
  out.uid = text(at(meta, "uid"));
  out.version = std::uint64_t(parse_int(text(at(meta, "resourceVersion"))).value_or(0));
  out.created = parse_kube_time(text(at(meta, "creationTimestamp")));
  out.deleting = !at(meta, "deletionTimestamp").is_null();
  return out;
}

KubePod pod_of(const Json& object) {
  KubePod out;
  out.meta = meta_of(object);
  const Json& spec = at(object, "spec");
  const Json& status = at(object, "status");
  out.node = text(at(spec, "nodeName"));
  out.phase = text(at(status, "phase"));
  out.reason = text(at(status, "reason"));
  out.gated = at(spec, "schedulingGates").is_array() && !at(spec, "schedulingGates").empty();
  out.selector = texts(at(spec, "nodeSelector"));
  out.annotations = texts(at(object, "metadata", "annotations"));
  out.affinity = at(spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution");
  out.tolerations = at(spec, "tolerations");
  if (const Json& owners = at(object, "metadata", "ownerReferences"); owners.is_array())
    for (const Json& owner : owners)
      out.remade = out.remade || (at(owner, "controller").is_boolean() && at(owner, "controller").get<bool>());
  // A claim of a template has the name that the status says; none yet: the pod is not complete.
  std::map<std::string, std::string> made;
  if (const Json& statuses = at(status, "resourceClaimStatuses"); statuses.is_array())
    for (const Json& one : statuses) made[text(at(one, "name"))] = text(at(one, "resourceClaimName"));
  if (const Json& claims = at(spec, "resourceClaims"); claims.is_array())
    for (const Json& one : claims) {
      std::string name = text(at(one, "resourceClaimName"));
      if (name.empty()) name = made[text(at(one, "name"))];
      if (!name.empty()) out.claims.push_back(name);
    }
  std::int64_t cpu = 0, mem = 0, first_cpu = 0, first_mem = 0;
  if (const Json& containers = at(spec, "containers"); containers.is_array())
    for (const Json& one : containers) {
      cpu += requests_of(one, "cpu", 1000);
      mem += requests_of(one, "memory", 1);
    }
  if (const Json& containers = at(spec, "initContainers"); containers.is_array())
    for (const Json& one : containers) {
      first_cpu = std::max(first_cpu, requests_of(one, "cpu", 1000));
      first_mem = std::max(first_mem, requests_of(one, "memory", 1));
    }
  out.cpu_m = clamped(std::max(cpu, first_cpu) + quantity(at(spec, "overhead", "cpu"), 1000));
  out.mem_mib = clamped((std::max(mem, first_mem) + quantity(at(spec, "overhead", "memory"), 1) + (1 << 20) - 1) >> 20);
  out.started = parse_kube_time(text(at(status, "startTime")));
  if (const Json& states = at(status, "containerStatuses"); states.is_array())
    for (const Json& one : states) {
      out.restarts += int(std::min<std::int64_t>(1'000, quantity(at(one, "restartCount"), 1)));
      out.ended = std::max(out.ended, parse_kube_time(text(at(one, "state", "terminated", "finishedAt"))));
    }
  return out;
}

KubeClaim claim_of(const Json& object) {
  KubeClaim out;
  out.meta = meta_of(object);
  read_request(out, at(object, "spec"));
  const Json& allocation = at(object, "status", "allocation");
  out.allocated = allocation.is_object();
  if (const Json& results = at(allocation, "devices", "results"); results.is_array())
    for (const Json& one : results)
      out.devices.push_back({text(at(one, "driver")), text(at(one, "pool")), text(at(one, "device"))});
  if (const Json& terms = at(allocation, "nodeSelector", "nodeSelectorTerms"); terms.is_array() && !terms.empty())
    if (const Json& fields = at(terms[0], "matchFields"); fields.is_array() && !fields.empty())
      if (const Json& values = at(fields[0], "values"); values.is_array() && !values.empty())
        out.node = text(values[0]);
  if (const Json& users = at(object, "status", "reservedFor"); users.is_array())
    for (const Json& one : users) out.reserved_for.push_back(text(at(one, "uid")));
  out.whole = std::make_shared<const Json>(object);
  return out;
}

Result<JobRequest> request_with(const JobRequest& claim, const std::map<std::string, std::string>& annotations) {
  JobRequest out = claim;
  const std::string mark = std::string(kKubeClass) + "/";
  for (const auto& [key, value] : annotations)
    if (key.starts_with(mark)) SMARTMIG_RETURN_IF_ERROR(set_key(out, key.substr(mark.size()), value));
  return out;
}

KubeNode node_of(const Json& object) {
  KubeNode out;
  out.meta = meta_of(object);
  out.labels = texts(at(object, "metadata", "labels"));
  const Json& cordoned = at(object, "spec", "unschedulable");
  out.cordoned = cordoned.is_boolean() && cordoned.get<bool>();
  out.taints = at(object, "spec", "taints");
  if (const Json& conditions = at(object, "status", "conditions"); conditions.is_array())
    for (const Json& one : conditions)
      if (text(at(one, "type")) == "Ready") out.ready = text(at(one, "status")) == "True";
  out.cpu_m = clamped(quantity(at(object, "status", "allocatable", "cpu"), 1000));
  out.mem_mib = clamped(quantity(at(object, "status", "allocatable", "memory"), 1) >> 20);
  return out;
}

std::string profile_in_device(std::string_view profile) {
  std::string out;
  for (const char c : profile) {
    if (c == '.') continue;
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
    const bool capital = c >= 'A' && c <= 'Z';
    out += plain ? c : capital ? char(c - 'A' + 'a') : '-';
  }
  return out;
}

std::optional<MigDeviceName> parse_mig_device(std::string_view name) {
  constexpr std::string_view kFirst = "gpu-", kMiddle = "-mig-";
  if (!name.starts_with(kFirst)) return std::nullopt;
  const auto middle = name.find(kMiddle);
  const auto last = name.rfind('-');
  if (middle == name.npos || last == name.npos || last <= middle + kMiddle.size()) return std::nullopt;
  const auto id = name.rfind('-', last - 1);
  if (id == name.npos || id < middle + kMiddle.size()) return std::nullopt;
  const auto gpu = parse_int(name.substr(kFirst.size(), middle - kFirst.size()));
  const auto start = parse_int(name.substr(last + 1));
  const auto profile_id = parse_int(name.substr(id + 1, last - id - 1));
  MigDeviceName out;
  out.profile = name.substr(middle + kMiddle.size(), id - middle - kMiddle.size());
  if (!gpu || !start || !profile_id || *gpu < 0 || *gpu > 1'000 || *start < 0 || *start > 64 || out.profile.empty())
    return std::nullopt;
  out.gpu = int(*gpu);
  out.start = int(*start);
  return out;
}

std::optional<KubeSlice> slice_of(const Json& object) {
  const Json& spec = at(object, "spec");
  KubeSlice out;
  out.meta = meta_of(object);
  out.node = text(at(spec, "nodeName"));
  out.pool = text(at(spec, "pool", "name"));
  out.generation = std::uint64_t(std::max<std::int64_t>(0, quantity(at(spec, "pool", "generation"), 1)));
  if (text(at(spec, "driver")) != kGpuDriver || out.node.empty()) return std::nullopt;
  if (const Json& devices = at(spec, "devices"); devices.is_array())
    for (const Json& one : devices)
      out.devices.push_back({text(at(one, "name")), text(at(one, "attributes", "productName", "string"))});
  return out;
}

std::optional<std::int64_t> parse_quantity(std::string_view words, std::int64_t scale) {
  static const std::map<std::string_view, double> kUnits{
      {"", 1},     {"m", 1e-3},    {"k", 1e3},        {"M", 1e6},           {"G", 1e9},
      {"T", 1e12}, {"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
      {"P", 1e15}, {"E", 1e18},    {"Pi", 0x1p50},    {"Ei", 0x1p60},
  };
  std::size_t digits = 0;
  while (digits < words.size() && ((words[digits] >= '0' && words[digits] <= '9') || words[digits] == '.')) ++digits;
  const auto number = parse_double(words.substr(0, digits));
  const auto unit = kUnits.find(words.substr(digits));
  if (!number || unit == kUnits.end()) return std::nullopt;
  const double value = std::ceil(*number * unit->second * double(scale));
  if (!(value >= 0) || value > 9e18) return std::nullopt;
  return std::int64_t(value);
}

UnixTime parse_kube_time(const std::string& words) {
  std::tm parts{};
  if (words.size() < 20 || !::strptime(words.c_str(), "%Y-%m-%dT%H:%M:%S", &parts)) return {};
  return from_unix_us(std::int64_t(::timegm(&parts)) * 1'000'000);
}

std::string kube_time(UnixTime instant) {
  const std::int64_t us = unix_us(instant);
  const std::time_t seconds = us / 1'000'000;
  std::tm parts{};
  char words[32] = {};
  ::gmtime_r(&seconds, &parts);
  std::strftime(words, sizeof words, "%Y-%m-%dT%H:%M:%S", &parts);
  return fmt::format("{}.{:06}Z", words, us % 1'000'000);
}

std::string objection_to(const KubeNode& node, const KubePod& pod) {
  for (const auto& [key, value] : pod.selector) {
    const auto label = node.labels.find(key);
    if (label == node.labels.end() || label->second != value) return fmt::format("lacks the label {}={}", key, value);
  }
  if (const Json& terms = at(pod.affinity, "nodeSelectorTerms"); terms.is_array() && !terms.empty())
    if (std::none_of(terms.begin(), terms.end(), [&](const Json& term) { return term_holds(term, node); }))
      return "does not match the pod's node affinity";
  if (node.taints.is_array())
    for (const Json& taint : node.taints) {
      const std::string effect = text(at(taint, "effect"));
      if ((effect == "NoSchedule" || effect == "NoExecute") && !tolerated(taint, pod.tolerations))
        return fmt::format("has the taint {}, which the pod does not tolerate", text(at(taint, "key")));
    }
  if (node.cpu_m > 0 && pod.cpu_m > node.cpu_m) return fmt::format("has {}m CPU, not {}m", node.cpu_m, pod.cpu_m);
  if (node.mem_mib > 0 && pod.mem_mib > node.mem_mib)
    return fmt::format("has {} MiB of memory, not {}", node.mem_mib, pod.mem_mib);
  return {};
}

}  // namespace smartmig
