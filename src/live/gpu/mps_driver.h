// Soft slices on any CUDA GPU through MPS, for cards without MIG or machines where MIG cannot be switched on. The
// vocabulary is that of a catalogue model: a slice of profile 3g stands for its share of the SMs and its memory, at a
// placement of that model, so that policies need not know the difference. NOT ISOLATED: clients share caches, bandwidth
// and fatal faults; isolated() is false and every listing says so. create() and destroy() only update records (a
// durable file per GPU); the limits reach a job through environment(): pipe directory, thread percentage, pinned memory
// limit. Where slices overlap there may be slices of half the memory of the smallest besides (mig/soft_model.h): a
// board's geometry is chosen once, when the driver opens. A board whose slices were created with the other geometry
// keeps that one, unless the owner says that nothing runs and no slice has a client. Then its record is rewritten:
// whole slices keep their places, halves exist only where there were any. One daemon per GPU, started with the first
// slice and stopped with the last. One user at a time unless multi_user. Thread rule: as MigDriver; calls for one GPU
// take turns, since environment() may start its daemon. Asking a control daemon means running a program, which waits
// while the daemon is busy with new clients. If it is already known that a client of this user may run, environment()
// asks nothing and waits for no turn, so that jobs start at once.
#pragma once
#include <atomic>
#include <mutex>

#include "live/gpu/driver.h"
#include "live/gpu/mps_control.h"
#include "live/own_directory.h"
#include "mig/catalog.h"

namespace smartmig {

class MpsDriver : public MigDriver {
 public:
  struct Options {
    std::string control = "nvidia-cuda-mps-control";
    std::string state_dir;                                      // of the books
    std::string pipe_root = runtime_directory("smartmig-mps");  // short: holds sockets
    std::string proc_root = "/proc";
    std::string like;         // catalogue model to imitate on boards that the catalogue does not know
    bool multi_user = false;  // clients of several users at once (the daemon must support it)
    // A slice may use this many times its share of the SMs: what its neighbours leave idle (while they start, read
    // files or copy) is then used, and between busy ones the hardware divides. 1: its share and no more, as MIG would.
    double overlap = 1;
    bool halves = false;        // slices of half the memory, too, where the model has any
    bool nothing_runs = false;  // in any slice, as far as the owner knows, when the driver opens
  };
  // `boards` says which GPUs there are and reads their energy; it is never asked to change anything.
  static Result<std::unique_ptr<MpsDriver>> open(std::shared_ptr<MigDriver> boards, Options options);

  std::string name() const override { return "mps"; }
  bool isolated() const override { return false; }
  Result<std::vector<GpuBoard>> inventory() override;
  Result<GpuBoard> read(GpuId gpu) override;
  Result<Instance> create(GpuId gpu, PlacementId where) override;
  Result<Ok> destroy(GpuId gpu, const Instance& instance) override;
  Result<Ok> set_mig_mode(GpuId gpu, bool on) override;
  Result<double> energy(GpuId gpu) override { return boards_->energy(gpu); }
  Result<double> power(GpuId gpu) override { return boards_->power(gpu); }
  Result<std::vector<DeviceProcess>> processes(GpuId gpu) override;
  Result<Ok> health(GpuId gpu) override;
  Result<Environment> environment(GpuId gpu, const Instance& instance, std::uint32_t uid) override;
  std::vector<std::string> device_nodes(GpuId gpu, const Instance& instance) override;  // of the whole board

  // The fault that the server's log tells of since the last call, if any; the log is read from where it was left.
  Result<std::optional<MpsFault>> fault(GpuId gpu, const std::vector<std::uint32_t>& clients);
  Result<Ok> stop(GpuId gpu);
  // Integer per cent of the SMs: rounded up, as MPS rounds the SMs down to what the hardware can give.
  static int thread_percentage(const GpuModel& model, int profile, double overlap);
  static int memory_limit_mib(const GpuModel& model, int profile, int board_memory_mib);

 private:
  struct Book {
    int next = 1;
    std::vector<std::pair<int, PlacementId>> slices;
  };
  MpsDriver(std::shared_ptr<MigDriver> boards, Options options)
      : boards_(std::move(boards)), options_(std::move(options)) {}
  Result<GpuBoard> soften(GpuBoard board);  // the MIG view of a board becomes the MPS view
  std::shared_ptr<const GpuModel> geometry_of(const GpuBoard& board);
  bool rewrite_book(GpuBoard board, const std::shared_ptr<const GpuModel>& from,
                    const std::shared_ptr<const GpuModel>& to);
  std::string book_path(const GpuBoard& board) const;
  Result<Book> read_book(const GpuBoard& board) const;
  Result<Ok> write_book(const GpuBoard& board, const Book& book) const;
  Result<std::unique_lock<std::recursive_mutex>> turn(GpuId gpu);
  Result<Ok> admit(const GpuBoard& board, std::uint32_t uid);  // its clients may come
  std::optional<std::uint32_t> owner_of(std::uint32_t pid) const;
  MpsControl& control(GpuId gpu) { return controls_[index(gpu)]; }

  std::shared_ptr<MigDriver> boards_;
  Options options_;
  std::shared_ptr<const GpuModel> like_;
  std::vector<MpsControl> controls_;
  std::vector<std::size_t> log_read_;  // by GPU: bytes seen
  bool opening_ = true;
  std::vector<std::shared_ptr<const GpuModel>> geometries_;  // by GPU; null: it did not answer when the driver opened
  std::unique_ptr<std::recursive_mutex[]> turns_;            // by GPU
  // By GPU: the one user whose clients were seen or given an environment since a look found no other's; -1: not known.
  std::unique_ptr<std::atomic<std::int64_t>[]> only_user_;
};

}  // namespace smartmig
