#include "kubernetes/kube_reader.h"

#include <algorithm>
#include <chrono>

namespace smartmig {
namespace {

constexpr int kPage = 500, kWatchSeconds = 280;
constexpr std::chrono::milliseconds kLook{50}, kFirstPause{250}, kLongestPause{20'000};

std::string version_of(const Json& object) { return text_below(object, {"metadata", "resourceVersion"}); }

}  // namespace

KubeReader::KubeReader(KubeApi& api, std::string path, Sink sink, Time idle)
    : api_(api), path_(std::move(path)), sink_(std::move(sink)), idle_(idle), thread_([this] { run(); }) {}

KubeReader::~KubeReader() {
  stop_ = true;
  thread_.join();
}

// By the number of failures in a row; readers of other kinds do not come at the same moment.
void KubeReader::pause() {
  ++failures_;
  const auto jitter = std::chrono::milliseconds(std::hash<std::string>()(path_) % 100);
  auto left = std::min(kLongestPause, kFirstPause * (1 << std::min(failures_ - 1, 7))) + jitter;
  for (; !stop_ && left.count() > 0; left -= kLook) std::this_thread::sleep_for(std::min(left, kLook));
}

void KubeReader::run() {
  while (!stop_) {
    auto version = list();
    if (!version) {
      sink_.heard(false, version.error().what);
      pause();
      continue;
    }
    failures_ = 0;
    for (bool from_here = true; from_here && !stop_;) {
      const auto began = std::chrono::steady_clock::now();
      const auto seen = watch(*version);
      if (stop_) return;
      from_here = seen && *seen;
      if (!seen) sink_.heard(false, seen.error().what);
      // One that ends at once would be asked for again and again; after some failures everything is listed.
      if (!seen || std::chrono::steady_clock::now() - began < kFirstPause)
        pause();
      else
        failures_ = 0;
      if (!seen) from_here = failures_ < 3;
    }
  }
}

Result<std::string> KubeReader::list() {
  std::vector<Json> objects;
  std::string next, version;
  do {
    const std::string more = next.empty() ? "" : "&continue=" + next;
    SMARTMIG_TRY(KubeReply reply, api_.ask("GET", fmt::format("{}?limit={}{}", path_, kPage, more)));
    if (!reply.good()) return io_error("{}: {}", path_, reply.words());
    if (!reply.body.is_object() || !reply.body.contains("items") || !reply.body["items"].is_array())
      return io_error("{}: the reply is not a list", path_);
    for (Json& item : reply.body["items"]) objects.push_back(std::move(item));
    version = version_of(reply.body);
    next = text_below(reply.body, {"metadata", "continue"});
  } while (!next.empty() && !stop_);
  sink_.all(objects);
  sink_.heard(true, {});
  return version;
}

Result<bool> KubeReader::watch(std::string& version) {
  bool expired = false;
  std::string trouble;
  const auto take = [&](std::string_view line) {
    const auto event = parse_json(path_, line);
    if (!event || !event->is_object() || !event->contains("object")) {
      trouble = fmt::format("{}: a line of the watch is not an event", path_);
      return false;
    }
    const std::string type = text_below(*event, {"type"});
    const Json& object = (*event)["object"];
    if (type == "ERROR") {
      expired = object.is_object() && object.contains("code") && object["code"] == 410;
      if (!expired) trouble = fmt::format("{}: the watch ended with an error", path_);
      return false;
    }
    if (const std::string mine = version_of(object); !mine.empty()) version = mine;
    if (type != "BOOKMARK") sink_.one(object, type == "DELETED");
    sink_.heard(true, {});
    failures_ = 0;
    return !stop_;
  };
  SMARTMIG_TRY(const long status,
               api_.watch(fmt::format("{}?watch=true&allowWatchBookmarks=true&timeoutSeconds={}&resourceVersion={}",
                                      path_, kWatchSeconds, version),
                          take, idle_, stop_));
  if (expired || status == 410) return false;
  if (!trouble.empty()) return io_error("{}", trouble);
  if (status >= 300) return io_error("{}: the watch was refused with status {}", path_, status);
  return true;
}

}  // namespace smartmig
