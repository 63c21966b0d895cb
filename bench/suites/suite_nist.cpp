// Suite nist fits NIST's certified regressions, 27 sets from two starts each. It reports correct digits and
// time.
#include "curves/nist_models.hpp"
#include "peers/peers.hpp"
#include "suites/suites.hpp"

#include "nist.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

namespace {

constexpr const char* kGraph = "reading the formula, differentiating, compiling";

// Holds one set in the forms that nlsq and its peers need.
struct Task {
  const nist::Set& set;
  nlsq::Formula formula;
  std::vector<nlsq::Column> x;
  Data data;                       // for peers; y holds log(y) if the model is of log(y)
  std::vector<std::size_t> order;  // formula's parameter j is the set's order[j]

  explicit Task(const nist::Set& s) : set(s), formula(parse(s)) {
    for (const auto& column : s.x) x.emplace_back(column);
    data.x = s.x;
    data.y = s.y;
    if (s.response == "log(y)")
      std::transform(s.y.begin(), s.y.end(), data.y.begin(), [](double y) { return std::log(y); });
    for (const std::string& name : formula.parameters) {
      const auto at = std::find(s.parameters.begin(), s.parameters.end(), name);
      order.push_back(static_cast<std::size_t>(at - s.parameters.begin()));
    }
  }

  static nlsq::Formula parse(const nist::Set& s) {
    nlsq::FormulaOptions options;
    options.predictors = s.predictors;
    return nlsq::parse_formula(s.equation(), options);
  }

  nlsq::NamedValues named(const std::vector<double>& values) const {
    nlsq::NamedValues result;
    for (std::size_t j = 0; j < values.size(); ++j) result.emplace_back(set.parameters[j], values[j]);
    return result;
  }

  // Returns the parameters in the order of the set.
  std::vector<double> parameters(const nlsq::FitResult& fit) const {
    std::vector<double> result(order.size());
    for (std::size_t j = 0; j < order.size(); ++j) result[order[j]] = fit.parameters[j];
    return result;
  }

  double digits(const std::vector<double>& p) const {
    double least = 11;
    for (std::size_t j = 0; j < p.size(); ++j) least = std::min(least, nist::lre(p[j], set.certified[j]));
    return least;
  }
};

// Does the work of a fit before its first row. A user with a prepared model does it once.
void compile_graph(const nist::Set& set) {
  const nlsq::Formula formula = Task::parse(set);
  std::vector<int> free(formula.parameters.size());
  for (std::size_t j = 0; j < free.size(); ++j) free[j] = static_cast<int>(j);
  nlsq::ResidualPrograms::build(nlsq::FormulaResidual(formula, false), free);
}

// Sums over the runs for each contender.
struct Totals {
  std::vector<std::string> names;
  std::vector<double> seconds, digits, worst, log_ratio;
  std::vector<int> passed;
  int runs = 0;
  bool sound = true;

  void add(const std::vector<Contender>& contenders, const std::vector<Measured>& measured,
           const Task& task) {
    if (names.empty()) {
      for (const Contender& c : contenders) names.push_back(c.name);
      seconds.assign(names.size(), 0);
      digits = log_ratio = seconds;
      worst.assign(names.size(), 11);
      passed.assign(names.size(), 0);
    }
    ++runs;
    for (std::size_t k = 0; k < names.size(); ++k) {
      seconds[k] += measured[k].seconds;
      if (names[k] == kGraph) continue;
      log_ratio[k] += std::log(measured[k].seconds / measured[0].seconds);
      const double d = task.digits(measured[k].result);
      digits[k] += d;
      worst[k] = std::min(worst[k], d);
      passed[k] += d >= 4 ? 1 : 0;
    }
  }

  void report(const Settings& settings) const {
    const auto goal = [&](const char* figure, double measured, Asked asked, double limit, const char* unit) {
      settings.report->goal({"nist", figure, measured, asked, limit, unit});
    };
    goal("runs with at least 4 digits, of 54", passed[0], Asked::at_least, 54, "");
    goal("digits, mean", digits[0] / runs, Asked::at_least, 10.4, "");
    goal("digits, worst", worst[0], Asked::at_least, 8, "");
    const auto index = [&](std::string_view name) {
      return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
    };
    const std::size_t graph = index(kGraph), lmder = index("cminpack lmder");
    if (lmder < names.size()) {
      goal("time without the graph's compilation over lmder's",
           (seconds[0] - seconds[graph]) / seconds[lmder], Asked::at_most, 1, "x");
    }
    for (std::size_t k = 1; k < names.size(); ++k) {
      Row row;
      row.suite = "nist";
      row.name = fmt::format("all {}", runs);
      row.ours_s = seconds[0];
      row.peer = names[k];
      row.peer_s = seconds[k];
      row.digits = digits[0] / runs;
      row.sound = sound && passed[0] == runs;
      row.note = fmt::format("ours {}/{} with >= 4 digits, worst {:.1f}", passed[0], runs, worst[0]);
      if (names[k] != kGraph) {
        row.peer_digits = digits[k] / runs;
        row.note += fmt::format("; theirs {}/{}, worst {:.1f}; geometric mean of the ratios {:.2f}",
                                passed[k], runs, worst[k], std::exp(log_ratio[k] / runs));
      } else {
        row.note += fmt::format("; ours without it {:.3g} ms", 1e3 * (seconds[0] - seconds[k]));
      }
      settings.report->add(row);
    }
  }
};

void run_one(const Task& task, int which, Totals& totals, const Settings& settings) {
  const std::vector<double>& start = which == 1 ? task.set.start1 : task.set.start2;
  const std::string_view model = nist_model(task.set.name);
  check_derivatives(model, task.data, start);
  const nlsq::NamedValues p0 = task.named(start);
  nlsq::Verdict verdict{};
  const auto fit = [&](const char* policy) {
    nlsq::FitOptions options;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    options.threads = 1;
    return [&, options] {
      const nlsq::FitResult result = nlsq::curve_fit(task.formula, task.x, task.set.y, p0, options);
      verdict = result.summary.verdict;
      return task.parameters(result);
    };
  };
  std::vector<Contender> contenders{{"nlsq", fit("auto")}, {"nlsq all-f64", fit("f64")}};
  contenders.push_back({kGraph, [&] {
                          compile_graph(task.set);
                          return std::vector<double>{};
                        }});
  const PeerTask usual{model, &task.data, start, 1e-10}, tight{model, &task.data, start, 1e-15};
  if (auto peer = cminpack_lmder(usual)) contenders.push_back(std::move(*peer));
  if (auto peer = cminpack_lmder(tight)) {
    peer->name += ", 1e-15";
    contenders.push_back(std::move(*peer));
  }
  if (auto peer = gsl_multifit(usual)) contenders.push_back(std::move(*peer));
  if (auto peer = ceres_fit(tight, CeresForm::block_per_row, CeresSolver::qr))
    contenders.push_back(std::move(*peer));

  const std::vector<double> first = contenders[0].run();
  Row row;
  row.suite = "nist";
  row.name = fmt::format("{}, start {}", task.set.name, which);
  row.note = nlsq::name(verdict);
  row.digits = task.digits(first);
  row.sound = nlsq::is_success(verdict) && row.digits >= 4;
  const std::vector<Measured> measured = measure(contenders, settings, settings.quick ? 2e-4 : 2e-3);
  totals.add(contenders, measured, task);
  totals.sound = totals.sound && row.sound;
  row.ours_s = measured[0].seconds;
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    if (contenders[k].name == kGraph) continue;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.peer_digits = task.digits(measured[k].result);
    row.max_rel_diff = largest_difference(measured[k].result, measured[0].result);
    settings.report->add(row);
  }
}

}  // namespace

void run_nist(const Settings& settings) {
  settings.report->begin_suite(
      "nist",
      "certificate and covariance included in ours; goal: 54/54 with >= 4 digits, in no more time than lmder "
      "without the\n"
      "graph's compilation. Digits ours/theirs: least over the parameters, at most 11; a ratio beside a "
      "wrong answer means\n"
      "nothing. Tolerances: ours the defaults; lmder and GSL 1e-10, where nothing else is said; Ceres 1e-15");
  Totals totals;
  for (const nist::Set& set : nist::load()) {
    const Task task(set);
    for (const int which : {1, 2}) run_one(task, which, totals, settings);
  }
  totals.report(settings);
}

}  // namespace bench
