#include "live/jobs/origin_file.h"

#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

namespace smartmig {
namespace {

std::string origin_path(const std::string& directory) { return directory + "/origin"; }

// That of none where it does not tell.
ArrayTask task_of(const Json& origin) {
  const auto parts = origin.find("array");
  if (parts == origin.end() || !parts->is_array() || parts->size() != 6) return {};
  for (const Json& part : *parts)
    if (!part.is_number_unsigned() || part.get<std::uint64_t>() > std::uint64_t(INT32_MAX)) return {};
  const auto number = [&](std::size_t i) { return (*parts)[i].get<int>(); };
  return {(*parts)[0].get<std::uint64_t>(), number(1), number(2), number(3), number(4), number(5)};
}

std::string launch_path(const std::string& directory) { return directory + "/launch"; }

}  // namespace

Result<Ok> note_launch(const std::string& directory, const JobSpec& spec, const std::string& like) {
  const std::string path = launch_path(directory);
  if (!like.empty() && ::link(launch_path(like).c_str(), path.c_str()) == 0) return Ok{};
  const std::string text = launch_json(spec);
  if (text.empty()) return Ok{};
  return write_file(path, text);
}

Result<Ok> note_origin(const std::string& directory, const Launch& launch) {
  JobSpec spec = launch.spec;
  const bool more = !launch_json(spec).empty();
  spec.command = shown_command(spec.command);
  spec.environment = {};
  spec.script = {};
  Json origin = {{"uid", launch.uid},   {"gid", launch.gid}, {"user", launch.user},  {"device", launch.device},
                 {"held", launch.hold}, {"launch", more},    {"spec", to_json(spec)}};
  if (const ArrayTask& task = launch.task; task.array != 0)
    origin["array"] = {task.array, task.index, task.count, task.first, task.last, task.step};
  return write_file(origin_path(directory), json_dump(origin));
}

std::optional<AttemptOrigin> read_origin(const std::string& directory) {
  const std::string path = origin_path(directory);
  const auto text = read_file(path);
  const auto json = text ? parse_json(path, *text) : Result<Json>(text.error());
  if (!json) return std::nullopt;
  const auto object = JsonObject::open(*json, path, "");
  if (!object) return std::nullopt;
  const auto uid = object->integer("uid", 0, 0xFFFFFFFF), gid = object->integer("gid", 0, 0xFFFFFFFF);
  const auto user = object->any_text("user"), device = object->any_text("device"), spec = object->any_text("spec");
  if (!uid || !gid || !user || !device || !spec) return std::nullopt;
  auto parsed = parse_job_spec(*spec, UnixTime{});
  if (!parsed) return std::nullopt;
  if (json->contains("launch") && (*json)["launch"] == true) {
    const auto more = read_file(launch_path(directory));
    if (!more || !take_launch(*parsed, *more)) return std::nullopt;
  }
  const bool held = json->contains("held") && (*json)["held"] == true;
  return AttemptOrigin{std::move(*parsed), std::uint32_t(*uid), std::uint32_t(*gid), *user, *device, held,
                       task_of(*json)};
}

}  // namespace smartmig
