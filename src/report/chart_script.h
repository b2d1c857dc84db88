// The script of a report's interactive chart: slices over time, fleet power and queue length on one time axis, drawn to
// one canvas from the JSON of chart_data.h. Drag or arrow keys move, buttons, + and - or Ctrl with the wheel zoom.
#pragma once
#include <string_view>

namespace smartmig {

std::string_view chart_script();

}  // namespace smartmig
