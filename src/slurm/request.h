// The GPU request of a Slurm job, as the submit hook wrote it into the job's AdminComment:
//   smartmig:mem=18432M,slices=1,deadline=7200s,estimate=1200s,node=n3
// The hook (deploy/slurm/job_submit.lua) checks the input of users. This reader accepts the hook's output and refuses
// everything else, because operators can write anything into that field. Text before and after the request belongs to
// others.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "cluster/workload.h"

namespace smartmig {

struct SlurmRequest : JobRequest {
  std::string node;  // of -w; empty: any
  bool operator==(const SlurmRequest&) const = default;
};

// Nothing: the text holds no request. kInvalid: says which part is not understood.
Result<std::optional<SlurmRequest>> find_slurm_request(std::string_view text);
std::string to_string(const SlurmRequest& request);  // "smartmig:mem=18432M,slices=1"
// The text with this request in place of the one it holds, or before it.
std::string with_request(std::string_view text, const SlurmRequest& request);

// The text with where it was put in place of where it was before:
// "smartmig:mem=...;used:node=n1,gpu=0,slice=3g.20gb@4".
std::string with_place(std::string_view text, std::string_view node, int gpu, std::string_view slice);
// The text with why it waits, in place of that before and of where it was put: "smartmig:mem=...;waits:no slice is
// free".
std::string with_reason(std::string_view text, std::string_view words);

}  // namespace smartmig
