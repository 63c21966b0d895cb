// Tests all forms of tables that are refused. Each message names the place, the text, and a remedy.
#include "cli/csv_support.hpp"
#include "cli/gzip_support.hpp"

#include <doctest/doctest.h>

using namespace csv_support;

TEST_CASE("a ragged row is refused at its end or at its first field too many") {
  CHECK(says(refusal("x,y\n1,2\n3\n5,6\n"), "3:2", {"only 1 field", "line 1 has 2", "'3'", "--delimiter"}));
  CHECK(says(refusal("x,y\n1,2\n3,4,5\n"), "3:5", {"at least 3", "'3,4,5'"}));
  CHECK(says(refusal("1 2\n3 4\n5 6 7\n8 9\n"), "3:5", {"at least 3 fields", "blanks"}));
  CHECK(says(refusal("1,2\n3,"), "2:3", {"missing"}));
}

TEST_CASE("an unterminated quote is refused where it opens") {
  CHECK(says(refusal("x,y\n1,2\n\"3,4\n5,6\n"), "3:1", {"unterminated quote", "close it"}));
  CHECK(says(refusal("x,y\n1,\"2"), "2:3", {"unterminated quote"}));
  CsvOptions options;
  options.max_line = 100;
  CHECK(
      says(refusal("x,y\n1,\"" + std::string(600000, '1'), options), "2:3", {"not closed within 100 bytes"}));
}

TEST_CASE("text after a closing quote is refused") {
  CHECK(says(refusal("x,y\n\"1\"2,3\n"), "2:4", {"'2,3'", "after a closing quote", "doubled"}));
}

TEST_CASE("NUL bytes are refused") {
  CHECK(says(refusal(std::string("x,y\n1,\0002\n", 9)), "2:3", {"NUL byte"}));
  CHECK(says(refusal(std::string("1\0,\0002\0\n\0", 8)), "1:2", {"NUL byte", "UTF-16"}));
}

TEST_CASE("invalid UTF-8 is refused, columns counted in characters") {
  CHECK(says(refusal("x,\xC2\xB5,n\xFF\n1,2,3\n"), "1:6", {"invalid UTF-8", "\\xFF", "iconv"}));
  CHECK(says(refusal("x,y\n1,2\n\xC0\xAF,4\n"), "3:1", {"invalid UTF-8"}));          // overlong
  CHECK(says(refusal("x,y\n1,2\n\xED\xA0\x80,4\n"), "3:1", {"invalid UTF-8"}));      // surrogate
  CHECK(says(refusal("x,y\n1,2\n\xF4\x90\x80\x80,4\n"), "3:1", {"invalid UTF-8"}));  // beyond U+10FFFF
  CHECK(says(refusal("x,y\n1,2\n3,4\xE2\x82"), "3:4", {"invalid UTF-8"}));           // cut short
  const std::string far(400000, ' ');
  CHECK(says(refusal("x,y,z\n1,2," + far + "\n1,2,\xFF\n", {}, {0, 1}), "3:5", {"invalid UTF-8"}));
}

TEST_CASE("broken UTF-16 is refused") {
  CHECK(says(refusal(std::string("\xFF\xFE"
                                 "1\0\n\0"
                                 "2",
                                 7)),
             "2:1", {"invalid UTF-16"}));
  CHECK(says(refusal(std::string("\xFF\xFE"
                                 "1\0,\0\x00\xD8"
                                 "2\0",
                                 10)),
             "1:3", {"invalid UTF-16", "surrogate"}));
}

TEST_CASE("text in a numeric column is refused, with the remedy that fits") {
  CHECK(says(refusal("x,y\n1,2\n3,four\n"), "3:3", {"'four'", "column 2 (y)", "not a number"}));
  CHECK(says(refusal("x;y\n1,5;2\n"), "2:1", {"'1,5'", "--decimal ,"}));
  CHECK(says(refusal("x;y\n1,234.5;2\n"), "2:1", {"'1,234.5'", "--thousands ,"}));
  CHECK(says(refusal("x,y\n1d5,2\n"), "2:1", {"'1d5'", "exponents with e"}));
  CHECK(says(refusal("x,y\n1,2 kg\n"), "2:3", {"'2 kg'"}));
  CHECK(says(refusal("x,y\n1,2# note\n"), "2:3", {"'2# note'", "--comment"}));
  CHECK(says(refusal("x,y\n1,--2\n"), "2:3", {"'--2'"}));
  CHECK(says(refusal("x,y\n1,+-2\n"), "2:3", {"'+-2'"}));
  CHECK(says(refusal("x,y\n1,2e\n"), "2:3", {"'2e'"}));
  CHECK(says(refusal("x,y\n1,\"\x01\"\n"), "2:3", {"\\x01"}));
}

TEST_CASE("a first line of numbers and text is not guessed at") {
  CHECK(says(refusal("time,500\n1,2\n3,4\n"), "1:1", {"'time'", "--header yes or --header no"}));
}

TEST_CASE("numbers beyond the doubles, infinities and hexadecimal numbers are refused") {
  CHECK(says(refusal("x,y\n1,1e400\n"), "2:3", {"'1e400'", "largest double", "rescale"}));
  CHECK(says(refusal("x,y\n1,-1e309\n"), "2:3", {"'-1e309'"}));
  for (const char* infinity : {"inf", "Inf", "-inf", "+Infinity"}) {
    CAPTURE(infinity);
    CHECK(says(refusal(std::string("x,y\n1,") + infinity + "\n"), "2:3", {infinity, "not a finite number"}));
  }
  CHECK(says(refusal("x,y\n1,0x1p3\n"), "2:3", {"'0x1p3'", "hexadecimal"}));
  CHECK(says(refusal("x,y\n1,-0X10\n"), "2:3", {"hexadecimal"}));
}

TEST_CASE("missing values are refused unless they may be dropped") {
  for (const char* missing : {"", " ", "NA", "NaN", "nan", "null", "\"\""}) {
    CAPTURE(missing);
    CHECK(says(refusal(std::string("x,y\n1,2\n3,") + missing + "\n5,6\n"),
               missing == std::string(" ") ? "3:4" : "3:3", {"column 2 (y)", "missing", "--missing drop"}));
  }
  CsvOptions options;
  options.missing = MissingPolicy::drop;
  CHECK(refusal("x,y\n1,NA\n,3\n", options).find("all 2 rows have missing values") != std::string::npos);
}

TEST_CASE("two columns of one name are refused") {
  CHECK(says(refusal("x,y,x\n1,2,3\n"), "1:1", {"columns 1 and 3", "'x'", "--header no"}));
  CHECK(refusal("x,,\n1,2,3\n", {}, {0}) == "accepted");  // two columns without a name have not the same name
}

TEST_CASE("an empty input, only comments, or only a header is refused") {
  CHECK(says(refusal(""), "1:1", {"empty"}));
  CHECK(says(refusal("\xEF\xBB\xBF"), "1:1", {"empty"}));
  CHECK(says(refusal("\n# nothing\n\n"), "4:1", {"only blank lines and comments"}));
  CHECK(says(refusal("x,y\n"), "2:1", {"header", "no data"}));
  CHECK(says(refusal("x,y"), "1:1", {"header", "no data"}));
  CsvOptions options;
  options.skip = 5;
  CHECK(refusal("1,2\n3,4\n", options) == "t.csv: --skip 5 leaves nothing: the file has only 2 lines");
}

TEST_CASE("truncated and damaged gzip are refused") {
  const std::string zipped = gzip("x,y\n1,2\n3,4\n");
  REQUIRE(refusal(zipped) == "accepted");
  for (std::size_t size = 3; size < zipped.size(); ++size) {
    CAPTURE(size);
    CHECK(refusal(zipped.substr(0, size)).find("truncated") != std::string::npos);
  }
  std::string damaged = zipped;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // the checksum
  CHECK(refusal(damaged).find("damaged") != std::string::npos);
  CHECK(refusal(zipped + "garbage").find("gzip") != std::string::npos);
}

TEST_CASE("files of other kinds are named") {
  CHECK(refusal("\xFD"
                "7zXZ...")
            .find("xz -dc") != std::string::npos);
}

TEST_CASE("a fault before another is the one reported, wherever the blocks fall") {
  CHECK(says(refusal("x,y\n1,a\n\xFF,2\n"), "2:3", {"'a'"}));
}
