// Lists the names of each kind of result.
#include "c/errors.hpp"
#include "c/results/caller_result.hpp"
#include "prediction/delta_method.hpp"

#include <nlsq/c/base.h>
#include <nlsq/compare.hpp>
#include <nlsq/json/fit.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0::c {

// The enumerations of the header must equal those of the library.
static_assert(NLSQ_CONVERGED == static_cast<int>(Verdict::converged));
static_assert(NLSQ_NOISE_FLOOR == static_cast<int>(Verdict::noise_floor));
static_assert(NLSQ_RANK_DEFICIENT == static_cast<int>(Verdict::rank_deficient));
static_assert(NLSQ_TOLERANCE == static_cast<int>(Verdict::tolerance));
static_assert(NLSQ_BUDGET == static_cast<int>(Verdict::budget));
static_assert(NLSQ_FAILED == static_cast<int>(Verdict::failed));
static_assert(NLSQ_ENDED_CONVERGED == static_cast<int>(Termination::converged));
static_assert(NLSQ_ENDED_NO_PROGRESS == static_cast<int>(Termination::no_progress));
static_assert(NLSQ_ENDED_USER_STOP == static_cast<int>(Termination::user_stop));
static_assert(NLSQ_ENDED_FAILURE == static_cast<int>(Termination::failure));

namespace {

template <class T>
std::vector<double> doubles(const std::vector<T>& values) {
  std::vector<double> out(values.size());
  std::ranges::transform(values, out.begin(), [](T value) { return static_cast<double>(value); });
  return out;
}

// Makes a rule for the summary of any result.
template <class F>
auto of_summary(F rule) {
  return [rule](const Result& result) { return rule(*result.summary()); };
}

template <class T>
auto member(T Certificate::*field) {
  return of_summary([=](const Summary& s) { return static_cast<double>(s.certificate.*field); });
}

Array trace_array(const Summary& summary) {
  Array out;
  out.rows = summary.iterations.size();
  out.columns = 7;
  for (const IterationSummary& it : summary.iterations) {
    const double accepted = it.outcome == StepOutcome::accepted ? 1 : 0;
    for (const double value : {static_cast<double>(it.iteration), it.cost, it.gradient_norm,
                               it.decrement_sigma, it.lambda, it.rho, accepted})
      out.values.push_back(value);
  }
  return out;
}

}  // namespace

Contents summary_contents() {
  using S = const Summary&;
  Contents c;
  c.numbers = {
      {"success", of_summary([](S s) { return is_success(s.verdict) ? 1.0 : 0.0; })},
      {"verdict", of_summary([](S s) { return static_cast<double>(s.verdict); })},
      {"termination", of_summary([](S s) { return static_cast<double>(s.termination); })},
      {"cost", of_summary([](S s) { return s.final_cost; })},
      {"initial_cost", of_summary([](S s) { return s.initial_cost; })},
      {"iterations", of_summary([](S s) { return static_cast<double>(s.accepted + s.rejected); })},
      {"accepted", of_summary([](S s) { return static_cast<double>(s.accepted); })},
      {"rejected", of_summary([](S s) { return static_cast<double>(s.rejected); })},
      {"threads", of_summary([](S s) { return static_cast<double>(s.threads); })},
      {"peak_bytes", of_summary([](S s) { return static_cast<double>(s.peak_bytes); })},
      {"escalations", of_summary([](S s) { return static_cast<double>(s.precision.escalations); })},
      {"seconds", of_summary([](S s) { return s.time.total; })},
      {"gradient_norm", member(&Certificate::gradient_norm)},
      {"decrement_sigma", member(&Certificate::decrement_sigma)},
      {"condition", member(&Certificate::condition)},
      {"rank", member(&Certificate::rank)},
      {"recheck_passed", member(&Certificate::recheck_passed)},
      {"rechecked_rows", member(&Certificate::rechecked_rows)},
      {"wrong_column", member(&Certificate::wrong_column)},
  };
  c.texts = {
      {"message", of_summary([](S s) { return s.message; })},
      {"verdict", of_summary([](S s) { return std::string(name(s.verdict)); })},
      {"status", of_summary([](S s) { return std::string(status_word(s.termination)); })},
      {"governed_by", of_summary([](S s) { return s.certificate.governed_by; })},
      {"evaluator", of_summary([](S s) { return s.evaluator; })},
      {"evaluator_note", of_summary([](S s) { return s.evaluator_note; })},
      {"kernel", of_summary([](S s) { return s.kernel; })},
      {"policy", of_summary([](S s) { return s.precision.policy; })},
  };
  c.arrays = {{"trace", of_summary([](S s) { return trace_array(s); })}};
  return c;
}

std::string ManyResult::message(std::size_t fit) const {
  if (is_success(batch.verdict[fit])) return {};
  const auto found = batch.message.find(fit);
  if (found == batch.message.end()) return "cancelled before this fit began";
  std::string text = found->second;
  std::ranges::replace(text, '\n', ' ');  // the text "messages" has a line for each fit
  const bool names_row = text.find(" row ") != std::string::npos;
  if (masked && names_row) text += " (rows are counted without those that the mask leaves out)";
  return text;
}

std::pair<double, double> CurveResult::interval(std::size_t j) const {
  const double half = interval_quantile(fit, options, confidence) * fit.standard_errors[j];
  return {fit.parameters[j] - half, fit.parameters[j] + half};
}

namespace {

const std::vector<double>& kept_rows(const CurveResult& r, const std::vector<double>& rows) {
  if (!r.has_residuals)
    throw ArgumentError("the result has no residuals: set the option residuals to yes for the fit");
  return rows;
}

std::vector<double> interval_ends(const CurveResult& r, bool upper) {
  std::vector<double> ends;
  for (std::size_t j = 0; j < r.fit.parameters.size(); ++j) {
    const auto [low, high] = r.interval(j);
    ends.push_back(r.fit.fixed[j] ? r.fit.parameters[j] : upper ? high : low);
  }
  return ends;
}

Matrix correlations(const FitResult& fit) {
  const std::size_t n = fit.parameters.size();
  Matrix out(n, n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) out(i, j) = fit.correlation(i, j);
  }
  return out;
}

Contents curve_contents() {
  using R = const CurveResult&;
  const auto number = [](auto rule) {
    return getter<CurveResult>([=](R r) { return static_cast<double>(rule(r)); });
  };
  const auto array = [](auto rule) {
    return getter<CurveResult>([=](R r) { return column_array(rule(r)); });
  };
  Contents c = summary_contents();
  c.numbers.insert(
      {{"rows", number([](R r) { return r.fit.rows; })},
       {"dof", number([](R r) { return r.fit.dof; })},
       {"rss", number([](R r) { return r.fit.rss; })},
       {"chi2_reduced", number([](R r) { return r.fit.chi2_reduced; })},
       {"r_squared", number([](R r) { return r.fit.r_squared; })},
       {"aic", number([](R r) { return r.fit.aic; })},
       {"aicc", number([](R r) { return aicc(r.fit); })},
       {"bic", number([](R r) { return r.fit.bic; })},
       {"beyond", number([](R r) { return r.fit.beyond; })},
       {"quantile", number([](R r) { return interval_quantile(r.fit, r.options, r.confidence); })}});
  c.texts.insert({{"formula", getter<CurveResult>([](R r) { return r.formula; })},
                  {"warnings", getter<CurveResult>([](R r) { return lines(r.fit.warnings); })},
                  {"parameter_names", getter<CurveResult>([](R r) { return lines(r.fit.parameter_names); })},
                  {"ties", getter<CurveResult>([](R r) { return lines(r.fit.ties); })}});
  c.arrays.insert(
      {{"parameters", array([](R r) { return r.fit.parameters; })},
       {"std_errors", array([](R r) { return r.fit.standard_errors; })},
       {"guess", array([](R r) { return r.fit.guess; })},
       {"ci_low", array([](R r) { return interval_ends(r, false); })},
       {"ci_high", array([](R r) { return interval_ends(r, true); })},
       {"fixed", array([](R r) { return doubles(r.fit.fixed); })},
       {"at_bound", array([](R r) { return doubles(r.fit.at_bound); })},
       {"covariance", getter<CurveResult>([](R r) { return matrix_array(r.fit.covariance); })},
       {"correlation", getter<CurveResult>([](R r) { return matrix_array(correlations(r.fit)); })},
       {"residuals", array([](R r) { return kept_rows(r, r.residuals); })},
       {"fitted", array([](R r) { return kept_rows(r, r.fitted); })},
       {"minima", getter<CurveResult>([](R r) { return minima_array(r.fit.minima); })}});
  return c;
}

Contents solve_contents() {
  using R = const SolveResult&;
  const auto array = [](auto rule) {
    return getter<SolveResult>([=](R r) { return column_array(rule(r)); });
  };
  Contents c = summary_contents();
  c.numbers.insert({"rows", getter<SolveResult>([](R r) { return static_cast<double>(r.rows); })});
  c.arrays.insert({{"parameters", array([](R r) { return r.solved.x; })},
                   {"std_errors", array([](R r) { return r.solved.standard_errors; })},
                   {"residuals", array([](R r) { return r.solved.residuals; })},
                   {"active_mask", array([](R r) { return doubles(r.solved.active_mask); })},
                   {"covariance", getter<SolveResult>([](R r) { return matrix_array(r.solved.covariance); })},
                   {"jacobian", getter<SolveResult>([](R r) { return matrix_array(r.jacobian); })},
                   {"minima", getter<SolveResult>([](R r) { return minima_array(r.solved.minima); })}});
  return c;
}

// Returns a line for each fit without success.
std::string fits_without_success(const ManyResult& many) {
  std::vector<std::string> out;
  for (std::size_t f = 0; f < many.batch.size(); ++f) {
    if (!is_success(many.batch.verdict[f])) out.push_back(fmt::format("fit {}: {}", f, many.message(f)));
  }
  return lines(out);
}

Contents batch_contents() {
  using R = const ManyResult&;
  const auto number = [](auto rule) {
    return getter<ManyResult>([=](R r) { return static_cast<double>(rule(r.batch)); });
  };
  const auto array = [](auto rule) {
    return getter<ManyResult>([=](R r) { return column_array(doubles(rule(r.batch))); });
  };
  using B = const BatchResult&;
  Contents c;
  c.numbers = {{"fits", number([](B b) { return b.size(); })},
               {"certified", number([](B b) { return b.certified; })},
               {"success", number([](B b) { return b.success(); })},
               {"threads", number([](B b) { return b.threads; })},
               {"in_lanes", number([](B b) { return b.in_lanes; })}};
  c.texts = {{"parameter_names", getter<ManyResult>([](R r) { return lines(r.batch.parameter_names); })},
             {"warnings", getter<ManyResult>([](R r) { return lines(r.warnings); })},
             {"messages", getter<ManyResult>([](R r) { return fits_without_success(r); })}};
  c.arrays = {
      {"parameters", getter<ManyResult>([](R r) { return held_matrix(r.batch.parameters); })},
      {"std_errors", getter<ManyResult>([](R r) { return held_matrix(r.batch.standard_errors); })},
      {"cost", getter<ManyResult>([](R r) { return held_column(r.batch.cost); })},
      {"decrement_sigma", getter<ManyResult>([](R r) { return held_column(r.batch.decrement_sigma); })},
      {"verdict", array([](B b) { return b.verdict; })},
      {"termination", array([](B b) { return b.termination; })},
      {"iterations", array([](B b) { return b.iterations; })},
      {"success", array([](B b) {
         std::vector<char> success(b.size());
         std::ranges::transform(b.verdict, success.begin(), [](Verdict v) { return is_success(v); });
         return success;
       })}};
  return c;
}

Contents prediction_contents() {
  using R = const PredictionResult&;
  const auto array = [](std::vector<double> Prediction::*field) {
    return getter<PredictionResult>([=](R r) { return column_array(r.prediction.*field); });
  };
  Contents c;
  c.numbers = {{"confidence", getter<PredictionResult>([](R r) { return r.prediction.confidence; })},
               {"quantile", getter<PredictionResult>([](R r) { return r.prediction.quantile; })}};
  c.texts = {{"warnings", getter<PredictionResult>([](R r) { return lines(r.prediction.warnings); })}};
  c.arrays = {{"fit", array(&Prediction::fit)},
              {"std_error", array(&Prediction::standard_error)},
              {"confidence_low", array(&Prediction::confidence_low)},
              {"confidence_high", array(&Prediction::confidence_high)},
              {"prediction_low", array(&Prediction::prediction_low)},
              {"prediction_high", array(&Prediction::prediction_high)}};
  return c;
}

}  // namespace

const Contents& CurveResult::contents() const {
  static const Contents all = curve_contents();
  return all;
}
const Contents& SolveResult::contents() const {
  static const Contents all = solve_contents();
  return all;
}
const Contents& ProblemResult::contents() const {
  static const Contents all = summary_contents();
  return all;
}
const Contents& ManyResult::contents() const {
  static const Contents all = batch_contents();
  return all;
}
const Contents& PredictionResult::contents() const {
  static const Contents all = prediction_contents();
  return all;
}

}  // namespace nlsq::inline v0::c
