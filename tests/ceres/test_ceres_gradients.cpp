// Compares recorded cost functions with Ceres's jets, by values and derivatives in f64 and f32. Also tests
// functors that cannot be recorded.
#include "block_functors.hpp"
#include "ceres_parts.hpp"
#include "ceres_problems.hpp"
#include "gradient_functors.hpp"

#include "blocks/block_evaluator.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <memory>
#include <random>
#include <utility>
#include <vector>

using namespace nlsq;
using namespace gradient_functors;

namespace {

using CostFunction = std::unique_ptr<ceres::CostFunction>;

template <class F, bool kOurs, std::size_t... k>
CostFunction make(int number, std::index_sequence<k...>) {
  return CostFunction(ceres_problems::cost<kOurs, F, F::residuals, F::sizes[k]...>(F(number)));
}

// Holds a functor's numbers and its cost functions. The code that uses them is no template, so that it is not
// compiled for each functor.
struct Kind {
  std::size_t residuals;
  std::vector<int> sizes;
  CostFunction (*ours)(int number), (*theirs)(int number);
};

template <class F>
Kind kind() {
  return {F::residuals,
          {F::sizes.begin(), F::sizes.end()},
          [](int number) { return make<F, true>(number, std::make_index_sequence<F::sizes.size()>{}); },
          [](int number) { return make<F, false>(number, std::make_index_sequence<F::sizes.size()>{}); }};
}

// `count` blocks of one functor.
struct Blocks {
  std::size_t residuals;
  std::vector<CostFunction> ours, theirs;
  CostBlocks wrapper{true};
  BlockUses wrapped;
  BlockList list;
  std::vector<double> x;
  std::uint32_t width = 0;

  Blocks(const Kind& kind, int count, unsigned seed) : residuals(kind.residuals) {
    std::mt19937 random(seed);
    list.problem = &wrapped;
    list.first.push_back(0);
    for (const int size : kind.sizes) width += static_cast<std::uint32_t>(size);
    for (int b = 0; b < count; ++b) {
      ours.push_back(kind.ours(b));
      theirs.push_back(kind.theirs(b));
      wrapped.functions.push_back(wrapper.wrap(ours.back().get(), false).function);
      const std::size_t row = static_cast<std::size_t>(b) * residuals;
      list.residual_block.push_back(static_cast<std::uint32_t>(b));
      list.row.push_back(static_cast<std::uint32_t>(row));
      list.record.push_back(row * width);
      list.stride.push_back(width);
      std::int32_t column = 0;
      for (const int size : kind.sizes) {
        wrapped.uses.push_back(static_cast<std::uint32_t>(list.sizes.size()));
        list.column.push_back(std::exchange(column, column + size));
        list.offsets.push_back(static_cast<std::uint32_t>(x.size()));
        list.sizes.push_back(size);
        for (int i = 0; i < size; ++i) x.push_back(ceres_problems::uniform(random, 0.2, 1.2));
      }
      list.first.push_back(static_cast<std::uint32_t>(wrapped.uses.size()));
      wrapped.first = list.first;
    }
  }

  // Holds the largest differences from Ceres's jets, relative to the residual's largest derivative.
  struct Worst {
    double value = 0, f64 = 0, f32 = 0;
  };
  Worst compare(const BlockEvaluator& evaluator) const {
    std::vector<double> r(ours.size() * residuals), J(r.size() * width);
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
        parts.emplace_back(residuals * static_cast<std::size_t>(list.sizes[p]));
      }
      for (auto& part : parts) out.push_back(part.data());
      std::vector<double> own(residuals);
      REQUIRE(theirs[b]->Evaluate(at.data(), own.data(), out.data()));
      for (std::size_t i = 0; i < residuals; ++i) {
        double size = 1e-300, terms = std::fabs(own[i]);
        std::vector<double> slopes;  // the derivatives of this row by all parameters
        for (std::size_t k = 0; k < parts.size(); ++k) {
          const std::size_t columns = parts[k].size() / residuals;
          for (std::size_t c = 0; c < columns; ++c) {
            slopes.push_back(parts[k][i * columns + c]);
            size = std::max(size, std::fabs(slopes.back()));
            terms += std::fabs(slopes.back() * at[k][c]);
          }
        }
        worst.value = std::max(worst.value, std::fabs(r[list.row[b] + i] - own[i]) / terms);
        for (std::size_t column = 0; column < slopes.size(); ++column) {
          const std::size_t place = list.record[b] + i * width + column;
          const double slope = slopes[column];
          worst.f64 = std::max(worst.f64, std::fabs(J[place] - slope) / size);
          worst.f32 = std::max(worst.f32, std::fabs(static_cast<double>(J32[place]) - slope) / size);
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
  const Blocks blocks(kind<F>(), 100, 11);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  INFO(evaluator.note());
  CHECK(evaluator.counts().traced == 100);
  const auto worst = blocks.compare(evaluator);
  CHECK(worst.value <= 1e-13);
  CHECK(worst.f64 <= 1e-12);
  CHECK(worst.f32 <= 1e-5);
}

TEST_CASE_TEMPLATE("Functors that cannot be recorded run on Ceres's jets, and the note says so", F,
                   LooksInside, Interpolates, ScalesSlope, OptedOut) {
  INFO(F::name());
  const Blocks blocks(kind<F>(), 20, 5);
  const BlockEvaluator evaluator(blocks.list, blocks.x);
  CHECK(evaluator.counts().traced == 0);
  CHECK((std::is_same_v<F, OptedOut> ? evaluator.counts().own : evaluator.counts().dual) == 20);
  CHECK(evaluator.note().empty() == std::is_same_v<F, OptedOut>);
  const auto worst = blocks.compare(evaluator);
  CHECK(worst.f64 <= 1e-15);
}

TEST_CASE("A functor with state is not recorded") {
  const Blocks blocks(kind<Counts>(), 20, 5);
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
