// Looks up the name of an enumerator in a table.
#pragma once

#include <cstddef>

namespace nlsq::inline v0 {

// `names` are in the order of the enumerators up to `last`.
template <auto last, std::size_t N>
constexpr const char* name_in(const char* const (&names)[N], decltype(last) value) noexcept {
  static_assert(N == static_cast<std::size_t>(last) + 1, "one name for each enumerator");
  const auto at = static_cast<std::size_t>(value);
  return at < N ? names[at] : "?";
}

}  // namespace nlsq::inline v0
