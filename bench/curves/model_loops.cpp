// Instantiates the loops of all models, and checks their derivatives.
#include "curves/model_loops.hpp"

#include "curves/curve_models.hpp"
#include "curves/nist_models.hpp"

#include <nlsq/dual.hpp>
#include <nlsq/dual_functions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace bench {

namespace {

// Returns the largest difference between derivatives by hand and by dual numbers, relative to the row's
// largest.
template <class Model>
double derivative_error(const Data& data, const std::vector<double>& p) {
  using Dual = nlsq::Dual<double, Model::parameters>;
  std::array<Dual, Model::parameters> dual;
  for (int j = 0; j < Model::parameters; ++j) dual[j] = Dual(p[j], j);
  double worst = 0, x[Model::predictors], d[Model::parameters];
  for (std::size_t i = 0; i < data.rows(); ++i) {
    for (int k = 0; k < Model::predictors; ++k) x[k] = data.x[k][i];
    const Dual value = Model::template value<Dual>(x, dual.data());
    Model::derivatives(x, p.data(), d);
    double scale = 1e-300;
    for (int j = 0; j < Model::parameters; ++j) scale = std::max(scale, std::abs(d[j]));
    for (int j = 0; j < Model::parameters; ++j) {
      const double error = std::abs(value.derivative(j) - d[j]) / scale;
      worst = std::isnan(error) ? 1 : std::max(worst, error);
    }
  }
  return worst;
}

struct Entry {
  ModelLoops loops;
  double (*derivative_error)(const Data&, const std::vector<double>&);
};

template <class... Models>
void append(std::vector<Entry>& entries, std::tuple<Models...>*) {
  (entries.push_back({loops_of<Models>(), derivative_error<Models>}), ...);
}

const Entry& entry(std::string_view name) {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> all;
    append(all, static_cast<CurveModels*>(nullptr));
    append(all, static_cast<NistModels*>(nullptr));
    return all;
  }();
  for (const Entry& e : entries)
    if (e.loops.name == name) return e;
  throw std::runtime_error(fmt::format("no model loops for {}", name));
}

}  // namespace

const ModelLoops& model_loops(std::string_view name) { return entry(name).loops; }

void check_derivatives(std::string_view name, const Data& data, const std::vector<double>& p) {
  const double error = entry(name).derivative_error(data, p);
  if (!(error < 1e-10)) {
    throw std::runtime_error(
        fmt::format("{}: derivatives by hand and by dual numbers differ by {:.1e}", name, error));
  }
}

}  // namespace bench
