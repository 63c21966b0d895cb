// Loops over all rows of a model, for peers. The models are written as users of other libraries write them: a
// value generic in its scalar, and derivatives by hand.
//
//   struct Model {
//     static constexpr const char* name;
//     static constexpr int parameters, predictors;
//     template <class T> static T value(const double* x, const T* p);
//     static void derivatives(const double* x, const double* p, double* d);
//   };
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace ceres {
class CostFunction;
}

namespace bench {

struct Data {
  std::vector<std::vector<double>> x;  // one vector per predictor
  std::vector<double> y;
  std::size_t rows() const { return y.size(); }
};

// Holds the loops of one model over all rows. They are compiled for the model, without calls through pointers
// inside.
struct ModelLoops {
  const char* name;
  int parameters;
  void (*residuals)(const Data& data, const double* p, double* r);  // f - y
  // J(i, j) at jacobian[i * row_stride + j * column_stride]
  void (*jacobian)(const Data& data, const double* p, double* jacobian, std::size_t row_stride,
                   std::size_t column_stride);
};

namespace detail {

template <class Model>
void residuals(const Data& data, const double* p, double* r) {
  const std::size_t rows = data.rows();
  double x[Model::predictors];
  for (std::size_t i = 0; i < rows; ++i) {
    for (int k = 0; k < Model::predictors; ++k) x[k] = data.x[k][i];
    r[i] = Model::template value<double>(x, p) - data.y[i];
  }
}

template <class Model>
void jacobian(const Data& data, const double* p, double* J, std::size_t row_stride,
              std::size_t column_stride) {
  const std::size_t rows = data.rows();
  double x[Model::predictors], d[Model::parameters];
  for (std::size_t i = 0; i < rows; ++i) {
    for (int k = 0; k < Model::predictors; ++k) x[k] = data.x[k][i];
    Model::derivatives(x, p, d);
    for (int j = 0; j < Model::parameters; ++j) J[i * row_stride + j * column_stride] = d[j];
  }
}

}  // namespace detail

template <class Model>
constexpr ModelLoops loops_of() {
  return {Model::name, Model::parameters, detail::residuals<Model>, detail::jacobian<Model>};
}

// Returns the loops of a model of curve_models.hpp or nist_models.hpp. Throws std::runtime_error for an
// unknown name.
const ModelLoops& model_loops(std::string_view name);
// Throws std::runtime_error if derivatives by hand and by dual numbers differ on these rows.
void check_derivatives(std::string_view name, const Data& data, const std::vector<double>& p);

}  // namespace bench
