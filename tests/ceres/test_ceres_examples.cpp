// The kinds of problems that Ceres's published examples show, built anew: solved by Ceres with its cost functions and by
// nlsq with both kinds, from the same start with the same options. Our final cost agrees to 1e-6 or is lower.
#include "ceres_problems.hpp"
#include "nist.hpp"

#include <bal.hpp>

#include <ceres/cubic_interpolation.h>
#include <ceres/rotation.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

using ceres_problems::cost, ceres_problems::Made, ceres_problems::tight;

namespace {

// make<ours>() gives the problem anew. `slack`: of a cost that is nothing but rounding, relative to the start's.
template <class Make>
void compare(const std::string& name, Make make, ceres::Solver::Options options = tight(), bool traced = true, double slack = 1e-12) {
  INFO(name);
  ceres::Solver::Summary theirs;
  const std::unique_ptr<Made> reference = make(std::false_type());
  ceres::Solve(options, reference->problem.get(), &theirs);
  REQUIRE(theirs.IsSolutionUsable());
  const double allowed = theirs.final_cost * (1 + 1e-6) + slack * theirs.initial_cost;
  for (const bool ours : {true, false}) {
    const std::unique_ptr<Made> made = ours ? make(std::true_type()) : make(std::false_type());
    nlsq::Summary summary;
    nlsq::Solve(options, made->problem.get(), &summary);
    CHECK(summary.initial_cost == doctest::Approx(theirs.initial_cost).epsilon(1e-12));
    CHECK(summary.final_cost <= allowed);
    CHECK(summary.final_cost == made->cost());
    if (ours && traced) CHECK(summary.evaluator == "graph");
  }
}

struct Powell1 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const { return r[0] = a[0] + 10.0 * b[0], true; }
};
struct Powell2 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const { return r[0] = std::sqrt(5.0) * (a[0] - b[0]), true; }
};
struct Powell3 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const { return r[0] = (a[0] - 2.0 * b[0]) * (a[0] - 2.0 * b[0]), true; }
};
struct Powell4 {
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const { return r[0] = std::sqrt(10.0) * (a[0] - b[0]) * (a[0] - b[0]), true; }
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
  bool operator()(const T* x, const T* y, const T* m, T* r) const {  // radius m²: never negative
    const T dx = px - x[0], dy = py - y[0];
    r[0] = m[0] * m[0] * m[0] * m[0] - dx * dx - dy * dy;
    return true;
  }
};

// A closed polygon that approximates measured points: each point lies near a place t on the polygon.
struct NearPolygon {
  static constexpr int corners = 12;
  double px, py;
  template <class T>
  bool operator()(const T* const* p, T* r) const {
    using std::floor;
    T t = p[0][0];
    t = t - 12.0 * floor(t / 12.0);
    double whole = 0;
    while (whole < corners - 1 && t >= whole + 1) whole += 1;  // decisions on t
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

struct Planar {  // a relative pose, measured
  double dx, dy, turn;
  template <class T>
  bool operator()(const T* xa, const T* ya, const T* ta, const T* xb, const T* yb, const T* tb, T* r) const {
    using std::cos, std::floor, std::sin;
    const T c = cos(ta[0]), s = sin(ta[0]), x = xb[0] - xa[0], y = yb[0] - ya[0];
    r[0] = 20.0 * (c * x + s * y - dx);
    r[1] = 20.0 * (c * y - s * x - dy);
    const T angle = tb[0] - ta[0] - turn;
    r[2] = 50.0 * (angle - 6.283185307179586 * floor((angle + 3.141592653589793) / 6.283185307179586));
    return true;
  }
};

struct Spatial {
  Eigen::Vector3d p;
  Eigen::Quaterniond q;
  template <class T>
  bool operator()(const T* pa, const T* qa, const T* pb, const T* qb, T* r) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Eigen::Map<const Eigen::Quaternion<T>> a(qa), b(qb);
    const Eigen::Quaternion<T> back = a.conjugate(), between = back * b;
    const Vector moved = back * (Eigen::Map<const Vector>(pb) - Eigen::Map<const Vector>(pa));
    const Eigen::Quaternion<T> off = q.template cast<T>() * between.conjugate();
    Eigen::Map<Eigen::Matrix<T, 6, 1>> out(r);
    out.template head<3>() = T(20.0) * (moved - p.template cast<T>());
    out.template tail<3>() = T(100.0) * off.vec();
    return true;
  }
};

struct Noisy {
  double value;
  template <class T>
  bool operator()(const T* pixel, T* r) const { return r[0] = pixel[0] - value, true; }
};
struct Expert {  // a filter whose answer to smooth images is small
  double weights[9];
  template <class T>
  bool operator()(const T* const* p, T* r) const {
    r[0] = T(0.0);
    for (int i = 0; i < 9; ++i) r[0] += weights[i] * p[i][0];
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
      compare(robust ? "robust" : "plain", [&](auto ours) {
        auto made = std::make_unique<Made>(std::vector<double>{0, 0});
        std::mt19937 random(3);
        for (int i = 0; i < 67; ++i) {
          const double t = 0.075 * i;
          const double y = std::exp(0.3 * t + 0.1) + 0.2 * ceres_problems::noise(random) + (robust && i % 17 == 5 ? 8 : 0);
          ceres::CostFunction* f = way == 0 ? cost<ours(), Exponential, 1, 1, 1>({t, y})
                                   : way == 1
                                       ? static_cast<ceres::CostFunction*>(new ceres::NumericDiffCostFunction<Exponential, ceres::CENTRAL, 1, 1, 1>(new Exponential{t, y}))
                                       : new ExponentialByHand(t, y);
          made->problem->AddResidualBlock(f, robust ? new ceres::CauchyLoss(0.5) : nullptr, made->x.data(), made->x.data() + 1);
        }
        return made;
      }, tight(), way == 0);
    }
  }
}

TEST_CASE("A circle through points, with a robust loss") {
  compare("circle", [](auto ours) {
    auto made = std::make_unique<Made>(std::vector<double>{180, 220, 10});
    std::mt19937 random(8);
    for (int i = 0; i < 60; ++i) {
      const double angle = 0.11 * i, off = i % 20 == 7 ? 60 : ceres_problems::noise(random);
      made->problem->AddResidualBlock(cost<ours(), OnCircle, 1, 1, 1, 1>({200 + (150 + off) * std::cos(angle), 250 + (150 + off) * std::sin(angle)}),
                                      new ceres::HuberLoss(600), made->x.data(), made->x.data() + 1, made->x.data() + 2);
    }
    return made;
  });
}

TEST_CASE("An ellipse approximated by a polygon: decisions on a parameter, blocks of pointers") {
  constexpr int n = NearPolygon::corners, points = 60;
  compare("ellipse", [](auto ours) {
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
          new NearPolygon{10 * std::cos(angle) + 0.05 * ceres_problems::noise(random), 6 * std::sin(angle) + 0.05 * ceres_problems::noise(random)});
      f->AddParameterBlock(1);
      for (int i = 0; i < n; ++i) f->AddParameterBlock(2);
      f->SetNumResiduals(2);
      blocks[0] = place + k;
      made->problem->AddResidualBlock(f, nullptr, blocks);
    }
    for (int i = 0; i < n; ++i) made->problem->AddResidualBlock(cost<ours(), Side, 2, 2, 2>({}), nullptr, corner + 2 * i, corner + 2 * ((i + 1) % n));
    return made;
  }, [] {
    ceres::Solver::Options options = tight();
    options.function_tolerance = 1e-10;
    return options;
  }(), false);
}

TEST_CASE("Bundle adjustment") {
  for (const bool robust : {false, true}) {
    ceres::Solver::Options options = tight();
    options.linear_solver_type = ceres::DENSE_SCHUR;
    options.max_num_iterations = 100;
    options.num_threads = 2;
    compare(robust ? "robust" : "plain", [&](auto ours) {
      bal::Problem scene = bal::generate(8, 200, 1400, 2);
      auto made = std::make_unique<Made>(scene.parameters);
      scene.parameters.clear();
      for (const bal::Observation& o : scene.observations) {
        const double off = robust && (o.camera + o.point) % 31 == 0 ? 20 : 0;
        made->problem->AddResidualBlock(cost<ours(), bal::Reprojection, 2, 9, 3>({o.x + off, o.y}), robust ? new ceres::HuberLoss(1) : nullptr,
                                        made->x.data() + 9 * o.camera, made->x.data() + 9 * scene.cameras + 3 * o.point);
      }
      return made;
    }, options);
  }
}

TEST_CASE("A pose graph in the plane") {
  compare("2-D", [](auto ours) {
    constexpr int poses = 120;
    auto made = std::make_unique<Made>(std::vector<double>(3 * poses));
    std::mt19937 random(6);
    std::vector<double> truth;
    for (int i = 0; i < poses; ++i) {
      const double angle = 2 * M_PI * i / 40;  // three rounds
      for (const double v : {5 * std::cos(angle), 5 * std::sin(angle), std::remainder(angle + M_PI / 2, 2 * M_PI)}) truth.push_back(v);
      for (int k = 0; k < 3; ++k) made->x[3 * i + k] = truth[3 * i + k] + (i > 0 ? 0.1 * ceres_problems::noise(random) : 0);
    }
    const auto edge = [&](int a, int b) {
      const double *p = truth.data() + 3 * a, *q = truth.data() + 3 * b, c = std::cos(p[2]), s = std::sin(p[2]), x = q[0] - p[0], y = q[1] - p[1];
      const Planar f{c * x + s * y + 0.02 * ceres_problems::noise(random), c * y - s * x + 0.02 * ceres_problems::noise(random),
                     std::remainder(q[2] - p[2], 2 * M_PI) + 0.01 * ceres_problems::noise(random)};
      double *u = made->x.data() + 3 * a, *v = made->x.data() + 3 * b;
      made->problem->AddResidualBlock(cost<ours(), Planar, 3, 1, 1, 1, 1, 1, 1>(f), nullptr, u, u + 1, u + 2, v, v + 1, v + 2);
    };
    for (int i = 0; i + 1 < poses; ++i) edge(i, i + 1);
    for (int i = 0; i + 40 < poses; i += 3) edge(i, i + 40);
    for (int k = 0; k < 3; ++k) made->problem->SetParameterBlockConstant(made->x.data() + k);
    return made;
  });
}

TEST_CASE("A pose graph in space, on quaternions") {
  compare("3-D", [](auto ours) {
    constexpr int poses = 80;
    auto made = std::make_unique<Made>(std::vector<double>(7 * poses));
    std::mt19937 random(7);
    std::vector<Eigen::Vector3d> place;
    std::vector<Eigen::Quaterniond> turn;
    const auto small = [&](double size) {
      return Eigen::Vector3d(size * ceres_problems::noise(random), size * ceres_problems::noise(random), size * ceres_problems::noise(random));
    };
    const auto rotation = [](const Eigen::Vector3d& w) { return Eigen::Quaterniond(1, w[0] / 2, w[1] / 2, w[2] / 2).normalized(); };
    for (int i = 0; i < poses; ++i) {
      const double angle = 2 * M_PI * i / 20;
      place.emplace_back(4 * std::cos(angle), 4 * std::sin(angle), 0.05 * i);
      turn.push_back(Eigen::AngleAxisd(angle, Eigen::Vector3d(0.1, 0.2, 1).normalized()) * Eigen::Quaterniond::Identity());
      Eigen::Map<Eigen::Vector3d>(made->x.data() + 7 * i) = place.back() + (i > 0 ? small(0.1) : Eigen::Vector3d::Zero());
      Eigen::Map<Eigen::Quaterniond>(made->x.data() + 7 * i + 3) = i > 0 ? turn.back() * rotation(small(0.05)) : turn.back();
    }
    const auto edge = [&](int a, int b) {
      const Eigen::Quaterniond back = turn[a].conjugate();
      const Spatial f{back * (place[b] - place[a]) + small(0.02), (back * turn[b]) * rotation(small(0.01))};
      double *u = made->x.data() + 7 * a, *v = made->x.data() + 7 * b;
      made->problem->AddResidualBlock(cost<ours(), Spatial, 6, 3, 4, 3, 4>(f), nullptr, u, u + 3, v, v + 3);
    };
    for (int i = 0; i + 1 < poses; ++i) edge(i, i + 1);
    for (int i = 0; i + 20 < poses; i += 2) edge(i, i + 20);
    for (int i = 0; i < poses; ++i) made->problem->SetManifold(made->x.data() + 7 * i + 3, new ceres::EigenQuaternionManifold);
    for (int k : {0, 3}) made->problem->SetParameterBlockConstant(made->x.data() + k);
    return made;
  });
}

TEST_CASE("Denoising: each pixel a block, filters over neighbourhoods with a robust loss") {
  ceres::Solver::Options options = tight();
  options.function_tolerance = 1e-9;
  compare("denoising", [](auto ours) {
    constexpr int width = 16, height = 12;
    auto made = std::make_unique<Made>(std::vector<double>(width * height));
    std::mt19937 random(10);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) made->x[static_cast<std::size_t>(y * width + x)] = (x > 7 ? 200 : 60) + 3 * y + 12 * ceres_problems::noise(random);
    }
    for (double& v : made->x) made->problem->AddResidualBlock(cost<ours(), Noisy, 1, 1>({v}), nullptr, &v);
    const Expert experts[] = {{{0, 0, 0, -1, 2, -1, 0, 0, 0}}, {{0, -1, 0, 0, 2, 0, 0, -1, 0}}, {{1, -1, 0, -1, 0, 1, 0, 1, -1}}};
    for (int y = 0; y + 2 < height; ++y) {
      for (int x = 0; x + 2 < width; ++x) {
        std::vector<double*> blocks;
        for (int i = 0; i < 9; ++i) blocks.push_back(made->x.data() + (y + i / 3) * width + x + i % 3);
        for (const Expert& e : experts) {
          auto* f = new ceres::DynamicAutoDiffCostFunction<Expert, 9>(new Expert(e));
          for (int i = 0; i < 9; ++i) f->AddParameterBlock(1);
          f->SetNumResiduals(1);
          made->problem->AddResidualBlock(f, new ceres::ScaledLoss(new ceres::CauchyLoss(4), 6, ceres::TAKE_OWNERSHIP), blocks);
        }
      }
    }
    (void)ours;
    return made;
  }, options, false);
}

TEST_CASE("A sampled function, interpolated") {
  static const double values[] = {1.0, 4.0, 9.0, 8.0, 5.0, 2.5, 4.5};
  static const ceres::Grid1D<double> grid(values, 0, 7);
  static const ceres::CubicInterpolator<ceres::Grid1D<double>> f(grid);
  compare("sampled", [](auto ours) {
    auto made = std::make_unique<Made>(std::vector<double>{4.1});
    made->problem->AddResidualBlock(cost<ours(), Sampled, 1, 1>({f}), nullptr, made->x.data());
    return made;
  }, tight(), false);
}

namespace {

// Misra1a, Chwirut2, MGH09, Thurber, Eckerle4, Rat43: one of each kind of NIST's models.
template <int which>
struct Nist {
  double x, y;
  template <class T>
  bool operator()(const T* b, T* r) const {
    using std::exp, std::pow;
    T f(0.0);
    if constexpr (which == 0) f = b[0] * (1.0 - exp(-b[1] * x));
    if constexpr (which == 1) f = exp(-b[0] * x) / (b[1] + b[2] * x);
    if constexpr (which == 2) f = b[0] * (x * x + x * b[1]) / (x * x + x * b[2] + b[3]);
    if constexpr (which == 3) f = (b[0] + b[1] * x + b[2] * x * x + b[3] * x * x * x) / (1.0 + b[4] * x + b[5] * x * x + b[6] * x * x * x);
    if constexpr (which == 4) f = b[0] / b[1] * exp(-0.5 * ((x - b[2]) / b[1]) * ((x - b[2]) / b[1]));
    if constexpr (which == 5) f = b[0] / pow(1.0 + exp(b[1] - b[2] * x), 1.0 / b[3]);
    r[0] = y - f;
    return true;
  }
};

template <int which, int n>
void fit_nist(const char* name) {
  const nist::Set set = nist::find(nist::load(), name);
  compare(name, [&](auto ours) {
    auto made = std::make_unique<Made>(set.start2);
    for (std::size_t i = 0; i < set.rows(); ++i) {
      made->problem->AddResidualBlock(cost<ours(), Nist<which>, 1, n>({set.x[0][i], set.y[i]}), nullptr, made->x.data());
    }
    return made;
  });
}

// More, Garbow, Hillstrom: ACM TOMS 7, 17 (1981). By their numbers there.
template <int number>
struct Mgh {
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::atan2, std::exp, std::sqrt;
    if constexpr (number == 1) r[0] = 10.0 * (x[1] - x[0] * x[0]), r[1] = 1.0 - x[0];
    if constexpr (number == 4) r[0] = x[0] - 1e6, r[1] = x[1] - 2e-6, r[2] = x[0] * x[1] - 2.0;
    if constexpr (number == 5) {
      const double y[] = {1.5, 2.25, 2.625};
      T power(1.0);
      for (int i = 0; i < 3; ++i) power *= x[1], r[i] = y[i] - x[0] * (1.0 - power);
    }
    if constexpr (number == 7) {
      const T angle = x[0] > 0.0 ? atan2(x[1], x[0]) / 6.283185307179586 : atan2(x[1], x[0]) / 6.283185307179586 + (x[1] < 0.0 ? 1.0 : 0.0);
      r[0] = 10.0 * (x[2] - 10.0 * angle), r[1] = 10.0 * (sqrt(x[0] * x[0] + x[1] * x[1]) - 1.0), r[2] = x[2];
    }
    if constexpr (number == 12) {
      for (int i = 0; i < 3; ++i) {
        const double t = 0.1 * (i + 1);
        r[i] = exp(-t * x[0]) - exp(-t * x[1]) - x[2] * (std::exp(-t) - std::exp(-10 * t));
      }
    }
    if constexpr (number == 14) {
      r[0] = 10.0 * (x[1] - x[0] * x[0]), r[1] = 1.0 - x[0], r[2] = std::sqrt(90.0) * (x[3] - x[2] * x[2]), r[3] = 1.0 - x[2];
      r[4] = std::sqrt(10.0) * (x[1] + x[3] - 2.0), r[5] = (x[1] - x[3]) / std::sqrt(10.0);
    }
    return true;
  }
};

template <int number, int residuals, int n>
void minimise_mgh(std::vector<double> start) {
  compare("MGH " + std::to_string(number), [&](auto ours) {
    auto made = std::make_unique<Made>(start);
    made->problem->AddResidualBlock(cost<ours(), Mgh<number>, residuals, n>({}), nullptr, made->x.data());
    return made;
  });
}

}  // namespace

TEST_CASE("NIST's regressions") {
  fit_nist<0, 2>("Misra1a");
  fit_nist<1, 3>("Chwirut2");
  fit_nist<2, 4>("MGH09");
  fit_nist<3, 7>("Thurber");
  fit_nist<4, 3>("Eckerle4");
  fit_nist<5, 4>("Rat43");
}

TEST_CASE("More, Garbow and Hillstrom's functions") {
  minimise_mgh<1, 2, 2>({-1.2, 1});
  minimise_mgh<4, 3, 2>({1, 1});
  minimise_mgh<5, 3, 2>({1, 1});
  minimise_mgh<7, 3, 3>({-1, 0, 0});
  minimise_mgh<12, 3, 3>({0, 10, 20});
  minimise_mgh<14, 6, 4>({-3, -1, -3, -1});
}
