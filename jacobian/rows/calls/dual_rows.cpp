// Computes rows with derivatives by dual numbers.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

class DualFunction final : public RowFunction {
 public:
  // Makes one copy of the parameters with their derivative parts set, which all calls for a row share.
  DualFunction(const ModelFunction& function, std::vector<double> p, const std::vector<int>& free)
      : function_(function), p_(std::move(p)), n_(free.size()) {
    for (std::size_t first = 0; first < n_; first += kDualWidth) {
      std::vector<Dual8>& seeded = seeded_.emplace_back(p_.begin(), p_.end());
      for (std::size_t k = first; k < std::min(n_, first + kDualWidth); ++k) {
        const auto j = static_cast<std::size_t>(free[k]);
        seeded[j] = Dual8(p_[j], static_cast<int>(k - first));
      }
    }
  }

  double evaluate(const double* x, double* df) override {
    if (df == nullptr || n_ == 0) return function_.value(x, p_);
    double f = 0;
    std::size_t first = 0;
    for (const std::vector<Dual8>& seeded : seeded_) {
      const Dual8 result = function_.dual(x, seeded);
      const std::size_t end = std::min(n_, first + kDualWidth);
      for (std::size_t k = first; k < end; ++k) df[k] = result.derivative(static_cast<int>(k - first));
      f = result.value();
      first = end;
    }
    return f;
  }

 private:
  const ModelFunction& function_;
  std::vector<double> p_;
  std::size_t n_;
  std::vector<std::vector<Dual8>> seeded_;
};

}  // namespace

DualRows::DualRows(CurveRows rows) : CallableRows(std::move(rows)) {
  if (!curve().function.dual) throw ValidationError("the callable does not take dual numbers");
}

std::unique_ptr<RowFunction> DualRows::at(std::vector<double> p) const {
  return std::make_unique<DualFunction>(curve().function, std::move(p), curve().free);
}

double DualRows::calls_per_row() const {
  const auto calls = (curve().free.size() + kDualWidth - 1) / kDualWidth;
  return std::max(1.0, static_cast<double>(calls) * (1 + kDualWidth));
}

}  // namespace nlsq::inline v0
