#include "http/openapi.h"

#include <string_view>

#include "base/result.h"
#include "base/text.h"
#include "http/api_routes.h"
#include "live/jobs/job_fields.h"

namespace smartmig {
namespace {

using Json = nlohmann::json;

// "name:type" separated by blanks. Types: text, int, num, bool, any, a schema's name, [type] for a list; a trailing '?'
// may be null, a leading '-' may be missing.
struct SchemaShape {
  const char* name;
  const char* words;
  const char* fields;
};

constexpr SchemaShape kShapes[] = {
    {"Error", "An error.", "error:ErrorBody"},
    {"ErrorBody", "code: invalid, not_found, busy, no_permission, unsupported, lost, timeout or io.",
     "code:text message:text"},
    {"SpecList", "Several jobs: all are accepted, or none.", "jobs:[Spec]"},
    {"Submitted", "The accepted jobs, stored on disk; quotas: what is left of the first job's quotas, in words.",
     "ids:[int] jobs:[Job] warnings:[text] quotas:[text]"},
    {"Job", "A job and its state. Instants are Unix seconds; energy is attributed from the boards.",
     "id:int name:text user:text uid:int array_id:int? array_index:int? state:text reason:text suspended:bool group:text reservation:text -command:[text] "
     "kind:text "
     "submitted_at:num started_at:num? ended_at:num? deadline_at:num? begin_at:num? late_s:num attempt:int ahead_at:num? ahead_refused:text held_s:num hidden_s:num to_cuda_s:num? gpu:int? slice:text? "
     "device:text? exit_code:int? exit_signal:int? estimate_s:num estimate_source:text estimate_spread:num expected_finish_at:num? "
     "mem_mib:int? peak_mib:int? tensors_mib:int? energy:JobEnergy cost:num? preemptions:int oom_restarts:int priority:int "
     "min_slices:int max_slices:int? profile:text exclusive:bool container:text restarts:int url:text? "
     "-spec:Spec"},
    {"JobEnergy", "Energy of all attempts, and how it was measured.", "energy_j:num source:text"},
    {"JobList", "A page of jobs. more: there are further jobs; request them with after.", "jobs:[Job] more:bool"},
    {"Choice",
     "Jobs selected by number, as tasks of an array, or by owner, name and state. The owner is the caller unless user or everyone is given.",
     "-ids:[int] -array:int -all:bool -user:text -everyone:bool -name:text -state:text -since_at:num"},
    {"Update", "The jobs, and the changes to their specs; null clears a value.",
     "set:any -ids:[int] -array:int -all:bool -user:text -everyone:bool -name:text -state:text"},
    {"Usage", "Totals of ended jobs. quotas: use in this week.",
     "by:text rows:[UsageRow] total:UsageRow quotas:[QuotaUse]"},
    {"QuotaUse", "Use by running jobs and by jobs that ended this week. quota_...: null means no limit.",
     "name:text slices:int quota_slices:int? gpu_hours:num quota_gpu_hours:num? energy_j:num quota_energy_j:num?"},
    {"UsageRow", "slice_s: compute slices times seconds of all attempts.",
     "key:text jobs:int done:int energy_j:num slice_s:num late_s:num cost:num?"},
    {"GroupList", "All groups with a limit or a live job.", "groups:[GroupRow]"},
    {"GroupRow", "limit 0: no limit.", "name:text limit:int running:int waiting:int"},
    {"Group", "limit 0: no limit.", "name:text limit:int"},
    {"ReservationList", "Reservations of GPUs that have not ended, by beginning.", "reservations:[ReservationRow]"},
    {"ReservationRow", "still_running: other users' jobs on its GPUs while it is active.",
     "name:text gpus:[int] begin_at:num end_at:num users:[text] active:bool running:int waiting:int still_running:[int]"},
    {"NewReservation",
     "gpus: their numbers; count: how many GPUs instead. It begins at begin_at, begin_s seconds from now, or now.",
     "name:text -gpus:[int] -count:int -begin_at:num -begin_s:num duration_s:num -users:[text]"},
    {"ReservationName", "Name of an existing reservation.", "name:text"},
    {"Changed", "The result for each job; a refusal of one does not affect the others.",
     "jobs:[Job] refused:[Refusal]"},
    {"Refusal", "A refused job and the reason.", "id:int code:text message:text"},
    {"Why", "Why a job is not running.",
     "job:int code:text sentence:text to_change:[text] reservation:Reservation? blocked_by:[Blocker] waits_for:[Awaited] alternatives:[Alternative]"},
    {"Awaited", "A job that must start or end first. until: start or end; null: not expected.",
     "job:int until:text expected_at:num?"},
    {"Blocker", "A busy slice that would fit the job, or occupies the place of one; job: its label.",
     "gpu:int slice:text job:text until_at:num"},
    {"Reservation", "The policy's current plan for a waiting job.",
     "gpu:int slice:text start_at:num finish_at:num held_until:num? after:[text]"},
    {"Alternative", "A possible change and its cost; late_s null: no deadline, or no end.",
     "what:text -start_at:num? -finish_at:num? -late_s:num? -energy_j:num? -cost:num?"},
    {"Eta",
     "Quantiles over simulated futures of the live state; expected: if run times are as estimated. If a waiting job never starts, the times are null and no_start gives the reason; for a held job, if_released has the forecast for a release now.",
     "job:int futures:int state:text started_at:num? expected_start_at:num? expected_finish_at:num? start_at:Quantiles? "
     "finish_at:Quantiles? deadline_at:num? on_time_ratio:num? no_start:text? if_released:EtaIfReleased?"},
    {"EtaIfReleased", "As in Eta.",
     "expected_start_at:num? expected_finish_at:num? start_at:Quantiles? finish_at:Quantiles? on_time_ratio:num?"},
    {"Calibration",
     "How often the intervals of the last forecasts of each kind held; the expected ratio is interval_ratio.",
     "interval_ratio:num forecasts:[ForecastFigures]"},
    {"ForecastFigures",
     "run: time on the slice, predicted at the start; start, end: according to the first eta. score: the width of the interval plus ten times the distance of values outside it; median_off: mean factor between the actual value and the median.",
     "forecast:text count:int held_ratio:num? mean_width_s:num? mean_score_s:num? median_off:num?"},
    {"CommandQuestion", "A command, as in a submission.", "command:[text] -kind:text"},
    {"CommandHistory",
     "The history of a command; borrowed_runs: of similar commands, if it has not run; "
     "mean_error: mean factor between predicted and taken, less 1; slowdown: factor on a full "
     "board, on soft slices.",
     "signature:text runs:int borrowed_runs:int changes:int launch_s:num? slowdown:num? mem_mib:int? sizes:[SizeForecast] "
     "last:[PredictedRun] mean_error:num?"},
    {"SizeForecast", "Seconds on one slice size; 80 % of runs between low_s and high_s; watts above idle.",
     "profile:text compute_slices:int s:num low_s:num high_s:num runs:int watts_w:num?"},
    {"PredictedRun", "One run and its prediction. load: mean share of the board that other jobs used, on soft slices.",
     "compute_slices:int ran_s:num predicted_s:num? load:num watts_w:num? ended_at:num before_change:bool"},
    {"Quantiles", "Quantiles of a time, in Unix seconds.", "p10:num p50:num p90:num"},
    {"Question", "The changes; remove: jobs to leave out; prices: for costs; lanes: include the slices.",
     "-policy:text -add_gpus:text -job:Spec -remove:[int] -power_cap_w:num -prices:Prices -lanes:bool"},
    {"Comparison", "The queue as it is, and as it would be. stays and layouts: those of then, if lanes were requested.",
     "now:Outcome? then:Outcome jobs:[JobComparison] -stays:[Stay] -layouts:[LayoutStep] -power:[PowerStep] -gpus:[text]"},
    {"Outcome", "The result of the queue under one policy.",
     "policy:text energy_j:num late_s:num late_jobs:int mean_late_s:num last_finish_at:num jobs:int cost:num?"},
    {"JobComparison", "One job in both cases. id null: the new job; times null: the job never starts.",
     "id:int? finish_now_at:num? finish_then_at:num? start_then_at:num? late_now_s:num? late_then_s:num?"},
    {"World", "kind: live or recorded. models: by name, with their profiles; gpus: the model of each GPU.",
     "kind:text version:text title:text policy:text models:any gpus:[text] signed_in:bool operator:bool user:text "
     "began_at:num? journal_run:int journal_position:int now_at:num?"},
    {"Changes",
     "whole: jobs lists all live jobs; otherwise it lists those that changed, and gone lists those that have ended.",
     "version:int whole:bool waiting:int jobs:[ShortJob] gone:[int]"},
    {"ShortJob", "A job as a row of a table.",
     "id:int label:text name:text user:text state:text suspended:bool reason:text kind:text submitted_at:num "
     "started_at:num? ended_at:num? "
     "deadline_at:num? expected_finish_at:num? late_s:num gpu:int? slice:text? mem_mib:int? peak_mib:int? "
     "energy_j:num? cost:num? priority:int attempt:int"},
    {"Ids", "Numbers of at most 100 jobs.", "ids:[int]"},
    {"Reasons", "Reasons for those of the jobs that still exist.", "reasons:[Reason]"},
    {"Reason", "code: as in Why.", "id:int code:text sentence:text"},
    {"Futures", "stays and layouts: the expected ones. jobs: with the spread over the futures, null if there are none.",
     "now_at:num policy:text futures:int outcome:Outcome? jobs:[JobFuture] stays:[Stay] layouts:[LayoutStep] "
     "power:[PowerStep] idle_w:num"},
    {"JobFuture",
     "One job, as Eta has it; no_start: held, waits_for_held (of such a job), dependency_fails, or null: it starts.",
     "id:int expected_start_at:num? expected_finish_at:num? start_at:Quantiles? finish_at:Quantiles? deadline_at:num? "
     "on_time_ratio:num? late_s:num? no_start:text?"},
    {"Stay", "A job on a slice; finished false: it is stopped there and continues elsewhere.",
     "id:int? gpu:int slice:text begin_at:num end_at:num finished:bool"},
    {"LayoutStep", "The slices of a GPU from that instant.", "at:num gpu:int slices:[text]"},
    {"PowerStep", "The expected watts of all boards from that instant.", "at:num watts_w:num"},
    {"GpuList", "All GPUs.", "gpus:[Gpu]"},
    {"Gpu",
     "One GPU; state: ok, failing, drained, quarantined or lost. node, index_on_node: in a cluster, where watts_w and "
     "energy_j are null if its agent does not report them.",
     "index:int -node:text -index_on_node:int uuid:text product:text model:text watts_w:num? energy_j:num? state:text "
     "words:text layout:text target:text "
     "slices:[Slice] compute_slices:int memory_slices:int reserved:ReservedGpu?"},
    {"ReservedGpu", "The reservation that a GPU is in, or the next one.",
     "name:text begin_at:num end_at:num users:[text] active:bool"},
    {"Slice",
     "One MIG instance; state: ok, or quarantined (words: why) while a dead process holds memory there or another process runs on it. going: the instance is removed when its job has ended; gpu_instance: null, and "
     "device empty, while it is being made, and in a cluster.",
     "name:text profile:text start:int compute_slices:int memory_slices:int device:text gpu_instance:int? job:int? "
     "state:text words:text memory_mib:int going:bool "
     "used_mib:int? watts_w:num"},
    {"Backup", "Path of the copy: a new file on the daemon's machine.", "path:text"},
    {"Done", "What was changed.", ""},
    {"Status",
     "Summary of the daemon; visible: jobs that the policy sees. watts_w: null if no agent of a cluster reports its power.",
     "version:text policy:text shadow:Shadow? driver:text emulated:bool isolated:bool isolation:text "
     "isolates:[Isolation] paused:bool uptime_s:num queue:Counts quarantined:[text] "
     "watts_w:num? energy:Energy decisions:Decisions rough_watts:text power_cap_w:num? board_cap_w:num? prices:Prices? "
     "et:Et? overtaken_max:int visible:int journal_position:int disk:text shortage:text clock:text now_at:num"},
    {"Shadow",
     "A policy whose decisions are recorded but not carried out. compared: the cost of both policies, null until it is known.",
     "policy:text decisions:int differences:int compared:any?"},
    {"Isolation", "How jobs are isolated in one respect; nothing: they are not isolated.", "what:text by:text"},
    {"Counts", "Jobs by state.",
     "held:int queued:int starting:int running:int stopping:int done:int failed:int cancelled:int timed_out:int"},
    {"Energy", "Energy by source and by use.",
     "counter_j:num power_integral_j:num model_j:num attributed_j:num idle_j:num unattributed_j:num"},
    {"Decisions", "Decisions of the policy.", "count:int p50_ms:num p99_ms:num refused:int fallbacks:int"},
    {"Prices",
     "Prices of energy and lateness. energy_by_hour: price of each hour of the day, if it "
     "varies.",
     "energy_per_kwh:num late_per_hour:num energy_by_hour:[num]?"},
    {"Et", "The objective since the daemon started, over the jobs that have ended.",
     "value:num a_per_wmin:num energy_j:num mean_tardiness_s:num jobs:int"},
    {"Power",
     "points: one per minute, at most a day, including restarts. ahead: prices of the next two days, if they vary.",
     "step_s:int now_at:num points:[PowerPoint] ahead:[PriceStep]"},
    {"PriceStep", "The price of a kWh from that time on.", "at:int energy_per_kwh:num"},
    {"PowerPoint", "A minute. energy_per_kwh: the price then; null without prices.",
     "at:int watts_w:num energy_j:num energy_per_kwh:num?"},
    {"SettingsChange", "Another policy, or another cap of the whole fleet (0: none).", "-policy:text -power_cap_w:num"},
    {"Health", "words: what is wrong.", "alive:bool ready:bool words:text"},
    {"Document", "An OpenAPI document.", "openapi:text info:any servers:[any] security:[any] paths:any components:any"},
};

Json type_of(std::string_view type) {
  if (type.ends_with('?')) {
    Json inner = type_of(type.substr(0, type.size() - 1));
    if (inner.contains("$ref")) return {{"oneOf", Json::array({inner, Json{{"type", "null"}}})}};
    inner["type"] = Json::array({inner["type"], "null"});
    return inner;
  }
  if (type.starts_with('[')) return {{"type", "array"}, {"items", type_of(type.substr(1, type.size() - 2))}};
  if (type == "text") return {{"type", "string"}};
  if (type == "int") return {{"type", "integer"}};
  if (type == "num") return {{"type", "number"}};
  if (type == "bool") return {{"type", "boolean"}};
  if (type == "any") return {{"type", "object"}};
  return {{"$ref", fmt::format("#/components/schemas/{}", type)}};
}

Json schema_of(const SchemaShape& shape) {
  Json schema = {{"type", "object"}, {"description", shape.words}, {"properties", Json::object()}};
  Json required = Json::array();
  for (std::string_view field : split(shape.fields, ' ')) {
    if (field.empty()) continue;
    const bool optional = field.starts_with('-');
    if (optional) field.remove_prefix(1);
    const auto colon = field.find(':');
    const std::string name(field.substr(0, colon));
    schema["properties"][name] = type_of(field.substr(colon + 1));
    if (!optional) required.push_back(name);
  }
  if (!required.empty()) schema["required"] = required;
  return schema;
}

// The table of a job's fields (live/jobs/job_fields.h) as a schema.
Json spec_schema() {
  std::string fields;
  for (const JobField& field : job_fields())
    fields += fmt::format("{}{}:{} ", field.key == std::string_view("command") ? "" : "-", field.key, field.type);
  return schema_of({"Spec", "A job as its owner specifies it. Durations in seconds, memory in MiB.", fields.c_str()});
}

Json parameters_of(const ApiRoute& route) {
  Json list = Json::array();
  const std::string_view pattern = route.pattern;
  if (const auto open = pattern.find('{'); open != pattern.npos)
    list.push_back({{"name", pattern.substr(open + 1, pattern.find('}') - open - 1)},
                    {"in", "path"},
                    {"required", true},
                    {"schema", {{"type", "integer"}, {"minimum", 0}}}});
  for (const ApiParameter& p : route.query) {
    Json schema = {{"type", "string"}};
    if (p.kind == ApiParameter::kState) schema["enum"] = job_states();
    if (p.kind == ApiParameter::kUsageBy) schema["enum"] = {"user", "group", "project", "kind", "day"};
    if (p.kind == ApiParameter::kNumber || p.kind == ApiParameter::kFlag) {
      schema = {{"type", "integer"}, {"minimum", p.least}};
      if (p.most != INT64_MAX) schema["maximum"] = p.most;
    }
    list.push_back({{"name", p.name}, {"in", "query"}, {"description", p.words}, {"schema", schema}});
  }
  return list;
}

Json operation_of(const ApiRoute& route) {
  const std::string_view answer = route.answer;
  const bool media = answer.find('/') != answer.npos;
  const Json content = media ? Json{{std::string(answer), {{"schema", {{"type", "string"}}}}}}
                             : Json{{"application/json", {{"schema", type_of(answer)}}}};
  const Json refused = {{"description", "An error."},
                        {"content", {{"application/json", {{"schema", type_of("Error")}}}}}};
  Json operation = {
      {"summary", route.words},
      {"responses",
       {{std::to_string(route.status), {{"description", "Done."}, {"content", content}}}, {"default", refused}}}};
  if (answer == "Health")
    operation["responses"]["503"] = {{"description", "The daemon is not healthy, and the reason."},
                                     {"content", content}};
  if (const Json list = parameters_of(route); !list.empty()) operation["parameters"] = list;
  if (route.body)
    operation["requestBody"] = {{"required", true},
                                {"content", {{"application/json", {{"schema", type_of(route.body)}}}}}};
  return operation;
}

}  // namespace

Json openapi_document(const std::string& version) {
  Json paths = Json::object(), schemas = Json::object();
  for (const ApiRoute& route : api_routes()) paths[route.pattern][lower(route.method)] = operation_of(route);
  for (const SchemaShape& shape : kShapes) schemas[shape.name] = schema_of(shape);
  schemas["Spec"] = spec_schema();
  schemas["Submission"] = {{"oneOf", Json::array({type_of("Spec"), type_of("SpecList")})}};
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "smartmig"},
            {"version", version},
            {"description",
             "Instants are Unix seconds (_at), durations seconds (_s), energy joules (_j), power watts (_w), "
             "memory MiB (_mib)."}}},
          {"servers", Json::array({{{"url", "/"}}})},
          {"security", Json::array({Json::object(), {{"token", Json::array()}}})},
          {"paths", paths},
          {"components",
           {{"schemas", schemas}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace smartmig
