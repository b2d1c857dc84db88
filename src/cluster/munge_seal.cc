#include <dlfcn.h>

#include <cstdlib>
#include <type_traits>

#include "cluster/agents.h"

namespace smartmig {
namespace {

// Of munge.h; the library promises them.
constexpr int kOptionTimeToLive = 4, kOptionSocket = 8;
constexpr int kBadCredential = 8, kExpired = 15, kRewound = 16, kReplayed = 17;

struct MungeLibrary {
  void* handle = nullptr;
  void* (*ctx_create)() = nullptr;
  void (*ctx_destroy)(void*) = nullptr;
  int (*ctx_set)(void*, int, ...) = nullptr;
  int (*encode)(char**, void*, const void*, int) = nullptr;
  int (*decode)(const char*, void*, void**, int*, unsigned*, unsigned*) = nullptr;
  const char* (*strerror)(int) = nullptr;
};

Result<MungeLibrary> load_munge() {
  MungeLibrary out;
  out.handle = ::dlopen("libmunge.so.2", RTLD_NOW | RTLD_LOCAL);
  if (!out.handle) return not_found("cannot open libmunge.so.2: install the package libmunge2 ({})", ::dlerror());
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(out.handle, name));
    return function != nullptr;
  };
  if (!find(out.ctx_create, "munge_ctx_create") || !find(out.ctx_destroy, "munge_ctx_destroy") ||
      !find(out.ctx_set, "munge_ctx_set") || !find(out.encode, "munge_encode") || !find(out.decode, "munge_decode") ||
      !find(out.strerror, "munge_strerror"))
    return unsupported("libmunge.so.2 lacks the functions of munge 0.5");
  return out;
}

class MungeSeal : public Seal {
 public:
  MungeSeal(MungeLibrary library, std::string socket, Time time_to_live)
      : library_(library), socket_(std::move(socket)), time_to_live_(time_to_live) {}

  Result<std::string> seal(std::string_view text) override {
    const Context context(*this);
    char* sealed = nullptr;
    const int failed = library_.encode(&sealed, context.get(), text.data(), int(text.size()));
    const std::unique_ptr<char, decltype(&std::free)> owner(sealed, &std::free);
    if (failed) return io_error("munge cannot sign: {}; check that munged runs", library_.strerror(failed));
    return std::string(sealed);
  }

  Result<Opened> open(const std::string& sealed) override {
    const Context context(*this);
    void* text = nullptr;
    int size = 0;
    unsigned uid = 0, gid = 0;
    const int failed = library_.decode(sealed.c_str(), context.get(), &text, &size, &uid, &gid);
    const std::unique_ptr<void, decltype(&std::free)> owner(text, &std::free);
    if (failed == kExpired || failed == kRewound || failed == kReplayed || failed >= kBadCredential)
      return no_permission("a message was refused: {}", library_.strerror(failed));
    if (failed) return io_error("munge cannot open a message: {}; check that munged runs", library_.strerror(failed));
    return Opened{std::string(static_cast<const char*>(text), std::size_t(size)), uid};
  }

 private:
  class Context {
   public:
    explicit Context(const MungeSeal& seal) : library_(seal.library_), context_(library_.ctx_create()) {
      if (!context_) return;
      library_.ctx_set(context_, kOptionTimeToLive, int(seconds(seal.time_to_live_)));
      if (!seal.socket_.empty()) library_.ctx_set(context_, kOptionSocket, seal.socket_.c_str());
    }
    ~Context() {
      if (context_) library_.ctx_destroy(context_);
    }
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;
    void* get() const { return context_; }

   private:
    const MungeLibrary& library_;
    void* context_;
  };
  MungeLibrary library_;
  std::string socket_;
  Time time_to_live_;
};

}  // namespace

Result<std::unique_ptr<Seal>> open_munge(std::string socket, Time time_to_live) {
  SMARTMIG_TRY(const MungeLibrary library, load_munge());
  return std::unique_ptr<Seal>(std::make_unique<MungeSeal>(library, std::move(socket), time_to_live));
}

}  // namespace smartmig
