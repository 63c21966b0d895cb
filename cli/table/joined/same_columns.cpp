// Implements same_columns().
#include "table/joined/same_columns.hpp"

#include "errors.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::cli {

namespace {

std::string columns_of(const CsvShape& shape) {
  if (!shape.has_header) {
    return fmt::format("{} column{} without names", shape.columns(), shape.columns() == 1 ? "" : "s");
  }
  constexpr std::size_t kMost = 20;
  std::string list;
  for (std::size_t c = 0; c < std::min(kMost, shape.columns()); ++c)
    list += fmt::format("{}{}", c == 0 ? "" : ", ", printable(shape.names[c], 60));
  if (shape.columns() > kMost) list += fmt::format(" and {} more", shape.columns() - kMost);
  return fmt::format("the column{} {}", shape.columns() == 1 ? "" : "s", list);
}

// Returns the names in `some` that `others` lack.
std::string lacking(const std::vector<std::string>& some, const std::vector<std::string>& others) {
  std::string list;
  for (const std::string& name : some) {
    if (std::ranges::find(others, name) == others.end())
      list += fmt::format("{}{}", list.empty() ? "" : ", ", printable(name, 60));
  }
  return list;
}

[[noreturn]] void refuse(const std::string& first_name, const CsvShape& first, const Table& part) {
  const CsvShape& shape = part.shape();
  std::string difference;
  if (first.has_header && shape.has_header) {
    const std::string missing = lacking(first.names, shape.names), more = lacking(shape.names, first.names);
    if (!missing.empty()) difference += fmt::format("; {} is missing here", missing);
    if (!more.empty()) difference += fmt::format("; {} is only here", more);
  }
  throw BadData(
      fmt::format("{}: this file has {}, and {} has {}{}. The files of one table need the same columns",
                  part.origin(), columns_of(shape), first_name, columns_of(first), difference));
}

}  // namespace

std::vector<std::size_t> same_columns(const std::string& first_name, const CsvShape& first,
                                      const Table& part) {
  const std::vector<std::string>& names = part.shape().names;
  std::vector<std::size_t> numbers(first.columns());
  bool same = names.size() == numbers.size() && first.has_header == part.shape().has_header;
  for (std::size_t c = 0; same && c < numbers.size(); ++c) {
    // A column without a name is known by its position.
    const bool here = names[c] == first.names[c];
    const auto found = std::ranges::find(names, first.names[c]);
    same = here || (!first.names[c].empty() && found != names.end());
    numbers[c] = here ? c : static_cast<std::size_t>(found - names.begin());
  }
  if (!same) refuse(first_name, first, part);
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    const std::string there = first.unit(c), here = part.shape().unit(numbers[c]);
    if (!are_other_units(here, there)) continue;
    throw BadData(fmt::format("{}: {} is in {} here, and in {} in {}: write both in one unit", part.origin(),
                              column_label(first, c), printable(here, 60), printable(there, 60), first_name));
  }
  return numbers;
}

}  // namespace nlsq::cli
