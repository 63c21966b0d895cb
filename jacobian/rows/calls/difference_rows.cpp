// Rows with derivatives by central differences.
#include <nlsq/error.hpp>
#include "rows/calls/fallback_rows.hpp"

#include "rows/calls/difference_step.hpp"

#include <string>

namespace nlsq::inline v0 {

namespace {

class CentralDifferences final : public RowFunction {
 public:
  CentralDifferences(const ModelFunction& function, std::vector<double> p, const std::vector<int>& free,
                     std::span<const double> typical, std::span<const double> lower,
                     std::span<const double> upper)
      : function_(function), p_(std::move(p)), free_(free) {
    for (const int index : free_) {
      const auto j = static_cast<std::size_t>(index);
      if (lower.empty()) steps_.emplace_back(p_[j], typical[j]);
      else steps_.emplace_back(p_[j], typical[j], lower[j], upper[j]);
    }
  }

  double evaluate(const double* x, double* df) override {
    const double f = function_.value(x, p_);
    for (std::size_t k = 0; df != nullptr && k < free_.size(); ++k) {
      double& moved = p_[static_cast<std::size_t>(free_[k])];
      const Restored restored{moved, moved};  // also if the callable throws
      moved = steps_[k].above;
      const double above = function_.value(x, p_);
      moved = steps_[k].below;
      const double below = function_.value(x, p_);
      df[k] = steps_[k].slope(restored.original, above, f, below);
    }
    return f;
  }

 private:
  struct Restored {
    double& place;
    double original;
    ~Restored() { place = original; }
  };

  const ModelFunction& function_;
  std::vector<double> p_;
  const std::vector<int>& free_;
  std::vector<DifferenceStep> steps_;
};

}  // namespace

DifferenceRows::DifferenceRows(ModelFunction function, std::shared_ptr<const RowSource> data, bool weighted,
                               std::vector<double> parameters, std::vector<int> free,
                               std::vector<double> typical, std::vector<double> lower,
                               std::vector<double> upper)
    : CallableRows({std::move(function), std::move(data), weighted, std::move(parameters), std::move(free)}),
      typical_(std::move(typical)), lower_(std::move(lower)), upper_(std::move(upper)) {
  if (typical_.empty()) typical_ = typical_sizes(curve().parameters);
  if (typical_.size() != curve().parameters.size()) {
    throw ValidationError("typical sizes are needed for all " + std::to_string(curve().parameters.size()) +
                          " parameters, not for " + std::to_string(typical_.size()));
  }
}

std::unique_ptr<RowFunction> DifferenceRows::at(std::vector<double> p) const {
  return std::make_unique<CentralDifferences>(curve().function, std::move(p), curve().free, typical_, lower_,
                                              upper_);
}

double DifferenceRows::calls_per_row() const { return 1 + 2 * static_cast<double>(curve().free.size()); }

}  // namespace nlsq::inline v0
