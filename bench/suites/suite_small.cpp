// Suite small fits NIST's 54 regressions with prepared models, as in a program that fits the same model
// repeatedly.
#include "curves/nist_models.hpp"
#include "peers/peers.hpp"
#include "suites/suites.hpp"

#include "nist.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace bench {

namespace {

nlsq::Formula parse(const nist::Set& set) {
  nlsq::FormulaOptions options;
  options.predictors = set.predictors;
  return nlsq::parse_formula(set.equation(), options);
}

struct Run {
  const nist::Set* set;
  nlsq::PreparedModel model;
  std::vector<nlsq::Column> x;
  Data data;  // for the peer; y holds log(y) if the model is of log(y)
  std::vector<double> start;
  nlsq::NamedValues p0;

  Run(const nist::Set& s, const nlsq::PreparedModel& prepared, const std::vector<double>& from)
      : set(&s), model(prepared), start(from) {
    for (const auto& column : s.x) x.emplace_back(column);
    data.x = s.x;
    data.y = s.y;
    if (s.response == "log(y)")
      std::transform(s.y.begin(), s.y.end(), data.y.begin(), [](double y) { return std::log(y); });
    for (std::size_t j = 0; j < from.size(); ++j) p0.emplace_back(s.parameters[j], from[j]);
  }
};

// Runs all 54 fits in one turn. The sum of their times is compared.
Contender ours(const std::vector<Run>& runs, int& certified) {
  return {"nlsq", [&runs, &certified] {
            nlsq::FitOptions options;
            options.threads = 1;
            certified = 0;
            std::vector<double> found;
            for (const Run& run : runs) {
              const nlsq::FitResult fit = nlsq::curve_fit(run.model, run.x, run.set->y, run.p0, options);
              certified += fit.success() ? 1 : 0;
              for (const std::string& name : run.set->parameters) {
                const auto at = std::find(fit.parameter_names.begin(), fit.parameter_names.end(), name);
                found.push_back(fit.parameters[static_cast<std::size_t>(at - fit.parameter_names.begin())]);
              }
            }
            return found;
          }};
}

double worst_digits(const std::vector<Run>& runs, const std::vector<double>& found) {
  double least = 11;
  std::size_t next = 0;
  for (const Run& run : runs) {
    for (const double certified : run.set->certified)
      least = std::min(least, nist::lre(found[next++], certified));
  }
  return least;
}

void compile(const nist::Set& set) {
  const nlsq::Formula formula = parse(set);
  std::vector<int> free(formula.parameters.size());
  for (std::size_t j = 0; j < free.size(); ++j) free[j] = static_cast<int>(j);
  nlsq::ResidualPrograms::build(nlsq::FormulaResidual(formula, false), free);
}

}  // namespace

void run_small(const Settings& settings) {
  settings.report->begin_suite(
      "small",
      "NIST's 54 fits in a row, models prepared beforehand, certificate, covariance and summary "
      "included; goal: no more\ntime than lmder with derivatives by hand, whose tolerances are given");
  const std::vector<nist::Set> sets = nist::load();
  std::vector<Run> runs;
  for (const nist::Set& set : sets) {
    const nlsq::PreparedModel model(parse(set));
    runs.emplace_back(set, model, set.start1);
    runs.emplace_back(set, model, set.start2);
  }
  int certified = 0;
  std::vector<Contender> contenders{ours(runs, certified)};
  for (const double tolerance : {1e-10, 1e-15}) {
    std::vector<Contender> each;
    for (const Run& run : runs) {
      if (auto peer = cminpack_lmder({nist_model(run.set->name), &run.data, run.start, tolerance}))
        each.push_back(std::move(*peer));
    }
    if (each.empty()) continue;
    contenders.push_back({fmt::format("cminpack lmder, {:.0e}", tolerance), [each] {
                            std::vector<double> found;
                            for (const Contender& one : each) {
                              const std::vector<double> p = one.run();
                              found.insert(found.end(), p.begin(), p.end());
                            }
                            return found;
                          }});
  }
  contenders.push_back({"reading and compiling 27 formulas, once", [&sets] {
                          for (const nist::Set& set : sets) compile(set);
                          return std::vector<double>{};
                        }});
  const std::vector<Measured> measured = measure(contenders, settings, 5e-2);
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    Row row;
    row.suite = "small";
    row.name = "all 54";
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.digits = worst_digits(runs, measured[0].result);
    if (!measured[k].result.empty()) row.peer_digits = worst_digits(runs, measured[k].result);
    row.sound = certified == 54 && row.digits >= 4;
    if (k == 1 && !measured[k].result.empty()) {
      settings.report->goal({"small", "54 prepared fits: time over " + row.peer, row.ours_s / row.peer_s,
                             Asked::at_most, 1, "x"});
    }
    row.note = fmt::format("{} of 54 certified; digits: the worst of all", certified);
    settings.report->add(row);
  }
}

}  // namespace bench
