#include "base/file.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace smartmig {
namespace {
namespace fs = std::filesystem;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::temp_directory_path() / fmt::format("smartmig-file-{}-{}", ::getpid(), test->name());
    fs::remove_all(dir_);
    fs::create_directory(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }
  std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(dir_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  static void put(const std::string& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), std::streamsize(bytes.size()));
  }
  static std::string zipped(const std::string& path, std::string_view text) {
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), unsigned(text.size()));
    gzclose(file);
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::string lines_of(const std::string& path) {  // joined by '|', or the complaint
    auto reader = LineReader::open(path);
    if (!reader) return reader.error().what;
    std::string out;
    for (;;) {
      const auto line = reader->next();
      if (!line) return line.error().what;
      if (!*line) return out;
      out += std::string(**line) + "|";
    }
  }
  fs::path dir_;
};

TEST_F(File, LinesOfPlainAndGzipFiles) {
  put(at("plain"), "a\r\n\nb");
  EXPECT_EQ(lines_of(at("plain")), "a||b|");
  zipped(at("zip"), "a\r\n\nb\n");
  EXPECT_EQ(lines_of(at("zip")), "a||b|");
  EXPECT_EQ(*read_file(at("zip")), "a\r\n\nb\n");
  put(at("empty"), "");
  EXPECT_EQ(lines_of(at("empty")), "");
  EXPECT_EQ(*read_file(at("empty")), "");
  LineReader text = LineReader::over("t", "x\n\ny\n");
  EXPECT_EQ(**text.next(), "x");
  EXPECT_EQ(**text.next(), "");
  EXPECT_EQ(**text.next(), "y");
  EXPECT_EQ(text.line(), 3);
  EXPECT_FALSE(text.next()->has_value());
}

TEST_F(File, LongLines) {
  const std::string line(1 << 20, 'x');  // longer than the buffer to begin with
  put(at("long"), line + "\nend\n");
  EXPECT_EQ(lines_of(at("long")), line + "|end|");
  put(at("too long"), std::string((16 << 20) + 1, 'x'));
  EXPECT_EQ(lines_of(at("too long")), at("too long") + " line 1: longer than 16 MiB");
}

TEST_F(File, ATruncatedGzipIsAnErrorWhereverItIsCut) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += fmt::format("line {} {}\n", i, i * 2654435761u);
  const std::string whole = zipped(at("zip"), text);
  for (const std::size_t keep :
       {std::size_t(12), whole.size() / 2, whole.size() - 9, whole.size() - 8, whole.size() - 4, whole.size() - 1}) {
    put(at("cut"), whole.substr(0, keep));
    EXPECT_EQ(lines_of(at("cut")), at("cut") + " is a truncated gzip file; download it again")
        << keep << " of " << whole.size();
    EXPECT_FALSE(read_file(at("cut"))) << keep;
  }
  std::string damaged = whole;
  damaged[whole.size() / 2] ^= 0x55;
  put(at("bad"), damaged);
  EXPECT_FALSE(read_file(at("bad")));
}

TEST_F(File, WhatCannotBeReadIsNamed) {
  EXPECT_EQ(read_file(at("none")).error().what, "cannot open " + at("none") + ": No such file or directory");
  EXPECT_EQ(read_file(dir_.string()).error().what, dir_.string() + " is a directory, not a file");
}

TEST_F(File, WritesReplaceWholeFilesAndLeaveNothingBehind) {
  ASSERT_TRUE(write_file(at("f"), "one"));
  ASSERT_TRUE(write_file(at("f"), "two"));
  EXPECT_EQ(*read_file(at("f")), "two");
  EXPECT_EQ(entries(), std::vector<std::string>{"f"});
  const auto below_a_file = write_file(at("f/g"), "x");
  ASSERT_FALSE(below_a_file);
  EXPECT_EQ(below_a_file.error().what, "cannot write " + at("f/g") + ": Not a directory");
  fs::create_directory(dir_ / "d");
  EXPECT_FALSE(write_file(at("d"), "x"));  // a directory is in the way: the temporary file is gone, too
  EXPECT_EQ(entries(), (std::vector<std::string>{"d", "f"}));
}

TEST_F(File, AnOutputDirectoryAppearsWholeOrNotAtAll) {
  {
    auto out = OutputDir::create(at("run/deep"), false);
    ASSERT_TRUE(out) << out.error().what;
    ASSERT_TRUE(out->add("a.txt", "1"));
    EXPECT_FALSE(fs::exists(at("run/deep")));
  }  // not committed: removed
  EXPECT_TRUE(fs::is_empty(at("run")));
  auto out = OutputDir::create(at("run/deep"), false);
  ASSERT_TRUE(out);
  ASSERT_TRUE(out->add("a.txt", "1"));
  ASSERT_TRUE(out->commit());
  EXPECT_EQ(*read_file(at("run/deep/a.txt")), "1");
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_ / "run"), {}), 1);
}

TEST_F(File, AnOutputDirectoryReplacesOnlyWhenTold) {
  fs::create_directory(dir_ / "run");
  put(at("run/old.txt"), "old");
  const auto refused = OutputDir::create(at("run"), false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().what, at("run") + " exists; choose another directory or add --force");
  {
    auto dropped = OutputDir::create(at("run"), true);
    ASSERT_TRUE(dropped);
    ASSERT_TRUE(dropped->add("new.txt", "new"));
  }
  EXPECT_EQ(*read_file(at("run/old.txt")), "old");  // not committed: the old one stands
  auto out = OutputDir::create(at("run") + "/", true);
  ASSERT_TRUE(out);
  ASSERT_TRUE(out->add("new.txt", "new"));
  ASSERT_TRUE(out->commit());
  EXPECT_FALSE(fs::exists(at("run/old.txt")));
  EXPECT_EQ(*read_file(at("run/new.txt")), "new");
  EXPECT_EQ(entries(), std::vector<std::string>{"run"});
}

TEST_F(File, AnUnwritableDirectoryIsNamed) {
  put(at("f"), "x");
  const auto below_a_file = OutputDir::create(at("f/run"), false);
  ASSERT_FALSE(below_a_file);
  EXPECT_NE(below_a_file.error().what.find("cannot create " + at("f/run")), std::string::npos)
      << below_a_file.error().what;
  if (::geteuid() == 0) return;  // root may write anywhere
  fs::create_directory(dir_ / "locked");
  fs::permissions(dir_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(OutputDir::create(at("locked/run"), false).error().what,
            "cannot create " + at("locked/run") + ": Permission denied");
  EXPECT_EQ(write_file(at("locked/f"), "x").error().what, "cannot write " + at("locked/f") + ": Permission denied");
  fs::permissions(dir_ / "locked", fs::perms::owner_all);
}

}  // namespace
}  // namespace smartmig
