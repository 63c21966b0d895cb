// Other libraries, each where it was found when the bench was built.
#pragma once

#include "curves/model_loops.hpp"
#include "harness.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// One fit as a peer gets it. The data must outlive the contender.
struct PeerTask {
  std::string_view model;  // of model_loops
  const Data* data = nullptr;
  std::vector<double> start;
  double tolerance = 1e-10;
  int threads = 1;  // Ceres's
};

// MINPACK's lmder with derivatives by hand; ftol = xtol = tolerance, gtol = 0.
std::optional<Contender> cminpack_lmder(const PeerTask& task);
// GSL's multifit_nlinear with derivatives by hand, its default method (lm, QR); xtol = tolerance, gtol and
// ftol 0.
std::optional<Contender> gsl_multifit(const PeerTask& task);

// Ceres; function, gradient and parameter tolerances all `tolerance`.
enum class CeresForm { block_per_row, one_block };  // AutoDiff, as in its tutorial; by hand
enum class CeresSolver { normal_cholesky, qr };
std::optional<Contender> ceres_fit(const PeerTask& task, CeresForm form, CeresSolver solver);

// Ceres logs every trial point that is not finite; neither the page nor the time is wanted. Nothing where it
// is not found.
void silence_ceres();

// "Ceres 2.1.0, GSL 2.7.1, cminpack": what was found; what is missing is said too.
std::string peer_versions();

namespace detail {
std::string ceres_name();  // with its version where it tells it; empty: not found
std::string gsl_name();
std::string cminpack_name();
}  // namespace detail

}  // namespace bench
