// Recorded cost functions beside Ceres's jets: values and derivatives, in f64 and f32; and what cannot be
// recorded.
#include "block_functors.hpp"
#include "ceres_parts.hpp"
#include "ceres_problems.hpp"

#include "blocks/block_evaluator.hpp"

#include <ceres/cubic_interpolation.h>
#include <ceres/rotation.h>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using namespace nlsq;

namespace {

#define NLSQ_BLOCK_FUNCTOR(type, count, ...)      \
  static const char* name() { return #type; }     \
  static constexpr std::array sizes{__VA_ARGS__}; \
  static constexpr int residuals = count;         \
  double c;                                       \
  explicit type(int number) : c(0.25 * (number % 7) - 0.5) {}

struct RotationByCeres {
  NLSQ_BLOCK_FUNCTOR(RotationByCeres, 3, 3, 3)
  template <class T>
  bool operator()(const T* w, const T* p, T* r) const {
    ceres::AngleAxisRotatePoint(w, p, r);
    r[0] -= c;
    return true;
  }
};

struct RotationAtZeroByCeres {
  NLSQ_BLOCK_FUNCTOR(RotationAtZeroByCeres, 3, 3, 3)
  template <class T>
  bool operator()(const T* w, const T* p, T* r) const {
    const T none[3] = {w[0] - w[0], w[1] - w[1], w[2] - w[2]};
    ceres::AngleAxisRotatePoint(none, p, r);
    r[2] += c;
    return true;
  }
};

struct QuaternionByCeres {
  NLSQ_BLOCK_FUNCTOR(QuaternionByCeres, 3, 4, 3)
  template <class T>
  bool operator()(const T* q, const T* p, T* r) const {
    ceres::QuaternionRotatePoint(q, p, r);
    r[1] += c;
    return true;
  }
};

struct MatrixAndBack {  // decisions on the trace, and loops
  NLSQ_BLOCK_FUNCTOR(MatrixAndBack, 4, 3)
  template <class T>
  bool operator()(const T* w, T* r) const {
    T R[9], back[3];
    ceres::AngleAxisToRotationMatrix(w, R);
    ceres::RotationMatrixToAngleAxis(R, back);
    for (int i = 0; i < 3; ++i) r[i] = back[i] * (1.0 + c);
    r[3] = R[1];
    return true;
  }
};

struct EulerAngles {
  NLSQ_BLOCK_FUNCTOR(EulerAngles, 9, 3)
  template <class T>
  bool operator()(const T* e, T* r) const {
    const T degrees[3] = {e[0] * 50.0, e[1] * 40.0 + c, e[2] * 30.0};
    ceres::EulerAnglesToRotationMatrix(degrees, 3, r);
    return true;
  }
};

struct FullNames {  // Ceres's functions by their full names
  NLSQ_BLOCK_FUNCTOR(FullNames, 2, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = ceres::exp(x[0]) * ceres::sin(x[1]) + ceres::sqrt(x[0]) - ceres::pow(x[1], 1.5) +
           ceres::atan2(x[0], x[1]) + c;
    r[1] = ceres::tanh(x[0]) + ceres::log(x[1]) + ceres::hypot(x[0], x[1]) + ceres::cbrt(x[0]) +
           ceres::BesselJ0(x[1]);
    return true;
  }
};

struct PlainNumbers {  // ints and floats beside jets
  NLSQ_BLOCK_FUNCTOR(PlainNumbers, 2, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    T sum = T(0);
    sum += 2.0;
    sum *= x[0];
    sum -= 0.5;
    sum /= 1.5;
    if (x[1] > 0 && !(x[0] < -1) && x[0] != 17) sum += x[1];
    r[0] = -sum + +x[0] * 3.0 - 2.0 / x[1];
    r[1] = (x[0] <= x[1]) ? 1.0 - x[0] : x[1] + c;
    return true;
  }
};

struct SmallerAndLarger {
  NLSQ_BLOCK_FUNCTOR(SmallerAndLarger, 2, 3)
  template <class T>
  bool operator()(const T* x, T* r) const {
    using std::fmax, std::fmin, std::isfinite, std::fpclassify;
    r[0] = fmax(x[0], x[1]) * fmin(x[1] + 0.3, x[2]) + c;
    r[1] = isfinite(x[0]) && fpclassify(x[1]) == FP_NORMAL ? x[0] * x[2] : x[1];
    return true;
  }
};

struct Slerp {
  NLSQ_BLOCK_FUNCTOR(Slerp, 4, 4, 4, 1)
  template <class T>
  bool operator()(const T* a, const T* b, const T* t, T* r) const {
    const Eigen::Quaternion<T> qa = Eigen::Map<const Eigen::Quaternion<T>>(a).normalized();
    const Eigen::Quaternion<T> qb = Eigen::Map<const Eigen::Quaternion<T>>(b).normalized();
    const Eigen::Quaternion<T> between = qa.slerp(t[0] * 0.5 + 0.1, qb);
    Eigen::Map<Eigen::Matrix<T, 4, 1>>(r, 4) = between.coeffs() * T(1.0 + c);
    return true;
  }
};

struct EigenPose {  // angle-axis to matrix, isometry, mixed with doubles
  NLSQ_BLOCK_FUNCTOR(EigenPose, 3, 6, 3)
  template <class T>
  bool operator()(const T* pose, const T* point, T* r) const {
    using Vector = Eigen::Matrix<T, 3, 1>;
    const Vector w(pose[0], pose[1], pose[2]);
    const T angle = w.norm();
    Eigen::Transform<T, 3, Eigen::Isometry> to = Eigen::Transform<T, 3, Eigen::Isometry>::Identity();
    to.linear() = Eigen::AngleAxis<T>(angle, Vector(w / angle)).toRotationMatrix();
    to.translation() = Eigen::Map<const Vector>(pose + 3);
    const Vector moved = to * Eigen::Map<const Vector>(point);
    Eigen::Map<Vector>(r, 3) = moved - Eigen::Vector3d(c, 2, -1).cast<T>();
    return true;
  }
};

struct InverseOfMatrix {
  NLSQ_BLOCK_FUNCTOR(InverseOfMatrix, 2, 9)
  template <class T>
  bool operator()(const T* h, T* r) const {
    Eigen::Matrix<T, 3, 3> H = Eigen::Map<const Eigen::Matrix<T, 3, 3>>(h);
    H.diagonal().array() += T(3.0);
    const Eigen::Matrix<T, 3, 1> y = H.inverse() * Eigen::Vector3d(c, 1, 1).template cast<T>();
    r[0] = y[0] / y[2] - c;
    r[1] = y[1] / y[2];
    return true;
  }
};

struct DynamicSums {
  NLSQ_BLOCK_FUNCTOR(DynamicSums, 2, 7)
  template <class T>
  bool operator()(const T* x, T* r) const {
    std::vector<T> partial(1, T(c));
    for (std::size_t i = 0; i < sizes[0]; ++i)
      partial.push_back(partial.back() + x[i] * x[i] * (1.0 + static_cast<double>(i)));
    Eigen::Matrix<T, Eigen::Dynamic, 1> v(static_cast<Eigen::Index>(partial.size()));
    for (std::size_t i = 0; i < partial.size(); ++i) v[static_cast<Eigen::Index>(i)] = partial[i];
    r[0] = v.sum();
    r[1] = v.squaredNorm() * 0.01;
    return true;
  }
};

// Every one of them looks into the jet.
template <class T>
double value_of(const T& x) {
  return x.a;
}
inline double value_of(double x) { return x; }

struct LooksInside {
  NLSQ_BLOCK_FUNCTOR(LooksInside, 1, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * (value_of(x[1]) > 0.5 ? 2.0 : 3.0) + x[1] + c;
    return true;
  }
};

struct Interpolates {
  NLSQ_BLOCK_FUNCTOR(Interpolates, 1, 1)
  template <class T>
  bool operator()(const T* x, T* r) const {
    static const double values[] = {1, 4, 2, 6, 3, 8, 5, 9};
    static const ceres::Grid1D<double> grid(values, 0, 8);
    static const ceres::CubicInterpolator<ceres::Grid1D<double>> interpolator(grid);
    interpolator.Evaluate(x[0] * 3.0 + 1.0, r);
    r[0] = r[0] + c;
    return true;
  }
};

template <int N>
double slope_of(const ceres::Jet<double, N>& x) {
  return N > 0 ? x.v.sum() : 0;
}
inline double slope_of(double) { return 0; }

struct ScalesSlope {  // works on the derivatives alone: only the comparison with jets can tell
  NLSQ_BLOCK_FUNCTOR(ScalesSlope, 1, 2)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[1] + c;
    if constexpr (!std::is_same_v<T, double>) r[0].v *= 0.5;
    (void)slope_of(r[0]);
    return true;
  }
};

struct Counts {  // state
  NLSQ_BLOCK_FUNCTOR(Counts, 1, 1)
  mutable int calls = 0;
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * (1.0 + 1e-3 * (++calls % 7)) + c;
    return true;
  }
};

struct OptedOut {
  NLSQ_BLOCK_FUNCTOR(OptedOut, 1, 1)
  template <class T>
  bool operator()(const T* x, T* r) const {
    r[0] = x[0] * x[0] + c;
    return true;
  }
};

}  // namespace

template <>
inline constexpr bool nlsq::no_trace<OptedOut> = true;

namespace {

template <class F, bool kOurs, std::size_t... k>
std::unique_ptr<ceres::CostFunction> make(int number, std::index_sequence<k...>) {
  return std::unique_ptr<ceres::CostFunction>(
      ceres_problems::cost<kOurs, F, F::residuals, F::sizes[k]...>(F(number)));
}

// `count` blocks of one functor, side by side.
template <class F>
struct Blocks {
  static constexpr std::make_index_sequence<F::sizes.size()> kAll{};
  std::vector<std::unique_ptr<ceres::CostFunction>> ours, theirs;
  std::vector<std::shared_ptr<const BlockFunction>> wrapped;
  BlockList list;
  std::vector<double> x;
  std::uint32_t width = 0;

  Blocks(int count, unsigned seed) {
    std::mt19937 random(seed);
    list.first.push_back(0);
    for (const int size : F::sizes) width += static_cast<std::uint32_t>(size);
    for (int b = 0; b < count; ++b) {
      ours.push_back(make<F, true>(b, kAll));
      theirs.push_back(make<F, false>(b, kAll));
      wrapped.push_back(wrap(ours.back().get(), true).function);
      list.functions.push_back(wrapped.back().get());
      list.row.push_back(static_cast<std::uint32_t>(b * F::residuals));
      list.record.push_back(static_cast<std::uint64_t>(b * F::residuals) * width);
      list.stride.push_back(width);
      std::int32_t column = 0;
      for (const int size : F::sizes) {
        list.parameters.push_back(static_cast<std::uint32_t>(list.sizes.size()));
        list.column.push_back(std::exchange(column, column + size));
        list.offsets.push_back(static_cast<std::uint32_t>(x.size()));
        list.sizes.push_back(size);
        for (int i = 0; i < size; ++i) x.push_back(ceres_problems::uniform(random, 0.2, 1.2));
      }
      list.first.push_back(static_cast<std::uint32_t>(list.parameters.size()));
    }
  }

  // Largest differences from Ceres's jets, beside the residual's largest derivative.
  struct Worst {
    double value = 0, f64 = 0, f32 = 0;
  };
  Worst compare(const BlockEvaluator& evaluator) const {
    std::vector<double> r(ours.size() * F::residuals), J(r.size() * width);
    std::vector<float> J32(J.size());
    const auto pass = evaluator.begin();
    for (std::size_t t = 0; t < evaluator.tiles(); ++t) {
      pass->residuals(t, x, r.data());
      pass->jacobian(t, x, J.data());
      pass->jacobian(t, x, J32.data());
    }
    Worst worst;
    for (std::size_t b = 0; b < ours.size(); ++b) {
      std::vector<const double*> at;
      std::vector<std::vector<double>> parts;
      std::vector<double*> out;
      for (const std::uint32_t p : list.of(b)) {
        at.push_back(x.data() + list.offsets[p]);
        parts.emplace_back(static_cast<std::size_t>(F::residuals * list.sizes[p]));
      }
      for (auto& part : parts) out.push_back(part.data());
      double own[F::residuals];
      REQUIRE(theirs[b]->Evaluate(at.data(), own, out.data()));
      for (std::size_t i = 0; i < F::residuals; ++i) {
        double size = 1e-300, terms = std::fabs(own[i]);
        for (std::size_t k = 0; k < parts.size(); ++k) {
          for (std::size_t c = 0; c < static_cast<std::size_t>(F::sizes[k]); ++c) {
            const double slope = parts[k][i * F::sizes[k] + c];
            size = std::max(size, std::fabs(slope));
            terms += std::fabs(slope * at[k][c]);
          }
        }
        worst.value = std::max(worst.value, std::fabs(r[list.row[b] + i] - own[i]) / terms);
        std::size_t column = 0;
        for (std::size_t k = 0; k < parts.size(); ++k) {
          for (std::size_t c = 0; c < static_cast<std::size_t>(F::sizes[k]); ++c, ++column) {
            const std::size_t place = list.record[b] + i * width + column;
            const double slope = parts[k][i * F::sizes[k] + c];
            worst.f64 = std::max(worst.f64, std::fabs(J[place] - slope) / size);
            worst.f32 = std::max(worst.f32, std::fabs(static_cast<double>(J32[place]) - slope) / size);
          }
        }
      }
    }
    return worst;
  }
};

}  // namespace

#define NLSQ_FUNCTORS                                                                                      \
  block_functors::Reprojection, block_functors::HelloWorld, block_functors::PowellF3,                      \
      block_functors::ExponentialCurve, block_functors::Circle, block_functors::Distance,                  \
      block_functors::Rosenbrock, block_functors::Branches, block_functors::AngleAxisAtZero,               \
      block_functors::QuaternionRotation, block_functors::EigenQuaternionPose, block_functors::PlanarPose, \
      InverseOfMatrix, block_functors::Horner, block_functors::Sorted, block_functors::Elementary,         \
      block_functors::StaticConstants, block_functors::ConstantResidual, RotationByCeres,                  \
      RotationAtZeroByCeres, QuaternionByCeres, MatrixAndBack, EulerAngles, FullNames, PlainNumbers,       \
      SmallerAndLarger, Slerp, EigenPose, DynamicSums

TEST_CASE_TEMPLATE("Recorded derivatives are those of Ceres's jets, in f64 and f32", F, NLSQ_FUNCTORS) {
  INFO(F::name());
  const Blocks<F> blocks(100, 11);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  INFO(evaluator.note());
  CHECK(evaluator.counts().traced == 100);
  const auto worst = blocks.compare(evaluator);
  CHECK(worst.value <= 1e-13);
  CHECK(worst.f64 <= 1e-12);
  CHECK(worst.f32 <= 1e-5);
}

TEST_CASE_TEMPLATE("What cannot be recorded runs on Ceres's jets, and says so", F, LooksInside, Interpolates,
                   ScalesSlope, OptedOut) {
  INFO(F::name());
  const Blocks<F> blocks(20, 5);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.counts().traced == 0);
  CHECK((std::is_same_v<F, OptedOut> ? evaluator.counts().own : evaluator.counts().dual) == 20);
  CHECK(evaluator.note().empty() == std::is_same_v<F, OptedOut>);
  const auto worst = blocks.compare(evaluator);
  CHECK(worst.f64 <= 1e-15);
}

TEST_CASE("A functor with state is not recorded") {
  const Blocks<Counts> blocks(20, 5);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.counts().traced == 0);
  CHECK(evaluator.note().find("chang") != std::string::npos);
}

TEST_CASE("Under ceres::Solve and ceres's own checks it is an ordinary cost function") {
  struct Both {
    static void evaluate(const ceres::CostFunction& f, std::vector<double>& out) {
      const double camera[9] = {0.1, -0.2, 0.3, 0.1, 0.2, -0.3, 500, 0.01, -0.002}, point[3] = {1, 2, 30};
      const double* blocks[] = {camera, point};
      out.assign(2 + 18 + 6, 0);
      double* J[] = {out.data() + 2, out.data() + 20};
      REQUIRE(f.Evaluate(blocks, out.data(), J));
      double* only_second[] = {nullptr, out.data() + 20};
      REQUIRE(f.Evaluate(blocks, out.data(), only_second));
      REQUIRE(f.Evaluate(blocks, out.data(), nullptr));
    }
  };
  using F = block_functors::Reprojection;
  std::vector<double> ours, theirs;
  Both::evaluate(*std::unique_ptr<ceres::CostFunction>(ceres_problems::cost<true, F, 2, 9, 3>(F(3))), ours);
  Both::evaluate(*std::unique_ptr<ceres::CostFunction>(ceres_problems::cost<false, F, 2, 9, 3>(F(3))),
                 theirs);
  CHECK(ours == theirs);

  F functor(2);
  nlsq::AutoDiffCostFunction<F, ceres::DYNAMIC, 9, 3> dynamic(&functor, 2, ceres::DO_NOT_TAKE_OWNERSHIP);
  CHECK(dynamic.num_residuals() == 2);
  CHECK(dynamic.parameter_block_sizes() == std::vector<int>{9, 3});
  Both::evaluate(dynamic, ours);
  Both::evaluate(nlsq::AutoDiffCostFunction<F, 2, 9, 3>(std::make_unique<F>(2)), theirs);
  CHECK(ours == theirs);
}
