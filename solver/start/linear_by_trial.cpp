#include "start/linear_by_trial.hpp"

#include "dense/dense_evaluator.hpp"
#include "dense/row_groups.hpp"
#include "linear/small_dense.hpp"
#include "linear/small_svd.hpp"
#include "support/constants.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string_view>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTrialRows = 64;
constexpr std::size_t kTogether = 4096;  // if one call gives no more rows than this, all are looked at
constexpr double kStraight = 1e-9;  // largest deviation from a straight line, relative to the distance moved
constexpr double kSeen = 1e-3;      // a shorter move, relative to the terms, is made longer
constexpr double kUnseen = 1e-6;    // with less than this, it is lost in rounding
constexpr double kRounding = 16 * kUnitRoundoff;  // of residuals, relative to their terms

// Computes the residuals of some rows, spread over all of them, at any values of the free parameters.
class TrialRows {
 public:
  // `rows` are those of curve.form. If there is a loss, their values are not residuals, so other rows are
  // made.
  TrialRows(const Curve& curve, RowModel& rows)
      : own_(curve.form.loss.is_linear() ? nullptr : curve.rows_of(ResidualForm(curve.form.weighted))),
        rows_(own_ ? *own_ : rows), all_(rows_.rows()),
        count_(rows_.one_point() && all_ <= kTogether ? all_ : std::min(all_, kTrialRows)) {}

  bool all() const { return count_ == all_; }
  // Returns true if the user provides derivatives. They are cheaper than one more evaluation for each
  // parameter.
  bool has_columns() const { return all() && std::string_view(rows_.kind()) == "derivatives"; }
  // Computes the derivatives at x0 by each parameter. Returns none if the model throws there.
  std::vector<std::vector<double>> columns(std::span<const double> x0) try {
    std::vector<std::vector<double>> out(x0.size());
    for_each_tile(rows_, x0, [&](const TileRange& tile, const double* const* from) {
      for (std::size_t j = 0; j < out.size(); ++j) out[j].insert(out[j].end(), from[j], from[j] + tile.count);
    });
    return out;
  } catch (...) {
    return {};
  }

  // Returns the residuals at the start, or none if one of them is not finite. Also sums the squares of the
  // sizes of their terms.
  std::vector<double> at_start(std::span<const double> x0) {
    std::vector<double> residuals(count_);
    terms_ = 0;
    for (std::size_t k = 0; k < count_; ++k) {
      double size = 0;
      rows_.reference_residuals(x0, k * all_ / count_, 1, &residuals[k], &size);
      terms_ += size * size;
    }
    return std::isfinite(terms_) ? residuals : std::vector<double>();
  }
  // Does the same at a point that the user did not give. Also returns none if the model throws there.
  std::vector<double> at(std::span<const double> x) try { return at_start(x); } catch (...) {
    return {};
  }
  double terms() const { return std::sqrt(terms_); }  // of the latest residuals
  // Returns the sum of squares of all rows, estimated from these rows.
  double squares(std::span<const double> residuals) const {
    double sum = 0;
    for (const double r : residuals) sum += r * r;
    return sum * static_cast<double>(all_) / static_cast<double>(count_);
  }

 private:
  std::shared_ptr<RowModel> own_;
  RowModel& rows_;
  std::size_t all_, count_;
  double terms_ = 0;
};

std::vector<double> difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> out(a.begin(), a.end());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] -= b[i];
  return out;
}

double length(std::span<const double> a) { return small_dense::norm(a.data(), a.size()); }

// Returns ‖a - times · b‖.
double distance(std::span<const double> a, std::span<const double> b, double times) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double off = a[i] - times * b[i];
    sum += off * off;
  }
  return std::sqrt(sum);
}

// Returns the step that is wanted if it stays within the limits, else a shorter one to the side with more
// room. Returns 0 if there is no room.
double trial_step(double x, double wanted, std::size_t j, const Limits& limits) {
  if (limits.allow(j, x + wanted)) return wanted;
  const double above = limits.upper[j] - x, below = x - limits.lower[j];
  return above >= below ? std::min(0.5 * above, std::fabs(wanted))
                        : -std::min(0.5 * below, std::fabs(wanted));
}

// Describes how the residuals change if one parameter makes a step. If they are linear in it, half of the
// step gives half of the change; `deviation` is the distance from that.
struct Move {
  std::vector<double> change;
  double size = 0, deviation = 0, terms = 0;

  bool straight(double rounding) const { return deviation <= kStraight * size + rounding * terms; }
};

// Returns the move by this step. Its `change` is empty if a residual is not finite. If the derivatives by the
// parameter are given, they replace the evaluation of half the step.
Move move_of(TrialRows& rows, std::span<const double> start, std::vector<double> x, std::size_t j,
             double step, std::span<const double> column) {
  Move out;
  const double from = x[j];
  std::vector<double> near;
  x[j] = from + 0.5 * step;
  if (column.empty()) near = rows.at(x);
  x[j] = from + step;
  const std::vector<double> far = rows.at(x);
  if (far.empty() || (near.empty() && column.empty())) return out;
  out.terms = rows.terms();
  out.change = difference(far, start);
  out.size = length(out.change);
  out.deviation = column.empty() ? distance(out.change, difference(near, start), 2)
                                 : distance(out.change, column, x[j] - from);
  return out;
}

// Holds the step of a parameter that is linear, and how it changes the residuals.
struct LinearMove {
  double step = 0;
  std::vector<double> change;  // empty if the parameter is not linear
};

// Tries a step as long as the parameter, which keeps its sign, because functions are most likely defined
// there. If the start is far below the scale of y, that step hardly changes the residuals, and rounding could
// hide a curvature. Then a longer step is tried, too.
LinearMove linear_move(TrialRows& rows, std::span<const double> start, std::span<const double> x0,
                       std::size_t j, const Limits& limits, std::span<const double> column) {
  const std::vector<double> x(x0.begin(), x0.end());
  double step = trial_step(x[j], x[j] != 0 ? x[j] : 1, j, limits);
  Move move = move_of(rows, start, x, j, step, column);
  if (!(move.size > 0) || !move.straight(kRounding)) return {};
  if (move.size < kSeen * move.terms) {
    step = trial_step(x[j], step * (move.terms / move.size), j, limits);
    move = move_of(rows, start, x, j, step, column);
  }
  if (!(move.size > kUnseen * move.terms) || !move.straight(0)) return {};
  return {step, std::move(move.change)};
}

// This is a parameter that seems to be linear: its position among the free ones, its move, and how many such
// moves lead to its best value.
struct Seeming {
  int position = 0;
  LinearMove move;
  double share = 0;
};

// Finds the best values of these parameters within the limits. Returns false if there are too many.
bool find_shares(std::span<const double> start, std::span<const double> x0, const Limits& limits,
                 std::vector<Seeming>& linear) {
  constexpr double kDependent = 1e-10;
  const std::size_t rows = start.size(), k = linear.size();
  if (k > rows) return false;
  std::vector<double> columns, right, shares(k);
  for (const Seeming& one : linear) {
    const double size = length(one.move.change);
    for (const double change : one.move.change) columns.push_back(change / size);
  }
  for (const double residual : start) right.push_back(-residual);
  if (!shortest_solution(columns.data(), rows, k, right.data(), kDependent, shares.data())) return false;
  for (std::size_t i = 0; i < k; ++i) {
    const auto j = static_cast<std::size_t>(linear[i].position);
    const double step = linear[i].move.step;
    const double best = limits.nearest(j, x0[j] + step * (shares[i] / length(linear[i].move.change)));
    linear[i].share = (best - x0[j]) / step;
  }
  return true;
}

// Sets x to the point where these parameters take their best values. Returns true if the residuals there are
// those that the moves predict.
bool straight_to_best(TrialRows& rows, std::span<const double> start, std::span<const double> x0,
                      std::span<const Seeming> linear, std::vector<double>& x) {
  constexpr double kOff = 1e-6;  // of the distance moved: room for the rounding of long moves
  x.assign(x0.begin(), x0.end());
  std::vector<double> expected(start.begin(), start.end());
  double moved = 0;
  for (const Seeming& one : linear) {
    x[static_cast<std::size_t>(one.position)] += one.share * one.move.step;
    for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += one.share * one.move.change[i];
    moved += std::fabs(one.share) * length(one.move.change);
  }
  const std::vector<double> there = rows.at(x);
  return !there.empty() && distance(there, expected, 1) <= kOff * moved + kRounding * rows.terms();
}

// Leaves out parameters that are linear by themselves, but not together with those before them, such as b in
// a (c + b). Returns true if there are any.
bool leave_out_products(TrialRows& rows, std::span<const double> start, std::span<const double> x0,
                        std::vector<Seeming>& linear) {
  std::vector<double> together(x0.begin(), x0.end()), before(start.begin(), start.end());
  std::vector<Seeming> kept;
  for (Seeming& one : linear) {
    const auto j = static_cast<std::size_t>(one.position);
    std::vector<double> x = together, here = before;
    x[j] += one.move.step;
    if (kept.empty()) {  // no other parameter has moved: this point was called before
      for (std::size_t i = 0; i < here.size(); ++i) here[i] += one.move.change[i];
    } else {
      here = rows.at(x);
      const std::vector<double> change = here.empty() ? here : difference(here, before);
      if (here.empty() || distance(change, one.move.change, 1) > kStraight * length(change)) continue;
    }
    before = std::move(here);
    together = std::move(x);
    kept.push_back(std::move(one));
  }
  const bool any = kept.size() < linear.size();
  linear = std::move(kept);
  return any;
}

// Leaves out parameters that are not linear all the way to their best values. The a of max(a, 0) is such a
// parameter if its best value is below 0. Returns all parameters, with the best values of those that remain.
// If each of these changes on the way, and the residuals change linearly there, the parameters are also
// linear together.
std::vector<double> keep_straight(TrialRows& rows, std::span<const double> start, std::span<const double> x0,
                                  const Limits& limits, std::vector<Seeming>& linear) {
  constexpr double kMoves = 1e-3;  // of the step that was tried
  bool known_together = linear.size() < 2;
  std::vector<double> best, alone;
  while (!linear.empty()) {
    if (!find_shares(start, x0, limits, linear)) break;
    const bool straight = straight_to_best(rows, start, x0, linear, best);
    known_together = known_together || (straight && std::ranges::all_of(linear, [](const Seeming& one) {
                                          return std::fabs(one.share) > kMoves;
                                        }));
    if (straight && known_together) return best;
    if (!straight && std::erase_if(linear, [&](const Seeming& one) {
                       return !straight_to_best(rows, start, x0, {&one, 1}, alone);
                     }) > 0)
      continue;
    if (known_together) break;
    known_together = true;
    if (!leave_out_products(rows, start, x0, linear) && straight) return best;
  }
  linear.clear();
  return {};
}

// Returns true if the start fits no worse than a constant does.
bool good_start(const Curve& curve, RowModel& rows, std::span<const double> x0) {
  return 2 * DenseEvaluator(rows).cost(x0, Format::f64) <= curve.survey->total_squares();
}

}  // namespace

LinearByTrial linear_by_trial(const Curve& curve, RowModel& model_rows) {
  if (curve.free.empty() || curve.form.loss.is_counts()) return {};
  const std::vector<double> x0 = curve.free_start();
  const bool asked = curve.options.variable_projection == VariableProjection::on;
  // Rows that are evaluated together were already evaluated at the start, so this takes no call.
  const bool free_of_charge = model_rows.one_point() && curve.form.loss.is_linear();
  if (!asked && free_of_charge && good_start(curve, model_rows, x0)) return {};
  TrialRows rows(curve, model_rows);
  const std::vector<double> start = rows.at_start(x0);
  if (start.empty() || (!asked && rows.squares(start) <= curve.survey->total_squares())) return {};
  std::vector<std::vector<double>> columns;
  if (rows.has_columns()) columns = rows.columns(x0);
  columns.resize(x0.size());
  std::vector<Seeming> linear;
  for (std::size_t j = 0; j < x0.size(); ++j) {
    LinearMove move = linear_move(rows, start, x0, j, curve.limits, columns[j]);
    if (!move.change.empty()) linear.push_back({static_cast<int>(j), std::move(move)});
  }
  LinearByTrial out;
  out.solved = keep_straight(rows, start, x0, curve.limits, linear);
  for (const Seeming& one : linear) out.positions.push_back(one.position);
  const bool best = rows.all() && curve.form.loss.is_linear() && curve.options.sigma_matrix.empty() &&
                    curve.limits.allow(out.solved);
  if (!best) out.solved.clear();
  return out;
}

}  // namespace nlsq::inline v0
