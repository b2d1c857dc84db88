#include "live/jobs/container_command.h"

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/text.h"
#include "live/jobs/launch_block.h"

namespace smartmig {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostSpecification = 16u << 20;

bool is_apptainer(std::string_view runtime) { return runtime == "apptainer" || runtime == "singularity"; }

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// $1: the image; the rest: options of `podman run`. In a user and mount namespace of the job's own. Podman's state (its
// list of containers, its locks) is this job's alone, since two that share the list but not the run directory take each
// other for remains of an earlier boot; images and layers are the user's. Without the user's run directory and bus
// podman cannot move itself into a scope of systemd, out of the job's cgroup.
constexpr const char* kRootless = R"(set -e
store=$(env -u XDG_RUNTIME_DIR podman info --format '{{.Store.GraphRoot}}' 2>/dev/null) ||
  store=${XDG_DATA_HOME:-$HOME/.local/share}/containers/storage
own=$SMARTMIG_CONTAINER_DIR
mkdir -p "$store/libpod" "$own/libpod" "$own/shm"
mount --bind "$own/libpod" "$store/libpod"
mount --bind /dev/shm "$own/shm"
mount -t tmpfs -o size=16m none /dev/shm
export XDG_RUNTIME_DIR="$own"
unset DBUS_SESSION_BUS_ADDRESS
shm="$own/shm"
podman() { command podman --runroot "$own/run" --tmpdir "$own/tmp" --cgroup-manager cgroupfs "$@"; }
final() { exec podman --runroot "$own/run" --tmpdir "$own/tmp" --cgroup-manager cgroupfs "$@"; }
)";
constexpr const char* kAsRoot = R"(shm=/dev/shm
podman() { command podman --cgroup-manager cgroupfs "$@"; }
final() { exec podman --cgroup-manager cgroupfs "$@"; }
)";
// What the image sets wins over --env-host, PATH above all.
constexpr const char* kRun = R"(image=$1
shift
podman image exists "$image" || podman pull --quiet "$image" >/dev/null || exit 125
while IFS= read -r line; do
  case $line in [A-Za-z_]*=*) set -- --env "$line" "$@" ;; esac
done <<EOF
$(podman image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$image")
EOF
set -- --volume "$shm:/dev/shm" --env PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
[ ! -d /dev/mqueue ] || set -- --ipc=host "$@"
for init in /usr/libexec/podman/catatonit /usr/bin/catatonit; do
  [ ! -x $init ] || { set -- --init --init-path=$init "$@"; break; }
done
final run "$@"
)";

std::string variable_value(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment)
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  return {};
}

void put_variable(std::vector<std::string>& environment, const std::string& name, const std::string& value) {
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(name + "="); });
  environment.push_back(name + "=" + value);
}

// The user's mounts, the working directory, and for soft slices the pipes of their MPS daemon.
std::vector<ContainerMount> mounts_of(const Launch& launch) {
  std::vector<ContainerMount> out;
  if (const std::string& directory = launch.spec.directory; directory != "/") out.push_back({directory, directory});
  for (const auto& [name, value] : launch.slice)
    if (is_one_of(name, {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"})) out.push_back({value, value});
  for (const std::string& text : launch.spec.container_mounts)
    if (auto mount = parse_container_mount(text)) {
      std::erase_if(out, [&](const ContainerMount& other) { return other.target == mount->target; });
      out.push_back(std::move(*mount));
    }
  return out;
}

std::string mount_words(const ContainerMount& mount) {
  return mount.source + ":" + mount.target + (mount.read_only ? ":ro" : "");
}

void enter_podman(const Launch& launch, const ContainerPlace& place, std::vector<std::string>& arguments,
                  std::vector<std::string>& environment) {
  const std::string& image = launch.spec.container;
  std::vector<std::string> out;
  if (place.rootless) {
    out = {"/usr/bin/unshare", "--user", "--map-root-user", "--mount"};
    if (launch.new_privileges) out.push_back("--map-auto");
    out.insert(out.end(), {"--", "/bin/sh", "-c", std::string(kRootless) + kRun, "smartmig-container", image});
    put_variable(environment, "_CONTAINERS_USERNS_CONFIGURED", "done");  // podman: this is the user namespace to use
    put_variable(environment, "_CONTAINERS_ROOTLESS_UID", std::to_string(launch.uid));
    put_variable(environment, "_CONTAINERS_ROOTLESS_GID", std::to_string(launch.gid));
    put_variable(environment, "SMARTMIG_CONTAINER_DIR", place.directory);
  } else {
    out = {"/bin/sh", "-c", std::string(kAsRoot) + kRun, "smartmig-container", image};
  }
  out.insert(out.end(), {"--rm", "--cgroups=disabled", "--network=host", "--uts=host", "--log-driver=none",
                         "--security-opt=label=disable", "--ulimit=host", "--env-host"});
  if (place.rootless && !launch.new_privileges) out.push_back("--user=0:0");  // there is no other
  if (!launch.spec.script.empty()) out.push_back("--preserve-fds=1");
  if (!place.device.cdi.empty()) out.insert(out.end(), {"--device", place.device.cdi});
  // What the image says wins over --env-host, so the job's own variables are named.
  for (const auto& [name, value] : launch.slice) out.insert(out.end(), {"--env", name + "=" + value});
  out.insert(out.end(), {"--env", "NVIDIA_VISIBLE_DEVICES=" + place.device.visible});
  const auto mounts = mounts_of(launch);
  const std::string home = variable_value(environment, "HOME");
  const bool has_home = std::any_of(mounts.begin(), mounts.end(), [&](const ContainerMount& mount) {
    return mount.target == home || mount.target.starts_with(home + "/");
  });
  if (!has_home) out.insert(out.end(), {"--env", "HOME=/root"});
  for (const ContainerMount& mount : mounts) out.insert(out.end(), {"--volume", mount_words(mount)});
  out.insert(out.end(), {"--workdir", launch.spec.directory, image});
  out.insert(out.end(), arguments.begin(), arguments.end());
  arguments = std::move(out);
}

// Apptainer makes no cgroup and no process namespace, mounts the home directory and /tmp, and shows all of /dev: what the
// job's device fence closes stays closed.
void enter_apptainer(const Launch& launch, const ContainerPlace& place, std::vector<std::string>& arguments,
                     std::vector<std::string>& environment) {
  const std::string prefix = launch.spec.container_runtime == "singularity" ? "SINGULARITYENV_" : "APPTAINERENV_";
  for (const auto& [name, value] : launch.slice) put_variable(environment, prefix + name, value);
  put_variable(environment, prefix + "NVIDIA_VISIBLE_DEVICES", launch.device);
  std::vector<std::string> out = {launch.spec.container_runtime, "exec", "--nv"};
  if (place.rootless && !launch.new_privileges) out.push_back("--userns");  // without its setuid helper
  for (const ContainerMount& mount : mounts_of(launch)) out.insert(out.end(), {"--bind", mount_words(mount)});
  out.insert(out.end(), {"--pwd", launch.spec.directory, launch.spec.container});
  out.insert(out.end(), arguments.begin(), arguments.end());
  arguments = std::move(out);
}

}  // namespace

std::string container_runtime(const JobSpec& spec, const std::string& preferred) {
  if (!spec.container_runtime.empty()) return spec.container_runtime;
  const std::string& image = spec.container;
  const bool apptainers = image.ends_with(".sif") || image.ends_with(".simg") || image.starts_with("/") ||
                          image.starts_with("docker://") || image.starts_with("library://") ||
                          image.starts_with("oras://");
  return !apptainers || is_apptainer(preferred) ? preferred : "apptainer";
}

Result<ContainerMount> parse_container_mount(std::string_view text) {
  const auto parts = split(text, ':');
  ContainerMount out;
  if (parts.size() > 3 || !parts[0].starts_with('/') || (parts.size() > 1 && !parts[1].starts_with('/')) ||
      (parts.size() > 2 && parts[2] != "ro" && parts[2] != "rw"))
    return invalid("'{}' is not SOURCE[:TARGET[:ro]] with absolute paths", text);
  out.source = parts[0];
  out.target = parts.size() > 1 ? parts[1] : parts[0];
  out.read_only = parts.size() > 2 && parts[2] == "ro";
  return out;
}

Result<Ok> check_container(const JobSpec& spec) {
  if (spec.container.empty()) {
    if (!spec.container_runtime.empty() || !spec.container_mounts.empty())
      return invalid("container_runtime and container_mounts need a container, the name of an image");
    return Ok{};
  }
  if (spec.container.starts_with('-') || spec.container.find_first_of(" \t") != spec.container.npos)
    return invalid("container '{}' is not the name of an image", spec.container);
  if (!spec.container_runtime.empty() && !is_one_of(spec.container_runtime, {"podman", "apptainer", "singularity"}))
    return invalid("container_runtime '{}' is not known; known are podman, apptainer, singularity",
                   spec.container_runtime);
  for (const std::string& text : spec.container_mounts) {
    SMARTMIG_TRY(const ContainerMount mount, parse_container_mount(text));
    if (mount.target == "/") return invalid("container_mounts: '{}' would replace the image", text);
  }
  if (spec.directory.find(':') != spec.directory.npos)
    return invalid("the directory {} has a colon and cannot be mounted in a container", spec.directory);
  if (spec.pty) return invalid("a terminal (run --pty) cannot be had in a container; start the container in it");
  if (spec.exact_memory.value_or(false) || spec.prelaunch.value_or(false))
    return invalid("{} needs a library of this machine, which a container does not have",
                   spec.exact_memory.value_or(false) ? "--exact-memory" : "--prelaunch");
  return Ok{};
}

Result<ContainerDevice> container_device(const std::string& device, const ContainerHost& host) {
  for (const std::string& place : host.cdi) {
    std::error_code error;
    for (fs::directory_iterator at(place, error), end; !error && at != end; at.increment(error)) {
      const std::string name = at->path().filename().string();
      if (!name.ends_with(".json") && !name.ends_with(".yaml")) continue;
      const auto size = fs::file_size(at->path(), error);
      if (error || size > kMostSpecification) continue;
      const auto text = read_file(at->path().string());
      if (text && text->find(device) != text->npos && text->find("nvidia.com/gpu") != text->npos)
        return ContainerDevice{"nvidia.com/gpu=" + device};
    }
  }
  for (const std::string& place : host.hooks)
    if (std::error_code error; fs::exists(place + "/oci-nvidia-hook.json", error)) return ContainerDevice{"", device};
  return unsupported(
      "no CDI specification in {} names {}, so a container cannot be given its slice: let hooks.slices run nvidia-ctk "
      "cdi generate (docs/containers.md)",
      fmt::join(host.cdi, " or "), device);
}

void enter_container(const Launch& launch, const ContainerPlace& place, std::vector<std::string>& arguments,
                     std::vector<std::string>& environment) {
  if (is_apptainer(launch.spec.container_runtime)) return enter_apptainer(launch, place, arguments, environment);
  enter_podman(launch, place, arguments, environment);
}

}  // namespace smartmig
