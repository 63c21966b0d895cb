// Helpers that split and read the texts of policies and rules.
#include "policy_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace nlsq::inline v0 {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0, depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && depth > 0) --depth;
    if (text[i] != separator || depth > 0) continue;
    pieces.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  pieces.push_back(trimmed(text.substr(begin)));
  return pieces;
}

std::optional<Assignment> assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) return std::nullopt;
  return Assignment{trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1))};
}

std::string to_string(const FormatChange& change, std::string_view prefix) {
  std::string text;
  for_each_part(change, [&](const char* part, const std::optional<Format>& format) {
    if (format) text += fmt::format("{}{}{}={}", text.empty() ? "" : ",", prefix, part, name(*format));
  });
  return text;
}

std::optional<Format>* part_named(FormatChange& change, std::string_view name) {
  std::optional<Format>* found = nullptr;
  for_each_part(change, [&](std::string_view part, std::optional<Format>& format) {
    if (part == name) found = &format;
  });
  return found;
}

std::optional<Violation> set_format(std::optional<Format>& format, const std::string& field,
                                    std::string_view text) {
  if (format) return Violation{field, std::string(text), "named twice; name each part once"};
  try {
    format = parse_format(text);
  } catch (const ValidationError& error) {
    return Violation{field, std::string(text), error.what()};
  }
  return std::nullopt;
}

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace nlsq::inline v0
