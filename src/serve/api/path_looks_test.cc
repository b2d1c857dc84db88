#include "serve/api/path_looks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "support/temp_dir.h"

namespace smartmig {
namespace {

constexpr Time kPatience = std::chrono::milliseconds(100);

// A FIFO that nobody writes to stands for a mount that does not answer: its open() blocks until somebody does.
struct DeadPath {
  TempDir dir;
  std::string path = dir.path() + "/mount";
  DeadPath() { ::mkfifo(path.c_str(), 0600); }
  PathLooks::Seen look() const {
    ::close(::open(path.c_str(), O_RDONLY));
    return {};
  }
  // For reading, too: it does not wait for a look that has not begun.
  void answer() const { ::close(::open(path.c_str(), O_RDWR)); }
};

TEST(PathLooksProcess, APathThatDoesNotAnswerFailsItsOwnLookAlone) {
  PathLooks looks(kPatience);
  const DeadPath dead;
  const auto look = [&dead] { return dead.look(); };
  for (int i = 0; i < PathLooks::kMostUnanswered; ++i) {
    const auto failed = looks.at(1001, "the directory /dead", look);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Error::kTimeout);
    EXPECT_NE(failed.error().what.find("the directory /dead does not answer within 0.1 s"), std::string::npos)
        << failed.error().what;
  }
  EXPECT_EQ(looks.unanswered(), PathLooks::kMostUnanswered);
  const auto refused = looks.at(1001, "another", [] { return PathLooks::Seen{}; });
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().what.find("named before"), std::string::npos) << refused.error().what;
  EXPECT_TRUE(looks.at(1002, "the path of another user", [] { return PathLooks::Seen{}; }));
  while (looks.unanswered() > 0) dead.answer();
  EXPECT_TRUE(looks.at(1001, "another", [] { return PathLooks::Seen{}; }));
}

TEST(PathLooksProcess, TellsWhatWasSeen) {
  PathLooks looks;
  const auto seen = looks.at(1001, "x", [] {
    PathLooks::Seen out;
    out.reachable = Error{Error::kNoPermission, "closed"};
    out.not_held = {"", "static"};
    return out;
  });
  ASSERT_TRUE(seen);
  EXPECT_EQ(seen->reachable.error().what, "closed");
  EXPECT_EQ(seen->not_held[1], "static");
  EXPECT_EQ(looks.unanswered(), 0);
}

}  // namespace
}  // namespace smartmig
