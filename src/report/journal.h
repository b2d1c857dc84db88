// journal.jsonl: one run as JSON lines. A header names the world (platform, power, costs, layouts at time 0, kinds);
// one line per event follows. Arrivals carry the whole job, so a replay needs no workload file. docs/outputs.md lists
// the fields. The reader is strict: an unknown or missing field, a time that runs backwards, or a job that finishes
// before it starts is an error that names file, line and field. The reader never stops the program, whatever the bytes.
#pragma once
#include <fmt/format.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "mig/gpu_model.h"
#include "model/event.h"
#include "report/run_record.h"

namespace smartmig {

inline constexpr int kJournalVersion = 1;

std::string journal_text(const RunRecord& run);  // REQUIRES: run.events

// Makes single lines, without line ends, for a world that goes on. Keeps a reference to the platform.
class JournalWriter {
 public:
  JournalWriter(const Platform& platform, const std::vector<std::string>& kinds);
  std::string header(const RunRecord& run) const;  // from run's platform, kinds, initial layouts and config
  // `number` is the job's number in this journal: jobs count from 0 as they are submitted. An arrival needs the job
  // itself.
  std::string event(std::size_t seq, const Event& event, std::size_t number, const Job* job,
                    const std::string* name) const;

 private:
  using Buffer = fmt::memory_buffer;
  void put_layout(Buffer& out, std::size_t gpu, Layout slices) const;  // by increasing start
  void put_job(Buffer& out, const Job& job, const std::string* name) const;

  const Platform& platform_;
  std::vector<std::vector<std::string>> names_;  // quoted, by model and placement
  std::vector<std::string> kinds_;               // quoted
};

// A journal as read. Every event was checked against its fleet.
struct ReplayedRun {
  std::vector<Event> events;
  Cluster final;
  RunRecord record;  // refers to the two members above, so the whole is handed out by pointer
};

// `a`, if given, replaces the journal's own. The summary equals that of the run that was written.
Result<std::unique_ptr<ReplayedRun>> replay_journal(LineReader lines, std::optional<double> a = {});

// The words of journal.jsonl, which its writer and its reader share.
// In the order of EventKind.
inline constexpr std::array<std::string_view, kEventKinds> kEventNames = {
    "submitted", "finished", "started", "stopped",   "reshape",       "destroyed",     "created",
    "withdrawn", "overrun",  "blocked", "unblocked", "found_running", "found_waiting",
};

inline std::string_view name_of(EventKind kind) { return kEventNames[std::size_t(kind)]; }

inline std::optional<EventKind> event_kind(std::string_view name) {
  for (std::size_t i = 0; i < kEventNames.size(); ++i)
    if (kEventNames[i] == name) return EventKind(i);
  return std::nullopt;
}

// "4g.20gb@0": a profile of the model, and its start.
inline std::string placement_name(const GpuModel& model, PlacementId p) {
  return fmt::format("{}@{}", model.profile_of(p).name, model.placement(p).start);
}
PlacementId find_placement(const GpuModel& model, std::string_view name);  // kNoPlacement if none has this name

}  // namespace smartmig
