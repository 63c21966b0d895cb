// check_derivatives: compares derivatives given by the user with extrapolated differences, for functions,
// problems and manifolds.
#include <nlsq/check_derivatives.hpp>

#include "blocks/block_reference.hpp"
#include "blocks/problem_impl.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <nlsq/error.hpp>
#include "rows/calls/difference_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

double DerivativeError::relative() const {
  if (!std::isfinite(given)) return kInfinity;
  return std::fabs(given - difference) / std::max(std::fabs(given), std::fabs(difference));
}

namespace {

constexpr double kSure = 8;  // multiple of the difference's own error
// Distances from p at which one-sided slopes are compared. If they stay apart as the distance shrinks, there
// is a kink.
constexpr double kNear = 1e-5, kNearer = kNear / 16;

// Holds the values along a line on which only one parameter changes.
struct Line {
  ValuesAt values;
  double p = 0, typical = 1, lower = -kInfinity, upper = kInfinity;
};

// Returns true if both a derivative and its difference are so small that they may be 0: rounding errors of
// the value explain them. Differences with several steps may agree by chance, and their own error is then too
// small.
bool are_rounding(const Line& line, double value, double given, double difference) {
  constexpr double kRoundings = 64, kStep = 1e-2;  // relative to the parameter's size
  const double rounding = kRoundings * std::numeric_limits<double>::epsilon() * std::fabs(value) /
                          (kStep * std::max(std::fabs(line.p), line.typical));
  return std::fabs(given) <= rounding && std::fabs(difference) <= rounding;
}

class Checker {
 public:
  explicit Checker(double tolerance) : tolerance_(tolerance) {
    if (!(tolerance > 0)) throw ValidationError(fmt::format("tolerance = {}: it must be above 0", tolerance));
  }

  // `given` holds one derivative for each value. `place` describes the location of an error.
  void check(const Line& line, std::span<const double> here, std::span<const double> given,
             DerivativeError place) {
    const ExtrapolatedSlopes by =
        extrapolated_slopes(line.values, here, line.p, line.typical, line.lower, line.upper);
    std::vector<Sides> sides;  // computed only if needed
    for (std::size_t i = 0; i < here.size(); ++i) {
      ++out_.checked;
      const double larger = std::max(std::fabs(given[i]), std::fabs(by.slope[i])),
                   doubt = kSure * by.error[i];
      if (!std::isfinite(by.slope[i]) ||
          (given[i] != by.slope[i] && are_rounding(line, here[i], given[i], by.slope[i]))) {
        ++out_.unclear;
      } else if (std::isfinite(given[i]) &&
                 std::fabs(given[i] - by.slope[i]) <= tolerance_ * larger + doubt) {
        out_.unclear += doubt > tolerance_ * larger && given[i] != by.slope[i];
      } else {
        if (sides.empty()) sides = both_sides(line, here);
        if (std::isfinite(given[i]) && sides[i].kink_around(given[i], tolerance_ * larger)) {
          ++out_.unclear;
          continue;
        }
        place.residual = i;
        place.given = given[i];
        place.difference = by.slope[i];
        place.uncertainty = by.error[i];
        out_.wrong.push_back(place);
      }
    }
  }

  DerivativeCheck finish() {
    std::ranges::stable_sort(out_.wrong, std::greater<>(), &DerivativeError::relative);
    return std::move(out_);
  }
  DerivativeCheck& out() { return out_; }

 private:
  struct Sides {
    double above, below, apart;  // slopes near p, and the gap between them farther away
    bool kink_around(double given, double slack) const {
      const double gap = std::fabs(above - below);
      if (!(gap > slack) || !(gap > 0.25 * apart)) return false;
      return given >= std::min(above, below) - slack && given <= std::max(above, below) + slack;
    }
  };

  static std::vector<Sides> both_sides(const Line& line, std::span<const double> here) {
    std::vector<Sides> out(here.size(), {kInfinity, kInfinity, kInfinity});
    const double size = std::max(std::fabs(line.p), line.typical);
    for (const double relative : {kNear, kNearer}) {
      const double h = relative * size;
      if (line.p + h > line.upper || line.p - h < line.lower) continue;
      const std::vector<double> above = line.values(line.p + h), below = line.values(line.p - h);
      for (std::size_t i = 0; i < here.size(); ++i) {
        out[i].apart = std::fabs(out[i].above - out[i].below);
        out[i].above = (above[i] - here[i]) / h;
        out[i].below = (here[i] - below[i]) / h;
      }
    }
    return out;
  }

  double tolerance_;
  DerivativeCheck out_;
};

double typical_of(double p) { return p != 0 ? std::fabs(p) : 1; }

void check_finite(std::span<const double> x) {
  for (std::size_t j = 0; j < x.size(); ++j) {
    if (!std::isfinite(x[j])) throw ValidationError(fmt::format("x[{}] = {} is not finite", j, x[j]));
  }
}

std::vector<double> column_of(std::span<const double> J, std::size_t rows, std::size_t columns,
                              std::size_t j) {
  std::vector<double> out(rows);
  for (std::size_t i = 0; i < rows; ++i) out[i] = J[i * columns + j];
  return out;
}

// Checks one residual block of a problem.
class BlockCheck {
 public:
  BlockCheck(const Problem::Impl& problem, std::size_t block)
      : function_(*problem.functions[block]), rows_(static_cast<std::size_t>(function_.residuals())) {
    for (const std::uint32_t k : problem.parameters_of(block)) {
      const ParameterBlock& p = problem.parameters[k];
      blocks_.push_back(&p);
      values_.emplace_back(p.data, p.data + p.size);
    }
    for (const std::vector<double>& v : values_) at_.push_back(v.data());
  }

  void run(Checker& checker, std::size_t number) {
    std::vector<double> here(rows_);
    std::vector<std::vector<double>> J;
    for (const ParameterBlock* p : blocks_) J.emplace_back(rows_ * static_cast<std::size_t>(p->size), kNaN);
    if (!derivatives(here, J)) {
      throw ValidationError(fmt::format("residual block {} has no residuals at the present values", number));
    }
    for (std::size_t k = 0; k < blocks_.size(); ++k) {
      const auto tangent = static_cast<std::size_t>(blocks_[k]->tangent());
      const std::vector<double> moved = through_manifold(k, J[k]);
      for (std::size_t j = 0; j < tangent; ++j) {
        DerivativeError place;
        place.residual_block = number;
        place.parameter_block = k;
        place.parameter = j;
        checker.check(line(k, j), here, column_of(moved, rows_, tangent, j), place);
      }
    }
  }

 private:
  bool derivatives(std::vector<double>& here, std::vector<std::vector<double>>& J) {
    using enum BlockFunction::Derivatives;
    if (function_.derivatives_by() == own || function_.derivatives_by() == traced_own) {
      std::vector<double*> to;
      for (std::vector<double>& Jk : J) to.push_back(Jk.data());
      return function_.derivatives(at_.data(), here.data(), to.data());
    }
    if (!function_.value(at_.data(), here.data())) return false;
    std::vector<int> sizes;
    std::vector<double> x;
    for (const std::vector<double>& v : values_) {
      sizes.push_back(static_cast<int>(v.size()));
      x.insert(x.end(), v.begin(), v.end());
    }
    std::vector<double> residuals(rows_), all(rows_ * x.size());
    BlockCaller caller(sizes);
    if (!caller.derivatives(function_, x.data(), residuals.data(), all.data())) return false;
    for (std::size_t i = 0, from = 0; i < rows_; ++i) {
      for (std::size_t k = 0; k < J.size(); from += values_[k++].size())
        std::copy_n(&all[from], values_[k].size(), &J[k][i * values_[k].size()]);
    }
    return true;
  }

  // Returns J ∂(x ⊞ δ)/∂δ.
  std::vector<double> through_manifold(std::size_t k, const std::vector<double>& J) const {
    const Manifold* manifold = blocks_[k]->manifold.get();
    if (manifold == nullptr || blocks_[k]->constant) return J;
    const auto a = static_cast<std::size_t>(manifold->ambient()),
               t = static_cast<std::size_t>(manifold->tangent());
    std::vector<double> plus(a * t), out(rows_ * t, 0.0);
    manifold->plus_jacobian(values_[k].data(), plus.data());
    for (std::size_t i = 0; i < rows_; ++i) {
      for (std::size_t m = 0; m < a; ++m) {
        for (std::size_t j = 0; j < t; ++j) out[i * t + j] += J[i * a + m] * plus[m * t + j];
      }
    }
    return out;
  }

  Line line(std::size_t k, std::size_t j) const {
    Line out;
    const ParameterBlock& p = *blocks_[k];
    if (!p.manifold) {
      out.p = values_[k][j];
      out.typical = typical_of(out.p);
      if (p.bounded())
        out.lower = std::min(p.limits->lower[j], out.p), out.upper = std::max(p.limits->upper[j], out.p);
    }
    out.values = [this, k, j, manifold = p.manifold.get()](double place) {
      std::vector<double> moved = values_[k], residuals(rows_);
      if (manifold) {
        std::vector<double> delta(static_cast<std::size_t>(manifold->tangent()), 0.0);
        delta[j] = place;
        manifold->plus(values_[k].data(), delta.data(), moved.data());
      } else {
        moved[j] = place;
      }
      std::vector<const double*> at = at_;
      at[k] = moved.data();
      if (!function_.value(at.data(), residuals.data())) residuals.assign(rows_, kNaN);
      return residuals;
    };
    return out;
  }

  const BlockFunction& function_;
  std::size_t rows_;
  std::vector<const ParameterBlock*> blocks_;
  std::vector<std::vector<double>> values_;
  std::vector<const double*> at_;
};

}  // namespace

DerivativeCheck check_derivatives(
    const VectorFunction& residuals,
    const std::function<void(std::span<const double> p, std::span<double> J)>& jacobian,
    std::span<const double> x, double tolerance) {
  const FpEnvironment environment;
  Checker checker(tolerance);
  if (!residuals.value || !jacobian)
    throw ValidationError("check_derivatives needs a residual function and its Jacobian");
  check_finite(x);
  const std::vector<double> here = residuals.value(x);
  const std::size_t n = x.size();
  std::vector<double> J(here.size() * n, kNaN), moved(x.begin(), x.end());
  jacobian(x, J);
  for (std::size_t j = 0; j < n; ++j) {
    Line line;
    line.p = x[j];
    line.typical = typical_of(x[j]);
    line.values = [&](double place) {
      moved[j] = place;
      std::vector<double> r = residuals.value(moved);
      moved[j] = x[j];
      if (r.size() == here.size()) return r;
      throw ValidationError(fmt::format(
          "the residual function gave {} residuals, and {} when it was called first", r.size(), here.size()));
    };
    DerivativeError place;
    place.parameter = j;
    checker.check(line, here, column_of(J, here.size(), n, j), place);
  }
  return checker.finish();
}

DerivativeCheck check_derivatives(const Problem& problem, double tolerance) {
  const FpEnvironment environment;
  Checker checker(tolerance);
  const Problem::Impl& impl = problem.impl();
  for (const ParameterBlock& p : impl.parameters) {
    if (!p.removed) check_finite({p.data, static_cast<std::size_t>(p.size)});
  }
  for (std::size_t b = 0; b < impl.functions.size(); ++b) {
    if (!impl.alive(b)) continue;
    if (impl.functions[b]->derivatives_by() == BlockFunction::Derivatives::differences)
      ++checker.out().without;
    else BlockCheck(impl, b).run(checker, b);
  }
  checker.out().of_problem = true;
  return checker.finish();
}

DerivativeCheck check_derivatives(const Manifold& manifold, std::span<const double> x, double tolerance) {
  const FpEnvironment environment;
  Checker checker(tolerance);
  const auto a = static_cast<std::size_t>(manifold.ambient()),
             t = static_cast<std::size_t>(manifold.tangent());
  if (x.size() != a)
    throw ValidationError(fmt::format("the manifold has {} ambient numbers, x has {}", a, x.size()));
  check_finite(x);
  std::vector<double> J(a * t, kNaN);
  manifold.plus_jacobian(x.data(), J.data());
  for (std::size_t j = 0; j < t; ++j) {
    Line line;
    line.values = [&](double place) {
      std::vector<double> delta(t, 0.0), moved(a);
      delta[j] = place;
      manifold.plus(x.data(), delta.data(), moved.data());
      return moved;
    };
    DerivativeError place;
    place.parameter = j;
    checker.check(line, x, column_of(J, a, t, j), place);
  }
  return checker.finish();
}

std::string DerivativeCheck::report(std::size_t most) const {
  std::string text = fmt::format("{} of {} derivatives disagree with differences", wrong.size(), checked);
  if (unclear > 0) text += fmt::format("; {} could not be judged", unclear);
  if (without > 0) text += fmt::format("; {} residual blocks have none of their own", without);
  text += '\n';
  for (const DerivativeError& e : std::span(wrong).first(std::min(most, wrong.size()))) {
    if (of_problem)
      text += fmt::format("  residual block {}, residual {}, parameter block {}, number {}", e.residual_block,
                          e.residual, e.parameter_block, e.parameter);
    else text += fmt::format("  residual {}, parameter {}", e.residual, e.parameter);
    text += fmt::format(": given {:.10g}, by differences {:.10g} ± {:.1g}\n", e.given, e.difference,
                        e.uncertainty);
  }
  if (wrong.size() > most) text += fmt::format("  and {} more\n", wrong.size() - most);
  return text;
}

}  // namespace nlsq::inline v0
