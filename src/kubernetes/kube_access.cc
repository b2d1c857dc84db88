#include "kubernetes/kube_access.h"

#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <filesystem>

#include "base/errors.h"
#include "base/file.h"
#include "base/text.h"
#include "cluster/private_folder.h"

namespace smartmig {
namespace {

std::string text_of(const YAML::Node& node) { return node && node.IsScalar() ? node.as<std::string>() : std::string(); }

// The entry of a list of {name, KIND: {...}} with that name.
YAML::Node named(const YAML::Node& list, const std::string& name, const char* kind) {
  if (list && list.IsSequence())
    for (const YAML::Node& entry : list)
      if (entry.IsMap() && text_of(entry["name"]) == name && entry[kind] && entry[kind].IsMap()) return entry[kind];
  return {};
}

Result<std::string> from_base64(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    int value = -1;
    if (c >= 'A' && c <= 'Z') value = c - 'A';
    if (c >= 'a' && c <= 'z') value = c - 'a' + 26;
    if (c >= '0' && c <= '9') value = c - '0' + 52;
    if (c == '+') value = 62;
    if (c == '/') value = 63;
    if (c == '=' || c == '\n' || c == '\r' || c == ' ') continue;
    if (value < 0) return invalid("it is not base64");
    bits = bits << 6 | std::uint32_t(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    out += char(bits >> count & 0xFF);
  }
  return out;
}

// KEY names a file; KEY-data holds the text itself.
Result<std::string> file_of(const YAML::Node& node, const std::string& key, const std::string& kubeconfig,
                            const std::string& folder) {
  if (const std::string data = text_of(node[key + "-data"]); !data.empty()) {
    auto text = from_base64(data);
    if (!text) return invalid("{}: {}-data: {}", kubeconfig, key, text.error().what);
    SMARTMIG_RETURN_IF_ERROR(make_private_folder(folder));
    const std::string file = folder + "/" + key;
    const mode_t before = ::umask(077);
    const auto written = write_file(file, *text);
    ::umask(before);
    if (!written) return written.error();
    return file;
  }
  const std::string file = text_of(node[key]);
  if (file.empty() || file.starts_with('/')) return file;
  return (std::filesystem::path(kubeconfig).parent_path() / file).string();
}

Result<KubeAccess> access_of(const YAML::Node& root, const std::string& file, const std::string& folder) {
  if (!root.IsMap()) return invalid("{}: this is not a kubeconfig", file);
  const std::string current = text_of(root["current-context"]);
  const YAML::Node context = named(root["contexts"], current, "context");
  if (!context) return invalid("{}: there is no context '{}'", file, current);
  const YAML::Node cluster = named(root["clusters"], text_of(context["cluster"]), "cluster");
  const YAML::Node user = named(root["users"], text_of(context["user"]), "user");
  if (!cluster) return invalid("{}: there is no cluster '{}'", file, text_of(context["cluster"]));
  KubeAccess out;
  out.server = text_of(cluster["server"]);
  while (out.server.ends_with('/')) out.server.pop_back();
  if (!out.server.starts_with("https://") && !out.server.starts_with("http://"))
    return invalid("{}: the server '{}' is not an https:// address", file, out.server);
  out.insecure = text_of(cluster["insecure-skip-tls-verify"]) == "true";
  SMARTMIG_TRY(out.ca_file, file_of(cluster, "certificate-authority", file, folder));
  if (!user) return out;
  if (user["exec"] || user["auth-provider"])
    return unsupported(
        "{}: its user signs in with a program, but smartmig needs a token, a token file or a certificate", file);
  out.token = text_of(user["token"]);
  SMARTMIG_TRY(out.token_file, file_of(user, "tokenFile", file, folder));
  SMARTMIG_TRY(out.cert_file, file_of(user, "client-certificate", file, folder));
  SMARTMIG_TRY(out.key_file, file_of(user, "client-key", file, folder));
  return out;
}

}  // namespace

Result<KubeAccess> read_kubeconfig(const std::string& file, const std::string& folder) {
  SMARTMIG_TRY(const std::string text, read_file(file));
  try {
    return access_of(YAML::Load(text), file, folder);
  } catch (const YAML::Exception& error) {
    return invalid("{}: {}", file, error.what());
  }
}

Result<KubeAccess> pod_access(const std::string& folder) {
  KubeAccess out;
  out.server = "https://kubernetes.default.svc";
  out.ca_file = folder + "/ca.crt";
  out.token_file = folder + "/token";
  if (::access(out.token_file.c_str(), R_OK) != 0)
    return not_found("this program does not run in a pod ({} cannot be read); name a kubeconfig: --kubeconfig FILE",
                     out.token_file);
  return out;
}

}  // namespace smartmig
