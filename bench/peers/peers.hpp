// Runs other libraries as peers. Each is available if it was found when the bench was built.
#pragma once

#include "curves/model_loops.hpp"
#include "harness.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

// This is one fit for a peer. The data must outlive the contender.
struct PeerTask {
  std::string_view model;  // of model_loops
  const Data* data = nullptr;
  std::vector<double> start;
  double tolerance = 1e-10;
  int threads = 1;  // of Ceres
};

// Runs MINPACK's lmder with derivatives by hand. ftol = xtol = tolerance, and gtol = 0.
std::optional<Contender> cminpack_lmder(const PeerTask& task);
// Runs GSL's multifit_nlinear with derivatives by hand and its default method (lm, QR). xtol = tolerance;
// gtol and ftol are 0.
std::optional<Contender> gsl_multifit(const PeerTask& task);

// The ways to write a fit for Ceres. Function, gradient and parameter tolerances are all `tolerance`.
enum class CeresForm { block_per_row, one_block };  // AutoDiff, as in its tutorial; by hand
enum class CeresSolver { normal_cholesky, qr };
std::optional<Contender> ceres_fit(const PeerTask& task, CeresForm form, CeresSolver solver);

// Disables Ceres's log, which reports every trial point that is not finite and takes time. Does nothing
// without Ceres.
void silence_ceres();

// Returns the peers found, and those missing: "Ceres 2.1.0, GSL 2.7.1, cminpack".
std::string peer_versions();

namespace detail {
std::string ceres_name();  // with its version if available; empty: not found
std::string gsl_name();
std::string cminpack_name();
}  // namespace detail

}  // namespace bench
