// GSL's multifit_nlinear as a peer for curve fits.
#include "peers/peers.hpp"

#if NLSQ_BENCH_GSL

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_version.h>

#include <algorithm>
#include <memory>

namespace bench {

namespace {

struct Loops {
  const ModelLoops& model;
  const Data& data;
};

int residuals(const gsl_vector* p, void* context, gsl_vector* r) {
  const Loops& loops = *static_cast<const Loops*>(context);
  loops.model.residuals(loops.data, p->data, r->data);  // both are contiguous vectors of stride 1
  return GSL_SUCCESS;
}

int jacobian(const gsl_vector* p, void* context, gsl_matrix* J) {
  const Loops& loops = *static_cast<const Loops*>(context);
  loops.model.jacobian(loops.data, p->data, J->data, J->tda, 1);
  return GSL_SUCCESS;
}

std::vector<double> fit(const PeerTask& task) {
  Loops loops{model_loops(task.model), *task.data};
  const std::size_t m = task.data->rows(), n = task.start.size();
  gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
  gsl_multifit_nlinear_fdf system{};
  system.f = residuals;
  system.df = jacobian;
  system.n = m;
  system.p = n;
  system.params = &loops;
  const std::unique_ptr<gsl_multifit_nlinear_workspace, decltype(&gsl_multifit_nlinear_free)> workspace(
      gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &parameters, m, n), gsl_multifit_nlinear_free);
  const gsl_vector_const_view start = gsl_vector_const_view_array(task.start.data(), n);
  gsl_multifit_nlinear_init(&start.vector, &system, workspace.get());
  int info = 0;
  gsl_multifit_nlinear_driver(1000, task.tolerance, 0.0, 0.0, nullptr, nullptr, &info, workspace.get());
  const gsl_vector* p = gsl_multifit_nlinear_position(workspace.get());
  return {p->data, p->data + n};
}

}  // namespace

std::optional<Contender> gsl_multifit(const PeerTask& task) {
  gsl_set_error_handler_off();
  return Contender{"GSL multifit_nlinear", [task] { return fit(task); }};
}

std::string detail::gsl_name() { return "GSL " GSL_VERSION; }

}  // namespace bench

#else

namespace bench {

std::optional<Contender> gsl_multifit(const PeerTask&) { return std::nullopt; }
std::string detail::gsl_name() { return {}; }

}  // namespace bench

#endif
