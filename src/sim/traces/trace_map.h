// The meaning of a table's columns: "submit=Submitted:ms,duration=run:min,gpus=n_gpus,kind=model". The language of
// --map, and of the formats in trace_formats.cc.
//   FIELD=COLUMN[:UNIT]   the column by its name (any case), or #3 for the third one
//   FIELD=@TEXT           this text for every row
// A name with a comma, an equals sign or a colon must be in double quotes. Fields and their units:
//   id          text; without it, rows are numbered
//   submit      s (default), ms, us, ns, min, h, d; dates are recognised, or required by `date`
//   start, end  the same; duration = end - start if there is no duration
//   duration    s, ms, ...
//   deadline    an instant, as submit; due_in: a time after submit, as duration; slo: a multiple of the duration
//   gpus        a number; percent, milli, tres (Slurm's "1=4,1002=2": GPUs are 1001 and 1002)
//   share       part of one GPU: a fraction; milli, percent
//   copies      how many times the row's GPUs are requested
//   memory      of one GPU: mib (default), gib, mb, gb, kib, bytes
//   kind        the model; batch: its batch size
//   class       training, inference and similar words (trace_kinds.h)
//   tokens_in, tokens_out
#pragma once
#include <array>
#include <string>
#include <string_view>

#include "base/result.h"

namespace smartmig {

enum class TraceField {
  kId,
  kSubmit,
  kStart,
  kEnd,
  kDuration,
  kDeadline,
  kDueIn,
  kSlo,
  kGpus,
  kShare,
  kCopies,
  kMemory,
  kKind,
  kBatch,
  kClass,
  kTokensIn,
  kTokensOut
};
inline constexpr std::size_t kTraceFields = 17;
std::string_view name_of(TraceField field);

struct TraceMap {
  struct Entry {
    std::string column;  // empty: the field is missing
    std::string unit;
    bool constant = false;  // `column` is the value itself
    bool given() const { return !column.empty(); }
  };
  std::array<Entry, kTraceFields> entries;
  const Entry& operator[](TraceField field) const { return entries[std::size_t(field)]; }
  Entry& operator[](TraceField field) { return entries[std::size_t(field)]; }
  bool has(TraceField field) const { return (*this)[field].given(); }
};

Result<TraceMap> parse_trace_map(std::string_view text);

}  // namespace smartmig
