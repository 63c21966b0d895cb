// One pass over the rows of a DenseEvaluator: its request, its cost in counted work, and the sums of its
// parts. The files that implement DenseEvaluator use it.
#pragma once

#include "dense/dense_scratch.hpp"
#include "linear/wide_factor.hpp"
#include "support/idle_pool.hpp"
#include "support/parallel.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

class ByteWriter;
class ByteReader;

// Returns true if QR of [J | r], which has `n1` columns, works by blocks.
inline bool in_blocks(int n1) { return kernels().qr_block_columns > 0 && n1 >= kernels().qr_block_columns; }

// In f64 adds; about 50 µs. Waking a thread does not pay for less work.
inline constexpr double kThreadWork = 1e6;

// Prices in f64 adds. Rows count by the number of SIMD lanes, products as measured (docs/precision.md, "Which
// form serves").
inline double row_price(const PrecisionPlan& plan) { return plan.residual == Format::f32 ? 0.5 : 1.0; }
inline double gram_price(Gram gram, int n1) {  // per entry of the triangle
  const bool avx512 = kernels().lanes_f64 == 8;
  switch (gram) {
    case Gram::bf16: return kernels().multiplies_bf16() ? 0.15 : 10;
    case Gram::f32_tile: return avx512 ? 0.9 : 0.55;
    case Gram::f16: return 0.9;
    case Gram::f32_wide: return avx512 ? 1.15 : 1.25;
    case Gram::f64: return 1;
    case Gram::qr: return in_blocks(n1) ? 2.4 + 80.0 / n1 : 8;
  }
  return 1;
}
inline double rounding_price(const PrecisionPlan& plan) {  // per entry of J
  if (plan.gram >= Gram::f64) return 0;
  const double to_16_bits = plan.gram == Gram::f16 ? 20 : plan.gram == Gram::bf16 ? 10 : 0;
  return to_16_bits + (plan.residual == Format::f64 ? 5.5 : 0);
}

// Returns the plan of a pass that evaluates only residuals.
inline PrecisionPlan cost_plan(Format format) {
  return {format, format == Format::f64 ? Gram::f64 : Gram::f32_wide};
}

// Returns the number of entries in the upper triangle of n1 columns.
inline std::size_t packed_size(int n1) {
  return static_cast<std::size_t>(n1) * (static_cast<std::size_t>(n1) + 1) / 2;
}

struct DenseEvaluator::Pass {
  std::span<const double> x;
  Fill fill;
  PrecisionPlan plan;
  std::span<const double> beside = {};  // another point at which to evaluate the cost
  Format beside_format = Format::f32;   // of that cost; the plan's format is used where it is wider
  bool gradient = false;                // only Jᵀr and rᵀr, in f64
  // Only Jᵀ r_vv, in f64, where r_vv is the second derivative of r along `direction`. It is computed by a
  // difference between x and `moved` = x + step direction.
  std::span<const double> direction = {}, moved = {};
  double step = 0;
  bool keep_tiny = false;  // do not flush subnormal numbers
  bool second_order() const { return !direction.empty(); }
  bool by_qr() const { return plan.gram == Gram::qr && fill != Fill::residual; }
  double products(int parameters) const {  // work per row
    if (fill == Fill::residual || second_order()) return 0;
    if (gradient) return parameters + 1;
    return static_cast<double>(packed_size(parameters + 1)) * gram_price(plan.gram, parameters + 1) +
           parameters * rounding_price(plan);
  }
};

// Sums over one part of the rows, or over all rows.
struct DenseEvaluator::Sums {
  void restart(const Pass& pass, std::size_t n1, std::size_t components) {
    const bool qr = pass.by_qr();
    const bool row = pass.gradient || pass.second_order();
    packed.assign(qr ? 0 : row ? n1 : packed_size(static_cast<int>(n1)), 0.0);
    triangle.assign(qr ? n1 : 0, qr ? n1 : 0);
    squares_beside = 0;
    redone.assign(components, 0);
    parts.assign(components, {});
    issues.clear();
    finite = true;
  }

  Vector packed;    // upper triangle of the Gram sums by rows, or only its last column, or Jᵀ r_vv
  Matrix triangle;  // R of a QR pass
  double squares_beside = 0;  // Σr² at the point `beside`
  // Tiles that were not finite in f32, by component; a single entry without components.
  std::vector<std::size_t> redone;
  std::vector<KernelCounters> parts;  // by component
  bool finite = true;
  TileRange culprit;  // a tile that is not finite in f64
  // of the redone tiles, and of numbers near the limit of their format
  std::vector<PrecisionIssue> issues;

  // Write and read everything but counters and issues.
  void put(ByteWriter& out) const;
  void take(ByteReader& in);
  void merge(const Sums& other, int n1, KernelCounters& counters) {
    for (std::size_t c = 0; c < redone.size(); ++c) redone[c] += other.redone[c];
    finite = finite && other.finite;
    squares_beside += other.squares_beside;
    for (std::size_t k = 0; k < packed.size(); ++k) packed[k] += other.packed[k];
    if (triangle.empty()) return;
    const auto n = static_cast<std::size_t>(n1);
    if (in_blocks(n1)) return fold_triangle(triangle.data(), other.triangle.data(), n, counters);
    // Computes R of both triangles: adds the rows of the other triangle to this one.
    Vector columns(n * 64 * ((n + 63) / 64));
    std::vector<double*> pointers(n);
    for (std::size_t j = 0; j < n; ++j) {
      pointers[j] = columns.data() + j * 64 * ((n + 63) / 64);
      for (std::size_t i = 0; i < n; ++i) pointers[j][i] = other.triangle(i, j);
    }
    kernels().qr_fold(triangle.data(), n, n1, pointers.data(), n, &counters);
  }
};

// Consecutive chunks [begin, end) of the `chunks` of a pass. In a team, each process has a share. The
// processes exchange sums over blocks of `block` chunks, which are whole branches of the reduction tree.
struct DenseEvaluator::Share {
  std::size_t begin, end, chunks, chunk_tiles;
  std::size_t block = 0;  // a power of two; 0 if this process sums all chunks
  bool divided() const { return block > 0; }
};

struct DenseEvaluator::Account {
  std::vector<KernelCounters> parts;  // by component
  KernelCounters merging;             // of joining triangles before the exchange
  std::vector<PrecisionIssue> issues;
  bool finite = true;
  TileRange culprit;  // the first tile that is not finite in f64
  // Write and add everything but `finite` and `culprit`, for another process or for the journal.
  void put(ByteWriter& out) const;
  void add(ByteReader& in);
};

// The scratch memory of each worker of a pass. It is kept between passes.
class DenseEvaluator::Workers {
 public:
  // Begins a pass of `tasks` tasks at one x. Returns true if it goes through the chunks from the last to the
  // first. Every second pass does, because the cache of the system or of the processor still holds what the
  // last pass read at its end. The sums are the same in both orders.
  bool begin(std::size_t tasks, const Parallelism& parallelism) {
    count_ = std::max(count_, std::min(tasks, most_threads(parallelism)));
    for (const auto& scratch : pool_.all()) scratch->hold_x();
    return std::exchange(backwards_, !backwards_);
  }
  std::unique_ptr<Scratch> take() { return pool_.take(); }
  void give_back(std::unique_ptr<Scratch> scratch) { pool_.give(std::move(scratch)); }
  // Returns an upper limit of the memory of the workers: all threads take part, and each has the largest
  // buffers that any of them had. How many took part depends on chance, and the same fit must report the same
  // number.
  std::size_t bytes() {
    for (const auto& scratch : pool_.all()) scratch->add_sizes(largest_);
    return std::max(count_, pool_.all().size()) * largest_.total();
  }

 private:
  IdlePool<Scratch> pool_{[] {
    auto scratch = std::make_unique<Scratch>();
    scratch->hold_x();
    return scratch;
  }};
  std::size_t count_ = 0;
  bool backwards_ = false;
  Scratch::Sizes largest_;
};

}  // namespace nlsq::inline v0
