// Curves in memory: whole fits beside the peers, and single passes beside loops fused by hand.
#include "isa_loops.hpp"
#include "peers.hpp"
#include "suites.hpp"

#include "dense_evaluator.hpp"
#include "trials.hpp"

#include <nlsq/nlsq.hpp>
#include <nlsq/residual_sources.hpp>

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace bench {

namespace {

struct CurveCase {
  const char* model;  // built-in, of curve_models.hpp and of FusedModel alike
  FusedModel fused;
  bool has_inline;  // its functions are among those the kernels have of their own
  double low, high;  // range of x
  std::vector<double> truth, start;
  double noise;  // standard deviation
};

const CurveCase kCases[] = {
    {"exp", FusedModel::exp, true, 0, 4, {2.5, 1.3, 0.5}, {1, 1, 0}, 0.05},
    {"gaussian", FusedModel::gaussian, true, -4, 4, {3, 1.2, 0.8, 0.5}, {2, 0.8, 1, 0}, 0.05},
    {"biexp", FusedModel::biexp, true, 0, 8, {3, 2.5, 2, 0.4, 0.5}, {1, 3, 1, 0.3, 0}, 0.02},
    {"logistic", FusedModel::logistic, true, -5, 5, {3, 1.5, 0.7, 0.2}, {1, 1, 0, 0}, 0.05},
    {"sine", FusedModel::sine, true, 0, 4, {2, 0.7, 0.4, 1}, {1, 0.65, 0, 0}, 0.1},
    {"power", FusedModel::power, false, 0.1, 5, {2, 1.4}, {1, 1}, 0.05},
    {"rational22", FusedModel::rational22, false, -3, 3, {1, 2, -0.5, 0.3, 0.4}, {1, 1, 0, 0.2, 0.3}, 0.05},
};

Data make_data(const CurveCase& c, std::size_t rows) {
  const ModelLoops& model = model_loops(c.model);
  trials::Random random(2024);
  Data data{{std::vector<double>(rows)}, std::vector<double>(rows)};
  for (double& x : data.x[0]) x = c.low + (c.high - c.low) * random.uniform();
  model.residuals(data, c.truth.data(), data.y.data());  // f - 0
  for (double& y : data.y) y += c.noise * random.normal();
  return data;
}

std::string count_name(std::size_t rows) {
  return fmt::format("1e{}", std::lround(std::log10(static_cast<double>(rows))));
}

nlsq::NamedValues named(const nlsq::Formula& formula, const std::vector<double>& values) {
  nlsq::NamedValues result;
  for (std::size_t j = 0; j < values.size(); ++j) result.emplace_back(formula.parameters[j], values[j]);
  return result;
}

nlsq::FitOptions options_of(const char* policy) {
  nlsq::FitOptions options;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  options.threads = 1;
  return options;
}

// Rows of the residual f - y over `columns`, every parameter free.
nlsq::GraphRows graph_rows(const nlsq::Formula& formula, std::vector<nlsq::Column> columns,
                           const std::vector<double>& p) {
  std::vector<int> free;
  for (std::size_t j = 0; j < p.size(); ++j) free.push_back(static_cast<int>(j));
  return {std::make_shared<nlsq::FormulaResidual>(formula, false),
          std::make_shared<nlsq::MemoryRows>(std::move(columns)), p, std::move(free)};
}

// Operations of one row by the cost table, the products of [J | r] included.
double row_operations(const nlsq::GraphRows& rows) {
  const int n1 = rows.parameters() + 1;
  return rows.row_cost(nlsq::Fill::jacobian_and_residual) + n1 * (n1 + 1) / 2;
}

// ---- whole fits -----------------------------------------------------------------------------------

void add(std::vector<Contender>& contenders, std::optional<Contender> peer) {
  if (peer) contenders.push_back(std::move(*peer));
}

void run_fits(const CurveCase& c, std::size_t rows, const Settings& settings) {
  const Data data = make_data(c, rows);
  check_derivatives(c.model,
                    {{{data.x[0].begin(), data.x[0].begin() + 100}}, {data.y.begin(), data.y.begin() + 100}},
                    c.start);
  const nlsq::Formula formula = nlsq::parse_formula(nlsq::model(c.model).formula);
  const nlsq::NamedValues start = named(formula, c.start);
  nlsq::FitResult ours;
  const auto fit = [&](const char* policy) {
    return [&, options = options_of(policy)] {
      ours = nlsq::curve_fit(formula, data.x[0], data.y, start, options);
      return ours.parameters;
    };
  };
  std::vector<Contender> contenders{{"nlsq", fit("auto")}, {"nlsq all-f64", fit("f64")}};
  const PeerTask task{c.model, &data, c.start, 1e-10};
  add(contenders, cminpack_lmder(task));
  add(contenders, gsl_multifit(task));
  // A row's block takes some 300 bytes and a second per million: one model is enough to know.
  if (c.fused == FusedModel::exp && rows <= 1'000'000) {
    add(contenders, ceres_fit(task, CeresForm::block_per_row, CeresSolver::normal_cholesky));
  }
  if (rows <= 1'000'000) add(contenders, ceres_fit(task, CeresForm::one_block, CeresSolver::normal_cholesky));

  fit("auto")();
  const nlsq::KernelCounters& counters = ours.summary.precision.counters;
  const double m = static_cast<double>(rows);
  Row row;
  row.suite = "curve";
  row.name = fmt::format("{}, {} rows", c.model, count_name(rows));
  row.note =
      fmt::format("{}: f32 x{:.1f}, f64 x{:.1f}", nlsq::name(ours.summary.verdict),
                  static_cast<double>(counters.rows_f32) / m, static_cast<double>(counters.rows_f64) / m);
  const std::vector<double> answer = ours.parameters;
  fit("f64")();
  row.sound = is_success(ours.summary.verdict) && largest_difference(answer, ours.parameters) < 1e-6;
  const double operations = row_operations(graph_rows(formula, {data.x[0], data.y}, c.start));
  const std::vector<Measured> measured = measure(contenders, settings);
  row.over_floor = measured[0].seconds / settings.machine.floor(rows, operations, 2 * sizeof(double), false);
  report_against_peers(contenders, measured, row, settings);
}

// ---- single passes --------------------------------------------------------------------------------

// The upper triangle of [J | r]ᵀ[J | r], as the fused loops give it.
std::vector<double> packed(const nlsq::Linearization& at) {
  std::vector<double> sums;
  const std::size_t n = at.gradient.size();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i; j < n; ++j) sums.push_back(at.normal(i, j));
    sums.push_back(at.gradient[i]);
  }
  sums.push_back(2 * at.cost);
  return sums;
}

// Largest difference of two such triangles, by the lengths of the columns: sums of mixed sign cancel.
double scaled_difference(const std::vector<double>& a, const std::vector<double>& b, std::size_t n1) {
  std::vector<double> length;
  for (std::size_t i = 0, k = 0; i < n1; k += n1 - i, ++i) length.push_back(std::sqrt(std::abs(b[k])));
  double largest = 0;
  for (std::size_t i = 0, k = 0; i < n1; ++i) {
    for (std::size_t j = i; j < n1; ++j, ++k)
      largest = std::max(largest, std::abs(a[k] - b[k]) / (length[i] * length[j]));
  }
  return largest;
}

template <class T>
Contender fused_contender(const char* name,
                          void (*loop)(FusedModel, const T*, const T*, std::size_t, const double*, double*),
                          const CurveCase& c, const std::vector<T>& x, const std::vector<T>& y) {
  return {name, [&c, &x, &y, loop] {
            const std::size_t n1 = c.truth.size() + 1;
            std::vector<double> sums(n1 * (n1 + 1) / 2);
            loop(c.fused, x.data(), y.data(), x.size(), c.truth.data(), sums.data());
            return sums;
          }};
}

// Rows for ours (the first) against each fused loop. `tolerance` is for the sums.
void report_pass(const CurveCase& c, const char* format, const std::vector<Contender>& contenders,
                 double floor, double tolerance, const Settings& settings) {
  const std::vector<Measured> measured = measure(contenders, settings);
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    Row row;
    row.suite = "curve";
    row.name = fmt::format("{}, one pass {}", c.model, format);
    row.ours_s = measured[0].seconds;
    row.peer = contenders[k].name;
    row.peer_s = measured[k].seconds;
    row.over_floor = measured[0].seconds / floor;
    row.max_rel_diff = scaled_difference(measured[0].result, measured[k].result, c.truth.size() + 1);
    row.sound = row.max_rel_diff < tolerance;
    row.note = fmt::format("ours/loop {:.2f}", measured[0].seconds / measured[k].seconds);
    settings.report->add(row);
  }
}

void run_passes(const CurveCase& c, std::size_t rows, const Settings& settings) {
  const Data data = make_data(c, rows);
  const std::vector<double>&x = data.x[0], &y = data.y;
  const std::vector<float> x32(x.begin(), x.end()), y32(y.begin(), y.end());
  const nlsq::Formula formula = nlsq::parse_formula(nlsq::model(c.model).formula);
  const IsaLoops& loops = isa_loops();
  nlsq::GraphRows wide = graph_rows(formula, {x, y}, c.truth),
                  narrow = graph_rows(formula, {x32, y32}, c.truth);
  nlsq::DenseEvaluator evaluator(wide), narrow_evaluator(narrow);
  const auto ours = [&c](nlsq::DenseEvaluator& e, nlsq::PrecisionPlan plan) {
    return Contender{"nlsq", [&c, &e, plan] { return packed(e.linearize(c.truth, plan)); }};
  };
  const auto against_f64 = [&](Contender first) {
    std::vector<Contender> all{std::move(first),
                               fused_contender<double>("fused loop, SLEEF", loops.fused_f64, c, x, y)};
    if (c.has_inline && loops.fused_f64_inline != nullptr)
      all.push_back(fused_contender<double>("fused loop, ours inline", loops.fused_f64_inline, c, x, y));
    return all;
  };
  const auto against_f32 = [&](Contender first) {
    std::vector<Contender> all{std::move(first),
                               fused_contender<float>("fused loop, SLEEF", loops.fused_f32, c, x32, y32)};
    if (c.has_inline && loops.fused_f32_inline != nullptr)
      all.push_back(fused_contender<float>("fused loop, ours inline", loops.fused_f32_inline, c, x32, y32));
    return all;
  };
  using nlsq::Format, nlsq::Gram;
  const double operations = row_operations(wide);
  const double floor64 = settings.machine.floor(rows, operations, 2 * sizeof(double), false);
  const double floor32 = settings.machine.floor(rows, operations, 2 * sizeof(float), true);
  report_pass(c, "f64", against_f64(ours(evaluator, {Format::f64, Gram::f64})), floor64, 1e-9, settings);
  report_pass(c, "f32", against_f32(ours(narrow_evaluator, {Format::f32, Gram::f32_tile})), floor32, 1e-3,
              settings);
  report_pass(c, "f32 wide", against_f32(ours(narrow_evaluator, {Format::f32, Gram::f32_wide})), floor32,
              1e-3, settings);
  report_pass(c, "f32 of f64", against_f32(ours(evaluator, {Format::f32, Gram::f32_wide})), floor32, 1e-3,
              settings);
}

}  // namespace

void run_curve(const Settings& settings) {
  settings.report->begin_suite(
      "curve",
      "one thread; goals: a pass within 1.15x of the fused loop (ours/loop), 1e6 rows >= 20x cminpack's "
      "lmder.\n"
      "Tolerances: ours the defaults, certified; peers 1e-10 (lmder ftol = xtol, GSL xtol, Ceres all three)");
  const std::size_t rows = settings.quick ? 100'000 : 1'000'000;
  for (const CurveCase& c : kCases) run_fits(c, rows, settings);
  if (!settings.quick) run_fits(kCases[0], 10'000'000, settings);
  settings.report->text(
      "f32: float columns, f32 sums in a tile; wide: f64 sums; of f64: double columns, as in a fit of "
      "doubles");
  for (const CurveCase& c : kCases) run_passes(c, rows, settings);
}

}  // namespace bench
