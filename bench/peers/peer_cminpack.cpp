// MINPACK's lmder (cminpack) as a peer for curve fits.
#include "peers/peers.hpp"

#if NLSQ_BENCH_CMINPACK

#include <cminpack.h>

#include <utility>

namespace bench {

namespace {

struct Loops {
  const ModelLoops& model;
  const Data& data;
};

int evaluate(void* context, int, int, const double* p, double* r, double* J, int ldfjac, int iflag) {
  const Loops& loops = *static_cast<const Loops*>(context);
  if (iflag == 1) loops.model.residuals(loops.data, p, r);
  if (iflag == 2) loops.model.jacobian(loops.data, p, J, 1, static_cast<std::size_t>(ldfjac));
  return 0;
}

std::vector<double> fit(const PeerTask& task) {
  Loops loops{model_loops(task.model), *task.data};
  const int m = static_cast<int>(task.data->rows()), n = loops.model.parameters;
  const auto rows = static_cast<std::size_t>(m), columns = static_cast<std::size_t>(n);
  std::vector<double> p = task.start, r(rows), J(rows * columns), diag(columns), qtf(columns);
  std::vector<double> wa1(columns), wa2(columns), wa3(columns), wa4(rows);
  std::vector<int> pivots(columns);
  int evaluations = 0, jacobians = 0;
  lmder(evaluate, &loops, m, n, p.data(), r.data(), J.data(), m, task.tolerance, task.tolerance, 0.0, 10000,
        diag.data(), 1, 100.0, 0, &evaluations, &jacobians, pivots.data(), qtf.data(), wa1.data(), wa2.data(),
        wa3.data(), wa4.data());
  return p;
}

}  // namespace

std::optional<Contender> cminpack_lmder(const PeerTask& task) {
  return Contender{"cminpack lmder", [task] { return fit(task); }};
}

std::string detail::cminpack_name() { return "cminpack"; }

}  // namespace bench

#else

namespace bench {

std::optional<Contender> cminpack_lmder(const PeerTask&) { return std::nullopt; }
std::string detail::cminpack_name() { return {}; }

}  // namespace bench

#endif
