// Suite forms times one pass over the rows in each form of the Gram matrix, by the number of parameters. It
// also times the derivatives of all rows alone, which are the minimum cost of a product with JᵀJ if J is not
// stored.
#include "suites/suites.hpp"

#include "benign.hpp"
#include "dense/dense_evaluator.hpp"

#include "rows/residual_sources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace bench {

namespace {

using nlsq::Format, nlsq::Gram;

struct Form {
  const char* name;
  nlsq::PrecisionPlan plan;
};

// The first form is the reference of the others.
constexpr Form kForms[] = {
    {"f64", {Format::f64, Gram::f64}},
    {"f32/f64", {Format::f32, Gram::f32_wide}},
    {"f32", {Format::f32, Gram::f32_tile}},
    {"bf16", {Format::f32, Gram::bf16}},
    {"f64 rows f32", {Format::f64, Gram::f32_tile}},
    {"f64 rows bf16", {Format::f64, Gram::bf16}},
};
constexpr double kSameCost = 1e-4;  // for an f32 pass

// Returns sums of powers of x by pow. Each row is expensive, so the Gram products dominate only for more
// parameters.
problems::Problem powers(int terms, std::size_t rows) {
  problems::Problem out;
  out.name = fmt::format("{} powers", terms);
  for (int k = 0; k < terms; ++k) {
    out.equation += fmt::format("{1}a{0}*x^b{0}", k, k == 0 ? "" : "+");
    out.p0.emplace_back(fmt::format("a{}", k), 1.0 / (k + 1));
    out.p0.emplace_back(fmt::format("b{}", k), 0.5 + 2.0 * k / terms);
  }
  out.x.emplace_back();
  for (std::size_t i = 0; i < rows; ++i) {
    const double x = 0.1 + 2 * static_cast<double>(i) / static_cast<double>(rows);
    out.x[0].push_back(x);
    out.y.push_back(x * x);
  }
  return out;
}

// Evaluates the derivatives of all rows and discards them.
double rows_alone(nlsq::RowModel& model, const std::vector<double>& x, bool single) {
  const auto pass = model.begin(x, nlsq::Fill::jacobian_and_residual, single);
  const auto last = static_cast<std::size_t>(model.parameters());
  nlsq::KernelCounters counters;
  double seen = 0;
  for (std::size_t t = 0; t < model.tile_count(); ++t) {
    const nlsq::TileRange tile = model.tile(t);
    seen += single ? static_cast<double>(pass->fill_f32(tile.first, tile.count, counters)[last][0])
                   : pass->fill_f64(tile.first, tile.count, counters)[last][0];
  }
  return seen;
}

void run_case(const problems::Problem& problem, const Settings& settings) {
  const nlsq::Formula formula = problems::parsed(problem);
  std::vector<double> x;
  std::vector<int> free;
  for (const std::string& parameter : formula.parameters) {
    for (const auto& [name, value] : problem.p0) {
      if (name == parameter) x.push_back(value);
    }
    free.push_back(static_cast<int>(free.size()));
  }
  nlsq::GraphRows model(
      std::make_shared<nlsq::FormulaResidual>(formula, false),
      std::make_shared<nlsq::MemoryRows>(std::vector<nlsq::Column>{problem.x[0], problem.y}), x, free);
  nlsq::DenseEvaluator evaluator(model);
  std::vector<Contender> contenders;
  for (const Form& form : kForms) {
    contenders.push_back(
        {form.name, [&] { return std::vector<double>{evaluator.linearize(x, form.plan).cost}; }});
  }
  for (const bool single : {true, false}) {
    contenders.push_back(
        {"rows alone", [&, single] { return std::vector<double>{rows_alone(model, x, single)}; }});
  }
  const std::vector<Measured> measured = measure(contenders, settings);
  const std::size_t forms = std::size(kForms);
  Row row;
  row.suite = "forms";
  row.name = fmt::format("{}, {} parameters", problem.name, x.size());
  row.ours_s = measured[0].seconds;
  row.max_rel_diff = 0;
  row.note = "of f64's speed:";
  for (std::size_t k = 1; k < forms; ++k) {
    row.note += fmt::format(" {} {:.2f},", kForms[k].name, measured[0].seconds / measured[k].seconds);
    row.max_rel_diff = std::max(row.max_rel_diff, largest_difference(measured[k].result, measured[0].result));
  }
  row.note +=
      fmt::format(" rows alone: f32 {:.2f}, f64 {:.2f}", measured[0].seconds / measured[forms].seconds,
                  measured[0].seconds / measured[forms + 1].seconds);
  row.sound = row.max_rel_diff < kSameCost;
  settings.report->add(row);
}

}  // namespace

void run_forms(const Settings& settings) {
  const std::size_t rows = settings.quick ? 10'000 : 40'000;
  settings.report->begin_suite(
      "forms", fmt::format("one pass over {} rows in each form of the Gram matrix, one thread", rows));
  for (const int peaks : {2, 4, 6, 8, 12, 16, 32})
    run_case(problems::gaussian_peaks(peaks, rows, 1), settings);
  for (const int terms : {3, 6, 9, 12, 18, 24, 48}) run_case(powers(terms, rows), settings);
}

}  // namespace bench
