// Batch scripts of others: never a crash, and what their headers ask for becomes a job that the daemon's reader takes.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "cli/queue/script_header.h"
#include "fuzz/target.h"

SMARTMIG_FUZZ_TARGET(script_header) {
  using namespace smartmig;
  const UnixTime now = from_unix_us(1'763'222'400'000'000);
  const auto header = cli::read_script_header("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!header) return 0;
  cli::Draft draft;
  draft.spec.command = {"sh"};
  draft.spec.directory = "/";
  if (!cli::apply(draft, header->sbatch, cli::Dialect::kSbatch, now)) return 0;
  if (!cli::apply(draft, header->smartmig, cli::Dialect::kSmartmig, now)) return 0;
  try {
    const auto body = cli::to_body(draft).dump();
    (void)parse_job_spec(body, now);
  } catch (const nlohmann::json::exception& error) {
    SMARTMIG_CHECK(false, "{}", error.what());
  }
  return 0;
}
