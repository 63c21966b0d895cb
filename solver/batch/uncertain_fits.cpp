// Implements withdraw_uncertain() and warning_text(), and Batch::unstarted().
#include "batch/batch.hpp"

#include "certificate/doubtful_end.hpp"
#include "certificate/hidden_minimum.hpp"
#include "dense/data_survey.hpp"
#include "support/column_blocks.hpp"
#include "support/constants.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace nlsq::inline v0 {

namespace {

// Returns the total sum of squares of a fit; that of the left side of a formula if it has one.
double total_of(const Batch& batch, std::size_t fit) {
  if (batch.y[fit].size() == 0) return 0;
  if (batch.model.formula && batch.model.formula->has_left_side) {
    std::vector<Column> columns;
    for (std::size_t c = 0; c < batch.columns(); ++c) columns.push_back(batch.column(c)[fit]);
    return total_squares(MemoryRows(columns), batch.x.size(), batch.weighted(),
                         response_of(*batch.model.formula));
  }
  return total_squares(batch.y[fit], batch.weighted() ? batch.sigma[fit] : Column());
}

}  // namespace

double share_explained(const Batch& batch, std::size_t fit, double cost) {
  const double total = total_of(batch, fit);
  return total > 0 ? 1 - 2 * cost / total : kNaN;
}

bool few_rows_scatter_more(const Batch& batch, std::size_t fit, double rss) {
  const std::size_t rows = batch.y[fit].size(), predictors = batch.x.size();
  const bool left_side = batch.model.formula && batch.model.formula->has_left_side;
  const auto response = [&](std::size_t i) {
    if (!left_side) return batch.y[fit][i];
    std::vector<double> x(predictors);
    for (std::size_t c = 0; c < predictors; ++c) x[c] = batch.x[c][fit][i];
    return batch.model.formula->evaluate_response(x, batch.y[fit][i]);
  };
  if (rows < 3) return false;
  const double origin = response(0);
  double weights = 0, sum = 0, squares = 0;
  for (const std::size_t i : {std::size_t(0), rows / 2, rows - 1}) {
    const double distance = i == 0 ? 0 : response(i) - origin;
    const double weight = batch.weighted() ? 1 / (batch.sigma[fit][i] * batch.sigma[fit][i]) : 1;
    weights += weight, sum += weight * distance, squares += weight * distance * distance;
  }
  return squares - sum * sum / weights > rss;
}

std::string warning_text(const Batch& batch, std::size_t fit, const BatchEnd& stored, WarnedEnd end,
                         const BatchResult& out) {
  end.names = out.parameter_names;
  end.parameters = std::span<const double>(out.parameters.data() + fit * out.parameter_names.size(),
                                           out.parameter_names.size());
  end.dof = static_cast<std::ptrdiff_t>(batch.y[fit].size()) - static_cast<std::ptrdiff_t>(stored.determined);
  end.rss = 2 * stored.cost;
  end.r_squared = share_explained(batch, fit, stored.cost);
  end.scale_known = batch.options.absolute_sigma || batch.options.loss.is_counts();
  const std::vector<std::string> warnings = warnings_of(end);
  return warnings.empty() ? std::string() : fmt::format("{}", fmt::join(warnings, "; "));
}

std::vector<std::string> Batch::unstarted(std::size_t fit) const {
  std::vector<std::string> out;
  const std::size_t n = model.names.size(), row = start.rows() == 1 ? 0 : fit;
  for (std::size_t j = 0; j < n && !no_start.empty(); ++j)
    if (no_start[row * n + j]) out.push_back(model.names[j]);
  return out;
}

std::string withdraw_uncertain(const Batch& batch, std::size_t fit, const MinimizerResult& minimum,
                               const RowModel& rows, BatchResult& out) {
  const Certificate& certificate = minimum.summary.certificate;
  const std::size_t n = out.parameter_names.size();
  const auto withdrawn = [&](std::string why) {
    out.verdict[fit] = Verdict::budget;
    out.termination[fit] = Termination::no_progress;
    return why;
  };
  const EndByTwofold judged = minimum.by_twofold;
  const double spread =
      doubtful_spread(certificate, judged, {&out.parameters(fit, 0), n}, {&out.standard_errors(fit, 0), n});
  if (batch.weighted() && outweighed(rows, minimum.x, batch.sigma[fit], spread, minimum.unexplained))
    return withdrawn(kOutweighed);
  const bool hidden = hides_minimum(
      certificate, judged, [&] { return follows_to_last_digits(rows, minimum.x, certificate.rank); });
  if (hidden) return withdrawn(kHiddenMinimum);
  const bool by_rounding =
      certificate.verdict == Verdict::noise_floor || certificate.verdict == Verdict::rank_deficient;
  if (!by_rounding) return {};
  const double r_squared = share_explained(batch, fit, out.cost[fit]);
  const std::vector<std::string> unstarted = batch.unstarted(fit);
  CertifiedEnd end;
  end.verdict = certificate.verdict;
  end.names = out.parameter_names;
  end.start = {batch.start_of(fit), n};
  end.parameters = {&out.parameters(fit, 0), n};
  end.standard_errors = {&out.standard_errors(fit, 0), n};
  end.unstarted = unstarted;
  end.r_squared = r_squared;
  end.constant = std::isnan(r_squared) && !is_zero(batch.y[fit]);
  if (batch.programs) end.jumps = batch.programs->jumps;
  for (std::size_t k = 0; k < batch.free.size(); ++k) {
    const int j = batch.free[k];
    const bool on_bound = std::ranges::count(certificate.at_bound, static_cast<int>(k)) > 0;
    if (!on_bound && std::ranges::count(batch.linear, j) == 0)
      end.nonlinear.push_back(static_cast<std::size_t>(j));
  }
  const Doubt doubt = doubt_about_end(end);
  if (doubt.empty()) return {};
  return withdrawn(message_of_doubt(doubt));
}

}  // namespace nlsq::inline v0
