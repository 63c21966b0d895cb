// Solves the cases of the block corpus and checks their answers.
#include "run.hpp"

#include <nlsq/precision_scope.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

namespace blocks {

namespace {

constexpr Real kClearlyNone = 1e-17L;  // singular values below this are zero in any precision
constexpr Real kClearlySome = 1e-12L;  // singular values above this are resolved in f64

ceres::Solver::Options options_of(Way way, int threads) {
  ceres::Solver::Options options;
  options.num_threads = threads;
  options.logging_type = ceres::SILENT;
  if (way == Way::solve_default) return options;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-15;
  options.max_num_iterations = 500;
  return options;
}

void prepare(const Scene& scene, int solve) {
  if (scene.change) scene.change(*scene.data, solve);
}

}  // namespace

const char* name(Way way) {
  constexpr const char* names[] = {"problem", "Solve default", "Solve tight", "Solve opaque"};
  return names[static_cast<std::size_t>(way)];
}

void reset(const Scene& scene) { prepare(scene, 0); }

Answer solve(const Scene& scene, Way way, const std::string& policy, int threads) {
  Answer out;
  out.x = scene.start();
  const nlsq::PrecisionScope scope(nlsq::PrecisionPolicy::parse(policy));
  const int solves = scene.change ? 2 : 1;
  reset(scene);
  try {
    if (way == Way::problem) {
      nlsq::Problem problem = scene.ours(out.x.data());
      nlsq::SolverOptions options;
      options.threads = threads;
      for (int k = 0; k < solves; ++k) {
        if (k > 0) prepare(scene, k);
        out.summary = nlsq::solve(problem, options);
      }
    } else {
      const auto problem = scene.theirs(out.x.data(), way != Way::solve_opaque);
      for (int k = 0; k < solves; ++k) {
        if (k > 0) prepare(scene, k);
        nlsq::Solve(options_of(way, threads), problem.get(), &out.summary);
      }
    }
  } catch (const std::exception& error) {
    out.exception = error.what();
  }
  return out;
}

std::string false_convergence(const Scene& scene, Way way, const std::string& policy) {
  std::vector<double> x = scene.start();
  const nlsq::PrecisionScope scope(nlsq::PrecisionPolicy::parse(policy));
  reset(scene);
  const auto problem = scene.theirs(x.data(), way != Way::solve_opaque);
  const ceres::Solver::Options options = options_of(way, 1);
  ceres::Solver::Summary summary;
  nlsq::Solve(options, problem.get(), &summary);
  if (summary.termination_type != ceres::CONVERGENCE) return {};
  if (!summary.iterations.empty()) {
    const ceres::IterationSummary& last = summary.iterations.back();
    double squares = 0;
    for (const double v : x) squares += v * v;
    const bool function = last.iteration > 0 &&
                          std::fabs(last.cost_change) <= options.function_tolerance * last.cost * (1 + 1e-9);
    const bool gradient = last.gradient_max_norm <= options.gradient_tolerance;
    const bool parameter =
        last.iteration > 0 && last.step_norm <= options.parameter_tolerance *
                                                    (std::sqrt(squares) + options.parameter_tolerance) *
                                                    (1 + 1e-9);
    if (function || gradient || parameter) return {};
  }
  const Judgement judgement = Oracle(scene).judge(x);
  if (judgement.at_minimum()) return {};
  return fmt::format("CONVERGENCE with {:.2g} standard errors to gain: {}",
                     static_cast<double>(judgement.gain_in_errors()), summary.message);
}

std::string false_success(Kind kind, const Answer& answer, const Judgement& j) {
  if (!answer.success()) return {};
  if (!j.finite) return "the residuals are not finite";
  if (!j.at_minimum()) {
    return fmt::format("{:.2g} standard errors to gain, cost {:.9g} beside {:.9g}",
                       static_cast<double>(j.gain_in_errors()), static_cast<double>(j.cost),
                       static_cast<double>(j.lowest));
  }
  if (kind == Kind::singular) return {};
  const nlsq::Certificate& c = answer.summary.certificate;
  const bool deficient = answer.summary.verdict == nlsq::Verdict::rank_deficient;
  const Real least = j.singular.empty() ? 1 : j.singular.back();
  if (!deficient && least < kClearlyNone) {
    return fmt::format("{} where the least singular value is {:.1e}", nlsq::name(answer.summary.verdict),
                       static_cast<double>(least));
  }
  const auto rank = static_cast<std::size_t>(std::max(c.rank, 0));
  if (deficient && rank < j.visible.size() && j.visible[rank] > kClearlySome) {
    return fmt::format("rank {} is claimed, the next singular value is {:.1e}", rank,
                       static_cast<double>(j.visible[rank]));
  }
  return {};
}

std::string unsound(const Scene& scene, const Answer& answer) {
  for (const double v : answer.x) {
    if (!std::isfinite(v)) return "a parameter is not finite";
  }
  for (const Block& b : scene.blocks()) {
    if (b.constant && !std::equal(answer.x.begin() + static_cast<std::ptrdiff_t>(b.first),
                                  answer.x.begin() + static_cast<std::ptrdiff_t>(b.first) + b.size,
                                  scene.start().begin() + static_cast<std::ptrdiff_t>(b.first))) {
      return "a constant block moved";
    }
    for (const int i : b.held) {
      const std::size_t place = b.first + static_cast<std::size_t>(i);
      const bool bounded = !b.lower.empty();
      if (!bounded && answer.x[place] != scene.start()[place]) return "a held number moved";
    }
    for (std::size_t i = 0; i < b.lower.size(); ++i) {
      if (answer.exception.empty() && answer.summary.termination != nlsq::Termination::failure &&
          (answer.x[b.first + i] < b.lower[i] || answer.x[b.first + i] > b.upper[i])) {
        return "a number is beyond its bounds";
      }
    }
  }
  if (!answer.exception.empty() || answer.summary.termination == nlsq::Termination::failure) return {};
  if (!std::isfinite(answer.summary.final_cost)) return "the cost is not finite";
  // The program and the functor may round differently. So much may their residuals differ.
  const double terms = 1e-12 * scene.scale;
  const double before = answer.summary.initial_cost, shown = answer.summary.final_cost;
  if (shown > before * (1 + 1e-9) + terms * std::sqrt(before))
    return fmt::format("the cost rose from {:.9g} to {:.9g}", before, shown);
  const double cost = scene.cost(answer.x);
  const double digits = 1e-15 * scene.largest_term;
  double rounding = (terms * terms + digits * digits) * scene.residuals() + 1e-20;
  for (const auto& term : scene.terms()) {  // Ceres's TolerantLoss takes the logarithm of 1 + a tiny number.
    if (term->loss.kind == LossSpec::Kind::tolerant) rounding += 4e-16 * term->loss.b;
  }
  if (std::fabs(cost - shown) > 1e-6 * (cost + terms * std::sqrt(cost)) + rounding && std::isfinite(cost)) {
    return fmt::format("the cost shown is {:.9g}, of what is left in the blocks {:.9g}", shown, cost);
  }
  return {};
}

}  // namespace blocks
