#include "queue/jobs/gpu_reservations.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace smartmig {

std::uint64_t reservation_tag(const std::string& name) {
  return name.empty() ? 0 : std::max<std::uint64_t>(1, hash_text(name));
}

std::string who_of(const GpuReservation& reservation) {
  return reservation.users.empty() ? "the operator" : fmt::format("{}", fmt::join(reservation.users, ", "));
}

bool GpuReservation::lets_in(const std::string& user, bool by_operator) const {
  return by_operator || std::find(users.begin(), users.end(), user) != users.end();
}

const GpuReservation* GpuReservations::find(const std::string& name) const {
  const auto at = std::find_if(all_.begin(), all_.end(), [&](const GpuReservation& r) { return r.name == name; });
  return at == all_.end() ? nullptr : &*at;
}

const GpuReservation* GpuReservations::find(std::uint64_t tag) const {
  const auto at =
      std::find_if(all_.begin(), all_.end(), [&](const GpuReservation& r) { return reservation_tag(r.name) == tag; });
  return at == all_.end() ? nullptr : &*at;
}

bool GpuReservations::is_free(int gpu, UnixTime begin, UnixTime end) const {
  return std::none_of(all_.begin(), all_.end(), [&](const GpuReservation& r) {
    return r.begin < end && begin < r.end && std::find(r.gpus.begin(), r.gpus.end(), gpu) != r.gpus.end();
  });
}

Result<Ok> GpuReservations::add(GpuReservation reservation) {
  if (find(reservation.name))
    return busy_error("reservation {} exists; remove it with smartmig reserve remove {}", reservation.name,
                      reservation.name);
  for (const int gpu : reservation.gpus)
    if (!is_free(gpu, reservation.begin, reservation.end))
      return busy_error("GPU {} has another reservation at that time (smartmig reserve list)", gpu);
  all_.push_back(std::move(reservation));
  changed();
  return Ok{};
}

void GpuReservations::remove(const std::string& name) {
  std::erase_if(all_, [&](const GpuReservation& r) { return r.name == name; });
  changed();
}

void GpuReservations::begun(const std::string& name) {
  for (GpuReservation& r : all_) r.begun |= r.name == name;
}

UnixTime GpuReservations::next_edge() const {
  UnixTime next = kNeverUnix;
  for (const GpuReservation& r : all_) next = std::min(next, r.begun ? r.end : r.begin);
  return next;
}

void GpuReservations::clock_stepped(Time by) {
  origin_ += by;
  changed();
}

void GpuReservations::changed() {
  std::stable_sort(all_.begin(), all_.end(),
                   [](const GpuReservation& a, const GpuReservation& b) { return a.begin < b.begin; });
  windows_->clear();
  for (const GpuReservation& r : all_) {
    GpuWindow window{reservation_tag(r.name), {}, r.begin - origin_, r.end - origin_};
    for (const int gpu : r.gpus) window.gpus.push_back(GpuId(std::uint32_t(gpu)));
    windows_->push_back(std::move(window));
  }
}

std::string GpuReservations::to_text() const {
  nlohmann::json list = nlohmann::json::array();
  for (const GpuReservation& r : all_)
    list.push_back({{"name", r.name},
                    {"gpus", r.gpus},
                    {"begin_us", unix_us(r.begin)},
                    {"end_us", unix_us(r.end)},
                    {"users", r.users},
                    {"begun", int(r.begun)}});
  return json_dump(list);
}

void GpuReservations::load(const std::string& text) {
  const auto read = [](const nlohmann::json& json) -> Result<GpuReservation> {
    SMARTMIG_TRY(const JsonObject one, JsonObject::open(json, "a stored reservation", ""));
    GpuReservation r;
    SMARTMIG_TRY(r.name, one.text("name"));
    SMARTMIG_TRY(const auto gpus, one.counts("gpus"));
    r.gpus.assign(gpus.begin(), gpus.end());
    SMARTMIG_TRY(const std::int64_t begin, one.integer("begin_us", INT64_MIN, INT64_MAX));
    SMARTMIG_TRY(const std::int64_t end, one.integer("end_us", INT64_MIN, INT64_MAX));
    SMARTMIG_TRY(r.users, one.texts("users"));
    SMARTMIG_TRY(const std::int64_t begun, one.integer("begun", 0, 1));
    r.begin = from_unix_us(begin);
    r.end = from_unix_us(end);
    r.begun = begun == 1;
    return r;
  };
  const auto stored = parse_json("the stored reservations", text);
  if (!stored || !stored->is_array()) return;
  for (const nlohmann::json& one : *stored)
    if (auto reservation = read(one)) (void)add(std::move(*reservation));
}

}  // namespace smartmig
