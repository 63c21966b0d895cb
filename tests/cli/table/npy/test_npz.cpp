// Tests tables from .npz archives, in which each one-dimensional array is a column.
#include "cli/zip_support.hpp"
#include "errors.hpp"
#include "table/column_expression.hpp"
#include "table/table.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

using namespace nlsq::cli;
using zip_support::npy;
using zip_support::zip;
using Members = std::vector<std::pair<std::string, std::string>>;

namespace {

const Members kThree = {
    {"t.npy", npy({0, 1, 2})}, {"y.npy", npy({5, 6, 7})}, {"A.npy", npy({1, 2, 3, 4}, "(2, 2)")}};

std::unique_ptr<Table> table_of(const std::string& bytes, CsvOptions options = {}) {
  return open_table(open_memory(bytes, "t.npz"), options);
}

std::vector<std::vector<double>> values(const std::string& bytes, const std::vector<std::size_t>& wanted,
                                        CsvOptions options = {}) {
  TableColumns read = table_of(bytes, options)->read(wanted);
  std::vector<std::vector<double>> out;
  for (const nlsq::Column& column : read.columns) {
    REQUIRE(column.size() == read.rows);
    out.emplace_back(column.size());
    column.read(0, column.size(), out.back().data());
  }
  return out;
}

std::string refusal(const std::string& bytes, const std::vector<std::size_t>& wanted = {0, 1}) {
  try {
    values(bytes, wanted);
  } catch (const BadData& e) {
    return e.what();
  }
  return "accepted";
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("arrays are columns, stored or deflated, with sizes of 32 or 64 bits") {
  for (const bool deflate : {false, true}) {
    for (const bool zip64 : {false, true}) {
      const std::string bytes = zip(kThree, deflate, zip64);
      CHECK(table_of(bytes)->shape().names == std::vector<std::string>{"t", "y", "A_1", "A_2"});
      CHECK(values(bytes, {1, 0}) == std::vector<std::vector<double>>{{5, 6, 7}, {0, 1, 2}});
      CHECK(values(bytes, {3, 2}) == std::vector<std::vector<double>>{{2, 4}, {1, 3}});
    }
  }
}

TEST_CASE("arrays that cannot be columns are left out, and the description says so") {
  Members members = kThree;
  members.insert(members.begin(), {"label.npy", npy({1}, "(1,)", "<U2")});
  members.push_back({"k.npy", npy({1}, "()")});
  members.push_back({"notes.txt", "text"});
  const auto table = table_of(zip(members, true));
  CHECK(table->shape().columns() == 4);
  TableColumns three;
  three.rows = 3;
  CHECK(table->describe(three) == "3 rows, 4 columns, .npz of 3 arrays, without label, k");
}

TEST_CASE("NaN is missing, as in other tables") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string bytes = zip({{"t.npy", npy({0, nan, 2})}, {"y.npy", npy({5, 6, 7})}}, false);
  CsvOptions drop;
  drop.missing = MissingPolicy::drop;
  CHECK(values(bytes, {0, 1}, drop) == std::vector<std::vector<double>>{{0, 2}, {5, 7}});
}

TEST_CASE("archives that are no tables are refused with a reason") {
  CHECK(holds(refusal(zip(kThree, true), {0, 2}), "array t has 3 rows, A has 2"));
  CHECK(holds(refusal(zip({{"a.txt", "x"}}, true)), "zip archive without NumPy arrays"));
  CHECK(holds(refusal(zip({{"k.npy", npy({1}, "()")}}, true)), "array k cannot be fitted: the array has 0"));
  CHECK(holds(refusal("PK\x03\x04...."), "zip archive is damaged"));
  std::string wrong = zip(kThree, false);
  wrong[wrong.find("PK\x03\x04", 4) - 1] ^= 1;  // the last byte of the first array
  CHECK(holds(refusal(wrong), "t.npy has another checksum"));
  CHECK(holds(refusal(wrong), "t.npz: "));
}

TEST_CASE("an archive cut anywhere, or with any byte changed, is read or refused, and nothing else") {
  const std::string bytes = zip(kThree, true);
  for (std::size_t n = 4; n < bytes.size(); ++n) CHECK(refusal(bytes.substr(0, n)) != "accepted");
  for (std::size_t i = 4; i < bytes.size(); ++i) {
    for (const char flip : {'\x01', '\x80', '\xFF'}) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      CHECK(!refusal(changed).empty());
    }
  }
}

TEST_CASE("a complex array that is chosen is refused with a remedy, and others are usable beside it") {
  const std::string complex = npy({1, 0, 2, 0, 3, 1}, "(3,)", "<c16");
  const auto table = table_of(zip({{"t.npy", npy({0, 1, 2})}, {"z.npy", complex}}, false));
  CHECK(table->shape().names == std::vector<std::string>{"t"});
  try {
    parse_column_expression("z", table->shape(), table->origin(), "--y");
    FAIL("accepted");
  } catch (const BadData& e) {
    const std::string message = e.what();
    CHECK(holds(message, "t.npz: z (--y) cannot be used: the array holds complex numbers"));
    CHECK(holds(message, "a.real"));
  }
  CHECK(
      holds(refusal(zip({{"z.npy", complex}}, false)), "array z cannot be fitted: the array holds complex"));
}
