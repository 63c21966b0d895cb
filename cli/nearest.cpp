// Implements the search for the nearest name.
#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nlsq::cli {

namespace {

std::string lower_case(std::string_view name) {
  std::string result(name);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

// Counts the insertions, deletions, replacements and exchanges of neighbours that turn `a` into `b`.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> edits(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        edits[i][j] = i + j;
        continue;
      }
      edits[i][j] = std::min(
          {edits[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1), edits[i - 1][j] + 1, edits[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        edits[i][j] = std::min(edits[i][j], edits[i - 2][j - 2] + 1);
    }
  }
  return edits[a.size()][b.size()];
}

}  // namespace

std::string suggest_nearest(std::string_view name, std::span<const std::string> known) {
  if (name.size() < 2 || name.size() > 60) return "";  // one letter is near to any other
  const std::string plain = lower_case(name);
  std::size_t least = std::min<std::size_t>(3, (plain.size() + 2) / 3 + 1);  // one less than this is near
  std::string_view best;
  for (const std::string& candidate : known) {
    if (candidate.empty() || candidate.size() > 60) continue;
    if (const std::size_t d = distance(plain, lower_case(candidate)); d < least) least = d, best = candidate;
  }
  return best.empty() ? "" : fmt::format("; did you mean '{}'?", best);
}

}  // namespace nlsq::cli
