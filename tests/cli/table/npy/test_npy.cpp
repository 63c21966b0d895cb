// Tests NumPy's arrays as tables. Every layout must give the numbers that were written. Other arrays are
// refused.
#include "cli/gzip_support.hpp"
#include "cli/program.hpp"
#include "errors.hpp"
#include "table/table.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

using namespace nlsq::cli;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::string file_of(const std::string& dictionary, const std::string& data, int version = 1,
                    std::size_t pad = 64) {
  const std::size_t fixed = version == 1 ? 10 : 12;
  std::string header = dictionary;
  while ((fixed + header.size() + 1) % pad != 0) header += ' ';
  header += '\n';
  std::string out = "\x93NUMPY";
  out += static_cast<char>(version);
  out += '\0';
  for (std::size_t i = 0, n = header.size(); i < fixed - 8; ++i, n >>= 8) out += static_cast<char>(n & 0xFF);
  return out + header + data;
}

struct Layout {
  bool big_endian = false, fortran = false;
};

// values[column][row]
template <class T>
std::string array_of(const char* kind, const std::vector<std::vector<double>>& values, Layout layout = {},
                     std::size_t pad = 64) {
  const std::size_t rows = values[0].size(), columns = values.size();
  std::string data;
  const auto put = [&](double v) {
    const T value = static_cast<T>(v);
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    if (layout.big_endian == (std::endian::native == std::endian::little))
      std::reverse(bytes, bytes + sizeof(T));
    data.append(bytes, sizeof(T));
  };
  if (layout.fortran) {
    for (const auto& column : values) std::for_each(column.begin(), column.end(), put);
  } else {
    for (std::size_t i = 0; i < rows; ++i) {
      for (const auto& column : values) put(column[i]);
    }
  }
  const char* const order = sizeof(T) == 1 ? "|" : layout.big_endian ? ">" : "<";
  return file_of(fmt::format("{{'descr': '{}{}{}', 'fortran_order': {}, 'shape': ({}, {}), }}", order, kind,
                             sizeof(T), layout.fortran ? "True" : "False", rows, columns),
                 data, 1, pad);
}

TableColumns read(const std::string& bytes, std::vector<std::size_t> wanted, CsvOptions options = {}) {
  return open_table(open_memory(bytes, "t.npy"), options)->read(wanted);
}

std::vector<double> values(const nlsq::Column& column) {
  std::vector<double> out(column.size());
  column.read(0, out.size(), out.data());
  return out;
}

std::string refusal(const std::string& bytes, std::vector<std::size_t> wanted = {0},
                    CsvOptions options = {}) {
  try {
    read(bytes, std::move(wanted), options);
  } catch (const BadData& e) {
    return e.what();
  }
  return "accepted";
}

bool says(const std::string& message, std::initializer_list<const char*> parts) {
  return message.rfind("t.npy: ", 0) == 0 && std::all_of(parts.begin(), parts.end(), [&](const char* part) {
           return message.find(part) != std::string::npos;
         });
}

const std::vector<std::vector<double>> kTable = {{0, 1, 2, 3, 4}, {7, 6, 5, 120, 3}, {11, 12, 13, 14, 15}};
constexpr Layout kLayouts[] = {{false, false}, {false, true}, {true, false}, {true, true}};

template <class T>
void check_type(const char* kind, nlsq::ElementType native) {
  CAPTURE(kind);
  CAPTURE(sizeof(T));
  for (const Layout layout : kLayouts) {
    for (const std::size_t pad : {std::size_t{64}, std::size_t{1}}) {  // one may be misaligned
      std::string bytes = array_of<T>(kind, kTable, layout, pad);
      const TableColumns table = read(bytes, {2, 0, 1});
      CHECK(table.rows == 5);
      CHECK(values(table.columns[0]) == kTable[2]);
      CHECK(values(table.columns[1]) == kTable[0]);
      CHECK(values(table.columns[2]) == kTable[1]);
      if (!layout.big_endian && pad == 64) CHECK(table.columns[0].type() == native);
    }
  }
}

// Returns y = 2 exp(-x/2) + 1/4 with a little noise.
std::vector<std::vector<double>> decay(std::size_t rows) {
  std::mt19937_64 random(3);
  std::vector<std::vector<double>> table(2);
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 8.0 * static_cast<double>(i) / static_cast<double>(rows);
    table[0].push_back(x);
    table[1].push_back(2 * std::exp(-x / 2) + 0.25 +
                       1e-3 * (static_cast<double>(random() >> 11) * 0x1p-53 - 0.5));
  }
  return table;
}

}  // namespace

TEST_CASE(
    "every type, byte order and layout gives the numbers written, in place where the type is a column's") {
  using nlsq::ElementType;
  check_type<double>("f", ElementType::f64);
  check_type<float>("f", ElementType::f32);
  check_type<std::int8_t>("i", ElementType::i8);
  check_type<std::uint8_t>("u", ElementType::u8);
  check_type<std::int16_t>("i", ElementType::i16);
  check_type<std::uint16_t>("u", ElementType::u16);
  check_type<std::int32_t>("i", ElementType::i32);
  check_type<std::uint32_t>("u", ElementType::u32);
  check_type<std::int64_t>("i", ElementType::f64);
  check_type<std::uint64_t>("u", ElementType::f64);
}

TEST_CASE("the largest and smallest integers keep their values") {
  CHECK(values(
            read(array_of<std::int64_t>("i", {{-9007199254740991.0, 9007199254740991.0}}), {0}).columns[0]) ==
        std::vector<double>{-9007199254740991.0, 9007199254740991.0});
  CHECK(values(read(array_of<std::uint32_t>("u", {{0.0, 4294967295.0}}), {0}).columns[0]) ==
        std::vector<double>{0, 4294967295.0});
  CHECK(values(read(array_of<std::int8_t>("i", {{-128.0, 127.0}}), {0}).columns[0]) ==
        std::vector<double>{-128, 127});
}

TEST_CASE("groups of integers that doubles round are refused, because two of them could become one") {
  const auto outcome = [](const std::string& bytes) -> std::string {
    try {
      open_table(open_memory(bytes, "t.npy"), {})->read(std::vector<std::size_t>{0}, {}, 1);
    } catch (const BadData& e) {
      return e.what();
    }
    return "accepted";
  };
  const std::vector<std::vector<double>> table = {{1, 2, 3}, {5, 0x1p53, 7}};
  for (const std::string& bytes : {array_of<std::int64_t>("i", table), array_of<std::uint64_t>("u", table)}) {
    CHECK(outcome(bytes).starts_with("t.npy, row 2: the group is about 9007199254740992"));
    CHECK(outcome(bytes).find("number the groups anew") != std::string::npos);
    CHECK(read(bytes, {0, 1}).rows == 3);  // as numbers they are rounded as usual
  }
  CHECK(outcome(array_of<std::int64_t>("i", {{1, 2}, {5, 1 - 0x1p53}})) == "accepted");
  CHECK(outcome(array_of<double>("f", table)) == "accepted");
}

TEST_CASE("one dimension is one column; truth values are 0 and 1; versions 2 and 3 are read") {
  const std::string three("\x01\0\x01", 3);
  for (const int version : {1, 2, 3}) {
    const std::string bytes =
        file_of("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", three, version);
    const auto table = open_table(open_memory(bytes, "t.npy"), {});
    CHECK(table->shape().columns() == 1);
    const std::size_t wanted[] = {0};
    const TableColumns columns = table->read(wanted);
    CHECK(table->describe(columns) == "3 rows, 1 column, .npy of uint8");
    CHECK(values(columns.columns[0]) == std::vector<double>{1, 0, 1});
  }
}

TEST_CASE("headers may be written in other ways") {
  const std::string data(16, '\0');
  for (const char* header :
       {"{'shape': (2,), 'descr': '<f8', 'fortran_order': True}",
        "{ \"descr\" : \"<f8\" , \"fortran_order\" : False , \"shape\" : ( 2 , 1 ) , }  \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2L,), }"}) {
    CAPTURE(header);
    CHECK(read(file_of(header, data), {0}).rows == 2);
  }
}

TEST_CASE("a compressed array is read") {
  CHECK(values(read(csv_support::gzip(array_of<float>("f", kTable)), {1}).columns[0]) == kTable[1]);
}

TEST_CASE("rows with missing values in the chosen columns are dropped when told so, and counted") {
  CsvOptions options;
  options.missing = MissingPolicy::drop;
  const std::vector<std::vector<double>> table = {{0, kNaN, 2, 3}, {4, 5, kNaN, 7}, {kNaN, 9, 10, 11}};
  for (const Layout layout : kLayouts) {
    for (const std::string& bytes :
         {array_of<double>("f", table, layout), array_of<float>("f", table, layout)}) {
      const TableColumns read_back = read(bytes, {0, 1}, options);
      CHECK(values(read_back.columns[0]) == std::vector<double>{0, 3});
      CHECK(values(read_back.columns[1]) == std::vector<double>{4, 7});
      CHECK(read_back.rows == 2);
      CHECK(read_back.dropped_missing == 2);
      CHECK(read_back.kept == RowVector<std::size_t>{0, 3});
    }
  }
  CHECK(
      says(refusal(array_of<double>("f", {{kNaN, kNaN}}), {0}, options), {"all 2 rows have missing values"}));
}

TEST_CASE("arrays that are no table of real numbers are refused with a remedy") {
  const std::string data(64, '\0');
  const auto descr = [&](const char* type) {
    return refusal(
        file_of(fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': (2,), }}", type), data));
  };
  for (const char* type : {"'<f2'", "'|O'", "'<U3'", "'|S3'", "'<M8[s]'", "'<f16'", "'f8'", "'|f8'", "''"}) {
    CAPTURE(type);
    CHECK(says(descr(type), {"elements of type", ".astype('float64')"}));
  }
  CHECK(says(descr("'<c16'"), {"complex numbers", "a.real and a.imag"}));
  CHECK(says(descr("[('x', '<f8'), ('y', '<f8')]"), {"structured array", "column_stack"}));
  const auto shape = [&](const char* text) {
    return refusal(
        file_of(fmt::format("{{'descr': '<f8', 'fortran_order': False, 'shape': {}, }}", text), data));
  };
  CHECK(says(shape("()"), {"0 dimensions"}));
  CHECK(says(shape("(2, 2, 2)"), {"3 dimensions"}));
  CHECK(says(shape("(0,)"), {"empty"}));
  CHECK(says(shape("(0, 1000000000000000)"), {"empty"}));
  CHECK(says(shape("(4294967296, 4294967296)"), {"more than a file can hold"}));
}

TEST_CASE("damaged headers are refused") {
  const std::string data(64, '\0');
  for (const char* header :
       {"", "{", "{}", "x", "{'descr': '<f8'}", "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,)} and more",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), 'other': 1}"}) {
    CAPTURE(header);
    CHECK(says(refusal(file_of(header, data)), {"header", "numpy.save"}));
  }
  CHECK(says(refusal(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", data, 4)),
             {"version 4"}));
  std::string long_header = "\x93NUMPY\x02";
  long_header += std::string("\0\xFF\xFF\xFF\x7F", 5);
  CHECK(says(refusal(long_header + data), {"too long"}));
}

TEST_CASE("truncated arrays, and arrays with something behind them, are refused, however short") {
  const std::string whole = array_of<double>("f", kTable);
  REQUIRE(refusal(whole) == "accepted");
  for (std::size_t size = 6; size < whole.size(); ++size) {
    CAPTURE(size);
    REQUIRE(says(refusal(whole.substr(0, size)), {"truncated"}));
  }
  CHECK(says(refusal(whole + "x"), {"behind the array"}));
  // A header may promise any size, but memory is taken only for the bytes that exist.
  CHECK(says(
      refusal(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,), }", "12345678")),
      {"promises 800000000000 bytes", "there are 8"}));
}

TEST_CASE("damaged files are read or refused, never anything else") {
  std::mt19937_64 random(11);
  const std::string whole = array_of<double>("f", kTable, {false, true});
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    std::string bytes = whole;
    for (std::size_t n = 1 + random() % 3; n-- > 0;) {
      const std::size_t at = 6 + random() % 122;
      if (random() % 3 == 0) bytes.erase(at, 1);
      else bytes[at] = static_cast<char>(random() % 2 ? random() % 256 : "0123456789(),<>fiu"[random() % 18]);
    }
    std::string message;
    REQUIRE_NOTHROW(message = refusal(bytes));
    refused += message != "accepted";
  }
  CHECK(refused > 1000);
}

TEST_CASE("a fit of a mapped file, of a pipe, and of the same numbers as text end in the same bits") {
  using namespace program;
  Scratch scratch;
  const auto table = decay(500);
  std::string text;
  for (std::size_t i = 0; i < 500; ++i) text += fmt::format("{},{}\n", table[0][i], table[1][i]);
  const std::string csv = scratch.write("t.csv", text), model = " --model 'a*exp(-b*x)+c' --p0 a=1,b=1,c=0";
  const nlohmann::json from_text = fit_json(csv + model);
  REQUIRE(from_text["status"] == "converged");
  for (const Layout layout : kLayouts) {
    const std::string npy = scratch.write("t.npy", array_of<double>("f", table, layout));
    CHECK(fit_json(npy + model)["parameters"] == from_text["parameters"]);
    CHECK(fit_json("- " + model + " < " + npy)["parameters"] == from_text["parameters"]);
  }
  const Outcome outcome = run(scratch.write("f.npy", array_of<float>("f", table)) + model);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "500 rows, 2 columns, .npy of float32"));
}

TEST_CASE("NaN among many rows is refused with its row, whatever the fit") {
  using namespace program;
  Scratch scratch;
  auto table = decay(300'000);
  table[0][200'000] = table[1][200'001] = kNaN;
  const std::string file = scratch.write("t.npy", array_of<double>("f", table)) + " ";
  for (const char* fit :
       {"--model exp", "--model exp --p0 b=1", "--model 'a*exp(-b*x)'", "--model exp --quiet --json -",
        "--model exp --max-iterations 0", "--model exp --certify --p0 a=1,b=1,c=1"}) {
    CAPTURE(fit);
    const Outcome outcome = run(file + fit);
    CHECK(outcome.status == 3);
    CHECK(contains(
        outcome.out,
        "t.npy, row 200001: x = column 1 is not a number here; leave such rows out with --missing drop"));
  }
  CHECK(contains(run(file + "--model exp --missing drop").out, "299998 rows fitted, 2 left out"));
  CHECK(run(file + "--model exp --p0 nothing=1").status == 2);
}

TEST_CASE("NaN, infinity, and sigma that is not positive are refused with their row") {
  using namespace program;
  Scratch scratch;
  auto table = decay(50);
  table.push_back(std::vector<double>(50, 0.5));
  const auto told = [&](const std::string& options) {
    const std::string file = scratch.write("t.npy", array_of<double>("f", table));
    const Outcome outcome = run(file + " --model 'a*exp(-b*x)+c' --p0 a=1,b=1,c=0 " + options);
    return fmt::format("{} {}", outcome.status, outcome.out);
  };
  table[1][7] = table[1][9] = kNaN;
  const std::string refused = told("");
  CHECK(refused.rfind("3 ", 0) == 0);
  CHECK(contains(refused, "t.npy, row 8: "));
  CHECK(contains(refused, "1 more row"));
  CHECK(contains(refused, "--missing drop"));
  CHECK(contains(told("--missing drop"), "48 rows fitted, 2 left out"));
  CHECK(contains(told("--where '$2 == $2'"), "48 rows fitted"));
  table[1][7] = table[1][9] = 1;
  table[0][3] = std::numeric_limits<double>::infinity();
  CHECK(contains(told(""), "row 4: "));
  CHECK(contains(told("--missing drop"), "infinite"));
  CHECK(contains(told("--range :6 --where '$1 < 100'"), "rows fitted"));
  CHECK(contains(told("--range :6"), "by --range)"));
  CHECK(contains(told("--range 0:"), "row 4: "));
  table[0][3] = 0.5;
  table[2][20] = -1;
  CHECK(contains(told("--sigma 3"), "row 21: sigma is -1"));
  table[2][20] = std::numeric_limits<double>::infinity();
  CHECK(contains(told("--sigma 3"), "row 21: sigma = column 3 is infinite here"));
}

TEST_CASE("NaN and infinity are refused in the rows that --range keeps alone") {
  using namespace program;
  Scratch scratch;
  auto table = decay(50);
  const double middle = table[0][25];
  table[1][40] = kNaN;
  table[1][41] = std::numeric_limits<double>::infinity();
  const auto told = [&](const std::string& options) {
    const std::string file = scratch.write("t.npy", array_of<double>("f", table));
    const Outcome outcome = run(file + " --model 'a*exp(-b*x)+c' --p0 a=1,b=1,c=0 " + options);
    return fmt::format("{} {}", outcome.status, outcome.out);
  };
  const std::string range = fmt::format("--range :{} ", middle);
  const std::string fitted = told(range);
  CHECK(fitted.rfind("0 ", 0) == 0);
  CHECK(contains(fitted, "26 rows fitted, 24 left out (24 by --range)"));
  CHECK(contains(told(range + "--x '$1+0' --y '2*$2'"), "26 rows fitted, 24 left out (24 by --range)"));
  CHECK(contains(told(fmt::format("--range {}:", middle)), "row 41: y = column 2 is not a number here"));
  table[0][45] = kNaN;  // this row may or may not be in the interval
  CHECK(contains(told(range), "row 46: x = column 1 is not a number here"));
  CHECK(contains(told(range + "--missing drop"), "26 rows fitted, 24 left out (2 by --missing drop"));
}
