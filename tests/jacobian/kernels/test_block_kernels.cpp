// Compares elimination of points, and the dense Cholesky factor, with dense algebra in Eigen, for every
// kernel set.
#include "decompositions.hpp"
#include "elimination_scene.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

template <class R, class T>
void check(const Scene& s, std::size_t lanes, auto gather, auto eliminate, auto substitute, auto bend,
           double tolerance) {
  const std::vector<R> records(s.J.begin(), s.J.end());
  const std::vector<std::uint64_t> targets = s.targets(lanes);
  const EliminationData<R> data = s.data(records, targets);
  const std::size_t cameras = s.block_size.size() * s.pad, split = s.points / 3;
  std::vector<double> V(s.matrix_numbers), g(s.point_numbers), inverse(s.matrix_numbers),
      damping(s.point_numbers, 0.5), step(s.point_numbers);
  std::vector<T> squares(cameras, T(0)), gradient(cameras, T(0)), S(targets.back(), T(0)), b(cameras, T(0)),
      scratch(2 * s.most * s.pad + s.pad);
  for (const auto& [first, last] : {std::pair(std::size_t{0}, split), std::pair(split, s.points)}) {
    gather(data, first, last, V.data(), g.data(), squares.data(), gradient.data());
    REQUIRE(eliminate(data, first, last, V.data(), g.data(), damping.data(), inverse.data(), S.data(),
                      b.data(), scratch.data()));
  }
  // With the blocks of S from a table by pairs of cameras, the bits must be the same.
  const std::vector<std::uint32_t> table = s.pair_table();
  EliminationData<R> tabled = data;
  tabled.pair_block = nullptr;
  tabled.pair_first = nullptr;
  tabled.pair_table = table.data();
  tabled.pair_stride = s.block_size.size();
  std::vector<T> S_tabled(targets.back(), T(0)), b_tabled(cameras, T(0));
  for (const auto& [first, last] : {std::pair(std::size_t{0}, split), std::pair(split, s.points)}) {
    REQUIRE(eliminate(tabled, first, last, V.data(), g.data(), damping.data(), inverse.data(),
                      S_tabled.data(), b_tabled.data(), scratch.data()));
  }
  CHECK(S_tabled == S);
  CHECK(b_tabled == b);
  const Eigen::Index n = static_cast<Eigen::Index>(s.point_numbers), m = s.dense.cols() - n;
  const Eigen::MatrixXd E = s.dense.leftCols(n), F = s.dense.rightCols(m);
  const Eigen::MatrixXd Vd = E.transpose() * E + 0.5 * Eigen::MatrixXd::Identity(n, n), W = F.transpose() * E;
  const Eigen::VectorXd ge = E.transpose() * s.r, gf = F.transpose() * s.r;
  const Eigen::MatrixXd Sd = F.transpose() * F - W * decompositions::solve(Vd, W.transpose());
  const Eigen::VectorXd bd = W * decompositions::solve(Vd, ge);
  const double size = Sd.cwiseAbs().maxCoeff();
  std::vector<T> s_cameras(cameras, T(0));
  Eigen::VectorXd moved(m);
  for (std::size_t f = 0; f < s.block_size.size(); ++f) {
    for (std::uint32_t i = 0; i < s.block_size[f]; ++i) {
      const auto at = static_cast<Eigen::Index>(s.camera_offset[f] + i);
      CHECK(std::abs(static_cast<double>(squares[f * s.pad + i]) - F.col(at).squaredNorm()) <=
            tolerance * size);
      CHECK(std::abs(static_cast<double>(gradient[f * s.pad + i]) - gf[at]) <= tolerance * size);
      CHECK(std::abs(static_cast<double>(b[f * s.pad + i]) - bd[at]) <= tolerance * size);
      moved[at] = 0.1 * static_cast<double>(at % 7) - 0.25;
      s_cameras[f * s.pad + i] = static_cast<T>(moved[at]);
    }
  }
  for (std::size_t k = 0; k < s.block_of_target.size(); ++k) {
    const auto [a, c] = s.block_of_target[k];
    for (std::uint32_t i = 0; i < s.block_size[a]; ++i) {
      for (std::uint32_t j = 0; j < s.block_size[c]; ++j) {
        const double expected = Sd(static_cast<Eigen::Index>(s.camera_offset[a] + i),
                                   static_cast<Eigen::Index>(s.camera_offset[c] + j));
        CHECK(std::abs(static_cast<double>(S[targets[k] + s.layout(k, lanes).place(i, j)]) - expected) <=
              tolerance * size);
      }
    }
  }
  for (std::size_t k = 0; k < s.point_numbers; ++k)
    CHECK(std::abs(g[k] - ge[static_cast<Eigen::Index>(k)]) <= tolerance * size);
  substitute(data, 0, s.points, inverse.data(), g.data(), s_cameras.data(), step.data());
  const Eigen::VectorXd expected = -decompositions::solve(Vd, ge + W.transpose() * moved);
  for (std::size_t k = 0; k < s.point_numbers; ++k)
    CHECK(std::abs(step[k] - expected[static_cast<Eigen::Index>(k)]) <= tolerance * size);

  // Tests right-hand sides of the second derivative along the step, in two parts.
  std::vector<std::uint32_t> row{0};
  for (const std::uint32_t count : s.rows) row.push_back(row.back() + count);
  const Eigen::VectorXd bent_rows = Eigen::VectorXd::LinSpaced(s.r.size(), -1, 2);
  std::vector<double> along(bent_rows.data(), bent_rows.data() + bent_rows.size()), bent(s.point_numbers);
  std::ranges::fill(b, T(0));
  for (const auto& [first, last] : {std::pair(std::size_t{0}, split), std::pair(split, s.points)}) {
    bend(data, first, last, inverse.data(), step.data(), s_cameras.data(), 3.0, row.data(), along.data(),
         bent.data(), b.data());
  }
  const Eigen::VectorXd rho =
      3 * (bent_rows - E * Eigen::Map<const Eigen::VectorXd>(step.data(), n) - F * moved);
  const Eigen::VectorXd on_points = E.transpose() * rho,
                        on_cameras = F.transpose() * (rho - E * decompositions::solve(Vd, on_points));
  const double more = 10 * tolerance * size * (1 + rho.cwiseAbs().maxCoeff());
  for (std::size_t i = 0; i < along.size(); ++i)
    CHECK(std::abs(along[i] - rho[static_cast<Eigen::Index>(i)]) <= more);
  for (std::size_t k = 0; k < bent.size(); ++k)
    CHECK(std::abs(bent[k] - on_points[static_cast<Eigen::Index>(k)]) <= more);
  for (std::size_t f = 0; f < s.block_size.size(); ++f) {
    for (std::uint32_t i = 0; i < s.block_size[f]; ++i) {
      CHECK(std::abs(static_cast<double>(b[f * s.pad + i]) -
                     on_cameras[static_cast<Eigen::Index>(s.camera_offset[f] + i)]) <= more);
    }
  }
}

// Tests S as an operator, and its diagonal blocks, in two parts.
template <class R>
void check_operator(const Scene& s, std::size_t lanes, auto gather, auto prepare, auto multiply,
                    double tolerance) {
  const std::vector<R> records(s.J.begin(), s.J.end());
  std::vector<std::uint64_t> targets{0};
  const auto layout = [&](std::size_t f) { return ReducedLayout(s.block_size[f], s.block_size[f], lanes); };
  for (std::size_t f = 0; f < s.block_size.size(); ++f)
    targets.push_back(targets.back() + layout(f).numbers());
  const EliminationData<R> data = s.data(records, targets);
  const std::size_t cameras = s.block_size.size() * s.pad, split = s.points / 3;
  std::size_t most_rows = 0;
  for (std::size_t p = 0; p < s.points; ++p) {
    std::size_t rows = 0;
    for (std::uint32_t slot = s.slot_first[p]; slot < s.slot_first[p + 1]; ++slot) rows += s.rows[slot];
    most_rows = std::max(most_rows, rows);
  }
  std::vector<double> V(s.matrix_numbers), g(s.point_numbers), inverse(s.matrix_numbers),
      damping(s.point_numbers, 0.5), squares(cameras), gradient(cameras);
  gather(data, 0, s.points, V.data(), g.data(), squares.data(), gradient.data());
  const Eigen::Index n = static_cast<Eigen::Index>(s.point_numbers), m = s.dense.cols() - n;
  const Eigen::MatrixXd E = s.dense.leftCols(n), F = s.dense.rightCols(m);
  const Eigen::MatrixXd Vd = E.transpose() * E + 0.5 * Eigen::MatrixXd::Identity(n, n), W = F.transpose() * E,
                        U = F.transpose() * F;
  const Eigen::MatrixXd Sd = U - W * decompositions::solve(Vd, W.transpose());
  const Eigen::VectorXd bd = W * decompositions::solve(Vd, E.transpose() * s.r);
  const double allowed = tolerance * Sd.cwiseAbs().maxCoeff() * static_cast<double>(m);
  for (const bool schur : {false, true}) {
    std::vector<double> diagonal(targets.back(), 0.0), b(cameras, 0.0), scratch(2 * s.most * s.pad + s.pad);
    for (const auto& [first, last] : {std::pair(std::size_t{0}, split), std::pair(split, s.points)}) {
      REQUIRE(prepare(data, first, last, V.data(), g.data(), damping.data(), inverse.data(), schur,
                      diagonal.data(), b.data(), scratch.data()));
    }
    for (std::size_t f = 0; f < s.block_size.size(); ++f) {
      for (std::uint32_t i = 0; i < s.block_size[f]; ++i) {
        const auto at = static_cast<Eigen::Index>(s.camera_offset[f] + i);
        CHECK(std::abs(b[f * s.pad + i] - bd[at]) <= allowed);
        for (std::uint32_t j = 0; j < s.block_size[f]; ++j) {
          const double expected = (schur ? Sd : U)(at, static_cast<Eigen::Index>(s.camera_offset[f] + j));
          CHECK(std::abs(diagonal[targets[f] + layout(f).place(i, j)] - expected) <= allowed);
        }
      }
    }
  }
  Eigen::VectorXd v(m);
  std::vector<double> padded(cameras, 0.0), product(cameras, 0.0), scratch(most_rows);
  for (std::size_t f = 0; f < s.block_size.size(); ++f) {
    for (std::uint32_t i = 0; i < s.block_size[f]; ++i) {
      const auto at = static_cast<Eigen::Index>(s.camera_offset[f] + i);
      v[at] = padded[f * s.pad + i] = 0.1 * static_cast<double>(at % 7) - 0.25;
    }
  }
  for (const auto& [first, last] : {std::pair(std::size_t{0}, split), std::pair(split, s.points)}) {
    multiply(data, first, last, inverse.data(), padded.data(), product.data(), scratch.data());
  }
  const Eigen::VectorXd expected = Sd * v;
  for (std::size_t f = 0; f < s.block_size.size(); ++f) {
    for (std::size_t i = 0; i < s.pad; ++i) {
      const double exact =
          i < s.block_size[f] ? expected[static_cast<Eigen::Index>(s.camera_offset[f] + i)] : 0;
      CHECK(std::abs(product[f * s.pad + i] - exact) <= (i < s.block_size[f] ? allowed : 0));
    }
  }
}

void check_all(const Scene& scene) {
  for (const BlockKernels* set : available_block_kernels()) {
    INFO(std::string(set->name));
    check<double, double>(scene, set->lanes_f64, set->eliminate_f64.gather, set->eliminate_f64.eliminate,
                          set->eliminate_f64.substitute, set->eliminate_f64.bend, 1e-13);
    check<float, float>(scene, set->lanes_f32, set->eliminate_f32.gather, set->eliminate_f32.eliminate,
                        set->eliminate_f32.substitute, set->eliminate_f32.bend, 1e-5);
    check<float, double>(scene, set->lanes_f64, set->eliminate_f32_wide.gather,
                         set->eliminate_f32_wide.eliminate, set->eliminate_f32_wide.substitute,
                         set->eliminate_f32_wide.bend, 1e-6);
    check_operator<double>(scene, set->lanes_f64, set->eliminate_f64.gather, set->operate_f64.prepare,
                           set->operate_f64.multiply, 1e-14);
    check_operator<float>(scene, set->lanes_f64, set->eliminate_f32_wide.gather, set->operate_f32.prepare,
                          set->operate_f32.multiply, 1e-7);
  }
}

}  // namespace

TEST_CASE("Points of three numbers and cameras of nine") {
  check_all(Scene(1, {9, 9, 9, 9, 9}, std::vector<std::uint32_t>(20, 3)));
}

TEST_CASE("Points and cameras of every size, residual blocks without a point, and with two cameras") {
  check_all(Scene(2, {1, 6, 17, 9, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 3, 0, 2}));
}

TEST_CASE("Residual blocks of many cameras, most of them without a part in them") {
  check_all(Scene(6, {2, 2, 16, 2, 1, 2, 3, 2, 2, 9, 2, 2, 2}, {1, 0, 1, 3, 0, 2, 7, 0}, true));
}

TEST_CASE("A problem may consist of points without cameras") {
  Scene scene(3, {4}, {3, 3, 2});
  for (auto& first : scene.cell_first) first = 0;
  for (auto& first : scene.entry_first) first = 0;
  for (const BlockKernels* set : available_block_kernels()) {
    std::vector<double> V(scene.matrix_numbers), g(scene.point_numbers), inverse(scene.matrix_numbers),
        damping(scene.point_numbers, 0.25), step(scene.point_numbers);
    const auto targets = scene.targets(set->lanes_f64);
    const auto data = scene.data(scene.J, targets);
    set->eliminate_f64.gather(data, 0, 3, V.data(), g.data(), nullptr, nullptr);
    REQUIRE(set->eliminate_f64.eliminate(data, 0, 3, V.data(), g.data(), damping.data(), inverse.data(),
                                         nullptr, nullptr, nullptr));
    set->eliminate_f64.substitute(data, 0, 3, inverse.data(), g.data(), nullptr, step.data());
    const Eigen::MatrixXd E = scene.dense.leftCols(8);
    const Eigen::MatrixXd H = E.transpose() * E + 0.25 * Eigen::MatrixXd::Identity(8, 8);
    const Eigen::VectorXd expected = -decompositions::solve(H, E.transpose() * scene.r);
    for (Eigen::Index k = 0; k < 8; ++k)
      CHECK(step[static_cast<std::size_t>(k)] == doctest::Approx(expected[k]).epsilon(1e-12));
  }
}

TEST_CASE("A point that is not determined is reported") {
  Scene scene(4, {9, 9}, {3, 3});
  for (double& v : scene.J) v = 0;
  for (const BlockKernels* set : available_block_kernels()) {
    std::vector<double> V(12), g(6), inverse(12), none(6, 0), S(scene.targets(set->lanes_f64).back()),
        b(2 * scene.pad), scratch(2 * scene.most * scene.pad + scene.pad);
    const auto targets = scene.targets(set->lanes_f64);
    const auto data = scene.data(scene.J, targets);
    set->eliminate_f64.gather(data, 0, 2, V.data(), g.data(), b.data(), b.data() + 0);
    CHECK_FALSE(set->eliminate_f64.eliminate(data, 0, 2, V.data(), g.data(), none.data(), inverse.data(),
                                             S.data(), b.data(), scratch.data()));
  }
}
