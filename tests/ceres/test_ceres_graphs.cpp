// Builds problems with many parameter blocks, each in a few residuals, like those of Ceres's published
// examples. Ceres solves them with its cost functions, and nlsq with both kinds, from the same start.
#include "ceres_comparison.hpp"

#include <bal.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

using ceres_problems::compare, ceres_problems::Comparison, ceres_problems::cost, ceres_problems::Made;

namespace {

struct Planar {  // a measured relative pose
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
  bool operator()(const T* pixel, T* r) const {
    return r[0] = pixel[0] - value, true;
  }
};
struct Expert {  // a filter that gives small values for smooth images
  double weights[9];
  template <class T>
  bool operator()(const T* const* p, T* r) const {
    r[0] = T(0.0);
    for (int i = 0; i < 9; ++i) r[0] += weights[i] * p[i][0];
    return true;
  }
};

}  // namespace

TEST_CASE("Bundle adjustment") {
  for (const bool robust : {false, true}) {
    Comparison how;
    how.options.linear_solver_type = ceres::DENSE_SCHUR;
    how.options.num_threads = 2;
    how.flat = robust;  // points between outlying observations, where Huber's loss is linear, may move freely
    compare(
        robust ? "robust" : "plain",
        [&](auto ours) {
          bal::Problem scene = bal::generate(8, 200, 1400, 2);
          auto made = std::make_unique<Made>(scene.parameters);
          scene.parameters.clear();
          for (const bal::Observation& o : scene.observations) {
            const double off = robust && (o.camera + o.point) % 31 == 0 ? 20 : 0;
            made->problem->AddResidualBlock(cost<ours(), bal::Reprojection, 2, 9, 3>({o.x + off, o.y}),
                                            robust ? new ceres::HuberLoss(1) : nullptr,
                                            made->x.data() + 9 * o.camera,
                                            made->x.data() + 9 * scene.cameras + 3 * o.point);
          }
          // One camera and one coordinate of another fix the frame and its scale. Otherwise distances would
          // mean little.
          made->problem->SetParameterBlockConstant(made->x.data());
          made->problem->SetManifold(made->x.data() + 9, new ceres::SubsetManifold(9, {5}));
          return made;
        },
        how);
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
      for (const double v :
           {5 * std::cos(angle), 5 * std::sin(angle), std::remainder(angle + M_PI / 2, 2 * M_PI)})
        truth.push_back(v);
      for (int k = 0; k < 3; ++k)
        made->x[3 * i + k] = truth[3 * i + k] + (i > 0 ? 0.1 * ceres_problems::noise(random) : 0);
    }
    const auto edge = [&](int a, int b) {
      const double *p = truth.data() + 3 * a, *q = truth.data() + 3 * b, c = std::cos(p[2]),
                   s = std::sin(p[2]), x = q[0] - p[0], y = q[1] - p[1];
      const Planar f{c * x + s * y + 0.02 * ceres_problems::noise(random),
                     c * y - s * x + 0.02 * ceres_problems::noise(random),
                     std::remainder(q[2] - p[2], 2 * M_PI) + 0.01 * ceres_problems::noise(random)};
      double *u = made->x.data() + 3 * a, *v = made->x.data() + 3 * b;
      made->problem->AddResidualBlock(cost<ours(), Planar, 3, 1, 1, 1, 1, 1, 1>(f), nullptr, u, u + 1, u + 2,
                                      v, v + 1, v + 2);
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
      return Eigen::Vector3d(size * ceres_problems::noise(random), size * ceres_problems::noise(random),
                             size * ceres_problems::noise(random));
    };
    const auto rotation = [](const Eigen::Vector3d& w) {
      return Eigen::Quaterniond(1, w[0] / 2, w[1] / 2, w[2] / 2).normalized();
    };
    for (int i = 0; i < poses; ++i) {
      const double angle = 2 * M_PI * i / 20;
      place.emplace_back(4 * std::cos(angle), 4 * std::sin(angle), 0.05 * i);
      turn.push_back(Eigen::AngleAxisd(angle, Eigen::Vector3d(0.1, 0.2, 1).normalized()) *
                     Eigen::Quaterniond::Identity());
      Eigen::Map<Eigen::Vector3d>(made->x.data() + 7 * i) =
          place.back() + (i > 0 ? small(0.1) : Eigen::Vector3d::Zero());
      Eigen::Map<Eigen::Quaterniond>(made->x.data() + 7 * i + 3) =
          i > 0 ? turn.back() * rotation(small(0.05)) : turn.back();
    }
    const auto edge = [&](int a, int b) {
      const Eigen::Quaterniond back = turn[a].conjugate();
      const Spatial f{back * (place[b] - place[a]) + small(0.02), (back * turn[b]) * rotation(small(0.01))};
      double *u = made->x.data() + 7 * a, *v = made->x.data() + 7 * b;
      made->problem->AddResidualBlock(cost<ours(), Spatial, 6, 3, 4, 3, 4>(f), nullptr, u, u + 3, v, v + 3);
    };
    for (int i = 0; i + 1 < poses; ++i) edge(i, i + 1);
    for (int i = 0; i + 20 < poses; i += 2) edge(i, i + 20);
    for (int i = 0; i < poses; ++i)
      made->problem->SetManifold(made->x.data() + 7 * i + 3, new ceres::EigenQuaternionManifold);
    for (int k : {0, 3}) made->problem->SetParameterBlockConstant(made->x.data() + k);
    return made;
  });
}

TEST_CASE("Denoising: each pixel a block, filters over neighbourhoods with a robust loss") {
  Comparison how;
  how.traced = false;
  compare(
      "denoising",
      [](auto ours) {
        constexpr int width = 16, height = 12;
        auto made = std::make_unique<Made>(std::vector<double>(width * height));
        std::mt19937 random(10);
        for (int y = 0; y < height; ++y) {
          for (int x = 0; x < width; ++x)
            made->x[static_cast<std::size_t>(y * width + x)] =
                (x > 7 ? 200 : 60) + 3 * y + 12 * ceres_problems::noise(random);
        }
        for (double& v : made->x)
          made->problem->AddResidualBlock(cost<ours(), Noisy, 1, 1>({v}), nullptr, &v);
        const Expert experts[] = {{{0, 0, 0, -1, 2, -1, 0, 0, 0}},
                                  {{0, -1, 0, 0, 2, 0, 0, -1, 0}},
                                  {{1, -1, 0, -1, 0, 1, 0, 1, -1}}};
        for (int y = 0; y + 2 < height; ++y) {
          for (int x = 0; x + 2 < width; ++x) {
            std::vector<double*> blocks;
            for (int i = 0; i < 9; ++i) blocks.push_back(made->x.data() + (y + i / 3) * width + x + i % 3);
            for (const Expert& e : experts) {
              auto* f = new ceres::DynamicAutoDiffCostFunction<Expert, 9>(new Expert(e));
              for (int i = 0; i < 9; ++i) f->AddParameterBlock(1);
              f->SetNumResiduals(1);
              made->problem->AddResidualBlock(
                  f, new ceres::ScaledLoss(new ceres::CauchyLoss(4), 6, ceres::TAKE_OWNERSHIP), blocks);
            }
          }
        }
        (void)ours;
        return made;
      },
      how);
}
