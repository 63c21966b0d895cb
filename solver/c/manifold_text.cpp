// Parses manifolds.
#include "c/manifold_text.hpp"

#include "c/named_lists.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

namespace nlsq::inline v0::c {

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
