// Tests pose graphs. Blocks on which the same residuals depend are solved for together, in whatever form they
// are given.
#include "blocks/block_structure.hpp"

#include <nlsq/problem.hpp>
#include "kernels/block_kernels.hpp"

#include <pose_graph.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace nlsq;

namespace {

using Plane = pose_graph::Graph<pose_graph::Planar>;

// Applies the measurement to poses that are one block of three numbers each.
struct Joint {
  pose_graph::Planar measured;
  template <class T>
  bool operator()(const T* a, const T* b, T* residuals) const {
    return measured(a, a + 1, a + 2, b, b + 1, b + 2, residuals);
  }
};

// Applies the measurement to poses whose angles come first.
struct Turned {
  pose_graph::Planar measured;
  template <class T>
  bool operator()(const T* ta, const T* xb, const T* ya, const T* tb, const T* xa, const T* yb,
                  T* residuals) const {
    return measured(xa, ya, ta, xb, yb, tb, residuals);
  }
};

enum class Form { joint, apart, turned };

void add_all(Problem& problem, const Plane& graph, std::vector<double>& poses, Form form) {
  for (std::size_t i = 0; form != Form::joint && i < poses.size(); ++i)
    problem.add_parameter_block(&poses[i], 1);
  for (std::size_t i = 0; form == Form::joint && i < poses.size(); i += 3)
    problem.add_parameter_block(&poses[i], 3);
  for (const auto& edge : graph.edges) {
    double *a = &poses[static_cast<std::size_t>(3 * edge.from)],
           *b = &poses[static_cast<std::size_t>(3 * edge.to)];
    if (form == Form::joint) problem.add_residual_block<3>(Joint{edge.measured}, nullptr, {a, b});
    if (form == Form::apart)
      problem.add_residual_block<3>(edge.measured, nullptr, {a, a + 1, a + 2, b, b + 1, b + 2});
    if (form == Form::turned)
      problem.add_residual_block<3>(Turned{edge.measured}, nullptr, {a + 2, b, a + 1, b + 2, a, b + 1});
  }
  for (std::size_t i = 0; i < (form == Form::joint ? 1U : 3U); ++i) problem.set_constant(&poses[i]);
}

}  // namespace

TEST_CASE("Numbers of a pose handed in one by one are one block of the solve, in any order") {
  const Plane graph = pose_graph::planar(40, 12, 3, 2);
  for (const Form form : {Form::joint, Form::apart, Form::turned}) {
    std::vector<double> poses = graph.poses;
    Problem problem;
    add_all(problem, graph, poses, form);
    const BlockStructure structure(problem.impl(), block_kernels().lanes_f32, block_kernels().lanes_f64);
    CHECK(structure.cameras() == 39);
    CHECK(structure.reduced_size() == 117);
    CHECK(structure.points == graph.edges.size());  // nothing is eliminated first
    for (const std::uint32_t size : structure.block_size) CHECK(size == 3);
  }
}

TEST_CASE("Blocks that are used together only sometimes stay apart") {
  double a[1] = {1}, b[1] = {2}, c[1] = {3};
  Problem problem;
  problem.add_residual_block([](const auto* p, const auto* q, const auto* s) { return p[0] * q[0] + s[0]; },
                             nullptr, {a, b, c});
  problem.add_residual_block([](const auto* p, const auto* q) { return p[0] - q[0]; }, nullptr, {a, b});
  problem.add_residual_block([](const auto* s) { return s[0] - 1.0; }, nullptr, {c});
  const BlockStructure structure(problem.impl(), block_kernels().lanes_f32, block_kernels().lanes_f64);
  CHECK(structure.cameras() + structure.real_points == 2);
  CHECK(structure.tangent_size() == 3);
}

TEST_CASE(
    "A pose graph has the same minimum however its poses are handed in, and the same bits on any number of "
    "threads") {
  const Plane graph = pose_graph::planar(400, 60, 3, 1);  // 1197 numbers, for the sparse factor
  std::vector<double> reference;
  for (const Form form : {Form::joint, Form::apart, Form::turned}) {
    std::vector<double> one;
    for (const int threads : {1, 2, 4}) {
      std::vector<double> poses = graph.poses;
      Problem problem;
      add_all(problem, graph, poses, form);
      SolverOptions options;
      options.threads = threads;
      const Summary summary = solve(problem, options);
      CHECK(summary.verdict == Verdict::converged);
      CHECK(summary.certificate.rank == 1197);
      if (one.empty()) one = poses;
      CHECK(poses == one);
      if (reference.empty()) reference = poses;
      double worst = 0;
      for (std::size_t i = 0; i < poses.size(); ++i)
        worst = std::max(worst, std::fabs(poses[i] - reference[i]));
      CHECK(worst < 1e-6);
    }
  }
}
