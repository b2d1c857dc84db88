#include "policy/layouts/layout_file.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

LayoutFile twice() {
  LayoutFile file;
  file.twice = true;
  file.gpus = "2xa100-40gb";
  file.placer = "cedf";
  file.workload = "paper:20x";
  file.day = {"4g+3g", "7g"};
  file.night = {"7g", "7g"};
  file.day_begin = 7;
  file.night_begin = 22;
  file.seeds = {1, 2, 18446744073709551615u};
  file.a = 2e-7;
  file.et = 1.25;
  return file;
}

TEST(LayoutFile, RoundTrips) {
  const auto again = parse_layout_file("x.json", to_json(twice()));
  ASSERT_TRUE(again) << again.error().what;
  EXPECT_EQ(to_json(*again), to_json(twice()));
  EXPECT_EQ(again->day, twice().day);
  EXPECT_EQ(again->night_begin, 22);
  EXPECT_EQ(again->seeds, twice().seeds);
  LayoutFile fixed = twice();
  fixed.twice = false;
  fixed.night.clear();
  fixed.day_begin = fixed.night_begin = 0;
  const auto same = parse_layout_file("x.json", to_json(fixed));
  ASSERT_TRUE(same) << same.error().what;
  EXPECT_EQ(to_json(*same), to_json(fixed));
}

TEST(LayoutFile, ComplaintsNameTheFileAndTheKey) {
  const auto complaint = [](std::string text, std::string from = "", std::string to = "") {
    if (const auto at = text.find(from); !from.empty() && at != text.npos) text.replace(at, from.size(), to);
    const auto file = parse_layout_file("x.json", text);
    return file ? std::string("accepted") : file.error().what;
  };
  const std::string good = to_json(twice());
  EXPECT_EQ(complaint(good), "accepted");
  EXPECT_EQ(complaint("[1"), "x.json is not valid JSON: line 1, column 3");
  EXPECT_EQ(complaint("{}"), "x.json is not a layouts file: it must be a JSON object with \"smartmig_layouts\": 1");
  EXPECT_NE(complaint(good, "\"smartmig_layouts\": 1", "\"smartmig_layouts\": 2").find("version 2 is newer"),
            std::string::npos);
  EXPECT_NE(complaint(good, "\"twice\"", "\"thrice\"").find("kind 'thrice'"), std::string::npos);
  EXPECT_NE(complaint(good, "\"day_begin\": 7", "\"day_begin\": 24").find("day_begin must be between 0 and 23, not 24"),
            std::string::npos);
  EXPECT_NE(complaint(good, "\"4g+3g\",", "").find("1 day shapes and 2 night shapes"), std::string::npos);
  EXPECT_NE(complaint(good, "\"4g+3g\"", "43").find("day must have only texts"), std::string::npos);
  EXPECT_NE(complaint(good, "18446744073709551615", "-5").find("seeds must have only whole numbers"),
            std::string::npos);
  EXPECT_NE(
      complaint(good, "\"placer\"", "\"placers\"").find("placers is not a key of this object, did you mean placer?"),
      std::string::npos);
}

}  // namespace
}  // namespace smartmig
