#include "dense_evaluator.hpp"

#include "parallel.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTilesPerChunk = 16;         // leaves of the reduction tree
constexpr std::size_t kChunkDoubles = 1 << 23;     // most numbers all leaves hold together
constexpr double kThreadWork = 1e6;                // f64 adds, some 50 µs: less is not worth waking a thread
constexpr int kMaxRecordings = 64;                 // passes repeated because a row took a new branch
constexpr double kF32Price = 0.5;                  // of an f64 row, by lanes

std::size_t packed_size(int n1) { return static_cast<std::size_t>(n1) * (static_cast<std::size_t>(n1) + 1) / 2; }

bool all_finite(const Vector& values) {
  double zero = 0;
  for (const double v : values) zero += v - v;
  return zero == 0;
}

struct ChunkSums {
  Vector packed;            // Gram sums, upper triangle by rows
  std::size_t redone = 0;   // tiles that were not finite in f32
  bool finite = true;
  TileRange culprit = {};   // the tile that is not, in f64 either
};

}  // namespace

struct DenseEvaluator::Sums : ChunkSums {
  Matrix triangle;  // QR

  void merge(const Sums& other, int n1, KernelCounters& counters) {
    redone += other.redone;
    finite = finite && other.finite;
    for (std::size_t k = 0; k < packed.size(); ++k) packed[k] += other.packed[k];
    if (triangle.empty()) return;
    // R of both: fold the other's rows in, column by column.
    const auto n = static_cast<std::size_t>(n1);
    Vector columns(n * 64 * ((n + 63) / 64));
    std::vector<double*> pointers(n);
    for (std::size_t j = 0; j < n; ++j) {
      pointers[j] = columns.data() + j * 64 * ((n + 63) / 64);
      for (std::size_t i = 0; i < n; ++i) pointers[j][i] = other.triangle(i, j);
    }
    kernels().qr_fold(triangle.data(), n1, pointers.data(), n, &counters);
  }
};

namespace {

// One worker's way through tiles, kept from chunk to chunk: fills them in the plan's precision and folds them
// into sums.
class TileFolder {
 public:
  TileFolder(RowModel& model, std::span<const double> x, Fill fill, const PrecisionPlan& plan)
      : model_(model), x_(x), fill_(fill), plan_(plan), n1_(fill == Fill::residual ? 1 : model.parameters() + 1),
        first_(static_cast<std::size_t>(model.parameters() + 1 - n1_)),
        pass_(model.begin(x, fill, plan.residual == Format::f32)), ones_(ones_column(*pass_)) {
    if (ones_ >= 0 && plan.residual == Format::f32) without_f32_.resize(static_cast<std::size_t>(n1_));
    if (ones_ >= 0) without_f64_.resize(static_cast<std::size_t>(n1_));
  }

  // Adds a tile's sums in the plan's precision.
  void add(const TileRange& range, double* sums) {
    if (plan_.residual == Format::f64) return add_f64(range, sums);
    const float* const* columns = pass_->fill_f32(range.first, range.count, counters_) + first_;
    const auto kernel = plan_.gram == Gram::f32_tile ? kernels().gram_f32 : kernels().gram_f32_wide;
    kernel(without_ones(columns, without_f32_), n1_, range.count, sums, &counters_);
  }
  void add_f64(const TileRange& range, double* sums) {
    kernels().gram_f64(without_ones(fill_f64(range), without_f64_), n1_, range.count, sums, &counters_);
  }

  // Folds one tile into R. The kernel destroys its input, which may be the user's data: copy first.
  bool qr(const TileRange& range, Matrix& triangle) {
    const double* const* columns = fill_f64(range);
    const std::size_t stride = (model_.tile_rows() + 63) / 64 * 64;
    copies_.resize(static_cast<std::size_t>(n1_) * stride);
    std::vector<double*> pointers(static_cast<std::size_t>(n1_));
    double zero = 0;
    for (std::size_t j = 0; j < pointers.size(); ++j) {
      pointers[j] = copies_.data() + j * stride;
      for (std::size_t i = 0; i < range.count; ++i) zero += columns[j][i] - columns[j][i];
      std::copy_n(columns[j], range.count, pointers[j]);
    }
    if (zero != 0) return false;
    kernels().qr_fold(triangle.data(), n1_, pointers.data(), range.count, &counters_);
    return true;
  }

  int columns() const { return n1_; }
  const KernelCounters& counters() const { return counters_; }
  std::size_t bytes() const { return pass_->bytes() + (wide_ ? wide_->bytes() : 0) + copies_.size() * sizeof(double); }

 private:
  const double* const* fill_f64(const TileRange& range) {
    if (plan_.residual == Format::f64) return pass_->fill_f64(range.first, range.count, counters_) + first_;
    if (!wide_) wide_ = model_.begin(x_, fill_, false);
    return wide_->fill_f64(range.first, range.count, counters_) + first_;
  }

  int ones_column(const TilePass& pass) const {
    return fill_ == Fill::residual || n1_ > most_columns_with_ones ? -1 : pass.ones_column();
  }
  template <class T>
  const T* const* without_ones(const T* const* columns, std::vector<const T*>& copy) const {
    if (ones_ < 0) return columns;
    std::copy_n(columns, copy.size(), copy.begin());
    copy[static_cast<std::size_t>(ones_)] = nullptr;
    return copy.data();
  }

  RowModel& model_;
  std::span<const double> x_;
  Fill fill_;
  PrecisionPlan plan_;
  KernelCounters counters_;
  int n1_;
  std::size_t first_;
  std::unique_ptr<TilePass> pass_, wide_;
  int ones_;
  std::vector<const double*> without_f64_;
  std::vector<const float*> without_f32_;
  Vector copies_;
};

}  // namespace

// The folders of one pass: as many as threads ask for at a time.
class DenseEvaluator::Folders {
 public:
  Folders(RowModel& model, std::span<const double> x, Fill fill, const PrecisionPlan& plan)
      : model_(model), x_(x), fill_(fill), plan_(plan) {}

  std::unique_ptr<TileFolder> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto folder = std::move(idle_.back());
        idle_.pop_back();
        return folder;
      }
    }
    return std::make_unique<TileFolder>(model_, x_, fill_, plan_);
  }
  void give_back(std::unique_ptr<TileFolder> folder) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(folder));
  }
  const std::vector<std::unique_ptr<TileFolder>>& all() const { return idle_; }  // when none is out

 private:
  RowModel& model_;
  std::span<const double> x_;
  Fill fill_;
  PrecisionPlan plan_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<TileFolder>> idle_;
};

DenseEvaluator::Sums DenseEvaluator::accumulate(std::span<const double> x, Fill fill, const PrecisionPlan& plan) {
  for (int round = 0; round < kMaxRecordings; ++round) {
    bool retry = false;
    const auto begin = std::chrono::steady_clock::now();
    Sums sums = accumulate_once(x, fill, plan, retry);
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    const double rows = static_cast<double>(model_.rows()) * model_.row_cost(fill);
    work_ += rows * (plan.residual == Format::f32 ? kF32Price : 1.0);
    if (!retry) return sums;
  }
  throw RecordingFailed("rows kept taking branches that were not recorded");
}

namespace {

// Sums of the tiles [begin, end), in order. All at once; only where the sums tell that something is not finite, once more to see which tile it was.
void add_tiles(TileFolder& folder, const RowModel& model, std::size_t begin, std::size_t end, bool single, ChunkSums& sums) {
  const std::size_t size = packed_size(folder.columns());
  sums.packed.assign(size, 0.0);
  for (std::size_t t = begin; t < end; ++t) folder.add(model.tile(t), sums.packed.data());
  if (all_finite(sums.packed)) return;
  sums.packed.assign(size, 0.0);
  Vector tile(size);
  for (std::size_t t = begin; t < end; ++t) {
    std::fill(tile.begin(), tile.end(), 0.0);
    folder.add(model.tile(t), tile.data());
    if (single && !all_finite(tile)) {
      ++sums.redone;
      std::fill(tile.begin(), tile.end(), 0.0);
      folder.add_f64(model.tile(t), tile.data());
    }
    if (!all_finite(tile)) {
      sums.finite = false;
      sums.culprit = model.tile(t);
      return;
    }
    for (std::size_t k = 0; k < size; ++k) sums.packed[k] += tile[k];
  }
}

}  // namespace

// Sums over one chunk of tiles, in order. Stops at the first tile that is not finite in f64.
DenseEvaluator::Sums DenseEvaluator::sum_chunk(std::size_t begin, std::size_t end, Fill fill, const PrecisionPlan& plan,
                                               Folders& folders) {
  Sums out;
  auto folder = folders.take();
  if (plan.gram == Gram::qr && fill != Fill::residual) {
    const auto n1 = static_cast<std::size_t>(folder->columns());
    out.triangle = Matrix(n1, n1);
    for (std::size_t t = begin; t < end && out.finite; ++t) {
      out.finite = folder->qr(model_.tile(t), out.triangle);
      out.culprit = model_.tile(t);
    }
  } else {
    add_tiles(*folder, model_, begin, end, plan.residual == Format::f32, out);
  }
  folders.give_back(std::move(folder));
  return out;
}

// Chunks of tiles are summed in any order by any thread, then combined in a fixed binary tree: the same
// bits however they are shared out, and rounding errors that grow with the logarithm of their number.
// Their number depends on the problem alone, and is bounded by the memory their sums take.
DenseEvaluator::Sums DenseEvaluator::accumulate_once(std::span<const double> x, Fill fill, const PrecisionPlan& plan,
                                                     bool& retry) {
  const int n1 = fill == Fill::residual ? 1 : parameters() + 1;
  const std::size_t tiles = std::max<std::size_t>(1, model_.tile_count());
  const std::size_t most = std::max<std::size_t>(8, kChunkDoubles / packed_size(n1));
  const std::size_t chunk_tiles = std::max(kTilesPerChunk, (tiles + most - 1) / most);
  const std::size_t chunks = (tiles + chunk_tiles - 1) / chunk_tiles;
  const double work = static_cast<double>(model_.rows()) * model_.row_cost(fill);
  const bool alone = !model_.concurrent() || work < kThreadWork;

  std::vector<Sums> sums(chunks);
  Folders folders(model_, x, fill, plan);
  run_tasks(chunks, alone ? Parallelism{1, {}} : parallelism_,
            [&](std::size_t c) {
              const std::size_t end = std::min(model_.tile_count(), (c + 1) * chunk_tiles);
              sums[c] = sum_chunk(c * chunk_tiles, end, fill, plan, folders);
            });
  std::size_t bytes = 0;
  for (const Sums& s : sums) bytes += (s.packed.size() + s.triangle.rows() * s.triangle.columns()) * sizeof(double);
  for (const auto& folder : folders.all()) {
    counters_.add(folder->counters());
    bytes += folder->bytes();
  }
  peak_bytes_ = std::max(peak_bytes_, bytes);
  for (Sums& s : sums) {
    if (s.finite) continue;
    const auto why = model_.explain_non_finite(x, s.culprit.first, s.culprit.count);
    if (why == RowModel::NonFinite::give_up) throw RecordingFailed("a row took a branch that could not be recorded");
    retry = why == RowModel::NonFinite::retry;
    return std::move(s);
  }
  for (std::size_t step = 1; step < chunks; step *= 2) {
    for (std::size_t c = 0; c + step < chunks; c += 2 * step) sums[c].merge(sums[c + step], n1, counters_);
  }
  return std::move(sums.front());
}

Linearization DenseEvaluator::linearize(std::span<const double> x, const PrecisionPlan& plan) {
  Sums sums = accumulate(x, Fill::jacobian_and_residual, plan);
  Linearization out;
  out.plan = plan;
  out.finite = sums.finite;
  if (!out.finite) {
    out.cost = std::numeric_limits<double>::quiet_NaN();
    return out;
  }
  out.nonfinite_tiles = static_cast<double>(sums.redone) / static_cast<double>(std::max<std::size_t>(1, model_.tile_count()));
  const auto n = static_cast<std::size_t>(parameters());
  out.gradient.resize(n);
  out.normal = Matrix(n, n);
  if (plan.gram == Gram::qr) {
    const Matrix& R = sums.triangle;
    double squares = 0;
    for (std::size_t k = 0; k <= n; ++k) squares += R(k, n) * R(k, n);
    out.cost = 0.5 * squares;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k <= i; ++k) out.gradient[i] += R(k, i) * R(k, n);
      for (std::size_t j = i; j < n; ++j) {
        for (std::size_t k = 0; k <= i; ++k) out.normal(i, j) += R(k, i) * R(k, j);
        out.normal(j, i) = out.normal(i, j);
      }
    }
    out.triangle = std::move(sums.triangle);
  } else {
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j, ++k) out.normal(i, j) = out.normal(j, i) = sums.packed[k];
      out.gradient[i] = sums.packed[k++];
    }
    out.cost = 0.5 * sums.packed[k];
  }
  return out;
}

void DenseEvaluator::add_work(const DenseEvaluator& part) {
  counters_.add(part.counters_);
  work_ += part.work_;
  seconds_ += part.seconds_;
  peak_bytes_ = std::max(peak_bytes_, part.peak_bytes_);
}

CostValue DenseEvaluator::cost(std::span<const double> x, Format format) {
  const PrecisionPlan plan{format, format == Format::f64 ? Gram::f64 : Gram::f32_wide};
  const Sums sums = accumulate(x, Fill::residual, plan);
  return {sums.finite ? 0.5 * sums.packed[0] : std::numeric_limits<double>::quiet_NaN()};
}

Vector DenseEvaluator::second_order(std::span<const double> x, std::span<const double> direction, double h) {
  const auto n = static_cast<std::size_t>(parameters());
  Vector moved(x.begin(), x.end());
  for (std::size_t j = 0; j < n; ++j) moved[j] += h * direction[j];
  const auto here = model_.begin(x, Fill::jacobian_and_residual, false);
  const auto there = model_.begin(moved, Fill::residual, false);
  Vector out(n, 0.0);
  for (std::size_t t = 0; t < model_.tile_count(); ++t) {
    const TileRange range = model_.tile(t);
    const double* const* J = here->fill_f64(range.first, range.count, counters_);
    const double* moved_r = there->fill_f64(range.first, range.count, counters_)[n];
    for (std::size_t i = 0; i < range.count; ++i) {
      double linear = 0;
      for (std::size_t j = 0; j < n; ++j) linear += J[j][i] * direction[j];
      // Transtrum & Sethna: r_vv ≈ 2/h ((r(x + hv) - r(x))/h - J v).
      const double r_vv = 2 / h * ((moved_r[i] - J[n][i]) / h - linear);
      for (std::size_t j = 0; j < n; ++j) out[j] += J[j][i] * r_vv;
    }
  }
  work_ += static_cast<double>(model_.rows()) * (row_cost() + model_.row_cost(Fill::residual));
  return out;
}

NonFiniteRow DenseEvaluator::find_non_finite(std::span<const double> x) {
  const auto pass = model_.begin(x, Fill::jacobian_and_residual, false);
  const auto n = static_cast<std::size_t>(parameters());
  for (std::size_t t = 0; t < model_.tile_count(); ++t) {
    const TileRange range = model_.tile(t);
    const double* const* columns = pass->fill_f64(range.first, range.count, counters_);
    for (std::size_t i = 0; i < range.count; ++i) {
      for (std::size_t j = 0; j <= n; ++j) {
        if (!std::isfinite(columns[j][i])) return {true, range.first + i};
      }
    }
  }
  return {};
}

}  // namespace nlsq::inline v0
