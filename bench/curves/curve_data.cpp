// Lists the curves, and draws random data from them.
#include "curves/curve_data.hpp"

#include "trials.hpp"

#include <nlsq/models.hpp>
#include "rows/residual_sources.hpp"

#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>

namespace bench {

std::span<const CurveCase> curve_cases() {
  static const CurveCase cases[] = {
      {"exp", FusedModel::exp, true, 0, 4, {2.5, 1.3, 0.5}, {1, 1, 0}, 0.05},
      {"gaussian", FusedModel::gaussian, true, -4, 4, {3, 1.2, 0.8, 0.5}, {2, 0.8, 1, 0}, 0.05},
      {"biexp", FusedModel::biexp, true, 0, 8, {3, 2.5, 2, 0.4, 0.5}, {1, 3, 1, 0.3, 0}, 0.02},
      {"logistic", FusedModel::logistic, true, -5, 5, {3, 1.5, 0.7, 0.2}, {1, 1, 0, 0}, 0.05},
      {"sine", FusedModel::sine, true, 0, 4, {2, 0.7, 0.4, 1}, {1, 0.65, 0, 0}, 0.1},
      {"power", FusedModel::power, true, 0.1, 5, {2, 1.4}, {1, 1}, 0.05},
      {"rational22", FusedModel::rational22, false, -3, 3, {1, 2, -0.5, 0.3, 0.4}, {1, 1, 0, 0.2, 0.3}, 0.05},
  };
  return cases;
}

const CurveCase& curve_case(std::string_view model) {
  for (const CurveCase& c : curve_cases())
    if (c.model == model) return c;
  throw std::runtime_error(fmt::format("no curve named {}", model));
}

Data curve_data(const CurveCase& c, std::size_t rows) {
  const ModelLoops& model = model_loops(c.model);
  trials::Random random(2024);
  Data data{{std::vector<double>(rows)}, std::vector<double>(rows)};
  for (double& x : data.x[0]) x = c.low + (c.high - c.low) * random.uniform();
  model.residuals(data, c.truth.data(), data.y.data());  // with y = 0, the residual is f
  for (double& y : data.y) y += c.noise * random.normal();
  return data;
}

nlsq::Formula curve_formula(const CurveCase& c) { return nlsq::parse_formula(nlsq::model(c.model).formula); }

nlsq::NamedValues named_start(const CurveCase& c) {
  const nlsq::Formula formula = curve_formula(c);
  nlsq::NamedValues result;
  for (std::size_t j = 0; j < c.start.size(); ++j) result.emplace_back(formula.parameters[j], c.start[j]);
  return result;
}

nlsq::GraphRows residual_rows(const CurveCase& c, std::vector<nlsq::Column> columns,
                              const std::vector<double>& p) {
  std::vector<int> free;
  for (std::size_t j = 0; j < p.size(); ++j) free.push_back(static_cast<int>(j));
  return {std::make_shared<nlsq::FormulaResidual>(curve_formula(c), false),
          std::make_shared<nlsq::MemoryRows>(std::move(columns)), p, std::move(free)};
}

double row_operations(const CurveCase& c) {
  const double nothing = 0;
  const nlsq::Column column(&nothing, 1);
  const nlsq::GraphRows rows = residual_rows(c, {column, column}, c.start);
  const int n1 = rows.parameters() + 1;
  return rows.row_cost(nlsq::Fill::jacobian_and_residual) + n1 * (n1 + 1) / 2;
}

std::string count_name(std::size_t rows) {
  return fmt::format("1e{}", std::lround(std::log10(static_cast<double>(rows))));
}

}  // namespace bench
