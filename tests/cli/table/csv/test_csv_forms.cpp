// Tests forms of tables that instruments, spreadsheets and publications produce: names in comments, comments
// after data, units, Excel's "sep=", typographic numbers, dates, and texts in columns.
#include "cli/csv_support.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace csv_support;
using Values = std::vector<nlsq::cli::RowVector<double>>;
using Names = std::vector<std::string>;

namespace {

CsvOptions dropping() {
  CsvOptions options;
  options.missing = MissingPolicy::drop;
  return options;
}

}  // namespace

TEST_CASE("a comment just before the data names the columns") {
  const ReadTable t = read("# made by hand\n#  time  counts\n0 1\n1 3\n");
  CHECK(t.shape.names == Names{"time", "counts"});
  CHECK(t.shape.has_header);
  CHECK(t.columns.values == Values{{0, 1}, {1, 3}});
  CHECK(read("## t, y [mV]\r\n0,1\r\n").shape.names == Names{"t", "y [mV]"});
  CHECK(read("# t y\n0,1\n").shape.names == Names{"t", "y"});  // blanks, although commas delimit the data
}

TEST_CASE("other comments before the data name nothing") {
  const Names none = {"", ""};
  CHECK(read("# three words here\n0 1\n").shape.names == none);
  CHECK(read("# 5 6\n0 1\n").shape.names == none);                  // this row was commented out
  CHECK(read("# t t\n0 1\n").shape.names == none);                  // the same name twice
  CHECK(read("# t y\n\n0 1\n").shape.names == none);                // this is not just before the data
  CHECK(read("# t y\n#\n0 1\n").shape.names == none);               // this is not, either
  CHECK(read("# a b\nt y\n0 1\n").shape.names == Names{"t", "y"});  // there is a header
  CsvOptions no_header;
  no_header.header = HeaderChoice::no;
  CHECK(read("# t y\n0 1\n", no_header).shape.names == none);
}

TEST_CASE("a comment behind the data of a row is skipped") {
  CHECK(values("1.0 2.0  # bad, or not\n3 4\n5 6\t#x\n") == Values{{1, 3, 5}, {2, 4, 6}});
  CHECK(values("t,y\n1,2 # a, b\n3,4\n5,6 #\"") == Values{{1, 3, 5}, {2, 4, 6}});
  CHECK(values("t\ty\n1\t2\t# a\tb\n3\t4\n") == Values{{1, 3}, {2, 4}});
  CHECK(values("t y # in seconds, raw\n1 2\n3 4\n") == Values{{1, 3}, {2, 4}});
  CHECK(values("1,2 # first, row\r\n3,4\r\n") == Values{{1, 3}, {2, 4}});
  CHECK(read("sample #,y\n1,2\n3,4\n").shape.names == Names{"sample #", "y"});
}

TEST_CASE("a comment does not hide a faulty row") {
  CHECK(says(refusal("1,2\n3 # 4,5\n"), "2:1", {"'3 # 4' in column 1 is not a number"}));
  CHECK(says(refusal("1,2\n3,4#5\n"), "2:3", {"'4#5'"}));  // there is no blank before the sign
  CsvOptions none;
  none.comment = "";
  CHECK(says(refusal("1,2\n3,4 # x\n", none), "2:3", {"'4 # x'"}));
}

TEST_CASE("the comment sign may be part of a text that is not read, or compared") {
  const std::string text = "id,place,y\n1,apt #5,2\n2,flat,3\n3,apt #7,4\n";
  CHECK(values(text, {}, {0, 2}) == Values{{1, 2, 3}, {2, 3, 4}});
  CsvReader reader(open_memory(text, "t.csv"), {});
  CHECK(reader.shape().names == Names{"id", "place", "y"});
  const std::vector<TextMatch> place = {{1, "apt #5", false}};
  CHECK(reader.read({}, place).values == Values{{1, 0, 0}});
  CHECK(values("\"a\nb\",1 # c\n\"d\",2\n", {}, {1}) == Values{{1, 2}});  // a line ending in quotes before it
}

TEST_CASE("comments behind data are found in every block") {
  std::string text = "t,y\n";
  for (int i = 0; i < 5000; ++i) text += std::to_string(i) + ",1" + (i % 3 == 0 ? "  # note, \"x\n" : "\n");
  CsvOptions options;
  for (const std::size_t block : {64, 1000, 100000}) {
    options.block = block;
    const ReadTable t = read(text, options);
    REQUIRE(t.columns.rows == 5000);
    CHECK(t.columns.values[0][4999] == 4999);
    CHECK(t.columns.lines.line(4999) == 5001);
  }
}

TEST_CASE("a row of units below the header is skipped") {
  for (const char* units : {"s,counts\n", "(s),(counts)\n", "s,\n", "\n# in SI\ns,counts\n"}) {
    CAPTURE(units);
    const ReadTable t = read(std::string("time,n\n") + units + "0,1\n1,3\n");
    CHECK(t.shape.names == Names{"time", "n"});
    CHECK(t.columns.values == Values{{0, 1}, {1, 3}});
    REQUIRE(t.shape.notes.size() == 1);
    CHECK(t.shape.notes[0].starts_with("units in line "));
  }
  CHECK(read("time,n\n\n# SI\ns,counts\n0,1\n").shape.notes[0] == "units in line 4 skipped");
  CHECK(says(refusal("time,n\ns,counts\n0,1\n1,x\n"), "4:3", {"'x'"}));  // lines are still counted
  // A decimal comma below the units is named, not the units.
  CHECK(says(refusal("time;n\ns;counts\n0,5;1,5\n"), "3:1", {"'0,5'", "--decimal ,"}));
  CHECK(says(refusal("time;n\n0,5;1,5\n1,5;2,5\n"), "2:1", {"'0,5'", "--decimal ,"}));
}

TEST_CASE("texts below the header that may not be units are refused") {
  CHECK(says(refusal("time,n\ns,counts\n0,x\n"), "2:1", {"'s'"}));
  CHECK(says(refusal("time,n\ns,5\n0,1\n"), "2:1", {"'s'"}));
  CsvOptions header;
  header.header = HeaderChoice::yes;
  CHECK(says(refusal("time,n\ns,counts\n0,1\n", header), "2:1", {"'s'"}));
}

TEST_CASE("Excel's first line sep= gives the delimiter") {
  CHECK(values("sep=;\nt;y\n1;2\n") == Values{{1}, {2}});
  CHECK(values("\xEF\xBB\xBFSEP=|\r\nt|y\r\n1|2\r\n") == Values{{1}, {2}});
  CHECK(values("\"sep=,\"\n1,2\n") == Values{{1}, {2}});
  CHECK(says(refusal("sep=;\nt;y\n1;x\n"), "3:3", {"'x'"}));
  CHECK(read("sep=1\n5\n").shape.names == Names{"sep=1"});  // this is no delimiter, but a name
}

TEST_CASE("the vertical bar is a delimiter") {
  CHECK(values("a|b\n1|2\n3|4\n") == Values{{1, 3}, {2, 4}});
  CHECK(values("a | b\n1 | 2,5\n3 | 4,5\n", [] {
          CsvOptions o;
          o.number.decimal = ',';
          return o;
        }()) == Values{{1, 3}, {2.5, 4.5}});
}

TEST_CASE("more words for missing values") {
  for (const char* word : {"#N/A", "?", ".", "-", "NaN", "null", "N/A", "NA", ""}) {
    CAPTURE(word);
    const std::string text = std::string("a,b\n1,2\n3,") + word + "\n" + word + ",6\n7,8\n";
    CHECK(values(text, dropping()) == Values{{1, 7}, {2, 8}});
    CHECK(says(refusal(text), "3:3", {"missing", "--missing drop"}));
  }
}

TEST_CASE("percent signs, typographic spaces and minus signs in numbers") {
  CHECK(values("a,b\n12.5%,-3 %\n1e2,0.1%\n") == Values{{0.125, 100}, {-0.03, 0.001}});
  CHECK(values("a\n12.3%\n") == Values{{0.123}});  // the nearest double, not 12.3/100
  CHECK(values("a,b\n1\u00A0234.5,\u00A07\u00A0\n1\u202F234\u2009567,\u22128\n") ==
        Values{{1234.5, 1234567}, {7, -8}});
  CHECK(says(refusal("a,b\n1,2\n1\u00A023,5\n"), "3:1", {"not a number"}));  // this is not a group of three
  CHECK(says(refusal("a,b\n1,2\n%,5\n"), "3:1", {"not a number"}));
  CHECK(read("name,5%,95%\n1,2,3\n").shape.names == Names{"name", "5%", "95%"});  // these are quantiles
}

TEST_CASE("characters of no width and no-break spaces around names are removed") {
  CHECK(read("\u200Bti\u200Dme,\u00A0n\u00A0\n1,2\n").shape.names == Names{"time", "n"});
}

TEST_CASE("dates and times are seconds since the first of their column") {
  const ReadTable t = read(
      "day,when,clock\n2024-02-28,2024-03-01T12:00:00Z,23:59:58\n"
      "2024-03-01,2024-03-01 13:00:00.250+01:00,23:59:59.5\n2023-12-31,2024-03-01T11:59:00-0000,00:00:00\n");
  CHECK(t.columns.values == Values{{0, 2 * 86400.0, -59 * 86400.0}, {0, 0.25, -60}, {0, 1.5, -86398}});
  REQUIRE(t.shape.time(1) != nullptr);
  CHECK(t.shape.time(1)->text == "2024-03-01T12:00:00Z");
  CHECK(values("2024-03-01 12:00:00.5 1\n2024-03-02 12:00:01 2\n") == Values{{0, 86400}, {0, 0.5}, {1, 2}});
}

TEST_CASE("a date and a time that blanks separate are two columns; the message says so") {
  CHECK(says(refusal("t y\n2024-03-01 12:00:00 1\n"), "2:21", {"at least 3 fields", "--x '$1+$2'"}));
}

TEST_CASE("a cell that is no date of its column's form is refused") {
  const std::string head = "t,y\n2024-03-01,1\n";
  CHECK(says(refusal(head + "2024-02-30,2\n"), "3:1", {"not a date or time such as '2024-03-01'"}));
  CHECK(says(refusal("when,v\n2024-02-30,1\n2024-03-01,2\n"), "2:1", {"the calendar has no such day"}));
  CHECK(says(refusal(head + "5,2\n"), "3:1", {"'5'", "not a date"}));  // not 5 seconds
  CHECK(says(refusal(head + "12:00:00,2\n"), "3:1", {"another form"}));
  CHECK(says(refusal(head + "2024-03-01T00:00Z,2\n"), "3:1", {"offset"}));
  CHECK(says(refusal(head + ",2\n"), "3:1", {"missing"}));
  CHECK(says(refusal("t,y\n5,1\n2024-03-01,2\n"), "3:1", {"not a number", "first cell is a date"}));
  CHECK(values(head + ",2\n2024-03-01,3\n", dropping()) == Values{{0, 0}, {1, 3}});
}

TEST_CASE("a text column is compared, and read as numbers only if asked") {
  CsvReader reader(open_memory("y,site\n1,north\n2,\"south\"\n3,north # x\n", "t.csv"), {});
  const std::vector<std::size_t> y = {0};
  const std::vector<TextMatch> texts = {{1, "north", false}, {1, "south", true}};
  CHECK(reader.read(y, texts).values == Values{{1, 2, 3}, {1, 0, 1}, {1, 0, 1}});
}

TEST_CASE("groups are told apart by their whole names, and lines are counted between plain rows") {
  const std::string text =
      "site,y\nab,1\nab,2\na,3\nabc,4\n\"a,b\",5\na,6\n# c\nlong name 1,7\nlongername1,8\nlongername1,9\n"
      "longername2,10\nNA,11\n\nab,12\n";
  CsvReader reader(open_memory(text, "t.csv"), dropping());
  const std::vector<std::size_t> y = {1};
  const nlsq::cli::CsvColumns read = reader.read(y, {}, 0);
  CHECK(read.values == Values{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12}, {0, 0, 1, 2, 3, 1, 4, 5, 5, 6, 0}});
  CHECK(read.groups == Names{"ab", "a", "abc", "a,b", "long name 1", "longername1", "longername2"});
  CHECK(read.lines.line(5) == 7);
  CHECK(read.lines.line(9) == 12);
  CHECK(read.lines.line(10) == 15);
}

TEST_CASE("rows that are left out are counted in row numbers") {
  const ReadTable t = read("a\n1\nNA\nNA\n4\n5\nNA\n7\n", dropping());
  CHECK(t.columns.dropped_before == nlsq::cli::RowVector<std::size_t>{1, 1, 3});
  CHECK(t.columns.dropped_missing == 3);
}

TEST_CASE("ragged rows name line, column and both numbers of fields") {
  CHECK(says(refusal("a,b\n1,2\n3\n"), "3:2", {"only 1 fields", "line 1 has 2"}));
  CHECK(says(refusal("a,b\n1,2\n3,4,5\n"), "3:5", {"at least 3 fields", "line 1 has 2"}));
  CHECK(says(refusal("a b\n1 2\n3 4 5\n"), "3:5", {"at least 3 fields (blanks)"}));
  CHECK(says(refusal("# a b\n1 2\n3\n"), "3:2", {"only 1 fields", "line 2 has 2"}));
}
