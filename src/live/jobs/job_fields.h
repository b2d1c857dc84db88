// The fields of a submission, one row each. A row says how the field stands in JSON (requests, the store), how it is
// read and checked, what the OpenAPI document says, which options of submit set it, and whether update may change it.
// parse_job_spec(), to_json(), the document, the command line and update all follow this table, so a new field is a
// member of JobSpec and a row here.
#pragma once
#include <functional>
#include <vector>

#include "live/jobs/job_spec.h"
#include "live/jobs/spec_reader.h"

namespace smartmig {

// An option of submit, run, whatif, #SMARTMIG and #SBATCH lines. Where cli/queue/submit_values.cc has no reader for it,
// its value is that of the field: a flag sets true (--no-...: false); a key ending in _s takes a duration, in _mib an
// amount of memory.
struct JobOption {
  const char* name;
  const char* value_name;  // empty: a flag
  const char* help;
  const char* alias = "";              // "-t"
  std::vector<const char*> also = {};  // other names for the same
  bool is_flag() const { return *value_name == 0; }
};

struct JobField {
  const char* key;
  const char* type;  // in openapi.cc's words: text, int, num, bool, [text]
  std::function<void(SpecReader&, const char* key, JobSpec&)> read;  // called where the key is present
  std::function<Json(const JobSpec&)> write;                         // null: left out
  enum Update : std::uint8_t {
    kUnchangeable,
    kWaiting,
    kAlways
  } update = kUnchangeable;       // by smartmig update; kWaiting: of a waiting job
  const char* twin = nullptr;     // another key for the same value: only one of them may be given
  const char* heading = nullptr;  // of the options in --help
  std::vector<JobOption> options = {};
};

const std::vector<JobField>& job_fields();
const JobField* find_job_field(std::string_view key);  // nullptr: there is none
// Sets one field from its JSON value. An error says what is wrong with the value.
Result<Ok> set_job_field(JobSpec& spec, const JobField& field, const Json& value, UnixTime now);

}  // namespace smartmig
