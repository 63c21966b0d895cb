// Implements the look-up of a result's members by name, and the functions of result.h.
#include "c/results/caller_result.hpp"

#include "c/errors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ranges>

namespace nlsq::inline v0::c {

namespace {

template <class Map>
const auto& rule_named(const Map& rules, std::string_view name, const char* what) {
  const auto found = rules.find(name);
  if (found != rules.end()) return *found;
  const std::string names = fmt::format("{}", fmt::join(rules | std::views::keys, ", "));
  throw ArgumentError(fmt::format("this result has no {} '{}'; it has {}", what, name.substr(0, 80),
                                  names.empty() ? "none" : names));
}

}  // namespace

double Result::number(std::string_view name) const {
  return rule_named(contents().numbers, name, "number").second(*this);
}

const std::string& Result::text(std::string_view name) const {
  const auto& [known, rule] = rule_named(contents().texts, name, "text");
  const std::lock_guard lock(mutex_);
  const auto kept = texts_.find(known);
  return kept != texts_.end() ? kept->second : texts_.emplace(known, rule(*this)).first->second;
}

const Array& Result::array(std::string_view name) const {
  const auto& [known, rule] = rule_named(contents().arrays, name, "array");
  const std::lock_guard lock(mutex_);
  const auto kept = arrays_.find(known);
  return kept != arrays_.end() ? kept->second : arrays_.emplace(known, rule(*this)).first->second;
}

void Result::values(std::string_view names, std::span<double> out) const {
  std::size_t done = 0;
  const auto append = [&](std::span<const double> some) {
    if (done <= out.size() && some.size() <= out.size() - done)
      std::ranges::copy(some, out.begin() + static_cast<std::ptrdiff_t>(done));
    done += some.size();
  };
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(' '));
    names.remove_prefix(std::min(names.size(), name.size() + 1));
    const auto number = contents().numbers.find(name);
    if (number != contents().numbers.end()) append(std::array{number->second(*this)});
    else append(rule_named(contents().arrays, name, "number or array").second(*this).numbers());
  }
  if (done != out.size()) {
    throw ArgumentError(
        fmt::format("values has {} entries, and there are {} numbers with these names", out.size(), done));
  }
}

const std::string& Result::json() const {
  const std::lock_guard lock(mutex_);
  if (json_.empty()) json_ = make_json();
  return json_;
}

const std::string& Result::report() const {
  const std::lock_guard lock(mutex_);
  if (report_.empty()) report_ = make_report();
  return report_;
}

Array column_array(std::vector<double> values) {
  const std::size_t rows = values.size();
  return {std::move(values), rows, 1};
}

Array matrix_array(const Matrix& matrix) {
  return {std::vector<double>(matrix.data(), matrix.data() + matrix.rows() * matrix.columns()), matrix.rows(),
          matrix.columns()};
}

Array held_column(const std::vector<double>& values) { return {{}, values.size(), 1, values.data()}; }

Array held_matrix(const Matrix& matrix) { return {{}, matrix.rows(), matrix.columns(), matrix.data()}; }

Array minima_array(const std::vector<FitMinimum>& minima) {
  Array out;
  out.rows = minima.size();
  out.columns = minima.empty() ? 0 : 1 + minima[0].parameters.size();
  for (const FitMinimum& minimum : minima) {
    out.values.push_back(minimum.cost);
    out.values.insert(out.values.end(), minimum.parameters.begin(), minimum.parameters.end());
  }
  return out;
}

std::string lines(const std::vector<std::string>& texts) { return fmt::format("{}", fmt::join(texts, "\n")); }

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_result_free(nlsq_result* result) {
  return guarded([&] { free_handle<Result>(result); });
}

int nlsq_result_number(const nlsq_result* result, const char* name, double* value) {
  return guarded([&] {
    required(value, "value");
    *value = from_handle<Result>(result)->number(required(name, "name"));
  });
}

int nlsq_result_text(const nlsq_result* result, const char* name, const char** text) {
  return output(text, "text",
                [&] { return from_handle<Result>(result)->text(required(name, "name")).c_str(); });
}

int nlsq_result_array(const nlsq_result* result, const char* name, const double** data, size_t* rows,
                      size_t* columns) {
  return output(data, "data", [&] {
    *required(rows, "rows") = 0;
    *required(columns, "columns") = 0;
    const Array& array = from_handle<Result>(result)->array(required(name, "name"));
    *rows = array.rows;
    *columns = array.columns;
    return array.numbers().data();
  });
}

int nlsq_result_values(const nlsq_result* result, const char* names, double* values, size_t count) {
  return guarded([&] {
    from_handle<Result>(result)->values(required(names, "names"), {required(values, "values"), count});
  });
}

const char* nlsq_result_json(const nlsq_result* result) {
  return text_or_null([&] { return from_handle<Result>(result)->json().c_str(); });
}

const char* nlsq_result_report(const nlsq_result* result) {
  return text_or_null([&] { return from_handle<Result>(result)->report().c_str(); });
}

}  // extern "C"
