// Random tables written and read back, bit for bit; random damage never does more than refuse.
#include "csv_support.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <random>

using namespace csv_support;

namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

double any_finite(Random& random) {
  for (;;) {
    const double value = std::bit_cast<double>(random());
    if (std::isfinite(value)) return value;
  }
}

struct Written {
  std::string text;
  std::vector<std::vector<double>> numbers;
  std::vector<std::size_t> numeric;
  CsvOptions options;
};

std::string written_number(Random& random, double value) {
  switch (below(random, 4)) {
    case 0: return fmt::format("{}", value);
    case 1: return fmt::format("{:.17e}", value);
    case 2: return fmt::format("{}{:.17g}", value >= 0 && !std::signbit(value) ? "+" : "", value);
    default: return fmt::format("\"{:.20e}\"", value);
  }
}

std::string written_text(Random& random) {
  static const char* const kTexts[] = {
      "abc", "\"a,b;c\td e\"", "\"say \"\"so\"\"\"", "\"two\nlines\"", "\xC3\xA9t\xC3\xA9", "\"\""};
  return kTexts[below(random, std::size(kTexts))];
}

Written random_table(Random& random) {
  static constexpr char kDelimiters[] = {',', ';', '\t', '|', kBlanks};
  static const char* const kEndings[] = {"\n", "\r\n", "\r"};
  Written w;
  const char delimiter = kDelimiters[below(random, 5)];
  const std::string between =
      delimiter == kBlanks ? (below(random, 2) ? "  " : " \t") : std::string(1, delimiter);
  const std::string ending = kEndings[below(random, 3)];
  w.options.delimiter = delimiter;
  const std::size_t columns = 1 + below(random, 6), rows = 1 + below(random, 40);
  std::vector<bool> text_column(columns);
  for (std::size_t k = 1; k < columns; ++k) text_column[k] = below(random, 4) == 0;
  for (std::size_t k = 0; k < columns; ++k) {
    if (!text_column[k]) w.numeric.push_back(k);
  }
  w.numbers.resize(w.numeric.size());
  if (below(random, 2) == 0) {
    for (std::size_t k = 0; k < columns; ++k) w.text += fmt::format("{}c{}", k ? between : "", k);
    w.text += ending;
    w.options.header = HeaderChoice::yes;
  } else {
    w.options.header = HeaderChoice::no;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    if (below(random, 10) == 0) w.text += "# a comment, \"with a quote" + ending;
    if (below(random, 10) == 0) w.text += ending;
    for (std::size_t k = 0, slot = 0; k < columns; ++k) {
      if (k > 0) w.text += between;
      if (text_column[k]) {
        w.text += written_text(random);
        continue;
      }
      w.numbers[slot].push_back(any_finite(random));
      w.text += written_number(random, w.numbers[slot++].back());
    }
    if (i + 1 < rows || below(random, 2) == 0) w.text += ending;
  }
  return w;
}

// Hands out a few bytes a time, as a slow pipe does: records end up cut at every place.
class Dribble final : public ByteSource {
 public:
  Dribble(std::string bytes, Random& random) : bytes_(std::move(bytes)), random_(random) {}
  std::size_t read(char* out, std::size_t size) override {
    const std::size_t n = std::min({size, bytes_.size() - at_, 1 + below(random_, 7)});
    bytes_.copy(out, n, at_);
    at_ += n;
    return n;
  }

 private:
  std::string bytes_;
  Random& random_;
  std::size_t at_ = 0;
};

}  // namespace

TEST_CASE("tables that arrive a few bytes at a time are read the same") {
  Random random(99);
  for (int trial = 0; trial < 1000; ++trial) {
    Written w = random_table(random);
    CAPTURE(w.text);
    w.options.max_line = 1000;  // the first look is no longer than that, so that most is read in pieces
    OpenedSource source;
    source.bytes = std::make_unique<Dribble>(w.text, random);
    source.name = "t.csv";
    CsvReader reader(std::move(source), w.options);
    REQUIRE(reader.read(w.numeric).values == values(w.text, w.options, w.numeric));
  }
}

TEST_CASE("random tables are read back to the same bits") {
  Random random(20240117);
  for (int trial = 0; trial < 10000; ++trial) {
    const Written w = random_table(random);
    CAPTURE(trial);
    CAPTURE(w.text);
    const auto read_back = values(w.text, w.options, w.numeric);
    REQUIRE(read_back.size() == w.numbers.size());
    for (std::size_t k = 0; k < w.numbers.size(); ++k) {
      REQUIRE(read_back[k].size() == w.numbers[k].size());
      for (std::size_t i = 0; i < w.numbers[k].size(); ++i) {
        REQUIRE(std::bit_cast<std::uint64_t>(read_back[k][i]) ==
                std::bit_cast<std::uint64_t>(w.numbers[k][i]));
      }
    }
  }
}

TEST_CASE("damaged tables are read or refused, never anything else") {
  Random random(7);
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Written w = random_table(random);
    static constexpr char kBytes[] = {'\0',   '"',    ',', '\n', '\r', '#', ' ',
                                      '\xFF', '\xC3', 'e', '-',  '.',  '1'};
    for (std::size_t n = 1 + below(random, 4); n-- > 0;) {
      const std::size_t at = below(random, w.text.size());
      if (below(random, 3) == 0) {
        w.text.erase(at, 1 + below(random, 3));
      } else {
        w.text[at] = kBytes[below(random, std::size(kBytes))];
      }
      if (w.text.empty()) w.text = " ";
    }
    if (below(random, 2)) w.options.delimiter.reset();
    if (below(random, 2)) w.options.header = HeaderChoice::automatic;
    CAPTURE(w.text);
    std::string message;
    REQUIRE_NOTHROW(message = refusal(w.text, w.options, {0}));
    refused += message != "accepted";
    if (message != "accepted") REQUIRE(message.rfind("t.csv:", 0) == 0);
  }
  CHECK(refused > 1000);
}
