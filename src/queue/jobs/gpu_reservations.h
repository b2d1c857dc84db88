// GPUs that the operator reserves for some users for a period (`smartmig reserve`): names, windows, who may run there.
// Jobs that name a reservation (`submit --reservation`) run only in it. Stored as one named value, "reservations". What
// it means for starts is policy/layers/reserved_gpus.h, which reads the same windows in time of the belief.
//
// Invariants: names are unique; windows of one GPU do not overlap; a window has at least one GPU and some length.
// Thread rule: the owner's.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "policy/layers/reserved_gpus.h"
#include "queue/job_record.h"

namespace smartmig {

struct GpuReservation {
  std::string name;
  std::vector<int> gpus;  // ascending
  UnixTime begin{}, end{};
  std::vector<std::string> users;  // who may run there; empty: the operator alone
  bool begun = false;              // its begin was said
  bool on(UnixTime now) const { return begin <= now && now < end; }
  bool lets_in(const std::string& user, bool by_operator) const;
};

std::uint64_t reservation_tag(const std::string& name);  // 0 for no name
std::string who_of(const GpuReservation& reservation);   // "alice, bob", "the operator"

class GpuReservations {
 public:
  explicit GpuReservations(UnixTime origin) : origin_(origin), windows_(std::make_shared<GpuWindows>()) {}

  const std::vector<GpuReservation>& all() const { return all_; }  // by begin
  const GpuReservation* find(const std::string& name) const;
  const GpuReservation* find(std::uint64_t tag) const;
  // kBusy: the name is taken, or another has one of the GPUs in that time.
  Result<Ok> add(GpuReservation reservation);
  void remove(const std::string& name);
  void begun(const std::string& name);  // its begin was said
  bool is_free(int gpu, UnixTime begin, UnixTime end) const;
  // The next begin that was not said, or end.
  UnixTime next_edge() const;

  const std::shared_ptr<GpuWindows>& windows() const { return windows_; }  // always those of all()
  std::string to_text() const;                                             // JSON
  void load(const std::string& text);
  void clock_stepped(Time by);  // windows keep their time of day

 private:
  void changed();

  UnixTime origin_;
  std::vector<GpuReservation> all_;
  std::shared_ptr<GpuWindows> windows_;
};

}  // namespace smartmig
