// Tests that a table, or its refusal, is the same for any division into blocks and any number of threads.
#include "cli/random_tables.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

using namespace csv_support;

namespace {

// Returns all facts about a table, or the message of its refusal.
std::string told(const std::string& text, const CsvOptions& options, const std::vector<std::size_t>& wanted) {
  try {
    const ReadTable table = read(text, options, wanted);
    const CsvColumns& columns = table.columns;
    std::string out = fmt::format("{} rows, {} dropped, {} too small, first {}\n", columns.rows,
                                  columns.dropped_missing, columns.underflows, columns.first_underflow);
    for (const RowVector<double>& column : columns.values) {
      for (const double v : column) out += fmt::format("{:x} ", std::bit_cast<std::uint64_t>(v));
      out += fmt::format("({})\n", column.size());
    }
    for (std::size_t i = 0; i < columns.rows; ++i) out += fmt::format("{} ", columns.lines.line(i));
    return out;
  } catch (const BadData& e) {
    return e.what();
  }
}

std::string told(const std::string& text, CsvOptions options, const std::vector<std::size_t>& wanted,
                 std::size_t block, int threads) {
  options.block = block;
  options.threads = threads;
  return told(text, options, wanted);
}

constexpr std::size_t kWhole = std::size_t{1} << 30;
constexpr std::size_t kBlocks[] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 1000};

std::size_t threads_now() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                                                std::filesystem::directory_iterator()));
}

// Returns rows with quoted line endings, comments and blank lines, and two numbers in each.
std::string mixed_rows(int rows) {
  std::string text = "x,note,y\n";
  for (int i = 0; i < rows; ++i) {
    static const char* const kNotes[] = {"plain", "\"a\nb\"", "\"say \"\"1,2\n3,4\"\"\n\"", "\xC2\xB5",
                                         "5\" pipe"};
    static const char* const kAfter[] = {"\n", "\r\n", "\n\n", "\n# not \"a quote\n", "\n"};
    text += fmt::format("{},{},{}.25{}", i, kNotes[i % 5], i, kAfter[i % 3 + i % 2]);
  }
  return text;
}

}  // namespace

TEST_CASE("random tables, whole and damaged, are told the same in blocks of any size") {
  Random random(1234);
  int refused = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    Written w = random_table(random);
    if (trial % 2 == 1) damage(w, random);
    if (below(random, 4) == 0) w.options.max_line = 1 + below(random, 120);
    if (below(random, 4) == 0) w.options.missing = MissingPolicy::drop;
    if (below(random, 4) == 0) w.options.comment = below(random, 2) ? "//" : "";
    const std::string whole = told(w.text, w.options, w.numeric, kWhole, 1);
    refused += whole.rfind("t.csv:", 0) == 0;
    for (int k = 0; k < 4; ++k) {
      const std::size_t block = kBlocks[below(random, std::size(kBlocks))];
      CAPTURE(w.text);
      CAPTURE(block);
      REQUIRE(told(w.text, w.options, w.numeric, block, k == 0 ? 2 : 1) == whole);
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("quoted line endings may fall on every border between blocks, on any number of threads") {
  const std::string text = mixed_rows(400);
  const std::string whole = told(text, {}, {0, 2}, kWhole, 1);
  REQUIRE(whole.find("400 rows") == 0);
  for (std::size_t block = 1; block < 200; ++block) {
    CAPTURE(block);
    REQUIRE(told(text, {}, {0, 2}, block, 1) == whole);
    REQUIRE(told(text, {}, {0, 2}, block, 2) == whole);
  }
}

TEST_CASE("a large table in blocks of the usual size is the same on one thread and on all") {
  const std::string text = mixed_rows(300000);
  REQUIRE(text.size() > 8 * CsvOptions().block);
  const ReadTable one = read(text, {}, {0, 2});
  CsvOptions alone;
  alone.threads = 1;
  const ReadTable table = read(text, alone, {0, 2});
  REQUIRE(table.columns.rows == 300000);
  for (std::size_t i = 0; i < table.columns.rows; ++i) {
    const auto x = static_cast<double>(i);
    if (table.columns.values[0][i] != x || table.columns.values[1][i] != x + 0.25) FAIL("row " << i);
    if (one.columns.lines.line(i) != table.columns.lines.line(i)) FAIL("line of row " << i);
  }
  CHECK(one.columns.values == table.columns.values);
}

TEST_CASE(
    "a fault in a late block has its own line, and of several the first is told, on any number of threads") {
  std::string text = mixed_rows(100000);
  const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  text += "1,a,2\n3,b,four\n5,c\n\xFF\n" + mixed_rows(100000);
  for (const int threads : {1, 2, 0}) {
    CsvOptions options;
    options.threads = threads;
    CHECK(says(refusal(text, options, {0, 2}), std::to_string(lines + 2) + ":5", {"'four'", "column 3 (y)"}));
  }
}

TEST_CASE("a quote that is never closed is told where it opens, however much follows") {
  std::string text = "x,y\n1,2\n3,\"4\n";
  for (int i = 0; i < 300000; ++i) text += "1.5,2.5\n";
  for (const std::size_t block : {std::size_t{1000}, CsvOptions().block}) {
    for (const int threads : {1, 2}) {
      CsvOptions options;
      options.block = block;
      options.threads = threads;
      CHECK(says(refusal(text, options), "3:3", {"unterminated quote"}));
      options.max_line = 100000;
      CHECK(says(refusal(text, options), "3:3", {"not closed within 100000 bytes"}));
    }
  }
}

TEST_CASE("an endless line is refused, not read to its end") {
  class Endless final : public ByteSource {
   public:
    std::size_t read(char* out, std::size_t size) override {
      std::fill_n(out, size, '1');
      return size;
    }
  };
  OpenedSource source;
  source.name = "t.csv";
  source.bytes = std::make_unique<Endless>();
  std::string message;
  try {
    CsvReader reader(std::move(source), CsvOptions());
  } catch (const BadData& e) {
    message = e.what();
  }
  CHECK(says(message, "1:1", {"longer than 16777216 bytes"}));
}

TEST_CASE("one thread means that none is started") {
  const std::string text = mixed_rows(100000);
  const std::size_t before = threads_now();
  CsvOptions options;
  options.threads = 1;
  read(text, options, {0, 2});
  CHECK(threads_now() == before);
}
