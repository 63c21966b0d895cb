// Parses lists of names with values.
#include "c/named_lists.hpp"

#include "support/constants.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <charconv>

namespace nlsq::inline v0::c {

namespace {

// At most 80 bytes, for a message.
std::string quoted(std::string_view text) {
  return fmt::format("'{}{}'", text.substr(0, 80), text.size() > 80 ? "..." : "");
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  if (trimmed(text).empty()) return parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

double number_of(std::string_view what, std::string_view name, std::string_view text) {
  const std::optional<double> value = parsed_number(text);
  if (!value) throw ValidationError(fmt::format("{}: {} of {} is not a number", what, quoted(text), name));
  return *value;
}

}  // namespace

std::optional<double> parsed_number(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::pair<std::string, double>> parsed_values(std::string_view what, std::string_view text) {
  std::vector<std::pair<std::string, double>> values;
  for (const std::string_view part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    if (equals == std::string_view::npos || name.empty()) {
      throw ValidationError(
          fmt::format("{}: {} is not name=value; write pairs, as in a=1,b=2", what, quoted(part)));
    }
    values.emplace_back(name, number_of(what, name, part.substr(equals + 1)));
  }
  return values;
}

std::vector<std::pair<std::string, std::optional<double>>> parsed_fixed(std::string_view text) {
  std::vector<std::pair<std::string, std::optional<double>>> values;
  for (const std::string_view part : split(text)) {
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    if (name.empty()) throw ValidationError(fmt::format("fix: {} has no name; write c=0 or c", quoted(part)));
    if (equals == std::string_view::npos) values.emplace_back(name, std::nullopt);
    else values.emplace_back(name, number_of("fix", name, part.substr(equals + 1)));
  }
  return values;
}

std::vector<NamedBounds> parsed_bounds(std::string_view text) {
  std::vector<NamedBounds> bounds;
  for (const std::string_view part : split(text)) {
    const std::size_t equals = part.find('='), colon = part.find(':');
    const std::string_view name = trimmed(part.substr(0, equals));
    if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals ||
        name.empty()) {
      throw ValidationError(
          fmt::format("bounds: {} is not name=lower:upper; write a=0:10,b=:5", quoted(part)));
    }
    const auto side = [&](std::string_view value, double none) {
      return trimmed(value).empty() ? none : number_of("bounds", name, value);
    };
    bounds.push_back({std::string(name), side(part.substr(equals + 1, colon - equals - 1), -kInfinity),
                      side(part.substr(colon + 1), kInfinity)});
  }
  return bounds;
}

}  // namespace nlsq::inline v0::c
