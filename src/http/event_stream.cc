#include "http/event_stream.h"

namespace smartmig {
namespace {

constexpr int kLines = 256;
constexpr std::chrono::seconds kSilence{15};  // after which a comment shows that the line is alive

std::string_view event_name(std::string_view line) {
  constexpr std::string_view kKey = "\"ev\":\"";
  const auto at = line.find(kKey);
  if (at == line.npos) return "event";
  const auto end = line.find('"', at + kKey.size());
  const std::string_view name = line.substr(at + kKey.size(), end - at - kKey.size());
  const bool plain = !name.empty() && name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == name.npos;
  return end != line.npos && plain ? name : "event";
}

}  // namespace

void append_event(std::string& out, std::uint64_t sequence, std::string_view line) {
  out += fmt::format("id: {}\nevent: {}\ndata: ", sequence, event_name(line));
  for (const char c : line)
    if (c != '\n' && c != '\r') out += c;
  out += "\n\n";
}

Result<std::unique_ptr<ReplyStream>> EventStream::open(Service& service, const Caller& caller, std::uint64_t after) {
  SMARTMIG_TRY(const auto lines, service.events(caller, after, kLines, 0));
  std::unique_ptr<EventStream> stream(new EventStream(service, caller, after));
  stream->first_ = ": journal of smartmig\n";
  if (!lines.lines.empty() && lines.lines.front().first > after + 1)
    stream->first_ += fmt::format(": the first one kept is {}\n", lines.lines.front().first);
  stream->first_ += '\n';
  stream->append(stream->first_, lines);
  return std::unique_ptr<ReplyStream>(std::move(stream));
}

void EventStream::append(std::string& out, const Service::Lines& lines) {
  for (const auto& [sequence, line] : lines.lines) {
    append_event(out, sequence, line);
    position_ = sequence;
  }
  ended_ = lines.closing && lines.lines.empty();
}

ReplyStream::Step EventStream::pull(std::string& out) {
  const auto now = std::chrono::steady_clock::now();
  if (!first_.empty()) {
    out += first_;
    first_.clear();
    last_ = now;
    return kData;
  }
  if (ended_) return kEnd;
  const auto lines = service_.events(caller_, position_, kLines, 0);
  if (!lines) {
    out += "event: error\ndata: " + error_reply(lines.error()).body + "\n";
    ended_ = true;
    return kData;
  }
  const std::size_t before = out.size();
  append(out, *lines);
  if (out.size() == before && !ended_ && now - last_ >= kSilence) out += ":\n\n";
  if (out.size() == before) return ended_ ? kEnd : kWait;
  last_ = now;
  return kData;
}

bool EventStream::wait(double seconds) { return bool(service_.events(caller_, position_, 1, seconds)); }

Result<std::unique_ptr<ReplyStream>> JournalStream::open(Service& service, const Caller& caller, std::uint64_t after) {
  std::unique_ptr<JournalStream> stream(new JournalStream(service, caller));
  SMARTMIG_TRY(stream->lines_, service.events(caller, after, kLines, 0));
  return std::unique_ptr<ReplyStream>(std::move(stream));
}

ReplyStream::Step JournalStream::pull(std::string& out) {
  if (lines_.lines.empty()) return kEnd;
  for (const auto& entry : lines_.lines) (out += entry.second) += '\n';
  auto next = service_.events(caller_, lines_.lines.back().first, kLines, 0);
  lines_ = next ? std::move(*next) : Service::Lines{};
  return kData;
}

}  // namespace smartmig
