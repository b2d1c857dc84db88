#include "live/gpu/mps_driver.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/file.h"
#include "base/json.h"
#include "live/durable_file.h"
#include "live/grant_format.h"
#include "mig/shape.h"
#include "mig/soft_model.h"

namespace smartmig {
namespace {

std::string soft_uuid(const std::string& gpu, int id) {
  return fmt::format("MPS-{}-{}", gpu.starts_with("GPU-") ? gpu.substr(4) : gpu, id);
}

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A value in texts "NAME=value" with a zero byte behind each; empty: none.
std::string value_in(const std::string& all, std::string_view name) {
  for (std::size_t at = 0; at < all.size();) {
    const std::string_view entry = all.c_str() + at;
    if (entry.starts_with(name)) return std::string(entry.substr(name.size()));
    at += entry.size() + 1;
  }
  return "";
}

// Of a path that a client names: never a pipe or a device, which could keep us.
std::string grant_in(const std::string& directory) {
  const int fd = ::open((directory + "/" SMARTMIG_GRANT).c_str(), O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  struct stat entry {};
  std::string text(fd >= 0 && ::fstat(fd, &entry) == 0 && S_ISREG(entry.st_mode) ? SMARTMIG_GRANT_BYTES : 0, '\0');
  const ssize_t got = text.empty() ? 0 : ::read(fd, text.data(), text.size());
  if (fd >= 0) ::close(fd);
  text.resize(std::size_t(std::max<ssize_t>(0, got)));
  return text;
}

// The slice that a client was started for, from its environment; of one that began before it had a slice, from its
// grant, since the kernel shows the environment of the start.
std::string slice_of(const std::string& proc_root, std::uint32_t pid) {
  const std::string all = bytes_of_file(fmt::format("{}/{}/environ", proc_root, pid));
  if (const std::string place = value_in(all, "SMARTMIG_HOLD_DIR="); !place.empty())
    if (std::string device = value_in(grant_in(place), "SMARTMIG_DEVICE="); !device.empty()) return device;
  return value_in(all, "SMARTMIG_DEVICE=");
}

}  // namespace

int MpsDriver::thread_percentage(const GpuModel& model, int profile, double overlap) {
  const Profile& p = model.profiles()[std::size_t(profile)];
  const bool by_sms = p.sms > 0 && model.spec().sms > 0;
  const int part = by_sms ? p.sms : p.compute_slices, whole = by_sms ? model.spec().sms : model.compute_slices();
  return int(std::min(100.0, std::ceil(100 * overlap * part / whole)));
}

int MpsDriver::memory_limit_mib(const GpuModel& model, int profile, int board_memory_mib) {
  const Profile& p = model.profiles()[std::size_t(profile)];
  return p.memory_mib > 0 ? p.memory_mib
                          : int(std::int64_t(board_memory_mib) * p.memory_slices / model.memory_slices());
}

Result<std::unique_ptr<MpsDriver>> MpsDriver::open(std::shared_ptr<MigDriver> boards, Options options) {
  std::unique_ptr<MpsDriver> driver(new MpsDriver(std::move(boards), std::move(options)));
  if (!driver->options_.like.empty()) {
    SMARTMIG_TRY(driver->like_, Catalog::builtin().find(driver->options_.like));
  }
  if (driver->options_.state_dir.empty()) return invalid("the mps driver needs a state directory for its books");
  // Jobs of all users pass through it to the pipes.
  SMARTMIG_TRY(const OwnDirectory pipes, OwnDirectory::open(driver->options_.pipe_root, 0755));
  SMARTMIG_TRY(const auto list, driver->boards_->inventory());
  for (const GpuBoard& board : list)
    driver->controls_.emplace_back(driver->options_.control, driver->options_.pipe_root, board.uuid,
                                   driver->options_.multi_user);
  driver->log_read_.resize(list.size());
  driver->geometries_.resize(list.size());
  driver->turns_ = std::make_unique<std::recursive_mutex[]>(list.size());
  driver->only_user_ = std::make_unique<std::atomic<std::int64_t>[]>(list.size());
  for (std::size_t g = 0; g < list.size(); ++g) {
    driver->only_user_[g] = -1;
    driver->geometry_of(list[g]);
  }
  driver->opening_ = false;
  return driver;
}

Result<std::unique_lock<std::recursive_mutex>> MpsDriver::turn(GpuId gpu) {
  if (index(gpu) >= controls_.size())
    return not_found("GPU {} does not exist; NVML has {}", index(gpu), controls_.size());
  return std::unique_lock(turns_[index(gpu)]);
}

Result<Ok> MpsDriver::stop(GpuId gpu) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  return control(gpu).stop();
}

// What is written of a board's slices tells the geometry they were made in; a book that cannot be read is complained of by read_book().
std::shared_ptr<const GpuModel> MpsDriver::geometry_of(const GpuBoard& board) {
  const std::size_t g = std::size_t(board.index);
  if (g < geometries_.size() && geometries_[g]) return geometries_[g];
  const std::shared_ptr<const GpuModel> hard = board.model ? board.model : like_;
  if (!hard) return hard;
  std::shared_ptr<const GpuModel> soft = hard;
  if (const auto found = Catalog::builtin().find(hard->name() + std::string(kSoftSuffix))) soft = *found;
  std::shared_ptr<const GpuModel> chosen = options_.halves ? soft : hard;
  if (const auto text = read_file(book_path(board)))
    if (const auto json = parse_json(book_path(board), *text);
        json && json->is_object() && json->contains("slices") && !(*json)["slices"].empty()) {
      const auto& made = json->contains("model") ? soft : hard;
      if (made != chosen && !(opening_ && options_.nothing_runs && rewrite_book(board, made, chosen))) chosen = made;
    }
  if (opening_ && g < geometries_.size() && !board.lost && !board.uuid.empty()) geometries_[g] = chosen;
  return chosen;
}

// False, and all stays as it is: a client is in a slice, or the book cannot be read or written.
bool MpsDriver::rewrite_book(GpuBoard board, const std::shared_ptr<const GpuModel>& from,
                             const std::shared_ptr<const GpuModel>& to) {
  board.model = from;
  const auto book = read_book(board);
  if (!book) return false;
  if (const auto clients = control(GpuId(std::uint32_t(board.index))).clients())
    for (const std::uint32_t pid : *clients)
      for (const auto& [id, placement] : book->slices)
        if (slice_of(options_.proc_root, pid) == soft_uuid(board.uuid, id)) return false;
  Book anew{book->next, {}};
  for (const auto& [id, placement] : book->slices) {
    const int profile = to->find_profile(from->profile_of(placement).name);
    const int start = from->placement(placement).start * to->memory_slices() / from->memory_slices();
    const PlacementId there = profile < 0 ? kNoPlacement : to->find_placement(profile, start);
    if (there != kNoPlacement) anew.slices.emplace_back(id, there);
  }
  board.model = to;
  return bool(write_book(board, anew));
}

std::string MpsDriver::book_path(const GpuBoard& board) const {
  return fmt::format("{}/mps-{}.json", options_.state_dir, board.uuid);
}

Result<MpsDriver::Book> MpsDriver::read_book(const GpuBoard& board) const {
  const std::string path = book_path(board);
  Book book;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return book;
  SMARTMIG_TRY(const std::string text, read_file(path));
  const auto read = [&]() -> Result<Ok> {
    SMARTMIG_TRY(const Json json, parse_json(path, text));
    SMARTMIG_TRY(const JsonObject root, JsonObject::open(json, path, "", {"next", "slices", "model"}));
    SMARTMIG_TRY(book.next, root.integer("next", 0, INT32_MAX));
    SMARTMIG_TRY(const Json* slices, root.list("slices"));
    for (const Json& entry : *slices) {
      SMARTMIG_TRY(const JsonObject slice,
                   JsonObject::open(entry, path, fmt::format("slices[{}]", book.slices.size()), {"id", "slice"}));
      SMARTMIG_TRY(const std::string name, slice.text("slice"));
      SMARTMIG_TRY(const Layout one, parse_layout(*board.model, name));
      if (one.size() != 1) return slice.error("slice", "is not one slice");
      SMARTMIG_TRY(const std::int64_t id, slice.integer("id", 0, INT32_MAX));
      book.slices.emplace_back(int(id), *one.begin());
    }
    return Ok{};
  };
  if (const auto done = read(); !done)
    return invalid("{}; stop the jobs of this GPU, then remove the file", done.error().what);
  return book;
}

Result<Ok> MpsDriver::write_book(const GpuBoard& board, const Book& book) const {
  SMARTMIG_RETURN_IF_ERROR(make_directories(options_.state_dir));
  nlohmann::ordered_json json{{"next", book.next}, {"slices", nlohmann::ordered_json::array()}};
  for (const auto& [id, placement] : book.slices)
    json["slices"].push_back({{"id", id}, {"slice", slice_name(*board.model, placement)}});
  if (board.model->name().ends_with(kSoftSuffix)) json["model"] = board.model->name();
  return write_durably(book_path(board), json_dump(json, 1) + "\n");
}

Result<GpuBoard> MpsDriver::soften(GpuBoard board) {
  const bool in_mig_mode = board.mode == MigMode::kOn;
  board.instances.clear();
  board.layout = Layout{};
  board.trouble.clear();
  board.notes = {"soft slices: not isolated from each other"};
  board.model = geometry_of(board);
  board.mode = board.pending = board.model ? MigMode::kOn : MigMode::kUnsupported;
  if (in_mig_mode) {
    board.trouble = "MIG mode is on; use the nvml driver for its slices";
    return board;
  }
  if (!board.model) {
    board.trouble = fmt::format("{} is not in the catalogue; name a model to imitate with --like", board.product);
    return board;
  }
  SMARTMIG_TRY(const Book book, read_book(board));
  for (const auto& [id, placement] : book.slices) {
    Instance instance;
    instance.placement = placement;
    instance.gpu_instance = id;
    instance.compute_instance = 0;
    instance.uuid = soft_uuid(board.uuid, id);
    instance.memory_mib = memory_limit_mib(*board.model, board.model->placement(placement).profile, board.memory_mib);
    instance.ours = true;
    board.instances.push_back(std::move(instance));
  }
  fold_instances(board);
  return board;
}

Result<std::vector<GpuBoard>> MpsDriver::inventory() {
  SMARTMIG_TRY(auto list, boards_->inventory());
  for (GpuBoard& board : list) {
    SMARTMIG_TRY(board, soften(board));
  }
  return list;
}

Result<GpuBoard> MpsDriver::read(GpuId gpu) {
  SMARTMIG_TRY(GpuBoard board, boards_->read(gpu));
  return soften(std::move(board));
}

Result<Instance> MpsDriver::create(GpuId gpu, PlacementId where) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  if (!board.trouble.empty()) return invalid("{}: {}", title(board), board.trouble);
  if (index(where) >= board.model->placements().size())
    return invalid("{} has no placement {}", title(board), index(where));
  if (!board.model->fits(board.layout, where))
    return invalid("{}: no room for {} with the existing slices", title(board), slice_name(*board.model, where));
  SMARTMIG_RETURN_IF_ERROR(control(gpu).start());
  SMARTMIG_TRY(Book book, read_book(board));
  book.slices.emplace_back(book.next++, where);
  SMARTMIG_RETURN_IF_ERROR(write_book(board, book));
  SMARTMIG_TRY(const GpuBoard after, read(gpu));
  const Instance* made = find_instance(after, where);
  if (!made)
    return lost_error("{}: {} is not in the books after it was written", title(board), slice_name(*board.model, where));
  return *made;
}

Result<Ok> MpsDriver::destroy(GpuId gpu, const Instance& instance) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  SMARTMIG_TRY(Book book, read_book(board));
  const auto at = std::find_if(book.slices.begin(), book.slices.end(), [&](const auto& slice) {
    return slice.first == instance.gpu_instance && soft_uuid(board.uuid, slice.first) == instance.uuid;
  });
  if (at == book.slices.end()) return not_found("{}: soft slice {} is not there", title(board), instance.uuid);
  SMARTMIG_TRY(const auto running, processes(gpu));
  for (const DeviceProcess& p : running)
    if (p.gpu_instance == at->first)
      return busy_error("{}: {} is in use by pid {} ({}): stop it first", title(board),
                        slice_name(*board.model, at->second), p.pid, p.name);
  book.slices.erase(at);
  SMARTMIG_RETURN_IF_ERROR(write_book(board, book));
  return book.slices.empty() && running.empty() ? control(gpu).stop() : Result<Ok>(Ok{});
}

Result<Ok> MpsDriver::set_mig_mode(GpuId gpu, bool on) {
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  if (on && board.mode == MigMode::kOn) return Ok{};
  return unsupported("{}: the mps driver has no MIG mode to change", title(board));
}

Result<std::vector<DeviceProcess>> MpsDriver::processes(GpuId gpu) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  std::vector<DeviceProcess> list;
  const auto clients = control(gpu).clients();
  if (!clients) return list;  // no daemon, no clients
  std::map<std::uint32_t, int> held;
  if (const auto seen = boards_->processes(gpu))
    for (const DeviceProcess& p : *seen) held[p.pid] = p.memory_mib;
  for (std::uint32_t pid : *clients) {
    DeviceProcess process;
    process.pid = pid;
    if (const auto owner = owner_of(pid); owner && std::int64_t(*owner) != only_user_[index(gpu)])
      only_user_[index(gpu)] = -1;
    if (const auto at = held.find(pid); at != held.end()) process.memory_mib = at->second;
    std::ifstream comm(fmt::format("{}/{}/comm", options_.proc_root, pid));
    std::getline(comm, process.name);
    const std::string slice = slice_of(options_.proc_root, pid);
    for (const Instance& i : board.instances)
      if (i.uuid == slice) process.gpu_instance = i.gpu_instance;
    list.push_back(std::move(process));
  }
  return list;
}

std::optional<std::uint32_t> MpsDriver::owner_of(std::uint32_t pid) const {
  struct stat info {};
  if (::stat(fmt::format("{}/{}", options_.proc_root, pid).c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

Result<Ok> MpsDriver::health(GpuId gpu) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  if (!board.trouble.empty()) return invalid("{}: {}", title(board), board.trouble);
  // Soft slices are books: what runs goes on under its server, and a new control daemon serves who comes next.
  if (!board.instances.empty() && !control(gpu).running_still())
    if (const auto again = control(gpu).start(); !again)
      return lost_error("{}: it has soft slices, but its MPS control daemon has ended and cannot be started again: {}",
                        title(board), again.error().what);
  return Ok{};
}

std::vector<std::string> MpsDriver::device_nodes(GpuId gpu, const Instance&) { return boards_->device_nodes(gpu, {}); }

// Clients of another user keep this one's out, until they have ended.
Result<Ok> MpsDriver::admit(const GpuBoard& board, std::uint32_t uid) {
  const GpuId gpu{std::uint32_t(board.index)};
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_RETURN_IF_ERROR(control(gpu).start());
  if (options_.multi_user) return Ok{};  // of all users
  only_user_[index(gpu)] = -1;
  SMARTMIG_TRY(const auto running, processes(gpu));
  for (const DeviceProcess& p : running)
    if (const auto owner = owner_of(p.pid); owner && *owner != uid)
      return busy_error(
          "{}: process {} of user {} is running there, and MPS serves one user at a time; wait for it, or use the multi-user mode",
          title(board), p.pid, *owner);
  only_user_[index(gpu)] = uid;
  return Ok{};
}

Result<Environment> MpsDriver::environment(GpuId gpu, const Instance& instance, std::uint32_t uid) {
  SMARTMIG_TRY(const GpuBoard board, read(gpu));
  const Instance* living = find_instance(board, instance.placement);
  if (!living || living->uuid != instance.uuid)
    return not_found("{}: soft slice {} is not there", title(board), instance.uuid);
  const bool known = options_.multi_user || only_user_[index(gpu)] == std::int64_t(uid);
  if (!known || !control(gpu).process_lives()) SMARTMIG_RETURN_IF_ERROR(admit(board, uid));
  const int profile = board.model->placement(living->placement).profile;
  return Environment{
      {"CUDA_VISIBLE_DEVICES", board.uuid},
      {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
      {"CUDA_MPS_PIPE_DIRECTORY", control(gpu).pipe_directory()},
      {"CUDA_MPS_LOG_DIRECTORY", control(gpu).log_directory()},
      {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", std::to_string(thread_percentage(*board.model, profile, options_.overlap))},
      {"CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", fmt::format("0={}M", living->memory_mib)},
      {"SMARTMIG_DEVICE", living->uuid}};
}

Result<std::optional<MpsFault>> MpsDriver::fault(GpuId gpu, const std::vector<std::uint32_t>& clients) {
  SMARTMIG_TRY(const auto mine, turn(gpu));
  SMARTMIG_RETURN_IF_ERROR(boards_->read(gpu));
  const std::string log = bytes_of_file(control(gpu).log_directory() + "/server.log");
  std::size_t& seen = log_read_[index(gpu)];
  if (seen > log.size()) seen = 0;  // the log was replaced
  const std::string fresh = log.substr(seen);
  seen = log.size();
  return find_fault(fresh, clients);
}

}  // namespace smartmig
