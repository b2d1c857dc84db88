#include "base/csv.h"

#include <gtest/gtest.h>

namespace smartmig {
namespace {

CsvReader reader(std::string_view text) { return std::move(CsvReader::open(LineReader::over("t.csv", text)).value()); }
std::string complaint(std::string_view text) {
  auto csv = CsvReader::open(LineReader::over("t.csv", text));
  if (!csv) return csv.error().what;
  for (;;) {
    const auto more = csv->next();
    if (!more) return more.error().what;
    if (!*more) return "accepted";
  }
}

TEST(Csv, DialectsAndByteOrderMark) {
  CsvReader tabs =
      std::move(CsvReader::open(LineReader::over("t", "\xEF\xBB\xBFName\tAt\nx, y\t3\n"), {'\t', {}}).value());
  EXPECT_EQ(tabs.header(), (std::vector<std::string>{"Name", "At"}));
  EXPECT_EQ(tabs.column("at"), -1);
  EXPECT_EQ(tabs.column_in_any_case("at"), 1);
  ASSERT_TRUE(*tabs.next());
  EXPECT_EQ(tabs.text(0), "x, y");
  CsvReader bare = std::move(CsvReader::open(LineReader::over("t",
                                                              "\xEF\xBB\xBF"
                                                              "1;2\n"),
                                             {';', {"a", "b"}})
                                 .value());
  ASSERT_TRUE(*bare.next());
  EXPECT_EQ(bare.text(0), "1");
  EXPECT_EQ(*bare.integer(1), 2);
}

TEST(Csv, HeaderCommentsAndRows) {
  CsvReader csv = reader("# source: here\n\n# and there\n a , b,c\r\n1,2,3\r\n\n4, x y ,\n");
  EXPECT_EQ(csv.comments(), (std::vector<std::string>{"# source: here", "# and there"}));
  EXPECT_EQ(csv.header(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(csv.column("b"), 1);
  EXPECT_EQ(csv.column("d"), -1);
  EXPECT_EQ(csv.require("d").error().what, "t.csv: the header has no column 'd'");
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.line(), 5);
  EXPECT_EQ(*csv.integer(2), 3);
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.line(), 7);
  EXPECT_EQ(csv.text(1), "x y");
  EXPECT_TRUE(csv.empty(2));
  EXPECT_TRUE(csv.empty(-1));  // a column that is not there reads as empty
  EXPECT_FALSE(csv.optional_number(2)->has_value());
  EXPECT_FALSE(*csv.next());
}

TEST(Csv, Quotes) {
  CsvReader csv = reader("a,b,c\n\"x, y\",\"say \"\"hi\"\"\",\"\"\n\" kept \",2,\"3\"");
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.text(0), "x, y");
  EXPECT_EQ(csv.text(1), "say \"hi\"");
  EXPECT_EQ(csv.text(2), "");
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.text(0), " kept ");
  EXPECT_EQ(*csv.number(2), 3);
}

TEST(Csv, ComplaintsNameFileLineAndColumn) {
  EXPECT_EQ(complaint(""), "t.csv is empty; it needs a header line with the column names");
  EXPECT_EQ(complaint("# only\n\n"), "t.csv is empty; it needs a header line with the column names");
  EXPECT_EQ(complaint("a,b\n1\n"), "t.csv line 2: 1 fields where the header has 2");
  EXPECT_EQ(complaint("a,b\n1,2,3\n"), "t.csv line 2: 3 fields where the header has 2");
  EXPECT_EQ(complaint("a,b\n1,\"2\n"), "t.csv line 2: a quoted field is not closed");
  EXPECT_EQ(complaint("a,b\n\"1\"x,2\n"), "t.csv line 2: text after a closing quote");
  EXPECT_EQ(complaint("a,b\n1,2\n"), "accepted");
  CsvReader csv = reader("a,b\n1.5,nan\n");
  ASSERT_TRUE(*csv.next());
  EXPECT_EQ(csv.integer(0).error().what, "t.csv line 2, column 'a': '1.5' is not a whole number");
  EXPECT_EQ(csv.number(1).error().what, "t.csv line 2, column 'b': 'nan' is not a finite number");
  EXPECT_EQ(csv.optional_number(1).error().what, "t.csv line 2, column 'b': 'nan' is not a finite number");
}

}  // namespace
}  // namespace smartmig
