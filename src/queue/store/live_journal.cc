#include "queue/store/live_journal.h"

#include <algorithm>

#include "model/speed.h"

namespace smartmig {

LiveJournal::LiveJournal(std::shared_ptr<const Platform> platform, UnixTime origin, std::uint64_t last_position)
    : platform_(std::move(platform)),
      kinds_(SpeedTable::builtin().kinds()),
      writer_(*platform_, kinds_),
      origin_(origin),
      position_(last_position) {}

void LiveJournal::add(Time at, std::string line) {
  rows_.push_back({++position_, unix_us(origin_ + at), std::move(line)});
}

void LiveJournal::begin_run(const RunRecord& run, Time now) {
  run_began_ = now;
  sequence_ = jobs_ = 0;
  std::fill(numbers_.begin(), numbers_.end(), 0);
  add(now, writer_.header(run));
  run_position_ = position_;
}

void LiveJournal::set_table(std::shared_ptr<const JobTable> table, std::vector<std::size_t> numbers) {
  table_ = std::move(table);
  numbers_ = std::move(numbers);
  numbers_.resize(table_->size());
}

void LiveJournal::append(const Event& event) {
  Event shown = event;
  shown.at -= run_began_;
  if (event.kind == EventKind::kSubmitted) {
    numbers_[index(event.job)] = jobs_++;
    Job job = table_->job(event.job);
    const Workload& workload = table_->workload();
    if (job.kind >= 0) job.kind = int(std::find(kinds_.begin(), kinds_.end(), workload.kind_of(job)) - kinds_.begin());
    if (job.deadline != kNever) job.deadline -= run_began_;
    add(event.at,
        writer_.event(sequence_++, shown, numbers_[index(event.job)], &job, &workload.names[index(event.job)]));
    return;
  }
  add(event.at,
      writer_.event(sequence_++, shown, event.job == kNoJob ? 0 : numbers_[index(event.job)], nullptr, nullptr));
}

void LiveJournal::note(Time now, const std::string& kind, const std::string& json_fields) {
  add(now, fmt::format("{{\"at\":{:.6f},\"note\":\"{}\"{}{}}}", unix_seconds(origin_ + now), kind,
                       json_fields.empty() ? "" : ",", json_fields));
}

}  // namespace smartmig
