// Moré, Garbow and Hillstrom's problems from their starts and from 10 and 100 times them: who gets to the minimum?
#include "suites.hpp"

#include <mgh.hpp>

#include <nlsq/least_squares.hpp>

#if NLSQ_BENCH_CERES
#include <ceres/ceres.h>
#if __has_include(<glog/logging.h>)
#include <glog/logging.h>
#endif
#endif

#include <fmt/format.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace mgh = problems::mgh;

struct Outcome {
  bool reached = false;
  double squares = 0;  // ‖r‖² at the end
  std::string how;
};

template <class F>
std::vector<double> start_of(double scale) {
  std::vector<double> x(F::start.begin(), F::start.end());
  for (double& v : x) v *= scale;
  return x;
}

template <class F>
double squares_at(const std::vector<double>& x) {
  double r[F::residuals], sum = 0;
  F{}(x.data(), r);
  for (const double v : r) sum += v * v;
  return sum;
}

// A certified minimum where the cost is not the least counts, too, where Moré, Garbow and Hillstrom list it.
template <class F>
bool counts(const Outcome& outcome, double scale, bool certified) {
  if (mgh::reached(F::minimum, outcome.squares, squares_at<F>(start_of<F>(scale)))) return true;
  if constexpr (requires { F::local_minimum; }) return certified && mgh::reached(F::local_minimum, outcome.squares, 0);
  return false;
}

template <class F>
Outcome by_nlsq(double scale, const char* policy) {
  nlsq::LeastSquaresOptions options;
  options.threads = 1;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  const auto residuals = [](const auto& p) {
    using T = std::decay_t<decltype(p[0])>;
    std::vector<T> x, r(F::residuals);
    for (int j = 0; j < F::parameters; ++j) x.push_back(p[static_cast<std::size_t>(j)]);
    F{}(x.data(), r.data());
    return r;
  };
  const nlsq::LeastSquaresResult result = nlsq::least_squares(residuals, start_of<F>(scale), options);
  Outcome out{false, 2 * result.cost, nlsq::name(result.summary.verdict)};
  out.reached = counts<F>(out, scale, result.success());
  return out;
}

#if NLSQ_BENCH_CERES
template <class F>
Outcome by_ceres(double scale) {
  std::vector<double> x = start_of<F>(scale);
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<F, F::residuals, F::parameters>(new F), nullptr, x.data());
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 1000;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-16;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  Outcome out{false, squares_at<F>(x), ceres::TerminationTypeToString(summary.termination_type)};
  out.reached = counts<F>(out, scale, summary.termination_type == ceres::CONVERGENCE);
  return out;
}
#endif

struct Count {
  int reached = 0, all = 0;
  void add(const Outcome& outcome) { ++all, reached += outcome.reached ? 1 : 0; }
  std::string text() const { return fmt::format("{} of {}", reached, all); }
};

const char* mark(const Outcome& outcome) { return outcome.reached ? "" : " (no)"; }

}  // namespace

void run_mgh(const Settings& settings) {
  settings.report->begin_suite("mgh", "Moré, Garbow and Hillstrom's problems 1 to 19 from their starts and 10 and 100 times them: ‖r‖² at the end; (no): not the\n"
                                      "minimum to 4 digits, nor, where that is 0, a share 1e-10 of the start's; goal: 44 of 57, by default options");
#if NLSQ_BENCH_CERES && __has_include(<glog/logging.h>)
  FLAGS_minloglevel = 3;
#endif
  Count adaptive, f64, peer;
  mgh::for_each([&]<class F>(F) {
    for (const double scale : mgh::kScales) {
      const Outcome ours = by_nlsq<F>(scale, "auto"), all_f64 = by_nlsq<F>(scale, "f64");
      adaptive.add(ours);
      f64.add(all_f64);
      std::string line = fmt::format("{:<22} x {:<4} minimum {:<12} nlsq {:.6g}{} {}, f64 {:.6g}{}", F::name, scale, F::minimum, ours.squares,
                                     mark(ours), ours.how, all_f64.squares, mark(all_f64));
#if NLSQ_BENCH_CERES
      const Outcome ceres = by_ceres<F>(scale);
      peer.add(ceres);
      line += fmt::format(", Ceres {:.6g}{} {}", ceres.squares, mark(ceres), ceres.how);
#endif
      settings.report->text(line);
    }
  });
  settings.report->text(fmt::format("nlsq {}, all-f64 {}{}", adaptive.text(), f64.text(), peer.all > 0 ? ", Ceres (DENSE_QR) " + peer.text() : ""));
  settings.report->goal({"mgh", "57 starts: minima found", static_cast<double>(adaptive.reached), Asked::at_least, 44, ""});
  settings.report->goal({"mgh", "57 starts: auto beside f64", std::fabs(static_cast<double>(adaptive.reached - f64.reached)), Asked::at_most, 0, ""});
}

}  // namespace bench
