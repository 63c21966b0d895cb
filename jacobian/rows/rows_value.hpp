// Declares a model that also evaluates many rows in one call, which is faster than row by row. It has no
// state that calls could change. ModelFunction::value holds it, and code that needs values of many rows looks
// there.
#pragma once

#include <nlsq/callable.hpp>

#include <functional>
#include <span>

namespace nlsq::inline v0 {

struct RowsValue {
  std::function<double(const double* x, std::span<const double> p)> one;
  // columns[k] points at the values of predictor k.
  std::function<void(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
                     double* out)>
      rows;

  double operator()(const double* x, std::span<const double> p) const { return one(x, p); }
};

// Returns null if the model is evaluated row by row.
inline const RowsValue* rows_value(const ModelFunction& model) { return model.value.target<RowsValue>(); }

}  // namespace nlsq::inline v0
