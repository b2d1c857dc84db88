// What Slurm and agents tell: requests in comments, squeue's JSON, lists of tasks, sinfo's lines, files of slices.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cluster/agents.h"
#include "cluster/slice_book.h"
#include "fuzz/target.h"
#include "slurm/dependency.h"
#include "slurm/request.h"
#include "slurm/snapshot.h"

SMARTMIG_FUZZ_TARGET(slurm) {
  using namespace smartmig;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0: {
      const auto request = find_slurm_request(text);
      if (!request || !*request) return 0;
      const auto again = find_slurm_request(with_request(text, **request));
      SMARTMIG_CHECK(again && *again && **again == **request, "a request changes when it is written");
      return 0;
    }
    case 1:
      (void)parse_task_list(text, 1000);
      return 0;
    case 2:
      (void)parse_sinfo(text);
      return 0;
    case 3:
      (void)parse_slice_file(text);
      return 0;
    case 4:
      (void)read_agent_answer("n1", std::string(text), 0);
      return 0;
    default: {
      const auto jobs = parse_squeue_json(text, 100);
      if (!jobs) return 0;
      const SlurmDependencies dependencies(*jobs);
      for (const SlurmJob& job : *jobs) (void)dependencies.may_be_over(job);
      return 0;
    }
  }
}
