// Suite mgh solves the problems of Moré, Garbow and Hillstrom from their starts and from 10 and 100 times
// them, from perturbed starts, from many starts, and within bounds. It counts who reaches the minimum.
#include "peers/peers.hpp"
#include "suites/suites.hpp"

#include <mgh.hpp>
#include <noise.hpp>

#include <nlsq/least_squares.hpp>

#if NLSQ_BENCH_CERES
#include <ceres/ceres.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

namespace {

namespace mgh = problems::mgh;

// Holds a problem with its start, bounds and minimum.
template <class F>
struct Case {
  std::vector<double> start, lower, upper;  // bounds; empty: none
  double minimum = F::minimum;
};

template <class F>
Case<F> from(double scale) {
  Case<F> c{{F::start.begin(), F::start.end()}, {}, {}};
  for (double& v : c.start) v *= scale;
  return c;
}

// Changes every number of the start by up to one per cent.
template <class F>
Case<F> moved(Case<F> c, problems::Noise& random) {
  for (double& v : c.start) v *= 1 + 0.01 * (2 * random.uniform() - 1);
  return c;
}

// Moves a start outside the bounds to the nearest point within.
template <class F>
Case<F> within(const mgh::Bounded<F>& problem) {
  Case<F> c = from<F>(1);
  c.lower.assign(problem.lower.begin(), problem.lower.end());
  c.upper.assign(problem.upper.begin(), problem.upper.end());
  c.minimum = problem.minimum;
  for (std::size_t j = 0; j < c.start.size(); ++j)
    c.start[j] = std::clamp(c.start[j], c.lower[j], c.upper[j]);
  return c;
}

template <class F>
double squares_at(const std::vector<double>& x) {
  double r[F::residuals], sum = 0;
  F{}(x.data(), r);
  for (const double v : r) sum += v * v;
  return sum;
}

struct Outcome {
  bool reached = false, by_ceres_test = false;
  double squares = 0;  // ‖r‖² at the end
  std::string how;
};

// Judges a fit. A certified local minimum counts, too, if Moré, Garbow and Hillstrom list it.
template <class F>
Outcome judged(const Case<F>& c, double squares, std::string how, bool certified) {
  Outcome out{mgh::reached(c.minimum, squares, squares_at<F>(c.start)),
              mgh::reached_for_ceres(c.minimum, squares), squares, std::move(how)};
  if constexpr (requires { F::local_minimum; }) {
    if (c.lower.empty() && certified && mgh::reached(F::local_minimum, squares, 0)) out.reached = true;
  }
  return out;
}

template <class F>
Outcome by_nlsq(const Case<F>& c, const char* policy, int starts = 1) {
  nlsq::LeastSquaresOptions options;
  options.threads = 1;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  options.starts = starts;
  options.bounds.lower = c.lower;
  options.bounds.upper = c.upper;
  const nlsq::LeastSquaresResult result = nlsq::least_squares(mgh::vector_function<F>, c.start, options);
  const bool began = result.summary.termination != nlsq::Termination::failure;
  return judged(c, began ? 2 * result.cost : squares_at<F>(c.start), nlsq::name(result.summary.verdict),
                result.success());
}

#if NLSQ_BENCH_CERES
template <class F>
std::optional<Outcome> by_ceres(const Case<F>& c) {
  std::vector<double> x = c.start;
  ceres::Problem problem;
  problem.AddResidualBlock(new ceres::AutoDiffCostFunction<F, F::residuals, F::parameters>(new F), nullptr,
                           x.data());
  for (int j = 0; j < static_cast<int>(c.lower.size()); ++j) {
    problem.SetParameterLowerBound(x.data(), j, c.lower[static_cast<std::size_t>(j)]);
    problem.SetParameterUpperBound(x.data(), j, c.upper[static_cast<std::size_t>(j)]);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_QR;
  options.max_num_iterations = 1000;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-16;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return judged(c, squares_at<F>(x), ceres::TerminationTypeToString(summary.termination_type),
                summary.termination_type == ceres::CONVERGENCE);
}
#else
template <class F>
std::optional<Outcome> by_ceres(const Case<F>&) {
  return std::nullopt;
}
#endif

struct Count {
  int reached = 0, by_ceres_test = 0, all = 0;
  void add(const Outcome& outcome) {
    ++all, reached += outcome.reached ? 1 : 0, by_ceres_test += outcome.by_ceres_test ? 1 : 0;
  }
  std::string text() const {
    return fmt::format("{} of {} ({} by Ceres's test)", reached, all, by_ceres_test);
  }
};

// Counts of nlsq with `auto` and `f64`, and of Ceres.
struct Table {
  Count adaptive, f64, peer;
  std::string text() const {
    return fmt::format("nlsq {}, all-f64 {}{}", adaptive.text(), f64.text(),
                       peer.all > 0 ? ", Ceres (DENSE_QR) " + peer.text() : "");
  }
};

std::string shown(const Outcome& o) {
  return fmt::format("{:.8g}{} {}", o.squares, o.reached ? "" : " (no)", o.how);
}

template <class F>
std::string compare(const Case<F>& c, Table& table) {
  const Outcome ours = by_nlsq(c, "auto"), all_f64 = by_nlsq(c, "f64");
  const std::optional<Outcome> ceres = by_ceres(c);
  table.adaptive.add(ours);
  table.f64.add(all_f64);
  if (ceres) table.peer.add(*ceres);
  return fmt::format("minimum {:<12} nlsq {}, f64 {:.8g}{}{}", c.minimum, shown(ours), all_f64.squares,
                     all_f64.reached ? "" : " (no)", ceres ? ", Ceres " + shown(*ceres) : "");
}

int apart(const Table& table) { return std::abs(table.adaptive.reached - table.f64.reached); }

void near_and_far(const Settings& settings) {
  Table table;
  mgh::for_each([&]<class F>(F) {
    for (const double scale : mgh::kScales) {
      settings.report->text(fmt::format("{:<22} x {:<4} {}", F::name, scale, compare(from<F>(scale), table)));
    }
  });
  settings.report->text("57 starts: " + table.text());
  settings.report->goal({"mgh", "57 starts: minima found", static_cast<double>(table.adaptive.reached),
                         Asked::at_least, 47, ""});
  settings.report->goal(
      {"mgh", "57 starts: auto beside f64", static_cast<double>(apart(table)), Asked::at_most, 0, ""});

  constexpr int kSeeds = 8;
  int fewest = table.adaptive.reached, most = fewest;
  std::string counts;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    problems::Noise random(static_cast<std::uint64_t>(seed));
    Count count;
    mgh::for_each([&]<class F>(F) {
      for (const double scale : mgh::kScales) count.add(by_nlsq(moved(from<F>(scale), random), "auto"));
    });
    fewest = std::min(fewest, count.reached);
    most = std::max(most, count.reached);
    counts += fmt::format("{}{}", seed > 1 ? ", " : "", count.reached);
  }
  settings.report->text(fmt::format("the same starts moved by up to 1 %, seeds 1 to {}: {}", kSeeds, counts));
  const int spread = std::max(most - table.adaptive.reached, table.adaptive.reached - fewest);
  settings.report->goal({"mgh", "57 starts moved by 1 %: count changes by", static_cast<double>(spread),
                         Asked::at_most, 2, ""});
}

void many_starts(const Settings& settings) {
  constexpr int kStarts = 64;
  Count count, f64;
  mgh::for_each([&]<class F>(F) {
    for (const double scale : mgh::kScales) {
      const Outcome best = by_nlsq(from<F>(scale), "auto", kStarts);
      count.add(best);
      f64.add(by_nlsq(from<F>(scale), "f64", kStarts));
      if (!best.reached)
        settings.report->text(fmt::format("{:<22} x {:<4} minimum {:<12} {} starts: {}", F::name, scale,
                                          F::minimum, kStarts, shown(best)));
    }
  });
  settings.report->text(
      fmt::format("57 starts, and {} about each: {}, all-f64 {}", kStarts - 1, count.text(), f64.text()));
  settings.report->goal(
      {"mgh", "64 starts each: minima found", static_cast<double>(count.reached), Asked::at_least, 54, ""});
}

void bounded(const Settings& settings) {
  Table table;
  mgh::for_each_bounded([&]<class F>(const mgh::Bounded<F>& problem) {
    settings.report->text(fmt::format("{:<22} bounded {}", F::name, compare(within(problem), table)));
  });
  settings.report->text("bounded: " + table.text());
  settings.report->goal(
      {"mgh", "bounded: minima found", static_cast<double>(table.adaptive.reached), Asked::at_least, 10, ""});
  settings.report->goal(
      {"mgh", "bounded: auto beside f64", static_cast<double>(apart(table)), Asked::at_most, 0, ""});
}

}  // namespace

void run_mgh(const Settings& settings) {
  settings.report->begin_suite("mgh",
                               "Moré, Garbow and Hillstrom's problems 1 to 19 from their starts and 10 and "
                               "100 times them, by default options: ‖r‖² at the\n"
                               "end; (no): not the minimum to 4 digits, nor, where that is 0, a share 1e-10 "
                               "of the start's, nor a certified local\n"
                               "minimum that is listed. Ceres's test: 4 digits, of zero 4 decimals");
  silence_ceres();
  near_and_far(settings);
  many_starts(settings);
  bounded(settings);
}

}  // namespace bench
