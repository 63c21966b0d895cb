// Implements models with many parameters: radial basis functions and a neural network.
#include "curves/wide_models.hpp"

#include <cmath>
#include <random>

namespace bench {

namespace {

constexpr double kNoise = 0.01;

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }
// Returns an approximately normal number: the sum of twelve uniform numbers.
double normal(std::mt19937_64& random) {
  double sum = -6;
  for (int k = 0; k < 12; ++k) sum += uniform(random);
  return sum;
}

// Adds the data y = f + noise at the true parameters.
void add_data(WideModel& model, const std::vector<double>& truth, std::mt19937_64& random) {
  model.y.assign(model.rows, 0.0);
  std::vector<double> f(model.rows);
  model.residuals(truth.data(), f.data(), nullptr);
  for (std::size_t i = 0; i < model.rows; ++i) model.y[i] = f[i] + kNoise * normal(random);
}

struct RadialBasis {
  int centres;

  auto operator()(const auto& x, const auto& p) const {
    using std::exp;
    auto sum = p[0] + p[1] * x;
    for (int k = 0; k < centres; ++k) {
      const auto u = (x - p[3 * k + 3]) / p[3 * k + 4];
      sum = sum + p[3 * k + 2] * exp(-u * u);
    }
    return sum;
  }

  void by_hand(const double* predictor, double y, const double* p, double* r, double* J) const {
    const double x = *predictor;
    double sum = p[0] + p[1] * x - y;
    if (J != nullptr) J[0] = 1, J[1] = x;
    for (int k = 0; k < centres; ++k) {
      const double a = p[3 * k + 2], w = p[3 * k + 4], u = (x - p[3 * k + 3]) / w, e = std::exp(-u * u);
      sum += a * e;
      if (J == nullptr) continue;
      J[3 * k + 2] = e;
      J[3 * k + 3] = 2 * a * e * u / w;
      J[3 * k + 4] = 2 * a * e * u * u / w;
    }
    *r = sum;
  }
};

struct NeuralNetwork {
  int width;
  int second() const { return 3 * width; }  // offset of the second layer's weights: a bias and `width` each
  int output() const { return second() + width * (width + 1); }
  int parameters() const { return output() + width + 1; }

  auto operator()(const auto& x, const auto& p) const {
    using std::tanh;
    using Value = decltype(p[0] + p[0] * x[0]);
    std::vector<Value> first, next;
    for (int i = 0; i < width; ++i)
      first.push_back(tanh(p[3 * i] + p[3 * i + 1] * x[0] + p[3 * i + 2] * x[1]));
    for (int i = 0; i < width; ++i) {
      const int at = second() + i * (width + 1);
      Value sum = p[at] + p[at + 1] * first[0];
      for (int j = 1; j < width; ++j) sum = sum + p[at + 1 + j] * first[static_cast<std::size_t>(j)];
      next.push_back(tanh(sum));
    }
    Value out = p[output()] + p[output() + 1] * next[0];
    for (int i = 1; i < width; ++i) out = out + p[output() + 1 + i] * next[static_cast<std::size_t>(i)];
    return out;
  }

  void by_hand(const double* x, double y, const double* p, double* r, double* J) const {
    const auto n = static_cast<std::size_t>(width);
    double first[64], next[64], back[64] = {};
    for (std::size_t i = 0; i < n; ++i)
      first[i] = std::tanh(p[3 * i] + p[3 * i + 1] * x[0] + p[3 * i + 2] * x[1]);
    double out = p[output()] - y;
    for (std::size_t i = 0; i < n; ++i) {
      const double* w = p + second() + i * (n + 1);
      double sum = w[0];
      for (std::size_t j = 0; j < n; ++j) sum += w[1 + j] * first[j];
      next[i] = std::tanh(sum);
      out += p[static_cast<std::size_t>(output()) + 1 + i] * next[i];
    }
    *r = out;
    if (J == nullptr) return;
    J[output()] = 1;
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(second()) + i * (n + 1);
      J[static_cast<std::size_t>(output()) + 1 + i] = next[i];
      const double slope = p[static_cast<std::size_t>(output()) + 1 + i] * (1 - next[i] * next[i]);
      J[at] = slope;
      for (std::size_t j = 0; j < n; ++j) {
        J[at + 1 + j] = slope * first[j];
        back[j] += slope * p[at + 1 + j];
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double slope = back[i] * (1 - first[i] * first[i]);
      J[3 * i] = slope;
      J[3 * i + 1] = slope * x[0];
      J[3 * i + 2] = slope * x[1];
    }
  }
};

template <class Form>
WideModel wide_model(std::string name, std::size_t rows, nlsq::ModelFunction callable, Form form) {
  WideModel out;
  out.name = std::move(name);
  out.rows = rows;
  out.x.assign(static_cast<std::size_t>(callable.predictors), std::vector<double>(rows));
  out.callable = std::move(callable);
  out.by_hand = [form](const double* x, double y, const double* p, double* r, double* J) {
    form.by_hand(x, y, p, r, J);
  };
  return out;
}

}  // namespace

void WideModel::residuals(const double* p, double* r, double* J) const {
  std::vector<double> row(x.size());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < x.size(); ++k) row[k] = x[k][i];
    by_hand(row.data(), y[i], p, r + i, J == nullptr ? nullptr : J + i * parameters());
  }
}

WideModel radial_basis(std::size_t rows, int centres) {
  WideModel out = wide_model("radial basis functions", rows, nlsq::make_model_function(RadialBasis{centres}),
                             RadialBasis{centres});
  std::mt19937_64 random(7);
  for (std::size_t i = 0; i < rows; ++i)
    out.x[0][i] = (static_cast<double>(i) + 0.5) / static_cast<double>(rows);
  const double spacing = 1.0 / centres;
  std::vector<double> truth{0.2, 0.5};
  out.start = {0, 0};
  for (int k = 0; k < centres; ++k) {
    const double centre = (k + 0.5) * spacing;
    for (const double v : {1 + 0.3 * normal(random), centre, 0.3 * spacing * (1 + 0.1 * normal(random))})
      truth.push_back(v);
    for (const double v : {1.0, centre + 0.02 * spacing * normal(random), 0.3 * spacing})
      out.start.push_back(v);
  }
  add_data(out, truth, random);
  return out;
}

WideModel neural_network(std::size_t rows, int width) {
  const NeuralNetwork network{width};
  WideModel out = wide_model("neural network", rows, nlsq::make_model_function(network, 2), network);
  out.flat = true;
  std::mt19937_64 random(11);
  for (auto& column : out.x) {
    for (double& v : column) v = 4 * uniform(random) - 2;
  }
  std::vector<double> truth(static_cast<std::size_t>(network.parameters()));
  for (std::size_t j = 0; j < truth.size(); ++j) {
    const auto at = static_cast<int>(j);
    truth[j] = (at < network.second()   ? 1.5
                : at < network.output() ? 1.5 / std::sqrt(width)
                                        : 1.0) *
               normal(random);
    out.start.push_back(truth[j] * (1 + 0.02 * normal(random)));
  }
  add_data(out, truth, random);
  return out;
}

}  // namespace bench
