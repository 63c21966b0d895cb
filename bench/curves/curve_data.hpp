// The curves of the suites: a model, the truth its data are drawn from, and where every fit starts.
#pragma once

#include "curves/model_loops.hpp"
#include "isa/isa_loops.hpp"

#include <nlsq/curve_fit.hpp>
#include "rows/graph_rows.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct CurveCase {
  const char* model;  // built-in, of curve_models.hpp and of FusedModel alike
  FusedModel fused;
  bool has_inline;   // its functions are among those the kernels have of their own
  double low, high;  // range of x
  std::vector<double> truth, start;
  double noise;  // standard deviation
};

std::span<const CurveCase> curve_cases();  // exp is the first
// Throws std::runtime_error for an unknown name.
const CurveCase& curve_case(std::string_view model);

// x uniform over the range, y = f(x, truth) + noise: the same numbers in every run and process.
Data curve_data(const CurveCase& c, std::size_t rows);

// The built-in model's formula, and the starting values by its parameters' names.
nlsq::Formula curve_formula(const CurveCase& c);
nlsq::NamedValues named_start(const CurveCase& c);

// Rows of the residual f - y over the columns x, y, every parameter free.
nlsq::GraphRows residual_rows(const CurveCase& c, std::vector<nlsq::Column> columns,
                              const std::vector<double>& p);
// Operations of such a row by the cost table, the products of [J | r] included.
double row_operations(const CurveCase& c);

// "1e6"; "3.2e5" is never asked for: rows are powers of ten.
std::string count_name(std::size_t rows);

}  // namespace bench
