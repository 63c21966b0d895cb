// Times single passes over a curve's rows, and compares them with loops written by hand for its model.
#include "curves/curve_passes.hpp"

#include "isa/isa_loops.hpp"

#include "dense/dense_evaluator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

namespace {

// Returns the upper triangle of [J | r]ᵀ[J | r], in the layout of the fused loops.
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

// Returns the largest difference of two such triangles relative to the column lengths, because sums of mixed
// sign cancel.
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
Contender fused_contender(const char* name, FusedLoop<T> loop, const CurveCase& c, const std::vector<T>& x,
                          const std::vector<T>& y) {
  return {name, [&c, &x, &y, loop] {
            const std::size_t n1 = c.truth.size() + 1;
            std::vector<double> sums(n1 * (n1 + 1) / 2);
            loop(c.fused, x.data(), y.data(), x.size(), c.truth.data(), sums.data());
            return sums;
          }};
}

// Reports our pass (the first contender) against each fused loop. `tolerance` applies to the sums.
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
    const bool asked = std::string_view(format) == "f64" || std::string_view(format) == "f32 of f64";
    if (k + 1 < contenders.size() || !asked) continue;  // the last is the faster loop
    settings.report->goal({"curve", fmt::format("{}: over {}", row.name, row.peer),
                           measured[0].seconds / measured[k].seconds, Asked::at_most, 1.15, "x"});
  }
}

}  // namespace

void run_passes(const CurveCase& c, std::size_t rows, const Settings& settings) {
  const Data data = curve_data(c, rows);
  const std::vector<double>&x = data.x[0], &y = data.y;
  const std::vector<float> x32(x.begin(), x.end()), y32(y.begin(), y.end());
  const nlsq::Formula formula = curve_formula(c);
  const IsaLoops& loops = isa_loops();
  nlsq::GraphRows wide = residual_rows(c, {x, y}, c.truth), narrow = residual_rows(c, {x32, y32}, c.truth);
  nlsq::DenseEvaluator evaluator(wide), narrow_evaluator(narrow);
  const auto ours = [&c](nlsq::DenseEvaluator& e, nlsq::PrecisionPlan plan) {
    return Contender{"nlsq", [&c, &e, plan] { return packed(e.linearize(c.truth, plan)); }};
  };
  // Compares our pass with the loops that compute in the same format from the same columns.
  const auto against = [&]<class T>(Contender first, FusedLoop<T> FusedLoops::*format,
                                    const std::vector<T>& of_x, const std::vector<T>& of_y) {
    std::vector<Contender> all{std::move(first),
                               fused_contender("fused loop, SLEEF", loops.by_sleef.*format, c, of_x, of_y)};
    if (c.has_inline && loops.inlined.*format != nullptr)
      all.push_back(fused_contender("fused loop, ours inline", loops.inlined.*format, c, of_x, of_y));
    return all;
  };
  using nlsq::Format, nlsq::Gram;
  const double operations = row_operations(c);
  const auto floor = [&](std::size_t bytes, bool single) {
    return settings.machine.floor(rows, operations, 2 * bytes, single);
  };
  const auto report = [&]<class T>(const char* name, nlsq::DenseEvaluator& e, nlsq::PrecisionPlan plan,
                                   FusedLoop<T> FusedLoops::*format, const std::vector<T>& of_x,
                                   const std::vector<T>& of_y) {
    const bool single = plan.residual == Format::f32;
    report_pass(c, name, against(ours(e, plan), format, of_x, of_y), floor(sizeof(T), single),
                single ? 1e-3 : 1e-9, settings);
  };
  const nlsq::PrecisionPlan tile{Format::f32, Gram::f32_tile}, sums_in_f64{Format::f32, Gram::f32_wide};
  report("f64", evaluator, {Format::f64, Gram::f64}, &FusedLoops::f64, x, y);
  report("f32", narrow_evaluator, tile, &FusedLoops::f32, x32, y32);
  report("f32 wide", narrow_evaluator, sums_in_f64, &FusedLoops::f32, x32, y32);
  report("f32 of f64", evaluator, tile, &FusedLoops::f32_of_f64, x, y);
  report("f32 wide of f64", evaluator, sums_in_f64, &FusedLoops::f32_of_f64, x, y);
}

}  // namespace bench
