// Implements text_kinds().
#include "report/text_kinds.hpp"

#include <algorithm>
#include <functional>

namespace nlsq::cli {

namespace {

std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c < '0' || c > '9') out += c;
    else if (!out.ends_with('#')) out += '#';
  }
  return out;
}

}  // namespace

std::vector<TextKind> text_kinds(const std::map<std::size_t, std::string>& texts) {
  std::map<std::string, TextKind> kinds;
  for (const auto& [key, text] : texts)
    ++kinds.try_emplace(without_numbers(text), TextKind{key, 0}).first->second.count;
  std::vector<TextKind> sorted;
  for (const auto& [text, kind] : kinds) sorted.push_back(kind);
  std::ranges::stable_sort(sorted, std::greater(), &TextKind::count);
  return sorted;
}

}  // namespace nlsq::cli
