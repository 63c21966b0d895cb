// Defines a problem whose residuals, noise and re-check a test prescribes, and runs the loop on it.
#pragma once

#include "minimizer/dense_system.hpp"
#include "minimizer/minimizer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tables.hpp"

namespace scripted {

using namespace nlsq;
using tables::Table;

using Model = std::function<void(const Vector& x, Table& rows)>;  // sets the columns of J, then r

// This is a problem that answers f64 questions by `high` and f32 questions by `low`, and remembers the
// questions.
class Scripted final : public Evaluator {
 public:
  struct Call {
    const char* what;
    Vector x;
    PrecisionPlan plan;
    bool operator==(const Call&) const = default;
  };

  template <class M>
  Scripted(std::size_t m, std::size_t n, M model) : high(model), low(model), m_(m), n_(n) {}

  Model high, low;
  std::function<Probe(const Vector&)> probe_at = [](const Vector&) { return Probe{}; };
  Recheck checked{.rows = 1, .largest = 0, .discrepancy = 0, .magnitude = 1};
  std::vector<Call> calls;

  int parameters() const override { return static_cast<int>(n_); }
  std::size_t residuals() const override { return m_; }
  bool has_f32() const override { return true; }
  double row_cost() const override { return 1e6; }  // expensive enough for f32, and too expensive to polish

  void linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) override {
    calls.push_back({"linearize", Vector(x.begin(), x.end()), plan});
    const Table t = table(x, plan.residual);
    bool finite = true;
    for (const auto& column : t.columns) {
      for (const double v : column) finite = finite && std::isfinite(v);
    }
    out = finite ? linearized(t, plan.gram == Gram::qr) : Linearization();
    out.finite = finite;
    if (!finite) out.cost = NAN;
    out.plan = plan;
  }
  double cost(std::span<const double> x, Format format) override {
    calls.push_back({"cost", Vector(x.begin(), x.end()), {format, Gram::f64}});
    return static_cast<double>(table(x, format).product(n_, n_) / 2);
  }
  Probe probe(std::span<const double> x, const PrecisionPlan&) override {
    Probe p = probe_at(Vector(x.begin(), x.end()));
    if (p.gradient_bias.empty()) p.gradient_bias.assign(n_, 0.0);
    if (p.gradient_scatter.empty()) p.gradient_scatter = Matrix(n_, n_);
    return p;
  }
  void recheck_into(std::span<const double>, std::size_t, Recheck& out) override { out = checked; }
  double second_order_into(std::span<const double>, std::span<const double>, double, Vector& out) override {
    out.assign(n_, 0.0);
    return 0;
  }
  const KernelCounters& counters() const override { return counters_; }
  double counted_work() const override { return 0; }
  double pass_work(const PrecisionPlan&) const override { return 0; }
  std::size_t bytes() const override { return 0; }

  int count(Format format) const {
    int found = 0;
    for (const Call& call : calls) found += call.plan.residual == format;
    return found;
  }
  double cost_at(const Vector& x) const {
    return static_cast<double>(table(x, Format::f64).product(n_, n_) / 2);
  }

 private:
  Table table(std::span<const double> x, Format format) const {
    Table t{m_, n_, std::vector(n_ + 1, std::vector<double>(m_, 0.0))};
    (format == Format::f64 ? high : low)(Vector(x.begin(), x.end()), t);
    return t;
  }
  std::size_t m_, n_;
  KernelCounters counters_;
};

inline MinimizerResult minimize(Scripted& problem, Vector x0, const SolverOptions& options) {
  DenseSystem system;
  system.begin(problem, {options});
  MinimizerResult out;
  Minimizer().run(system, {.options = options, .x0 = x0, .begin = std::chrono::steady_clock::now()}, out);
  return out;
}
inline SolverOptions in(const char* policy) {
  SolverOptions options;
  options.precision = PrecisionPolicy::parse(policy);
  return options;
}

// With r_i = x - t_i, the minimum is the mean.
inline Model mean_of(Vector t, double shift = 0) {
  return [t, shift](const Vector& x, Table& rows) {
    for (std::size_t i = 0; i < t.size(); ++i) {
      rows.columns[0][i] = 1;
      rows.columns[1][i] = x[0] - t[i] - shift;
    }
  };
}
// Returns Rosenbrock's valley with an additional constant residual.
inline Model rosenbrock(double constant) {
  return [constant](const Vector& x, Table& rows) {
    rows.columns[0] = {-20 * x[0], -1, 0};
    rows.columns[1] = {10, 0, 0};
    rows.columns[2] = {10 * (x[1] - x[0] * x[0]), 1 - x[0], constant};
  };
}
// Residuals log(x) with two values. They are not defined for x <= 0, where a long first step leads.
inline void logarithm(const Vector& x, Table& rows) {
  rows.columns[0] = {1 / x[0], 1 / x[0]};
  rows.columns[1] = {std::log(x[0]) + 3, std::log(x[0]) + 3.5};
}

inline void check_best_verified(const Scripted& problem, const MinimizerResult& result, const Vector& x0) {
  CHECK(result.summary.final_cost == problem.cost_at(result.x));
  CHECK(result.summary.final_cost <= problem.cost_at(x0));
}

}  // namespace scripted
