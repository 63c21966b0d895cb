// Defines block problems with outliers under every loss, and with data that change between two solves.
#include "corpus.hpp"
#include "functors.hpp"

#include <fmt/format.h>

namespace blocks {

namespace {

using enum LossSpec::Kind;

// Returns each loss with the scale that leaves good rows (σ = 0.1) nearly unchanged.
LossSpec spec(LossSpec::Kind kind) {
  if (kind == tukey) return {kind, 0.6};
  if (kind == tolerant) return {kind, 0.04, 0.01};
  return {kind, 0.2};
}

template <class Model>
Scene with_outliers(std::vector<double> truth, std::vector<double> start, double t1, LossSpec loss,
                    double size, std::uint64_t seed) {
  Noise noise(seed);
  Sampled data = sample<Model>(truth, 30, 0, t1, 0.1, noise);
  for (std::size_t i = 3; i < data.y.size(); i += 6)
    data.y[i] += (noise.uniform() < 0.7 ? 1 : -1) * size * (1 + noise.uniform());
  Scene scene;
  add_rows<Model>(scene, data, scene.block(start), loss);
  return scene;
}

template <class Model>
void add_outliers(std::vector<Case>& cases, const char* model, std::vector<double> truth,
                  std::vector<std::vector<double>> starts, double t1) {
  for (const LossSpec::Kind kind : kRobust) {
    for (const double size : {3.0, 1e3, 3e9}) {
      for (const auto& start : starts) {
        cases.push_back(
            {"outliers",
             fmt::format("{} {} size {:g} from ({:g}, {:g})", model, name(kind), size, start[0], start[1]),
             [=] { return with_outliers<Model>(truth, start, t1, spec(kind), size, 3); }});
      }
    }
  }
}

// Computes a row whose y is part of the scene's data, so that it can change.
struct Looked {
  double t;
  const double* y;
  template <class T>
  bool operator()(const T* p, T* r) const {
    r[0] = p[0] + p[1] * t - *y;
    return true;
  }
};

Scene changing(LossSpec loss, double outlier, bool outlier_first) {
  Scene scene;
  Noise noise(9);
  auto data = std::make_shared<std::vector<double>>();
  const int p = scene.block({0, 0});
  for (int i = 0; i < 25; ++i) data->push_back(1 + 0.5 * i + 0.1 * noise.normal());
  for (int i = 0; i < 25; ++i) scene.add<1, 2>(Looked{1.0 * i, data->data() + i}, {p}, loss);
  const double good = (*data)[11];
  scene.data = data;
  if (outlier_first) (*data)[11] = outlier;
  scene.change = [=](std::vector<double>& y, int solve) {
    y[11] = (solve == 1) == outlier_first ? good : outlier;
  };
  return scene;
}

}  // namespace

void add_robust(std::vector<Case>& cases) {
  add_outliers<Line>(cases, "line", {1, 0.5}, {{0, 0}, {50, -20}}, 10);
  add_outliers<Exponential>(cases, "exponential", {1, 0.3}, {{0.5, 0.5}, {1, 3}}, 6);
  for (const LossSpec loss :
       {LossSpec{cauchy, 0.2}, {cauchy, 1}, {soft_l1, 0.2}, {huber, 0.2}, {arctan, 0.2}, {none}}) {
    for (const bool first : {false, true}) {
      cases.push_back(
          {"data changed",
           fmt::format("{} {:g}, outlier of 3e9 in solve {}", name(loss.kind), loss.a, first ? 1 : 2),
           [=] { return changing(loss, 3e9, first); }});
    }
  }
}

}  // namespace blocks
