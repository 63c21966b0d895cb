#include "fit_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace nlsq::inline v0 {

namespace {

std::string listed(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::size_t index_of(const std::vector<std::string>& names, const std::string& name, const char* where) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw ValidationError(fmt::format("{}: the model has no parameter '{}'; its parameters are {}", where, name, listed(names)));
  }
  return static_cast<std::size_t>(found - names.begin());
}

// Finite, and positive where it must be. On the bits, so that it vectorises: one pass over data should
// cost what reading them costs. An exponent of all ones carries into the top bit.
bool all_finite(const double* values, std::size_t count) {
  constexpr std::uint64_t kExponent = 0x7ff0'0000'0000'0000, kOne = 0x0010'0000'0000'0000;
  std::uint64_t carried = 0;
  for (std::size_t i = 0; i < count; ++i) carried |= (std::bit_cast<std::uint64_t>(values[i]) & kExponent) + kOne;
  return carried >> 63 == 0;
}

// Of finite numbers: neither the sign bit nor zero, whose predecessor as an integer has the top bit, too.
bool all_positive(const double* values, std::size_t count) {
  std::uint64_t negative = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto bits = std::bit_cast<std::uint64_t>(values[i]);
    negative |= bits | (bits - 1);
  }
  return negative >> 63 == 0;
}

}  // namespace

bool all_usable(const double* values, std::size_t count, bool positive) {
  return all_finite(values, count) && (!positive || all_positive(values, count));
}

void check_options(const SolverOptions& options) {
  std::vector<std::string> found = options.violations();
  for (const Violation& v : options.policy().unknown_components({})) found.push_back(v.message());
  if (!found.empty()) throw ValidationError(std::move(found));
}

std::vector<double> starting_values(const std::vector<std::string>& names, const NamedValues& given,
                                    const std::vector<double>& fallback) {
  std::vector<double> values = fallback;
  std::vector<bool> set(names.size(), false);
  for (const auto& [name, value] : given) {
    const std::size_t j = index_of(names, name, "p0");
    if (set[j]) throw ValidationError(fmt::format("p0: parameter '{}' is named twice: give every parameter a name of its own", name));
    set[j] = true;
    if (!std::isfinite(value)) throw ValidationError(fmt::format("p0: {} = {} is not finite", name, value));
    values[j] = value;
  }
  return values;
}

std::vector<int> free_parameters(const std::vector<std::string>& names, const std::vector<std::string>& fixed) {
  std::vector<bool> held(names.size(), false);
  for (const std::string& name : fixed) held[index_of(names, name, "fixed")] = true;
  std::vector<int> free;
  for (std::size_t j = 0; j < names.size(); ++j) {
    if (!held[j]) free.push_back(static_cast<int>(j));
  }
  return free;
}

std::shared_ptr<const RowSource> checked_rows(const Columns& x, const Column& y, const Column& sigma,
                                              const std::vector<std::string>& predictor_names, bool& weighted) {
  std::vector<Column> columns = x.list();
  std::vector<std::string> names = predictor_names;
  if (columns.size() != predictor_names.size()) {
    throw DataError(fmt::format("the model has {} predictor(s) ({}), {} data column(s) of x were given",
                                predictor_names.size(), listed(predictor_names), columns.size()));
  }
  columns.push_back(y);
  names.emplace_back("y");
  weighted = !sigma.empty();
  if (weighted) {
    columns.push_back(sigma);
    names.emplace_back("sigma");
  }
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].size() != y.size()) {
      throw DataError(fmt::format("{} has {} rows, y has {}: give columns of one length", names[c], columns[c].size(), y.size()),
                      DataError::npos, c);
    }
  }
  auto rows = std::make_shared<MemoryRows>(std::move(columns));
  check_rows(*rows, names, weighted);
  return rows;
}

void check_rows(const RowSource& rows, const std::vector<std::string>& names, bool weighted) {
  constexpr std::size_t kBlock = 4096;
  if (rows.rows() == 0) throw DataError("no data rows were given");
  std::vector<double> buffer(kBlock);
  for (int c = 0; c < rows.columns(); ++c) {
    const bool is_sigma = weighted && c + 1 == rows.columns();
    std::size_t bad = 0, first_bad = 0;
    for (std::size_t begin = 0; begin < rows.rows(); begin += kBlock) {
      const std::size_t count = std::min(kBlock, rows.rows() - begin);
      const double* values = begin + count <= rows.rows() ? rows.direct_f64(begin, c) : nullptr;
      if (values == nullptr) {
        rows.read(begin, count, c, buffer.data());
        values = buffer.data();
      }
      if (all_usable(values, count, is_sigma)) continue;
      for (std::size_t i = 0; i < count; ++i) {
        if (std::isfinite(values[i]) && (!is_sigma || values[i] > 0)) continue;
        if (bad++ == 0) first_bad = begin + i;
      }
    }
    if (bad == 0) continue;
    double value = 0;
    rows.read(first_bad, 1, c, &value);
    const std::string name = static_cast<std::size_t>(c) < names.size() ? names[static_cast<std::size_t>(c)] : fmt::format("column {}", c);
    throw DataError(fmt::format("{} has {} value(s) that {}; the first is {} in row {}: correct or leave out such rows", name, bad,
                                is_sigma ? "are not positive and finite" : "are not finite", value, first_bad),
                    first_bad, static_cast<std::size_t>(c));
  }
}

void check_counts(std::size_t rows, std::size_t free) {
  if (rows < free) {
    throw DataError(fmt::format("{} rows cannot determine {} parameters: give more rows or fix parameters", rows, free));
  }
}

}  // namespace nlsq::inline v0
