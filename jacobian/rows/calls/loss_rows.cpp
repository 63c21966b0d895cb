// Computes rows by calls of the user's code, with a loss applied to each residual.
#include "rows/calls/loss_rows.hpp"
#include <nlsq/error.hpp>

#include "rows/calls/tile_buffer.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace nlsq::inline v0 {

class LossRows::Pass final : public DoublePass {
 public:
  Pass(const LossRows& owner, std::unique_ptr<TilePass> base, Fill fill)
      : owner_(owner), base_(std::move(base)), n_(static_cast<std::size_t>(owner.base_->parameters())),
        jacobian_(fill == Fill::jacobian_and_residual),
        tile_(owner.tile_rows(), owner.parameters(), jacobian_), response_(owner.tile_rows()) {}

  double* const* fill_f64(std::size_t first, std::size_t count, KernelCounters& counters) override {
    const double* const* columns = base_->fill_f64(first, count, counters);
    owner_.read_counts(first, count, response_.data());
    const int extra = owner_.form_.extra_columns();
    for (std::size_t i = 0; i < count; ++i) {
      const FinishedNumber end = finish_residual(columns[n_][i], response_[i], owner_.form_);
      tile_.residual()[i] = end.residual;
      for (std::size_t k = 0; jacobian_ && k < n_; ++k) tile_.columns()[k][i] = columns[k][i] * end.slope;
      for (int k = 0; jacobian_ && k < extra; ++k)
        tile_.columns()[n_ + static_cast<std::size_t>(k)][i] = end.extra[k];
    }
    return tile_.columns();
  }

 private:
  const LossRows& owner_;
  std::unique_ptr<TilePass> base_;
  std::size_t n_;
  bool jacobian_;
  TileBuffer tile_;
  std::vector<double> response_;
};

LossRows::LossRows(std::shared_ptr<RowModel> base, ResidualForm form, CountColumn counts)
    : base_(std::move(base)), form_(std::move(form)), counts_(std::move(counts)) {
  if (form_.loss.is_counts() && !counts_.data)
    throw ValidationError("loss poisson: rows of counts need the counts");
}

void LossRows::read_counts(std::size_t first, std::size_t count, double* out) const {
  if (counts_.data) counts_.data->read(first, count, counts_.column, out);
  else std::fill_n(out, count, 0.0);
}

std::unique_ptr<TilePass> LossRows::begin(std::span<const double> x, Fill fill, bool single) const {
  return std::make_unique<Pass>(*this, base_->begin(own(x), fill, single), fill);
}

void LossRows::reference_residuals(std::span<const double> x, std::size_t first, std::size_t count,
                                   double* residuals, double* magnitudes) const {
  base_->reference_residuals(own(x), first, count, residuals, magnitudes);
  std::vector<double> response(count);
  read_counts(first, count, response.data());
  for (std::size_t i = 0; i < count; ++i) {
    const FinishedNumber end = finish_residual(residuals[i], response[i], form_);
    residuals[i] = end.residual;
    magnitudes[i] *= std::fabs(end.slope);
  }
}

}  // namespace nlsq::inline v0
