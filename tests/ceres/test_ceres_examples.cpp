// Builds curves and shapes like those of Ceres's published examples. Ceres solves them with its cost
// functions, and nlsq with both kinds, from the same start.
#include "ceres_comparison.hpp"

#include <ceres/cubic_interpolation.h>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

using ceres_problems::compare, ceres_problems::Comparison, ceres_problems::cost, ceres_problems::Made;

namespace {

struct Powell1 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    return r[0] = a[0] + 10.0 * b[0], true;
  }
};
struct Powell2 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    return r[0] = std::sqrt(5.0) * (a[0] - b[0]), true;
  }
};
struct Powell3 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    return r[0] = (a[0] - 2.0 * b[0]) * (a[0] - 2.0 * b[0]), true;
  }
};
struct Powell4 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    return r[0] = std::sqrt(10.0) * (a[0] - b[0]) * (a[0] - b[0]), true;
  }
};

struct Exponential {
  double t, y;
  template <class T>
  bool operator()(const T* m, const T* c, T* r) const {
    using std::exp;
    r[0] = y - exp(m[0] * t + c[0]);
    return true;
  }
};

struct ExponentialByHand final : ceres::SizedCostFunction<1, 1, 1> {
  double t, y;
  ExponentialByHand(double at, double value) : t(at), y(value) {}
  bool Evaluate(double const* const* p, double* r, double** J) const override {
    const double e = std::exp(p[0][0] * t + p[1][0]);
    r[0] = y - e;
    if (J != nullptr && J[0] != nullptr) J[0][0] = -t * e;
    if (J != nullptr && J[1] != nullptr) J[1][0] = -e;
    return true;
  }
};

struct OnCircle {
  double px, py;
  template <class T>
  bool operator()(const T* x, const T* y, const T* m, T* r) const {  // the radius is m², never negative
    const T dx = px - x[0], dy = py - y[0];
    r[0] = m[0] * m[0] * m[0] * m[0] - dx * dx - dy * dy;
    return true;
  }
};

// A closed polygon approximates measured points: each point lies near a place t on the polygon.
struct NearPolygon {
  static constexpr int corners = 12;
  double px, py;
  template <class T>
  bool operator()(const T* const* p, T* r) const {
    using std::floor;
    T t = p[0][0];
    t = t - 12.0 * floor(t / 12.0);
    double whole = 0;
    while (whole < corners - 1 && t >= whole + 1) whole += 1;  // this decides on t
    const auto i = static_cast<int>(whole), j = (i + 1) % corners;
    const T part = t - whole;
    r[0] = (1.0 - part) * p[1 + i][0] + part * p[1 + j][0] - px;
    r[1] = (1.0 - part) * p[1 + i][1] + part * p[1 + j][1] - py;
    return true;
  }
};
struct Side {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    r[0] = 0.1 * (b[0] - a[0]);
    r[1] = 0.1 * (b[1] - a[1]);
    return true;
  }
};

struct Sampled {
  const ceres::CubicInterpolator<ceres::Grid1D<double>>& f;
  template <class T>
  bool operator()(const T* x, T* r) const {
    f.Evaluate(x[0], r);
    return true;
  }
};

}  // namespace

TEST_CASE("Powell's function") {
  compare("four blocks", [](auto ours) {
    auto made = std::make_unique<Made>(std::vector<double>{3, -1, 0, 1});
    double* x = made->x.data();
    made->problem->AddResidualBlock(cost<ours(), Powell1, 1, 1, 1>({}), nullptr, x, x + 1);
    made->problem->AddResidualBlock(cost<ours(), Powell2, 1, 1, 1>({}), nullptr, x + 2, x + 3);
    made->problem->AddResidualBlock(cost<ours(), Powell3, 1, 1, 1>({}), nullptr, x + 1, x + 2);
    made->problem->AddResidualBlock(cost<ours(), Powell4, 1, 1, 1>({}), nullptr, x, x + 3);
    return made;
  });
}

TEST_CASE("Curve fitting, plain and robust, by automatic, numeric and analytic derivatives") {
  for (const bool robust : {false, true}) {
    for (int way = 0; way < 3; ++way) {
      CAPTURE(way);
      Comparison how;
      how.traced = way == 0;
      compare(
          robust ? "robust" : "plain",
          [&](auto ours) {
            auto made = std::make_unique<Made>(std::vector<double>{0, 0});
            std::mt19937 random(3);
            for (int i = 0; i < 67; ++i) {
              const double t = 0.075 * i;
              const double y = std::exp(0.3 * t + 0.1) + 0.2 * ceres_problems::noise(random) +
                               (robust && i % 17 == 5 ? 8 : 0);
              ceres::CostFunction* f =
                  way == 0   ? cost<ours(), Exponential, 1, 1, 1>({t, y})
                  : way == 1 ? static_cast<ceres::CostFunction*>(
                                   new ceres::NumericDiffCostFunction<Exponential, ceres::CENTRAL, 1, 1, 1>(
                                       new Exponential{t, y}))
                             : new ExponentialByHand(t, y);
              made->problem->AddResidualBlock(f, robust ? new ceres::CauchyLoss(0.5) : nullptr,
                                              made->x.data(), made->x.data() + 1);
            }
            return made;
          },
          how);
    }
  }
}

TEST_CASE("A circle through points, with a robust loss") {
  compare("circle", [](auto ours) {
    auto made = std::make_unique<Made>(std::vector<double>{180, 220, 10});
    std::mt19937 random(8);
    for (int i = 0; i < 60; ++i) {
      const double angle = 0.11 * i, off = i % 20 == 7 ? 60 : ceres_problems::noise(random);
      made->problem->AddResidualBlock(
          cost<ours(), OnCircle, 1, 1, 1, 1>(
              {200 + (150 + off) * std::cos(angle), 250 + (150 + off) * std::sin(angle)}),
          new ceres::HuberLoss(600), made->x.data(), made->x.data() + 1, made->x.data() + 2);
    }
    return made;
  });
}

TEST_CASE("An ellipse approximated by a polygon: decisions on a parameter, blocks of pointers") {
  constexpr int n = NearPolygon::corners, points = 60;
  Comparison how;
  how.traced = false;
  compare(
      "ellipse",
      [](auto ours) {
        auto made = std::make_unique<Made>(std::vector<double>(2 * n + points));
        std::mt19937 random(5);
        double* corner = made->x.data();
        double* place = corner + 2 * n;
        for (int i = 0; i < n; ++i) {
          corner[2 * i] = 8 * std::cos(2 * M_PI * i / n);
          corner[2 * i + 1] = 8 * std::sin(2 * M_PI * i / n);
        }
        std::vector<double*> blocks(1);
        for (int i = 0; i < n; ++i) blocks.push_back(corner + 2 * i);
        for (int k = 0; k < points; ++k) {
          const double angle = 2 * M_PI * (k + 0.5) / points;
          place[k] = n * (k + 0.5) / points;
          auto* f = new ceres::DynamicAutoDiffCostFunction<NearPolygon, 4>(
              new NearPolygon{10 * std::cos(angle) + 0.05 * ceres_problems::noise(random),
                              6 * std::sin(angle) + 0.05 * ceres_problems::noise(random)});
          f->AddParameterBlock(1);
          for (int i = 0; i < n; ++i) f->AddParameterBlock(2);
          f->SetNumResiduals(2);
          blocks[0] = place + k;
          made->problem->AddResidualBlock(f, nullptr, blocks);
        }
        for (int i = 0; i < n; ++i)
          made->problem->AddResidualBlock(cost<ours(), Side, 2, 2, 2>({}), nullptr, corner + 2 * i,
                                          corner + 2 * ((i + 1) % n));
        return made;
      },
      how);
}

TEST_CASE("A sampled function, interpolated") {
  static const double values[] = {1.0, 4.0, 9.0, 8.0, 5.0, 2.5, 4.5};
  static const ceres::Grid1D<double> grid(values, 0, 7);
  static const ceres::CubicInterpolator<ceres::Grid1D<double>> f(grid);
  Comparison how;
  how.traced = false;
  // The lowest sample is 2.5, so at the minimum the slope is zero and the residual is not. There the first
  // step of Ceres with its usual radius leaves the samples, where the function is 1 and flat.
  how.radius_at_end = 1;
  compare(
      "sampled",
      [](auto ours) {
        auto made = std::make_unique<Made>(std::vector<double>{4.1});
        made->problem->AddResidualBlock(cost<ours(), Sampled, 1, 1>({f}), nullptr, made->x.data());
        return made;
      },
      how);
}
