// Defines the problems of Moré, Garbow and Hillstrom as block problems. The whole vector is one residual
// block, or each residual is its own block.
#include "corpus.hpp"
#include "mgh.hpp"

#include <fmt/format.h>

#include <array>

namespace blocks {

namespace {

namespace mgh = problems::mgh;

// Computes only residual number `row` of F.
template <class F>
struct One {
  int row;
  template <class T>
  bool operator()(const T* x, T* r) const {
    std::array<T, static_cast<std::size_t>(F::residuals)> all;
    if (!F{}(x, all.data())) return false;
    r[0] = all[static_cast<std::size_t>(row)];
    return true;
  }
};

template <class F>
std::vector<double> scaled_start(double scale) {
  std::vector<double> x(F::start.begin(), F::start.end());
  for (double& v : x) v *= scale;
  return x;
}

template <class F>
Kind kind_of() {
  return std::is_same_v<F, mgh::PowellSingular> ? Kind::singular : Kind::healthy;
}

template <class F>
void add_whole(std::vector<Case>& cases) {
  for (const double scale : mgh::kScales) {
    cases.push_back({"published", fmt::format("{} x{:g}", F::name, scale),
                     [scale] {
                       Scene scene;
                       scene.add<F::residuals, F::parameters>(F{}, {scene.block(scaled_start<F>(scale))});
                       return scene;
                     },
                     kind_of<F>()});
  }
}

template <class F>
void add_by_rows(std::vector<Case>& cases, std::vector<double> start) {
  cases.push_back({"published by rows", fmt::format("{} from ({:g}, {:g}, ...)", F::name, start[0], start[1]),
                   [start] {
                     Scene scene;
                     const int x = scene.block(start);
                     for (int i = 0; i < F::residuals; ++i) scene.add<1, F::parameters>(One<F>{i}, {x});
                     return scene;
                   },
                   kind_of<F>()});
}

}  // namespace

void add_published(std::vector<Case>& cases) {
  mgh::for_each([&cases]<class F>(F) { add_whole<F>(cases); });
  for (const double scale : mgh::kScales) {
    add_by_rows<mgh::FreudensteinRoth>(cases, scaled_start<mgh::FreudensteinRoth>(scale));
    add_by_rows<mgh::PowellBadlyScaled>(cases, scaled_start<mgh::PowellBadlyScaled>(scale));
    add_by_rows<mgh::BrownBadlyScaled>(cases, scaled_start<mgh::BrownBadlyScaled>(scale));
    add_by_rows<mgh::Beale>(cases, scaled_start<mgh::Beale>(scale));
    add_by_rows<mgh::JennrichSampson>(cases, scaled_start<mgh::JennrichSampson>(scale));
    add_by_rows<mgh::KowalikOsborne>(cases, scaled_start<mgh::KowalikOsborne>(scale));
    add_by_rows<mgh::Meyer>(cases, scaled_start<mgh::Meyer>(scale));
    add_by_rows<mgh::PowellSingular>(cases, scaled_start<mgh::PowellSingular>(scale));
  }
  for (const double x : {3.0, -5.0}) {
    add_by_rows<mgh::FreudensteinRoth>(cases, {10 + x, 10 - x});
    add_by_rows<mgh::Beale>(cases, {10 + x, 10});
    add_by_rows<mgh::JennrichSampson>(cases, {0.3 + 0.1 * x, 0.4});
  }
}

}  // namespace blocks
