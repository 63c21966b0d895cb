// Tests the elimination of points that their rows hardly determine, such as distant ones. V = EᵀE is
// ill-conditioned there, and S = FᵀF - W V⁻¹ Wᵀ must not lose as many digits as V⁻¹.
#include "decompositions.hpp"
#include "elimination_scene.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

// Returns a scene in which the third number of each point moves the residuals as the first one does, except
// for a part of size `apart`.
Scene weak_scene(unsigned seed, double apart) {
  Scene scene(seed, {9, 9, 9, 6}, std::vector<std::uint32_t>(8, 3));
  Eigen::Index at = 0;
  for (std::size_t p = 0; p < scene.points; ++p) {
    for (std::size_t slot = scene.slot_first[p]; slot < scene.slot_first[p + 1]; ++slot) {
      double* row = scene.J.data() + scene.record[slot];
      for (std::uint32_t i = 0; i < scene.rows[slot]; ++i, row += scene.stride[slot], ++at) {
        row[2] = row[0] + apart * row[2];
        scene.dense(at, static_cast<Eigen::Index>(scene.point_offset[p]) + 2) = row[2];
      }
    }
  }
  return scene;
}

// Compares S with that of long double, from least squares of F by the columns of E.
template <class R, class T>
void check_S(const Scene& s, std::size_t lanes, const EliminationKernels<R, T>& kernels, double tolerance) {
  const std::vector<R> records(s.J.begin(), s.J.end());
  const std::vector<std::uint64_t> targets = s.targets(lanes);
  const EliminationData<R> data = s.data(records, targets);
  const std::size_t cameras = s.block_size.size() * s.pad;
  std::vector<double> V(s.matrix_numbers), g(s.point_numbers), inverse(s.matrix_numbers),
      damping(s.point_numbers, 0.0);
  std::vector<T> squares(cameras, T(0)), gradient(cameras, T(0)), S(targets.back(), T(0)), b(cameras, T(0)),
      scratch(s.most * s.pad + s.pad);
  kernels.gather(data, 0, s.points, V.data(), g.data(), squares.data(), gradient.data());
  REQUIRE(kernels.eliminate(data, 0, s.points, V.data(), g.data(), damping.data(), inverse.data(), S.data(),
                            b.data(), scratch.data()));
  const auto n = static_cast<Eigen::Index>(s.point_numbers), m = s.dense.cols() - n;
  const decompositions::WideDense dense = s.dense.cast<R>().template cast<long double>();
  const decompositions::WideDense E = dense.leftCols(n), F = dense.rightCols(m);
  const decompositions::WideDense left = F - E * decompositions::least_squares(E, F);
  const decompositions::WideDense expected = F.transpose() * left;
  double worst = 0;
  for (std::size_t k = 0; k < s.block_of_target.size(); ++k) {
    const auto [a, c] = s.block_of_target[k];
    for (std::uint32_t i = 0; i < s.block_size[a]; ++i) {
      for (std::uint32_t j = 0; j < s.block_size[c]; ++j) {
        const long double exact = expected(static_cast<Eigen::Index>(s.camera_offset[a] + i),
                                           static_cast<Eigen::Index>(s.camera_offset[c] + j));
        const auto found = static_cast<double>(S[targets[k] + s.layout(k, lanes).place(i, j)]);
        worst = std::fmax(worst, std::fabs(found - static_cast<double>(exact)));
      }
    }
  }
  CHECK(worst <= tolerance * static_cast<double>((F.transpose() * F).cwiseAbs().maxCoeff()));
}

}  // namespace

TEST_CASE("Weakly determined points cost S no more digits than QR loses") {
  for (const BlockKernels* set : available_block_kernels()) {
    INFO(std::string(set->name));
    for (const unsigned seed : {1U, 2U, 3U}) {
      check_S(weak_scene(seed, 1e-6), set->lanes_f64, set->eliminate_f64, 1e-8);
      check_S(weak_scene(seed, 1e-3), set->lanes_f64, set->eliminate_f32_wide, 1e-11);
      check_S(weak_scene(seed, 1e-3), set->lanes_f32, set->eliminate_f32, 1e-5);
    }
  }
}
