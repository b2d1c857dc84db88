#include "serve/daemon/reservation_keeper.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"

namespace smartmig {

Result<Ok> ReservationKeeper::add(GpuReservation reservation, int count) {
  if (reservation.end <= session_.now()) return invalid("that period has passed; a reservation must end in the future");
  for (std::size_t g = boards_.size(); g-- > 0 && count > int(reservation.gpus.size());)
    if (boards_.at(int(g)).in_service() && list_.is_free(int(g), reservation.begin, reservation.end))
      reservation.gpus.push_back(int(g));
  if (count > int(reservation.gpus.size()))
    return busy_error("the reservation needs {} GPUs, but {} are in service and free at that time", count,
                      reservation.gpus.size());
  std::sort(reservation.gpus.begin(), reservation.gpus.end());
  reservation.gpus.erase(std::unique(reservation.gpus.begin(), reservation.gpus.end()), reservation.gpus.end());
  for (const int gpu : reservation.gpus)
    if (!boards_.known(gpu)) return not_found("there is no GPU {}; this machine has {}", gpu, boards_.size());
  if (reservation.gpus.empty()) return invalid("name the GPUs: gpus (a list of numbers) or count");
  const std::string name = reservation.name;
  const std::string words =
      fmt::format("\"name\":{},\"gpus\":[{}],\"begin_at\":{:.3f},\"end_at\":{:.3f},\"for\":{}", json_text(name),
                  fmt::join(reservation.gpus, ","), unix_seconds(reservation.begin), unix_seconds(reservation.end),
                  json_text(who_of(reservation)));
  SMARTMIG_RETURN_IF_ERROR(list_.add(std::move(reservation)));
  session_.note("reserved", words);
  store();
  look_at_jobs_of(name);
  return Ok{};
}

Result<Ok> ReservationKeeper::remove(const std::string& name) {
  if (!list_.find(name)) return not_found("reservation {} does not exist; smartmig reserve list shows all", name);
  list_.remove(name);
  session_.note("reservation_removed", "\"name\":" + json_text(name));
  store();
  look_at_jobs_of(name);
  return Ok{};
}

std::vector<QueueId> ReservationKeeper::overruns(const GpuReservation& reservation) const {
  std::vector<QueueId> out;
  for (const int gpu : reservation.gpus)
    for (const QueueId id : table_.on_gpu(gpu))
      if (const JobRecord* job = book_.find(id); job && job->spec.reservation != reservation.name) out.push_back(id);
  return out;
}

void ReservationKeeper::begin_and_end_due() {
  while (list_.next_edge() <= session_.now()) {
    const auto due = std::find_if(list_.all().begin(), list_.all().end(), [&](const GpuReservation& r) {
      return (r.begun ? r.end : r.begin) == list_.next_edge();
    });
    const std::string name = due->name;
    if (due->begun) {
      session_.note("reservation_ends", "\"name\":" + json_text(name));
      list_.remove(name);
    } else {
      const auto others = overruns(*due);
      session_.note("reservation_begins",
                    fmt::format("\"name\":{},\"still_running\":[{}]", json_text(name), fmt::join(others, ",")));
      list_.begun(name);
    }
    store();
    look_at_jobs_of(name);
  }
}

void ReservationKeeper::look_at_jobs_of(const std::string& name) {
  std::vector<QueueId> waiting;
  for (const auto& [id, job] : book_.live())
    if (is_waiting(job.status) && job.spec.reservation == name) waiting.push_back(id);
  for (const QueueId id : waiting)
    if (JobRecord* job = book_.find(id)) {
      attempts_.drop_postponed(id);
      session_.withdraw(id);
      transitions_.check_dependencies(*job);
    }
}

void ReservationKeeper::store() {
  book_.pending().set_value("reservations", list_.to_text());
  book_.queue_changed();
  changed_ = true;
}

}  // namespace smartmig
