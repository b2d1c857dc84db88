// The display of `smartmig top` as a pure function from the API's JSON and a size to lines. Each GPU is a bar along its
// memory slices, and each instance is a box in proportion to its share. Without colour, boxes look like this:
//   |12 train====|  busy      |idle      |  idle      |12 train~~~~|  destroyed when its job ends
//   |+3g.20gb++++|  being created            |..........|  no instance
// No line is wider than `width` code points, and there are at most `height` lines, whatever the JSON contains.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace smartmig::cli {

using Json = nlohmann::json;

enum class Style : unsigned char { kPlain, kBold, kDim, kBusy, kIdle, kLeaving, kComing, kBad };

struct Span {
  std::string text;
  Style style = Style::kPlain;
};
using Line = std::vector<Span>;

struct TopState {             // what the daemon said
  Json gpus = Json::array();  // /v1/gpus: "gpus"
  Json jobs = Json::array();  // /v1/jobs?state=active: "jobs"
  Json status = Json::object();
};

struct TopFrame {  // how it is looked at
  int width = 80, height = 24;
  double now = 0;             // Unix seconds
  std::vector<double> watts;  // total, oldest first
  int first_gpu = 0, first_job = 0;
  bool frozen = false, unicode = true;
  std::string message;  // instead of the keys, at the bottom
};

std::vector<Line> top_lines(const TopState& state, const TopFrame& frame);
std::string plain_text(const std::vector<Line>& lines);  // without styles, lines ended
std::string history_line(const std::vector<double>& values, std::size_t columns, bool unicode);
Line gpu_bar(const Json& gpu, const Json& jobs, int width);  // exactly `width` columns

}  // namespace smartmig::cli
