#include "kubernetes/kube_http.h"

#include <curl/curl.h>

#include <chrono>

#include "base/errors.h"
#include "base/file.h"
#include "base/text.h"

namespace smartmig {
namespace {

constexpr std::size_t kMostAnswer = 512 << 20, kMostLine = 16 << 20, kMostIdle = 16;
constexpr std::int64_t kTokenEach_s = 60;
constexpr long kConnect_ms = 5'000;

std::int64_t steady_s() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

std::string text_below(const Json& object, std::initializer_list<const char*> keys) {
  const Json* at = &object;
  for (const char* key : keys) {
    if (!at->is_object()) return {};
    const auto found = at->find(key);
    if (found == at->end()) return {};
    at = &*found;
  }
  return at->is_string() ? at->get<std::string>() : std::string();
}

std::string KubeReply::words() const {
  const std::string message = text_below(body, {"message"});
  return fmt::format("{}: {}", status, message.empty() ? "no message" : message);
}

struct KubeHttp::Call {
  explicit Call(KubeHttp& owner) : http(owner), curl(static_cast<CURL*>(owner.take_handle())) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    curl_slist_free_all(headers);
    http.give_handle(curl);
  }
  static std::size_t collect(char* data, std::size_t, std::size_t size, void* into) {
    Call& call = *static_cast<Call*>(into);
    if (!call.take) {
      if (call.text.size() + size > kMostAnswer) return 0;
      call.text.append(data, size);
      return size;
    }
    call.text.append(data, size);
    std::size_t begin = 0;
    for (std::size_t end; (end = call.text.find('\n', begin)) != std::string::npos; begin = end + 1)
      if (end > begin && !(*call.take)(std::string_view(call.text).substr(begin, end - begin))) return 0;
    call.text.erase(0, begin);
    return call.text.size() > kMostLine ? 0 : size;
  }
  static int progress(void* into, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    const Call& call = *static_cast<const Call*>(into);
    return call.stop && *call.stop ? 1 : 0;
  }

  KubeHttp& http;
  CURL* curl;
  curl_slist* headers = nullptr;
  std::string text;
  const std::function<bool(std::string_view)>* take = nullptr;
  const std::atomic<bool>* stop = nullptr;
};

KubeHttp::KubeHttp(KubeAccess access, Time limit) : access_(std::move(access)), limit_(limit) {
  static const bool begun = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  SMARTMIG_CHECK(begun, "libcurl cannot start");
}

KubeHttp::~KubeHttp() {
  for (void* handle : idle_) curl_easy_cleanup(static_cast<CURL*>(handle));
}

void* KubeHttp::take_handle() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      void* handle = idle_.back();
      idle_.pop_back();
      return handle;
    }
  }
  void* handle = curl_easy_init();
  SMARTMIG_CHECK(handle, "libcurl is out of memory");
  return handle;
}

void KubeHttp::give_handle(void* handle) {
  curl_easy_reset(static_cast<CURL*>(handle));  // keeps its connections
  const std::lock_guard lock(mutex_);
  if (idle_.size() < kMostIdle)
    idle_.push_back(handle);
  else
    curl_easy_cleanup(static_cast<CURL*>(handle));
}

std::string KubeHttp::token(bool anew) {
  if (access_.token_file.empty()) return access_.token;
  const std::lock_guard lock(mutex_);
  if (anew || token_read_s_ < 0 || steady_s() - token_read_s_ >= kTokenEach_s) {
    if (const auto text = read_file(access_.token_file)) token_ = std::string(trim(*text));
    token_read_s_ = steady_s();
  }
  return token_;
}

void KubeHttp::prepare(Call& call, const std::string& path) {
  CURL* curl = call.curl;
  curl_easy_setopt(curl, CURLOPT_URL, (access_.server + path).c_str());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, kConnect_ms);
  curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "smartmig");
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Call::collect);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &call);
  curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
  if (!access_.ca_file.empty()) curl_easy_setopt(curl, CURLOPT_CAINFO, access_.ca_file.c_str());
  if (access_.insecure) {
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (!access_.cert_file.empty()) {
    curl_easy_setopt(curl, CURLOPT_SSLCERT, access_.cert_file.c_str());
    curl_easy_setopt(curl, CURLOPT_SSLKEY, access_.key_file.c_str());
  }
  call.headers = curl_slist_append(call.headers, "Accept: application/json");
  call.headers = curl_slist_append(call.headers, "Content-Type: application/json");
  if (const std::string mine = token(false); !mine.empty())
    call.headers = curl_slist_append(call.headers, ("Authorization: Bearer " + mine).c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, call.headers);
}

Result<KubeReply> KubeHttp::ask_once(const std::string& method, const std::string& path, const std::string& body) {
  Call call(*this);
  prepare(call, path);
  curl_easy_setopt(call.curl, CURLOPT_TIMEOUT_MS, long(limit_.count() / 1000));
  curl_easy_setopt(call.curl, CURLOPT_CUSTOMREQUEST, method.c_str());
  if (!body.empty()) {
    curl_easy_setopt(call.curl, CURLOPT_POSTFIELDSIZE, long(body.size()));
    curl_easy_setopt(call.curl, CURLOPT_POSTFIELDS, body.c_str());
  }
  const CURLcode code = curl_easy_perform(call.curl);
  if (code != CURLE_OK) {
    const std::string words = fmt::format("the API server {}: {}", access_.server, curl_easy_strerror(code));
    return code == CURLE_OPERATION_TIMEDOUT ? timeout_error("{}", words) : io_error("{}", words);
  }
  KubeReply reply;
  curl_easy_getinfo(call.curl, CURLINFO_RESPONSE_CODE, &reply.status);
  if (auto json = parse_json(path, call.text))
    reply.body = std::move(*json);
  else if (reply.good())
    return io_error("the API server {} did not answer {} with JSON", access_.server, path);
  return reply;
}

Result<KubeReply> KubeHttp::ask(const std::string& method, const std::string& path, const Json& body) {
  const std::string text = body.is_null() ? std::string() : json_dump(body);
  SMARTMIG_TRY(KubeReply reply, ask_once(method, path, text));
  if (reply.status != 401 || access_.token_file.empty()) return reply;
  (void)token(true);
  return ask_once(method, path, text);
}

Result<long> KubeHttp::watch(const std::string& path, const std::function<bool(std::string_view line)>& take, Time idle,
                             const std::atomic<bool>& stop) {
  Call call(*this);
  prepare(call, path);
  call.take = &take;
  call.stop = &stop;
  curl_easy_setopt(call.curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(call.curl, CURLOPT_LOW_SPEED_TIME, long(std::max<std::int64_t>(1, idle.count() / 1'000'000)));
  curl_easy_setopt(call.curl, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(call.curl, CURLOPT_XFERINFOFUNCTION, &Call::progress);
  curl_easy_setopt(call.curl, CURLOPT_XFERINFODATA, &call);
  const CURLcode code = curl_easy_perform(call.curl);
  long status = 0;
  curl_easy_getinfo(call.curl, CURLINFO_RESPONSE_CODE, &status);
  if (status == 401) (void)token(true);
  if (code == CURLE_OK || code == CURLE_WRITE_ERROR || code == CURLE_ABORTED_BY_CALLBACK) return status;
  return io_error("the API server {}: {}", access_.server, curl_easy_strerror(code));
}

}  // namespace smartmig
