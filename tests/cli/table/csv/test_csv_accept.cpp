// Tests all forms of tables that are accepted.
#include "cli/csv_support.hpp"
#include "cli/gzip_support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

using namespace csv_support;
using Values = std::vector<nlsq::cli::RowVector<double>>;

namespace {

std::string utf16(const std::u16string& text, bool big_endian) {
  std::string out;
  for (const char16_t c : u"\uFEFF" + text) {
    const char high = static_cast<char>(c >> 8), low = static_cast<char>(c & 0xFF);
    out += big_endian ? high : low;
    out += big_endian ? low : high;
  }
  return out;
}

const Values kTwoRows = {{1, 3}, {2, 4}};

}  // namespace

TEST_CASE("a plain table with a header is read") {
  const ReadTable t = read("x,y\n1,2\n3,4\n");
  CHECK(t.columns.values == kTwoRows);
  CHECK(t.shape.has_header);
  CHECK(t.shape.names == std::vector<std::string>{"x", "y"});
  CHECK(t.columns.rows == 2);
}

TEST_CASE("line endings may be LF, CRLF or CR, and the last may be missing") {
  for (const char* text : {"1,2\n3,4\n", "1,2\r\n3,4\r\n", "1,2\r3,4\r", "1,2\n3,4", "1,2\r\n3,4", "1,2\r3,4",
                           "1,2\r\n3,4\n", "1,2\n3,4\r"}) {
    CAPTURE(text);
    CHECK(values(text) == kTwoRows);
  }
}

TEST_CASE("a UTF-8 byte order mark is dropped") {
  const ReadTable t = read("\xEF\xBB\xBFx,y\n1,2\n3,4\n");
  CHECK(t.shape.names[0] == "x");
  CHECK(values("\xEF\xBB\xBF"
               "1,2\n3,4\n") == kTwoRows);
}

TEST_CASE("UTF-16 with a byte order mark is read, either byte order, surrogate pairs included") {
  for (const bool big : {false, true}) {
    const ReadTable t = read(utf16(u"x,\u00B5\U0001F600\n1,2\n3,4\n", big));
    CHECK(t.columns.values == kTwoRows);
    CHECK(t.shape.names[1] == "\xC2\xB5\xF0\x9F\x98\x80");
  }
}

TEST_CASE("quotes, doubled quotes, delimiters and newlines inside quotes are content") {
  const ReadTable t = read("\"time, \"\"s\"\"\",\"a\nb\"\n\"1\",2\n3 , \"4\" \n");
  CHECK(t.shape.names == std::vector<std::string>{"time, \"s\"", "a\nb"});
  CHECK(t.columns.values == kTwoRows);
  CHECK(t.columns.lines.line(0) == 3);  // the header spans two lines
}

TEST_CASE("a quote in the middle of a text field is a character") {
  CHECK(values("size,y,n\n5\" pipe,1,2\n6\" pipe,3,4\n", {}, {1, 2}) == kTwoRows);
}

TEST_CASE("blank lines and comment lines are passed over, and lines are counted all the same") {
  const ReadTable t = read("# made by hand\n\nx,y\n  \n1,2\n  # between\n\n3,4\n\n# end");
  CHECK(t.columns.values == kTwoRows);
  CHECK(t.columns.lines.line(0) == 5);
  CHECK(t.columns.lines.line(1) == 8);
}

TEST_CASE("another comment sign, or none, can be chosen") {
  CsvOptions options;
  options.comment = "//";
  CHECK(values("// one\n1,2\n3,4\n", options) == kTwoRows);
  options.comment = "";
  CHECK(values("#,y\n1,2\n3,4\n", options) == kTwoRows);
}

TEST_CASE("the delimiter is found: comma, semicolon, tab, runs of blanks") {
  CHECK(read("x,y\n1,2\n3,4\n").shape.delimiter == ',');
  CHECK(read("x;y\n1;2\n3;4\n").shape.delimiter == ';');
  CHECK(read("x\ty\n1\t2\n3\t4\n").shape.delimiter == '\t');
  for (const char* text : {"x y\n1 2\n3 4\n", "  x   y\n 1    2\n   3 \t 4  \n", "1 2\r\n3   4\r\n"}) {
    CAPTURE(text);
    const ReadTable t = read(text);
    CHECK(t.shape.delimiter == kBlanks);
    CHECK(t.columns.values == kTwoRows);
  }
  CHECK(values("x, y\n1, 2\n3, 4\n") == kTwoRows);
  CHECK(read("name;remark\n1;2\n3;4\n").shape.delimiter == ';');
}

TEST_CASE("blanks in a header above one column are part of its name") {
  const ReadTable t = read("T [K]\n300\n310\n");
  CHECK(t.shape.names == std::vector<std::string>{"T [K]"});
  CHECK(t.columns.values == Values{{300, 310}});
  CHECK(read("T [K]\n300 1\n310 2\n").shape.names == std::vector<std::string>{"T", "[K]"});
}

TEST_CASE("a delimiter can be given") {
  CsvOptions options;
  options.delimiter = '|';
  CHECK(values("x|y\n1|2\n3|4\n", options) == kTwoRows);
  options.delimiter = kBlanks;
  CHECK(values("1 2\n3 4\n", options) == kTwoRows);
}

TEST_CASE("a table without a header is read; a single row is enough") {
  CHECK_FALSE(read("1,2\n3,4\n").shape.has_header);
  CHECK(values("1,2") == Values{{1}, {2}});
  CHECK(values("7\n8\n") == Values{{7, 8}});
}

TEST_CASE("a header of numbers is a header when told so") {
  CsvOptions options;
  options.header = HeaderChoice::yes;
  CHECK(read("500,600\n1,2\n3,4\n", options).shape.names[1] == "600");
  options.header = HeaderChoice::no;
  CHECK(values("a,1,2\nb,3,4\n", options, {1, 2}) == kTwoRows);
}

TEST_CASE("lines can be skipped at the top") {
  CsvOptions options;
  options.skip = 2;
  for (const char* text :
       {"junk \"\nmore, junk\nx,y\n1,2\n3,4\n", "junk\r\n\r\nx,y\r\n1,2\r\n3,4", "a\rb\r1,2\r3,4\r"}) {
    CAPTURE(text);
    CHECK(values(text, options) == kTwoRows);
  }
  CHECK(read("j\nk\nx,y\n1,2\n", options).columns.lines.line(0) == 4);
}

TEST_CASE("gzip is read, concatenated members and zero padding too") {
  CHECK(values(gzip("x,y\n1,2\n3,4\n")) == kTwoRows);
  CHECK(values(gzip("x,y\n1,") + gzip("2\n3,4\n")) == kTwoRows);
  CHECK(values(gzip("x,y\n1,2\n3,4\n") + std::string(512, '\0')) == kTwoRows);
  CHECK(values(gzip("") + gzip("1,2\n3,4\n")) == kTwoRows);
}

TEST_CASE("text is allowed in columns that are not used") {
  CHECK(values("x,who,y\n1,Ann,2\n3,\"B, b\",4\n", {}, {0, 2}) == kTwoRows);
}

TEST_CASE("a leading + and blanks around numbers are accepted") {
  CHECK(values("+1, 2 \n3,+4\n") == kTwoRows);
  CHECK(values("1,+2e0\n+.3e1,4.\n") == kTwoRows);
}

TEST_CASE("denormals are exact, and numbers below them become zero with a counted warning") {
  const ReadTable t = read("4.9e-324,2.2250738585072011e-308\n1e-400,-1e-999\n0,0e-999\n");
  CHECK(t.columns.values[0][0] == std::numeric_limits<double>::denorm_min());
  CHECK(t.columns.values[1][0] == 2.2250738585072011e-308);
  CHECK(t.columns.values[0][1] == 0);
  CHECK(t.columns.underflows == 2);
  CHECK(t.columns.first_underflow.find("1e-400") != std::string::npos);
}

TEST_CASE("numbers are the nearest doubles") {
  const Values v =
      values("0.1,9007199254740993\n1.7976931348623157e308,123456789012345678901234567890e-30\n");
  CHECK(v[0] == nlsq::cli::RowVector<double>{0.1, 1.7976931348623157e308});
  CHECK(v[1] == nlsq::cli::RowVector<double>{9007199254740992.0, 0.12345678901234567890});
}

TEST_CASE("a decimal comma is read when told so, and the delimiter found around it") {
  CsvOptions options;
  options.number.decimal = ',';
  CHECK(values("x;y\n1,5;2\n3;4,25\n", options) == Values{{1.5, 3}, {2, 4.25}});
  CHECK(values("1,5 2\n3 4,25\n", options) == Values{{1.5, 3}, {2, 4.25}});
}

TEST_CASE("thousands separators are read when told so, in groups of three only") {
  CsvOptions options;
  options.number.thousands = ',';
  CHECK(values("x;y\n1,234.5;2\n-12,345,678;4\n", options) == Values{{1234.5, -12345678}, {2, 4}});
  CHECK(refusal("x;y\n12,34;2\n", options) != "accepted");
  options.number = {',', '.'};
  CHECK(values("1.234,5;2\n3;4\n", options) == Values{{1234.5, 3}, {2, 4}});
}

TEST_CASE("missing values are dropped when told so, and counted") {
  CsvOptions options;
  options.missing = MissingPolicy::drop;
  const ReadTable t = read("x,y\n1,2\n,5\n6,NA\n7,nan\nNULL,8\n3,4\n", options);
  CHECK(t.columns.values == kTwoRows);
  CHECK(t.columns.dropped_missing == 4);
  CHECK(t.columns.lines.line(1) == 7);
}

TEST_CASE("a missing value in a column that is not used has no effect") {
  CHECK(values("x,y,z\n1,2,\n3,4,NA\n", {}, {0, 1}) == kTwoRows);
}

TEST_CASE("tables larger than the block the reader works in come out whole") {
  std::string text = "x,note,y\n";
  Values expected(2);
  for (int i = 0; i < 60000; ++i) {
    text += std::to_string(i) + (i % 7 == 0 ? ",\"a\r\nb \"\" c\"," : ",\xC2\xB5,") + std::to_string(i) +
            ".25" +
            (i % 3 == 0   ? "\r\n"
             : i % 3 == 1 ? "\n"
                          : "\r");
    expected[0].push_back(i);
    expected[1].push_back(i + 0.25);
  }
  const bool same = values(text, {}, {0, 2}) == expected;
  CHECK(same);
  const bool same_zipped = values(gzip(text), {}, {0, 2}) == expected;
  CHECK(same_zipped);
}

TEST_CASE("a long line is read up to the limit, which can be raised") {
  CsvOptions options;
  options.max_line = 1000;
  const std::string text = "x,y,z\n1,2," + std::string(2000, 'a') + "\n";
  CHECK(says(refusal(text, options, {0, 1}), "2:1", {"longer than 1000 bytes", "--max-line"}));
  options.max_line = 10000;
  CHECK(values(text, options, {0, 1}) == Values{{1}, {2}});
}
