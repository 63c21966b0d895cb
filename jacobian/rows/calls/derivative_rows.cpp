// Rows with derivatives by the user's own function.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include <limits>

namespace nlsq::inline v0 {

namespace {

class GivenDerivatives final : public RowFunction {
 public:
  GivenDerivatives(const ModelFunction& function, const ModelDerivatives& derivatives, std::vector<double> p,
                   const std::vector<int>& free)
      : function_(function), derivatives_(derivatives), p_(std::move(p)), free_(free), all_(p_.size()) {}

  double evaluate(const double* x, double* df) override {
    if (df != nullptr) {
      // A derivative that the user's code does not set stays NaN and is detected.
      all_.assign(all_.size(), std::numeric_limits<double>::quiet_NaN());
      derivatives_(x, p_, all_.data());
      for (std::size_t k = 0; k < free_.size(); ++k) df[k] = all_[static_cast<std::size_t>(free_[k])];
    }
    return function_.value(x, p_);
  }

 private:
  const ModelFunction& function_;
  const ModelDerivatives& derivatives_;
  std::vector<double> p_;
  const std::vector<int>& free_;
  std::vector<double> all_;
};

}  // namespace

DerivativeRows::DerivativeRows(ModelFunction function, std::shared_ptr<const RowSource> data, bool weighted,
                               std::vector<double> parameters, std::vector<int> free,
                               ModelDerivatives derivatives)
    : CallableRows({std::move(function), std::move(data), weighted, std::move(parameters), std::move(free)}),
      derivatives_(std::move(derivatives)) {
  if (!derivatives_) throw ValidationError("rows by given derivatives need a function for them");
}

std::unique_ptr<RowFunction> DerivativeRows::at(std::vector<double> p) const {
  return std::make_unique<GivenDerivatives>(curve().function, derivatives_, std::move(p), curve().free);
}

// A derivative rarely costs more than its value.
double DerivativeRows::calls_per_row() const { return 1 + static_cast<double>(curve().parameters.size()); }

}  // namespace nlsq::inline v0
