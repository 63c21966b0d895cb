// Parses lists of names with values, and manifolds.
#include "c/named_lists.hpp"

#include "support/constants.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace nlsq::inline v0::c {

namespace {

// Returns at most 80 bytes of a text in quotes, for a message.
std::string quoted(std::string_view text) {
  return fmt::format("'{}{}'", text.substr(0, 80), text.size() > 80 ? "..." : "");
}

std::vector<std::string_view> items_of(std::string_view text) {
  return trimmed(text).empty() ? std::vector<std::string_view>() : split(text, ',');
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
  for (const std::string_view part : items_of(text)) {
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
  for (const std::string_view part : items_of(text)) {
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
  for (const std::string_view part : items_of(text)) {
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

namespace {

[[noreturn]] void refuse_part(std::string_view part) {
  throw ValidationError(fmt::format(
      "manifold '{}': use quaternion, eigen_quaternion, sphere N, line N, euclidean N, subset N: 0,2, or "
      "several with + between them",
      part.substr(0, 80)));
}

int dimension_of(std::string_view text, std::string_view part) {
  const std::optional<double> value = parsed_number(text);
  if (!value || !(*value >= 0 && *value <= 1e6) || *value != std::floor(*value)) refuse_part(part);
  return static_cast<int>(*value);
}

ManifoldPtr one_manifold(std::string_view part) {
  if (part == "quaternion") return quaternion_manifold();
  if (part == "eigen_quaternion") return eigen_quaternion_manifold();
  const std::size_t blank = part.find_first_of(" \t");
  if (blank == std::string_view::npos) refuse_part(part);
  const std::string_view name = part.substr(0, blank), rest = part.substr(blank);
  if (name == "sphere") return sphere_manifold(dimension_of(rest, part));
  if (name == "line") return line_manifold(dimension_of(rest, part));
  if (name == "euclidean") return euclidean_manifold(dimension_of(rest, part));
  const std::size_t colon = rest.find(':');
  if (name != "subset" || colon == std::string_view::npos) refuse_part(part);
  std::vector<int> held;
  for (const std::string_view place : split(rest.substr(colon + 1), ','))
    held.push_back(dimension_of(place, part));
  return subset_manifold(dimension_of(rest.substr(0, colon), part), held);
}

}  // namespace

ManifoldPtr manifold_of(std::string_view text, int size) {
  if (trimmed(text).empty()) return nullptr;
  std::vector<ManifoldPtr> parts;
  for (const std::string_view part : split(text, '+')) parts.push_back(one_manifold(part));
  const ManifoldPtr all = parts.size() == 1 ? parts[0] : product_manifold(parts);
  if (all->ambient() != size) {
    throw ValidationError(fmt::format("manifold '{}' has {} numbers, the block has {}", text.substr(0, 80),
                                      all->ambient(), size));
  }
  return all;
}

}  // namespace nlsq::inline v0::c
