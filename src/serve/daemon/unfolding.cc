#include "serve/daemon/unfolding.h"

#include <algorithm>

#include "base/json.h"
#include "base/moved.h"
#include "queue/jobs/job_json.h"

namespace smartmig {
namespace {

constexpr int kMostArrays = 100'000, kMostTasks = 10'000;

QueueId later(QueueId id, std::size_t by) { return QueueId(number(id) + by); }

}  // namespace

void Unfolding::add(JobRecord base, std::vector<int> tasks) {
  base.id = book_.reserve(tasks.size());
  arrays_.push_back({std::move(base), {tasks.begin(), tasks.end()}});
  store();
}

std::vector<JobRecord> Unfolding::take() {
  std::vector<JobRecord> out;
  if (arrays_.empty() || !arrays_.front().accepted) return out;
  for (std::size_t n = 0; n < kMostInStep && !arrays_.empty() && arrays_.front().accepted; ++n) {
    Array& array = arrays_.front();
    const QueueId id = array.base.id;
    const auto row = array.loaded ? book_.stored(id) : Result<std::optional<JobRow>>(std::optional<JobRow>());
    const bool known = book_.find(id) || (row && *row);
    if (!known) {
      out.push_back(array.base);
      out.back().array.index = array.tasks.front();
    }
    array.tasks.pop_front();
    array.base.id = later(id, 1);
    if (array.tasks.empty()) arrays_.pop_front();
  }
  store();
  return out;
}

void Unfolding::accepted() {
  for (Array& array : arrays_) array.accepted = true;
}

void Unfolding::forget(QueueId array) {
  if (std::erase_if(arrays_, [&](const Array& one) { return one.base.array.id == array; }) > 0) store();
}

void Unfolding::clock_stepped(Time by) {
  if (arrays_.empty()) return;
  for (Array& array : arrays_) array.base.times.submitted = moved(array.base.times.submitted, by);
  store();
}

bool Unfolding::has(QueueId task) const {
  return std::any_of(arrays_.begin(), arrays_.end(), [&](const Array& array) {
    return array.base.id <= task && task < later(array.base.id, array.tasks.size());
  });
}

bool Unfolding::any(const Meant& meant) const {
  return std::any_of(arrays_.begin(), arrays_.end(),
                     [&](const Array& array) { return meant(array.base, array.tasks.size()); });
}

std::size_t Unfolding::count(std::optional<std::uint32_t> uid) const {
  std::size_t sum = 0;
  for (const Array& array : arrays_)
    if (!uid || *uid == array.base.owner.uid) sum += array.tasks.size();
  return sum;
}

std::uint64_t Unfolding::bytes_of(std::uint32_t uid) const {
  std::uint64_t sum = 0;
  for (const Array& array : arrays_)
    if (uid == array.base.owner.uid) sum += smartmig::bytes_of(array.base.spec) * array.tasks.size();
  return sum;
}

void Unfolding::store() {
  Json all = Json::array();
  for (const Array& array : arrays_) {
    const JobRow row = to_row(array.base, true);
    all.push_back({{"id", row.id},
                   {"uid", row.uid},
                   {"submitted_us", row.submitted_us},
                   {"spec", row.spec},
                   {"state", row.state},
                   {"launch", row.launch},
                   {"launch_bytes", array.base.launch.bytes},
                   {"tasks", array.tasks}});
  }
  book_.pending().set_value("unfolding", arrays_.empty() ? "" : json_dump(all));
}

Result<Ok> Unfolding::load(const std::string& text) {
  if (text.empty()) return Ok{};
  SMARTMIG_TRY(const Json all, parse_json("the arrays that unfold", text));
  if (!all.is_array() || all.size() > kMostArrays) return invalid("the arrays that unfold are no list");
  constexpr std::int64_t kLargest = std::int64_t(1) << 62;
  std::deque<Array> found;
  for (const Json& one : all) {
    SMARTMIG_TRY(const JsonObject object,
                 JsonObject::open(one, "an array that unfolds", "",
                                  {"id", "uid", "submitted_us", "spec", "state", "launch", "launch_bytes", "tasks"}));
    SMARTMIG_TRY(const std::int64_t id, object.integer("id", 1, kLargest));
    SMARTMIG_TRY(const std::int64_t uid, object.integer("uid", 0, 0xFFFFFFFF));
    SMARTMIG_TRY(const std::int64_t submitted, object.integer("submitted_us", 0, kLargest));
    SMARTMIG_TRY(const std::int64_t launch, object.integer("launch", 0, kLargest));
    SMARTMIG_TRY(const std::int64_t launch_bytes, object.integer("launch_bytes", 0, kLargest));
    JobRow row;
    SMARTMIG_TRY(row.spec, object.any_text("spec"));
    SMARTMIG_TRY(row.state, object.any_text("state"));
    row.id = std::uint64_t(id);
    row.uid = std::uint32_t(uid);
    row.status = int(JobStatus::kQueued);
    row.submitted_us = submitted;
    row.ended_us = unix_us(kNotYet);
    row.launch = std::uint64_t(launch);
    row.launch_bytes = std::uint64_t(launch_bytes);
    Array array;
    SMARTMIG_TRY(array.base, from_row(row));
    array.accepted = array.loaded = true;
    const Json* tasks = object.find("tasks");
    if (!tasks || !tasks->is_array() || tasks->empty() || tasks->size() > kMostTasks)
      return invalid("an array that unfolds has no tasks");
    for (const Json& task : *tasks) {
      SMARTMIG_TRY(const std::int64_t number, object.integer_in(task, "tasks", 0, INT32_MAX));
      array.tasks.push_back(int(number));
    }
    found.push_back(std::move(array));
  }
  for (const Array& array : found) book_.given(later(array.base.id, array.tasks.size() - 1));
  arrays_ = std::move(found);
  return Ok{};
}

}  // namespace smartmig
