// The API server as this program uses it: single requests and long-lived watches. Implementations: HTTPS (kube_http.h),
// and an API server in memory in tests. Any thread.
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/units.h"

namespace smartmig {

struct KubeReply {
  long status = 0;  // 200, 201, 404, 409, 410, ...
  Json body;        // null where the answer was no JSON
  bool good() const { return status >= 200 && status < 300; }
  std::string words() const;  // "409: the object has been modified"
};

// The text at these keys, one below the other; empty: there is none.
std::string text_below(const Json& object, std::initializer_list<const char*> keys);

class KubeApi {
 public:
  virtual ~KubeApi() = default;
  // An error: no answer came (kTimeout, kIo). What was asked for may have been done.
  virtual Result<KubeReply> ask(const std::string& method, const std::string& path, const Json& body = Json()) = 0;
  // Lines of a watch until it ends, `stop` is set, `take` says false, or nothing has come for `idle`. The status of the
  // answer; 0: none came.
  virtual Result<long> watch(const std::string& path, const std::function<bool(std::string_view line)>& take, Time idle,
                             const std::atomic<bool>& stop) = 0;
};

}  // namespace smartmig
