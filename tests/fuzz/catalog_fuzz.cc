// Any bytes as catalogue tables, shapes and layouts: a clear error or a value that survives its own round trip, never a
// crash. The first byte splits the input: that many sixteenths are the table of GPUs, the rest that of profiles, a
// shape and a layout.
#include <cstdint>
#include <string_view>

#include "fuzz/target.h"
#include "mig/catalog.h"
#include "mig/shape.h"

using namespace smartmig;

namespace {

void try_texts(const GpuModel& model, std::string_view text) {
  if (const auto shape = parse_shape(model, text)) {
    const auto again = parse_shape(model, to_string(model, *shape));
    SMARTMIG_CHECK(again && *again == *shape, "shape of {} changed in a round trip", model.name());
  } else {
    SMARTMIG_CHECK(!shape.error().what.empty(), "an error without words");
  }
  if (const auto layout = parse_layout(model, text)) {
    const auto again = parse_layout(model, to_string(model, *layout));
    SMARTMIG_CHECK(again && *again == *layout, "layout of {} changed in a round trip", model.name());
  } else {
    SMARTMIG_CHECK(!layout.error().what.empty(), "an error without words");
  }
}

}  // namespace

SMARTMIG_FUZZ_TARGET(catalog) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string_view gpus = text.substr(0, text.size() * (data[0] & 15) / 16), profiles = text.substr(gpus.size());
  if (const auto catalog = Catalog::parse(LineReader::over("gpus", gpus), LineReader::over("profiles", profiles)))
    for (const auto& model : catalog->models())
      SMARTMIG_CHECK(!model->placements().empty(), "{} has no placements", model->name());
  for (const char* name : {"a100-40gb", "a30-24gb", "rtx-pro-6000-blackwell-96gb"})
    try_texts(**Catalog::builtin().find(name), text);
  return 0;
}
