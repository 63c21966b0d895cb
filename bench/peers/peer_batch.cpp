// Runs the peer of suite batch: MINPACK's lmder on many spots, written for speed, with derivatives by hand,
// reused workspaces, and one thread per core.
#include "peers/peer_batch.hpp"

#if NLSQ_BENCH_CMINPACK

#include <cminpack.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <thread>

namespace bench {

namespace {

constexpr int kRows = 225, kParameters = 5;

struct Spot {
  const double *x, *y, *z;
};

int evaluate(void* context, int, int, const double* p, double* r, double* J, int ldfjac, int iflag) {
  const Spot& spot = *static_cast<const Spot*>(context);
  const double a = p[0], cx = p[1], cy = p[2], s = p[3], b = p[4];
  const double inverse = 1 / (s * s), half = 0.5 * inverse;
  for (int i = 0; i < kRows; ++i) {
    const double dx = spot.x[i] - cx, dy = spot.y[i] - cy, square = dx * dx + dy * dy;
    const double e = std::exp(-square * half), f = a * e;
    if (iflag == 1) {
      r[i] = f + b - spot.z[i];
    } else if (iflag == 2) {
      J[i] = e;
      J[i + ldfjac] = f * dx * inverse;
      J[i + 2 * ldfjac] = f * dy * inverse;
      J[i + 3 * ldfjac] = f * square * inverse / s;
      J[i + 4 * ldfjac] = 1;
    }
  }
  return 0;
}

void fit_some(const SpotBatch& batch, double tolerance, std::size_t first, std::size_t last, double* out) {
  double r[kRows], J[kRows * kParameters], diag[kParameters], qtf[kParameters], wa1[kParameters],
      wa2[kParameters], wa3[kParameters], wa4[kRows];
  int pivots[kParameters], evaluations = 0, jacobians = 0;
  for (std::size_t f = first; f < last; ++f) {
    double* p = out + f * kParameters;
    std::copy_n(batch.starts.data() + f * kParameters, kParameters, p);
    Spot spot{batch.x.data(), batch.y.data(), batch.images.data() + f * kRows};
    lmder(evaluate, &spot, kRows, kParameters, p, r, J, kRows, tolerance, tolerance, 0.0, 1000, diag, 1,
          100.0, 0, &evaluations, &jacobians, pivots, qtf, wa1, wa2, wa3, wa4);
  }
}

}  // namespace

std::optional<Contender> cminpack_batch(const SpotBatch& batch, double tolerance, int threads) {
  return Contender{"cminpack lmder", [&batch, tolerance, threads] {
                     std::vector<double> out(batch.fits * kParameters);
                     std::vector<std::thread> workers;
                     const auto count = static_cast<std::size_t>(threads);
                     for (std::size_t t = 0; t < count; ++t) {
                       workers.emplace_back(fit_some, std::cref(batch), tolerance, batch.fits * t / count,
                                            batch.fits * (t + 1) / count, out.data());
                     }
                     for (std::thread& worker : workers) worker.join();
                     return out;
                   }};
}

}  // namespace bench

#else

namespace bench {
std::optional<Contender> cminpack_batch(const SpotBatch&, double, int) { return std::nullopt; }
}  // namespace bench

#endif
