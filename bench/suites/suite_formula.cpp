// Suite formula fits one model as a formula, as a C++ callable, and as a built-in model. All must give the
// same bits in the same time.
#include "curves/formula_callables.hpp"
#include "suites/suites.hpp"

#include "trials.hpp"

#include <nlsq/nlsq.hpp>

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bench {

namespace {

// Holds a model and data drawn from it.
struct Task {
  nlsq::Model model;
  bool built_in = true;
  trials::Data data;
  std::vector<nlsq::Column> x;
  std::vector<double> start;
  nlsq::NamedValues named_start;
  nlsq::FitOptions options;

  Task(const nlsq::Model& m, bool registered, std::size_t rows) : model(m), built_in(registered) {
    trials::Random random(7);
    data = trials::draw(model, random, rows, false, 50);
    for (const auto& column : data.x) x.emplace_back(column);
    for (std::size_t j = 0; j < data.truth.size(); ++j) {
      start.push_back(data.truth[j] * 1.05);
      named_start.emplace_back(model.parameters[j], start[j]);
    }
    options.threads = 1;
  }
};

// Detects changes of formulas in the registry that the callables here do not follow.
void check_same_model(const Task& task, const nlsq::ModelFunction& callable) {
  const nlsq::Formula formula = trials::parsed(task.model);
  for (std::size_t i = 0; i < 20; ++i) {
    std::vector<double> row;
    for (const auto& column : task.data.x) row.push_back(column[i]);
    const double expected = formula.evaluate(row, task.start), value = callable.value(row.data(), task.start);
    if (!(std::abs(value - expected) <= 1e-9 * (1 + std::abs(expected)))) {
      throw std::runtime_error(
          fmt::format("{}: the bench's callable is not the model {}", task.model.name, task.model.formula));
    }
  }
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (std::bit_cast<std::uint64_t>(a[j]) != std::bit_cast<std::uint64_t>(b[j])) return false;
  }
  return true;
}

// Holds the worst results so far.
struct Worst {
  double ratio = 0;  // time of the formula over that of the callable
  std::string model;
  int others = 0;  // models with different bits, or not run as a graph
};

void compare(const Task& task, const nlsq::ModelFunction& callable, Worst& worst, const Settings& settings) {
  check_same_model(task, callable);
  nlsq::Verdict verdict{};
  std::string evaluator;
  const auto parameters = [&](const nlsq::FitResult& fit) {
    verdict = fit.summary.verdict;
    evaluator = fit.summary.evaluator;
    return fit.parameters;
  };
  std::vector<Contender> contenders;
  contenders.push_back({"formula", [&] {
                          return parameters(nlsq::curve_fit(task.model.formula, task.x, task.data.y,
                                                            task.named_start, task.options));
                        }});
  contenders.push_back(
      {"C++ callable",
       [&] { return parameters(nlsq::curve_fit(callable, task.x, task.data.y, task.start, task.options)); }});
  if (task.built_in) {
    contenders.push_back({"built-in model", [&] {
                            return parameters(nlsq::curve_fit(task.model, task.x, task.data.y,
                                                              task.named_start, task.options));
                          }});
  }
  const std::vector<Measured> measured = measure(contenders, settings, settings.quick ? 2e-3 : 2e-2);
  contenders[1].run();
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    const bool same = same_bits(measured[0].result, measured[k].result);
    Row row;
    row.suite = "formula";
    row.name = task.model.name;
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.max_rel_diff = largest_difference(measured[k].result, measured[0].result);
    row.sound = same && evaluator == "graph";
    row.note =
        fmt::format("{}, {}; formula/{} {:.2f}", nlsq::name(verdict), same ? "same bits" : "other bits",
                    k == 1 ? "callable" : "model", measured[0].seconds / measured[k].seconds);
    if (!row.sound) ++worst.others;
    if (const double ratio = row.ours_s / row.peer_s; k == 1 && ratio > worst.ratio) {
      worst.ratio = ratio;
      worst.model = task.model.name;
    }
    settings.report->add(row);
  }
}

}  // namespace

void run_formula(const Settings& settings) {
  const std::size_t rows = settings.quick ? 10'000 : 100'000;
  settings.report->begin_suite(
      "formula",
      fmt::format(
          "{} rows, one thread, parsing and recording included; goal: same bits, formula/callable <= 1.1",
          rows));
  Worst worst;
  for_each_built_in([&](const char* name, const nlsq::ModelFunction& callable) {
    compare(Task(nlsq::model(name), true, rows), callable, worst, settings);
  });
  for_each_branching([&](const nlsq::Model& model, const nlsq::ModelFunction& callable) {
    compare(Task(model, false, rows), callable, worst, settings);
  });
  settings.report->goal(
      {"formula", "formula over callable, the worst: " + worst.model, worst.ratio, Asked::at_most, 1.1, "x"});
  settings.report->goal(
      {"formula", "models with other bits", static_cast<double>(worst.others), Asked::at_most, 0, ""});
}

}  // namespace bench
