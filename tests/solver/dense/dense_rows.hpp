// Makes plans, and rows of a formula or of a table, for tests of the evaluator.
#pragma once

#include "dense/dense_evaluator.hpp"

#include <nlsq/nlsq.hpp>
#include "rows/residual_sources.hpp"

#include "tables.hpp"

namespace dense_rows {

using namespace nlsq;
using tables::Table;
using tables::TableRows;

inline constexpr PrecisionPlan tile{Format::f32, Gram::f32_tile}, wide{Format::f32, Gram::f32_wide},
    f64{Format::f64, Gram::f64}, qr{Format::f64, Gram::qr};

inline Linearization linearize(const Table& high, const Table& low, const PrecisionPlan& plan,
                               std::size_t tile_rows = 256) {
  TableRows rows(high, low, tile_rows);
  return DenseEvaluator(rows).linearize(Vector(high.n, 1.0), plan);
}

// This is a model by formula over generated data, as curve_fit sets it up.
struct FormulaRows {
  std::vector<double> x, y;
  Formula formula;
  std::unique_ptr<GraphRows> rows;

  FormulaRows(const char* text, std::size_t m, double (*f)(double)) : formula(parse_formula(text)) {
    for (std::size_t i = 0; i < m; ++i) {
      x.push_back(static_cast<double>(i) / static_cast<double>(m));
      y.push_back(f(x.back()));
    }
    std::vector<int> free;
    for (std::size_t j = 0; j < formula.parameters.size(); ++j) free.push_back(static_cast<int>(j));
    rows = std::make_unique<GraphRows>(std::make_shared<FormulaResidual>(formula, false),
                                       std::make_shared<MemoryRows>(std::vector<Column>{x, y}),
                                       std::vector<double>(free.size(), 1.0), free);
  }
};

}  // namespace dense_rows
