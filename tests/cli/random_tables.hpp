// Makes random tables as text, and keeps the numbers that were written.
#pragma once

#include "csv_support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace csv_support {

using Random = std::mt19937_64;

inline std::size_t below(Random& random, std::size_t n) { return static_cast<std::size_t>(random() % n); }

inline double any_finite(Random& random) {
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

inline std::string written_number(Random& random, double value) {
  switch (below(random, 4)) {
    case 0: return fmt::format("{}", value);
    case 1: return fmt::format("{:.17e}", value);
    case 2: return fmt::format("{}{:.17g}", value >= 0 && !std::signbit(value) ? "+" : "", value);
    default: return fmt::format("\"{:.20e}\"", value);
  }
}

inline std::string written_text(Random& random) {
  static const char* const kTexts[] = {
      "abc", "\"a,b;c\td e\"", "\"say \"\"so\"\"\"", "\"two\nlines\"", "\xC3\xA9t\xC3\xA9", "\"\""};
  return kTexts[below(random, std::size(kTexts))];
}

inline Written random_table(Random& random) {
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

// Deletes bytes in up to four places, or replaces them by bytes that have a meaning.
inline void damage(Written& w, Random& random) {
  static constexpr char kBytes[] = {'\0', '"', ',', '\n', '\r', '#', ' ', '\xFF', '\xC3', 'e', '-', '.', '1'};
  for (std::size_t n = 1 + below(random, 4); n-- > 0;) {
    const std::size_t at = below(random, w.text.size());
    if (below(random, 3) == 0) {
      w.text.erase(at, 1 + below(random, 3));
    } else {
      w.text[at] = kBytes[below(random, std::size(kBytes))];
    }
    if (w.text.empty()) w.text = " ";
  }
}

// Returns a few bytes at a time, as a slow pipe does, so that records are cut at every place.
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

}  // namespace csv_support
