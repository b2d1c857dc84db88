// The API server over HTTPS. Connections are kept and shared. A token from a file is reread every minute, and when the
// server refuses it.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "kubernetes/kube_access.h"
#include "kubernetes/kube_api.h"

namespace smartmig {

class KubeHttp : public KubeApi {
 public:
  static constexpr Time kLimit{6'000'000};  // of a request: below the margin of a lease (kube_lease.h)
  explicit KubeHttp(KubeAccess access, Time limit = kLimit);
  ~KubeHttp() override;
  Result<KubeReply> ask(const std::string& method, const std::string& path, const Json& body) override;
  Result<long> watch(const std::string& path, const std::function<bool(std::string_view line)>& take, Time idle,
                     const std::atomic<bool>& stop) override;

 private:
  struct Call;
  Result<KubeReply> ask_once(const std::string& method, const std::string& path, const std::string& body);
  void prepare(Call& call, const std::string& path);
  std::string token(bool anew);
  void* take_handle();
  void give_handle(void* handle);

  const KubeAccess access_;
  const Time limit_;
  std::mutex mutex_;  // of all below
  std::vector<void*> idle_;
  std::string token_;
  std::int64_t token_read_s_ = -1;  // of the steady clock
};

}  // namespace smartmig
