// A model that also evaluates many rows in one call, which is faster than row by row. It has no state that
// calls could change. ModelFunction::value holds it, and code that needs values of many rows looks there.
#pragma once

#include <nlsq/callable.hpp>

#include <functional>
#include <span>
#include <utility>

namespace nlsq::inline v0 {

class RowsValue {
 public:
  using One = std::function<double(const double* x, std::span<const double> p)>;
  // columns[k] points at the values of predictor k.
  using Many = std::function<void(std::span<const double* const> columns, std::span<const double> p,
                                  std::size_t count, double* out)>;

  RowsValue(One one, Many many) : one_(std::move(one)), many_(std::move(many)) {}
  double operator()(const double* x, std::span<const double> p) const { return one_(x, p); }
  void rows(std::span<const double* const> columns, std::span<const double> p, std::size_t count,
            double* out) const {
    many_(columns, p, count, out);
  }

 private:
  One one_;
  Many many_;
};

// Null if the model is evaluated row by row.
inline const RowsValue* rows_value(const ModelFunction& model) { return model.value.target<RowsValue>(); }

}  // namespace nlsq::inline v0
