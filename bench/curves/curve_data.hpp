// Declares the curves that several suites fit: a model, the true parameters of the data, and the start of
// every fit.
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
  const char* model;  // name of a built-in model, also in curve_models.hpp and FusedModel
  FusedModel fused;
  bool has_inline;   // the kernels have inline versions of its functions
  double low, high;  // range of x
  std::vector<double> truth, start;
  double noise;  // standard deviation
};

std::span<const CurveCase> curve_cases();  // exp is the first
// Returns the curve of a model. Throws std::runtime_error for an unknown name.
const CurveCase& curve_case(std::string_view model);

// Draws x uniformly over the range, and y = f(x, truth) + noise. The numbers are the same in every run and
// process.
Data curve_data(const CurveCase& c, std::size_t rows);

// Return the built-in model's formula, and the starting values by parameter name.
nlsq::Formula curve_formula(const CurveCase& c);
nlsq::NamedValues named_start(const CurveCase& c);

// Returns rows of the residual f - y over the columns x, y, with every parameter free.
nlsq::GraphRows residual_rows(const CurveCase& c, std::vector<nlsq::Column> columns,
                              const std::vector<double>& p);
// Returns the operations of one row by the cost table, including the products of [J | r].
double row_operations(const CurveCase& c);

// Formats a power of ten: "1e6".
std::string count_name(std::size_t rows);

}  // namespace bench
