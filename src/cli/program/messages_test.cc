#include "cli/program/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "serve/http/http_types.h"

namespace smartmig::cli {
namespace {

TEST(Messages, HoldTheSentencesOfTheSources) {
  ASSERT_GT(messages().size(), 500u);
  const auto of = [](const char* file, const char* begin) {
    return std::any_of(messages().begin(), messages().end(), [&](const Message& m) {
      return std::string(m.file) == file && std::string(m.text).starts_with(begin);
    });
  };
  EXPECT_TRUE(of("src/cli/queue/http_client.cc", "{} does not speak TLS"));
  // A literal in several pieces is one message.
  EXPECT_TRUE(of("src/model/memory_estimate.cc", "model '{}' is not known{}; there are {}; or give --params and, for"));
}

TEST(Messages, HaveCodesOfTheApiAndNamesOfFiles) {
  for (const Message& message : messages()) {
    EXPECT_TRUE(error_code(message.code) != Error::kLost || std::string(message.code) == "lost") << message.code;
    EXPECT_TRUE(std::string(message.file).starts_with("src/")) << message.file;
    EXPECT_FALSE(std::string(message.text).empty()) << message.file;
    EXPECT_FALSE(std::string(message.text).ends_with(' ')) << message.text;
  }
}

}  // namespace
}  // namespace smartmig::cli
