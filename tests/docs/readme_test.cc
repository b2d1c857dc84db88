// The demo table of README.md is the output that a golden test checks, and the figures of docs/results.md beside the
// paper's are those of the golden run.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "base/file.h"
#include "base/text.h"
#include "support/paths.h"

namespace smartmig {
namespace {

std::string text_of(const std::string& name) {
  const auto text = read_file(source_dir() + "/" + name);
  EXPECT_TRUE(text) << name;
  return text ? *text : "";
}

TEST(Readme, DemoTableIsWhatTheDemoPrints) {
  const std::string readme = text_of("README.md"), golden = text_of("tests/golden/readme.txt");
  int rows = 0;
  for (const std::string_view line : split(readme, '\n'))
    if (line.find("+edf  ") != line.npos || line.find("+cedf  ") != line.npos) {
      ++rows;
      EXPECT_NE(golden.find(line), golden.npos) << line;
    }
  EXPECT_EQ(rows, 7);
}

TEST(Readme, FiguresBesideThePaperAreReproduced) {
  const std::string results = text_of("docs/results.md"), golden = text_of("tests/golden/readme.txt");
  for (const auto& [start, energy, tardiness] :
       {std::tuple{"none+edf ", "3.002", "96.960"}, std::tuple{"static[1,1,2,3,3,5,5,10]+cedf", "2.510", "1.734"}}) {
    EXPECT_NE(results.find(energy), results.npos);
    bool found = false;
    for (const std::string_view line : split(golden, '\n'))
      found |= line.starts_with(start) && line.find(energy) != line.npos && line.find(tardiness) != line.npos;
    EXPECT_TRUE(found) << start;
  }
}

}  // namespace
}  // namespace smartmig
