// 5. Bundle adjustment: cameras and points from the image positions of the points.
//
//   example_05_bundle_adjustment                                      a small generated problem
//   example_05_bundle_adjustment FILE                                 a problem in the format of bal.hpp
//   example_05_bundle_adjustment CAMERAS POINTS OBSERVATIONS [FILE]   generated in that size, saved to FILE
//
// Thousands of blocks of one functor run as one program, sixteen at a time. Points are eliminated first, and
// the work is done in f32 as long as that cannot change the answer.
#include "bal.hpp"

#include <nlsq/nlsq.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace {

int adjust(bal::Problem scene) {
  nlsq::Problem problem;
  for (int c = 0; c < scene.cameras; ++c) problem.add_parameter_block(scene.camera(c), 9);
  for (int p = 0; p < scene.points; ++p) problem.add_parameter_block(scene.point(p), 3);
  for (const bal::Observation& o : scene.observations) {
    problem.add_residual_block<2>(bal::Reprojection{o.x, o.y}, nullptr,
                                  {scene.camera(o.camera), scene.point(o.point)});
  }
  std::printf("%d cameras, %d points, %zu observations\n", scene.cameras, scene.points,
              scene.observations.size());

  nlsq::SolverOptions options;
  options.max_iterations = 50;
  options.ftol = 1e-9;
  const nlsq::Summary summary = nlsq::solve(problem, options);

  const double pixels = std::sqrt(summary.final_cost / static_cast<double>(scene.observations.size()));
  std::printf("%s\n%s\n", summary.brief_report().c_str(), summary.message.c_str());
  std::printf("root mean square of a coordinate's error: %.3f pixels\n", pixels);
  std::printf("f32 evaluated %llu blocks, f64 %llu; %.2f s, %.0f MB\n",
              static_cast<unsigned long long>(summary.precision.counters.rows_f32),
              static_cast<unsigned long long>(summary.precision.counters.rows_f64), summary.time.total,
              static_cast<double>(summary.peak_bytes) / 1e6);
  return summary.final_cost <= summary.initial_cost && summary.verdict != nlsq::Verdict::failed ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc == 2) return adjust(bal::read(argv[1]));
    if (argc < 4) return adjust(bal::generate(12, 800, 5000, 1));
    const bal::Problem scene =
        bal::generate(std::atoi(argv[1]), std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10), 1);
    if (argc > 4) bal::write(scene, argv[4]);
    return adjust(scene);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
