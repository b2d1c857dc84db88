#include "base/json.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

std::string json_complaint(std::string_view text) {
  const auto json = parse_json("x.json", text);
  return json ? std::string("accepted") : json.error().what;
}

TEST(Json, ReadingNamesTheFileAndThePlace) {
  EXPECT_EQ(json_complaint("{\"a\": [1, {\"b\": 2}]}"), "accepted");
  EXPECT_EQ(json_complaint("{\n \"a\": }"), "x.json is not valid JSON: line 2, column 7");
  EXPECT_EQ(json_complaint("{\"a\": {\"b\": 1, \"b\": 2}}"), "x.json: an object has the key 'b' twice");
  EXPECT_EQ(json_complaint("[{\"a\": 1}, {\"a\": 2}]"), "accepted");
  EXPECT_EQ(json_complaint("{\"a\": 1e999}"), "x.json is not valid JSON: a number is out of range");
}

TEST(Json, ListsHaveOneKindOfEntry) {
  const Json json =
      *parse_json("x.json", R"({"t": ["a", ""], "n": [0, 18446744073709551615], "m": [1, "a"], "s": "a"})");
  const JsonObject root = *JsonObject::open(json, "x.json", "part");
  EXPECT_EQ(*root.texts("t"), (std::vector<std::string>{"a", ""}));
  EXPECT_EQ(*root.counts("n"), (std::vector<std::uint64_t>{0, UINT64_MAX}));
  EXPECT_EQ(root.texts("m").error().what, "x.json: part.m must have only texts");
  EXPECT_EQ(root.counts("m").error().what, "x.json: part.m must have only whole numbers");
  EXPECT_EQ(root.texts("s").error().what, "x.json: part.s must be a list");
  EXPECT_EQ(root.texts("u").error().what, "x.json: part.u is missing");
}

TEST(Json, WhatIsWrittenIsValidWhateverTheBytes) {
  const std::string words = "caf\xE9 \xFF\"<\n\xC3\xA9";
  EXPECT_EQ(json_text(words), "\"caf\\\\xE9 \\\\xFF\\\"\\u003c\\n\xC3\xA9\"");
  EXPECT_EQ(parse_json("x", json_text(words))->get<std::string>(), "caf\\xE9 \\xFF\"<\n\xC3\xA9");
  EXPECT_TRUE(parse_json("x", json_dump(Json{{"words", words}})));
  EXPECT_TRUE(parse_json("x", json_dump(nlohmann::ordered_json{{"words", words}}, 1)));
}

}  // namespace
}  // namespace smartmig
