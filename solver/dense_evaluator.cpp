#include "dense_evaluator.hpp"

#include "dense_scratch.hpp"
#include "loss_curvature.hpp"
#include "parallel.hpp"

#include <nlsq/sample_rows.hpp>
#include "tile_issues.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTilesPerChunk = 16;         // leaves of the reduction tree
constexpr std::size_t kChunkDoubles = 1 << 23;     // most numbers all leaves hold together
constexpr std::size_t kMostChunks = 2048;          // leaves: their memory must not grow with the rows
constexpr double kThreadWork = 1e6;                // f64 adds, some 50 µs: less is not worth waking a thread
constexpr int kMaxRecordings = 64;                 // passes repeated because a row took a new branch

// In f64 adds. Rows by lanes, products as measured (docs/precision.md, "Which form serves").
double row_price(const PrecisionPlan& plan) { return plan.residual == Format::f32 ? 0.5 : 1.0; }
double gram_price(Gram gram) {  // of an entry of the triangle
  switch (gram) {
    case Gram::bf16: return kernels().bf16_instructions ? 0.15 : 10;
    case Gram::f32_tile: return 0.9;
    case Gram::f16: return 0.9;
    case Gram::f32_wide: return 1.15;
    case Gram::f64: return 1;
    case Gram::qr: return 8;
  }
  return 1;
}
double rounding_price(const PrecisionPlan& plan) {  // of an entry of J
  if (plan.gram >= Gram::f64) return 0;
  const double to_16_bits = plan.gram == Gram::f16 ? 20 : plan.gram == Gram::bf16 ? 10 : 0;
  return to_16_bits + (plan.residual == Format::f64 ? 5.5 : 0);
}

PrecisionPlan cost_plan(Format format) { return {format, format == Format::f64 ? Gram::f64 : Gram::f32_wide}; }

std::size_t packed_size(int n1) { return static_cast<std::size_t>(n1) * (static_cast<std::size_t>(n1) + 1) / 2; }

bool all_finite(const Vector& values) {
  double zero = 0;
  for (const double v : values) zero += v - v;
  return zero == 0;
}

// A number near the limit of f32 has a square of at least this, and so has its column. n1 columns.
bool may_be_near_limit(const Vector& sums, std::size_t n1) {
  constexpr double kSquare = kNearLimit * kNearLimit * (1 - 1e-6);
  for (std::size_t j = 0, k = 0; j < n1; k += n1 - j, ++j) {
    if (sums[k] >= kSquare) return true;
  }
  return false;
}

}  // namespace

struct DenseEvaluator::Pass {
  std::span<const double> x;
  Fill fill;
  PrecisionPlan plan;
  std::span<const double> beside = {};  // another point, whose cost is wanted, too
  double products(int parameters) const {  // of a row
    if (fill == Fill::residual) return 0;
    return static_cast<double>(packed_size(parameters + 1)) * gram_price(plan.gram) + parameters * rounding_price(plan);
  }
};

struct DenseEvaluator::Sums {
  void restart(bool qr, std::size_t n1, std::size_t components) {
    packed.assign(qr ? 0 : packed_size(static_cast<int>(n1)), 0.0);
    triangle.assign(qr ? n1 : 0, qr ? n1 : 0);
    squares_beside = 0;
    redone.assign(components, 0);
    parts.assign(components, {});
    issues.clear();
    finite = true;
  }

  Vector packed;             // Gram sums, upper triangle by rows
  Matrix triangle;           // QR
  double squares_beside = 0; // Σr² at the other point
  std::vector<std::size_t> redone;     // tiles that were not finite in f32, by component; one where none have names
  std::vector<KernelCounters> parts;   // by component
  bool finite = true;
  TileRange culprit;         // the tile that is not
  std::vector<PrecisionIssue> issues;  // of the tiles redone, and of numbers that came close

  void merge(const Sums& other, int n1, KernelCounters& counters) {
    for (std::size_t c = 0; c < redone.size(); ++c) redone[c] += other.redone[c];
    finite = finite && other.finite;
    squares_beside += other.squares_beside;
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

// One worker's way through tiles: fills them in the plan's precision and folds them into sums.
class DenseEvaluator::TileFolder {
 public:
  TileFolder(RowModel& model, std::span<const double> x, Fill fill, const PrecisionPlan& plan, KernelCounters& counters,
             Scratch& scratch)
      : model_(model), x_(x), fill_(fill), plan_(plan), counters_(counters),
        n1_(fill == Fill::residual ? 1 : model.parameters() + 1),
        first_(static_cast<std::size_t>(model.parameters() + 1 - n1_)), scratch_(scratch),
        pass_(scratch.pass(model, x, fill, plan.residual == Format::f32)),
        ones_(fill == Fill::residual || n1_ > most_columns_with_ones ? -1 : pass_.ones_column()) {
    scratch.low_gram.restart(plan.gram, n1_, model.tile_rows());
  }

  // Adds a tile's sums in the plan's precision; in f64.
  void add(const TileRange& range, double* sums) {
    if (plan_.gram >= Gram::f64 || fill_ == Fill::residual) {
      if (plan_.residual == Format::f64) return add_f64(range, sums);
    } else if (plan_.residual == Format::f64) {
      return scratch_.low_gram.add(fill_f64(range), range.count, sums, counters_);
    }
    const float* const* columns = pass_.fill_f32(range.first, range.count, counters_) + first_;
    if (plan_.gram < Gram::f32_tile) return scratch_.low_gram.add(columns, range.count, sums, counters_);
    const auto kernel = plan_.gram == Gram::f32_tile ? kernels().gram_f32 : kernels().gram_f32_wide;
    kernel(without_ones(columns, scratch_.columns_f32), n1_, range.count, sums, &counters_);
  }
  void add_f64(const TileRange& range, double* sums) {
    kernels().gram_f64(without_ones(fill_f64(range), scratch_.columns_f64), n1_, range.count, sums, &counters_);
  }
  // What is wrong with a tile's numbers in the plan's precision: rows of f32, or J narrowed to it.
  PrecisionIssue issue(const TileRange& range) {
    const auto n1 = static_cast<std::size_t>(n1_);
    if (plan_.residual == Format::f32) {
      return issues_of(pass_.fill_f32(range.first, range.count, counters_) + first_, n1, range.count, Operation::evaluate, Format::f32);
    }
    const double* const* columns = fill_f64(range);
    std::vector<float> narrow((n1 - 1) * range.count);
    std::vector<const float*> pointers;
    for (std::size_t j = 0; j + 1 < n1; ++j) {
      pointers.push_back(&narrow[j * range.count]);
      kernels().narrow(columns[j], &narrow[j * range.count], range.count);
    }
    return issues_of(pointers.data(), pointers.size(), range.count, Operation::jacobian_storage, Format::f32);
  }
  // The same where the numbers are fine, and their sums are not.
  PrecisionIssue sums_issue(const TileRange& range, const Vector& sums) const {
    PrecisionIssue found;
    found.operation = fill_ == Fill::residual ? Operation::cost_sum : Operation::gram_sum;
    found.format = formats_of(plan_).gram;
    for (const double s : sums) (std::isnan(s) ? found.nan : found.inf) += std::isfinite(s) ? 0 : 1;
    found.rows = range.count;
    return found;
  }
  bool below_f64() const { return plan_.residual == Format::f32 || (plan_.gram < Gram::f64 && fill_ != Fill::residual); }

  // Folds one tile into R. The kernel destroys its input, which may be the user's data: copy first.
  bool qr(const TileRange& range, Matrix& triangle) {
    const double* const* columns = fill_f64(range);
    const std::size_t stride = (model_.tile_rows() + 63) / 64 * 64;
    scratch_.copies.resize(static_cast<std::size_t>(n1_) * stride);
    std::vector<double*>& pointers = scratch_.pointers;
    pointers.resize(static_cast<std::size_t>(n1_));
    double zero = 0;
    for (std::size_t j = 0; j < pointers.size(); ++j) {
      pointers[j] = scratch_.copies.data() + j * stride;
      for (std::size_t i = 0; i < range.count; ++i) zero += columns[j][i] - columns[j][i];
      std::copy_n(columns[j], range.count, pointers[j]);
    }
    if (zero != 0) return false;
    kernels().qr_fold(triangle.data(), n1_, pointers.data(), range.count, &counters_);
    return true;
  }

 private:
  const double* const* fill_f64(const TileRange& range) {
    if (plan_.residual == Format::f64) return pass_.fill_f64(range.first, range.count, counters_) + first_;
    if (wide_ == nullptr) wide_ = &scratch_.pass(model_, x_, fill_, false);
    return wide_->fill_f64(range.first, range.count, counters_) + first_;
  }

  template <class T>
  const T* const* without_ones(const T* const* columns, std::vector<const T*>& copy) const {
    if (ones_ < 0) return columns;
    copy.assign(columns, columns + n1_);
    copy[static_cast<std::size_t>(ones_)] = nullptr;
    return copy.data();
  }

  RowModel& model_;
  std::span<const double> x_;
  Fill fill_;
  PrecisionPlan plan_;
  KernelCounters& counters_;
  int n1_;
  std::size_t first_;
  Scratch& scratch_;
  TilePass& pass_;
  TilePass* wide_ = nullptr;
  int ones_;  // column of ones, or -1
};

// The scratch of each of as many workers as take part in a pass; kept from pass to pass.
class DenseEvaluator::Workers {
 public:
  void hold_x() {
    for (const auto& scratch : idle_) scratch->hold_x();
  }
  std::unique_ptr<Scratch> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto scratch = std::move(idle_.back());
        idle_.pop_back();
        return scratch;
      }
    }
    auto scratch = std::make_unique<Scratch>();
    scratch->hold_x();
    return scratch;
  }
  void give_back(std::unique_ptr<Scratch> scratch) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& scratch : idle_) sum += scratch->bytes();
    return sum;
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<Scratch>> idle_;
};

DenseEvaluator::DenseEvaluator(RowModel& model, const Parallelism& parallelism)
    : model_(model), parallelism_(parallelism), scratch_(std::make_unique<Scratch>()), workers_(std::make_unique<Workers>()) {}
DenseEvaluator::~DenseEvaluator() = default;

double DenseEvaluator::pass_work(const PrecisionPlan& plan) const {
  return work_of({{}, Fill::jacobian_and_residual, plan}, row_cost());
}

// Of a pass whose rows cost so much in f64.
double DenseEvaluator::work_of(const Pass& pass, double row) const {
  const double m = static_cast<double>(model_.rows());
  const auto part = [&](double rows, const PrecisionPlan& plan) {
    return rows * (row * row_price(plan) + Pass{{}, pass.fill, plan}.products(parameters()));
  };
  if (raised_.empty()) return part(m, pass.plan);
  double all = 0, sum = 0;
  for (const RowComponent& component : model_.components()) all += static_cast<double>(component.rows);
  for (std::size_t c = 0; c < raised_.size(); ++c) {
    sum += part(m * static_cast<double>(model_.components()[c].rows) / all, plan_of_component(c, pass.plan));
  }
  return sum;
}

DenseEvaluator::Sums& DenseEvaluator::accumulate(const Pass& pass) {
  const double residual = model_.row_cost(Fill::residual);
  const double row = model_.row_cost(pass.fill) + (pass.beside.empty() ? 0.0 : residual);
  for (int round = 0; round < kMaxRecordings; ++round) {
    bool retry = false;
    const auto begin = timed_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
    Sums& sums = accumulate_once(pass, retry);
    if (timed_) seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    work_ += work_of(pass, row);
    if (retry) continue;  // what an unknown branch gave says nothing of formats
    for (const PrecisionIssue& issue : found_) add_issue(issues_, issue);
    return sums;
  }
  throw RecordingFailed("rows kept taking branches that were not recorded");
}

PrecisionPlan DenseEvaluator::plan_of_component(std::size_t component, const PrecisionPlan& plan) const {
  return raised_.empty() ? plan : wider(plan, raised_[component]);
}

std::string DenseEvaluator::component_name(std::size_t component) const {
  return model_.components().empty() ? std::string() : model_.components()[component].name;
}

// use(first tile, end, component) for every run of tiles of one component.
template <class Use>
void DenseEvaluator::by_component(std::size_t begin, std::size_t end, Use use) {
  if (model_.components().empty()) return use(begin, end, std::size_t{0});
  while (begin < end) {
    const std::size_t component = model_.component(begin);
    std::size_t last = begin + 1;
    while (last < end && model_.component(last) == component) ++last;
    use(begin, last, component);
    begin = last;
  }
}

// Sums over one chunk of tiles, in order. Stops at the first tile that is not finite in f64.
void DenseEvaluator::sum_chunk(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums) {
  const bool qr = pass.plan.gram == Gram::qr && pass.fill != Fill::residual;
  const auto n1 = static_cast<std::size_t>(pass.fill == Fill::residual ? 1 : parameters() + 1);
  sums.restart(qr, n1, std::max<std::size_t>(1, model_.components().size()));
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    const PrecisionPlan plan = plan_of_component(c, pass.plan);
    if (!pass.beside.empty()) {  // tile by tile with the other would be no faster: a chunk stays in cache
      TileFolder folder(model_, pass.beside, Fill::residual, cost_plan(plan.residual), sums.parts[c], scratch);
      for (std::size_t t = first; t < last; ++t) folder.add(model_.tile(t), &sums.squares_beside);
    }
    TileFolder folder(model_, pass.x, pass.fill, plan, sums.parts[c], scratch);
    if (!qr) {
      for (std::size_t t = first; t < last; ++t) folder.add(model_.tile(t), sums.packed.data());
      return;
    }
    for (std::size_t t = first; t < last && sums.finite; ++t) {
      sums.finite = folder.qr(model_.tile(t), sums.triangle);
      sums.culprit = model_.tile(t);
    }
  });
  if (qr) return;
  if (!all_finite(sums.packed)) sum_one_by_one(begin, end, pass, scratch, sums);
  else if (may_be_near_limit(sums.packed, n1)) note_near_limit(begin, end, pass, scratch, sums);
}

// Numbers near the limit of f32 are counted where sums of squares say that there may be some: else nothing is looked at.
void DenseEvaluator::note_near_limit(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums) {
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    TileFolder folder(model_, pass.x, pass.fill, plan_of_component(c, pass.plan), sums.parts[c], scratch);
    for (std::size_t t = first; t < last && folder.below_f64(); ++t) {
      PrecisionIssue issue = folder.issue(model_.tile(t));
      issue.component = component_name(c);
      add_issue(sums.issues, issue);
    }
  });
}

// The same once more where the sums are not finite: which tile is it, and is it finite in f64?
void DenseEvaluator::sum_one_by_one(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch, Sums& sums) {
  Vector& tile = scratch.tile;
  const auto n1 = static_cast<std::size_t>(pass.fill == Fill::residual ? 1 : parameters() + 1);
  sums.packed.assign(sums.packed.size(), 0.0);
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    TileFolder folder(model_, pass.x, pass.fill, plan_of_component(c, pass.plan), sums.parts[c], scratch);
    const auto note = [&](PrecisionIssue issue) {
      issue.component = component_name(c);
      add_issue(sums.issues, issue);
      return issue.nan + issue.inf > 0;
    };
    for (std::size_t t = first; t < last && sums.finite; ++t) {
      const TileRange range = model_.tile(t);
      tile.assign(sums.packed.size(), 0.0);
      folder.add(range, tile.data());
      if (folder.below_f64() && !all_finite(tile)) {
        ++sums.redone[c];
        if (!note(folder.issue(range))) note(folder.sums_issue(range, tile));
        tile.assign(sums.packed.size(), 0.0);
        folder.add_f64(range, tile.data());
      } else if (folder.below_f64() && may_be_near_limit(tile, n1)) {
        note(folder.issue(range));
      }
      sums.finite = all_finite(tile);
      sums.culprit = range;
      for (std::size_t k = 0; k < tile.size(); ++k) sums.packed[k] += tile[k];
    }
  });
}

// Chunks of tiles are summed in any order by any thread, then combined in a fixed binary tree: the same
// bits however they are shared out, and rounding errors that grow with the logarithm of their number.
// Their number depends on the problem alone, and is bounded by the memory their sums take.
DenseEvaluator::Sums& DenseEvaluator::accumulate_once(const Pass& pass, bool& retry) {
  const int n1 = pass.fill == Fill::residual ? 1 : parameters() + 1;
  const std::size_t tiles = std::max<std::size_t>(1, model_.tile_count());
  const std::size_t most = std::clamp<std::size_t>(kChunkDoubles / packed_size(n1), 8, kMostChunks);
  const std::size_t chunk_tiles = std::max(kTilesPerChunk, (tiles + most - 1) / most);
  const std::size_t chunks = (tiles + chunk_tiles - 1) / chunk_tiles;
  const double work = static_cast<double>(model_.rows()) * model_.row_cost(pass.fill);
  const bool alone = !model_.concurrent() || work < kThreadWork;

  std::vector<Sums>& sums = sums_;
  sums.resize(chunks);
  const auto rows_before = [&](std::size_t c) { return c >= chunks ? model_.rows() : model_.tile(c * chunk_tiles).first; };
  if (survey_) survey_->start(chunks);
  if (chunks == 1) {
    if (survey_) survey_->look(0, 0, model_.rows());
    sum_chunk(0, model_.tile_count(), pass, *scratch_, sums[0]);
  } else {
    model_.prepare(pass.x, pass.fill);
    workers_->hold_x();
    const int threads = run_tasks(chunks, alone ? Parallelism{1, {}} : parallelism_, [&](std::size_t c) {
      auto scratch = workers_->take();
      sum_chunk(c * chunk_tiles, std::min(model_.tile_count(), (c + 1) * chunk_tiles), pass, *scratch, sums[c]);
      workers_->give_back(std::move(scratch));
      if (survey_) survey_->look(c, rows_before(c), rows_before(c + 1) - rows_before(c));
    });
    threads_ = std::max(threads_, threads);
  }
  if (survey_) {  // before anything that unusable data may have done to the sums
    survey_->finish();
    survey_.reset();
  }
  std::size_t bytes = scratch_->bytes() + workers_->bytes();
  found_.clear();
  component_counters_.resize(model_.components().size());
  for (const Sums& s : sums) {
    for (const KernelCounters& part : s.parts) counters_.add(part);
    for (std::size_t c = 0; c < component_counters_.size(); ++c) component_counters_[c].add(s.parts[c]);
    for (const PrecisionIssue& issue : s.issues) add_issue(found_, issue);
    bytes += (s.packed.size() + s.triangle.rows() * s.triangle.columns()) * sizeof(double);
  }
  peak_bytes_ = std::max(peak_bytes_, bytes);
  for (Sums& s : sums) {
    if (s.finite) continue;
    const auto why = model_.explain_non_finite(pass.x, s.culprit.first, s.culprit.count);
    if (why == RowModel::NonFinite::give_up) throw RecordingFailed("a row took a branch that could not be recorded");
    retry = why == RowModel::NonFinite::retry;
    return s;
  }
  for (std::size_t step = 1; step < chunks; step *= 2) {
    for (std::size_t c = 0; c + step < chunks; c += 2 * step) sums[c].merge(sums[c + step], n1, counters_);
  }
  return sums.front();
}

Linearization DenseEvaluator::linearize(std::span<const double> x, const PrecisionPlan& plan) {
  Linearization out;
  linearize_into(x, plan, out);
  return out;
}

void DenseEvaluator::linearize_into(std::span<const double> x, const PrecisionPlan& plan, Linearization& out) {
  linearization_of(accumulate({x, Fill::jacobian_and_residual, plan}), plan, out);
  correct_curvature(model_, x, out);
}

bool DenseEvaluator::linearize_part(std::span<const double> x, std::size_t rows, Linearization& out) {
  if (model_.one_point() || rows >= model_.rows()) return false;
  SampleRows sample(model_, rows);
  DenseEvaluator part(sample, parallelism_);
  part.linearize_into(x, {Format::f64, Gram::f64}, out);
  add_work(part);
  if (!out.finite) return true;
  const double share = static_cast<double>(model_.rows()) / static_cast<double>(sample.rows());
  out.cost *= share;
  for (double& g : out.gradient) g *= share;
  for (std::size_t i = 0; i < out.gradient.size(); ++i) {
    for (std::size_t j = 0; j < out.gradient.size(); ++j) out.normal(i, j) *= share;
  }
  return true;
}

bool DenseEvaluator::second_order_part(std::span<const double> x, std::span<const double> direction, std::size_t rows, Vector& out) {
  if (model_.one_point() || rows >= model_.rows()) return false;
  SampleRows sample(model_, rows);
  DenseEvaluator part(sample, parallelism_);
  part.second_order_into(x, direction, 1, out);
  add_work(part);
  for (double& v : out) v *= static_cast<double>(model_.rows()) / static_cast<double>(sample.rows());
  return true;
}

CostValue DenseEvaluator::linearize_beside(std::span<const double> x, const PrecisionPlan& plan, std::span<const double> beside,
                                           Linearization& out) {
  if (model_.one_point()) {
    linearize_into(x, plan, out);
    return cost(beside, plan.residual);
  }
  const Sums& sums = accumulate({x, Fill::jacobian_and_residual, plan, beside});
  const CostValue there{0.5 * sums.squares_beside};
  linearization_of(sums, plan, out);
  correct_curvature(model_, x, out);
  // Tiles that are not finite below f64 may be finite in f64; a pass of its own sees to that.
  return there.finite() ? there : cost(beside, plan.residual);
}

void DenseEvaluator::linearization_of(const Sums& sums, const PrecisionPlan& plan, Linearization& out) const {
  out.plan = plan;
  out.nonfinite_tiles = 0;
  out.finite = sums.finite;
  if (!out.finite) {
    out.cost = std::numeric_limits<double>::quiet_NaN();
    return;
  }
  const std::size_t redone = std::accumulate(sums.redone.begin(), sums.redone.end(), std::size_t{0});
  out.nonfinite_tiles = static_cast<double>(redone) / static_cast<double>(std::max<std::size_t>(1, model_.tile_count()));
  out.nonfinite_of.assign(model_.components().size(), 0.0);
  if (redone > 0 && !out.nonfinite_of.empty()) {
    std::vector<std::size_t> tiles(out.nonfinite_of.size(), 0);
    for (std::size_t t = 0; t < model_.tile_count(); ++t) ++tiles[model_.component(t)];
    for (std::size_t c = 0; c < tiles.size(); ++c) {
      if (tiles[c] > 0) out.nonfinite_of[c] = static_cast<double>(sums.redone[c]) / static_cast<double>(tiles[c]);
    }
  }
  const auto n = static_cast<std::size_t>(parameters());
  out.gradient.assign(n, 0.0);
  out.normal.assign(n, n);
  out.triangle.assign(0, 0);
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
    out.triangle = R;
  } else {
    std::size_t k = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = i; j < n; ++j, ++k) out.normal(i, j) = out.normal(j, i) = sums.packed[k];
      out.gradient[i] = sums.packed[k++];
    }
    out.cost = 0.5 * sums.packed[k];
  }
}

void DenseEvaluator::forget_work() {
  counters_ = {};
  component_counters_.clear();
  issues_.clear();
  work_ = seconds_ = 0;
  peak_bytes_ = 0;
}

void DenseEvaluator::add_work(const DenseEvaluator& part) {
  counters_.add(part.counters_);
  component_counters_.resize(part.component_counters_.size());
  for (std::size_t c = 0; c < component_counters_.size(); ++c) component_counters_[c].add(part.component_counters_[c]);
  work_ += part.work_;
  seconds_ += part.seconds_;
  peak_bytes_ = std::max(peak_bytes_, part.peak_bytes_);
  threads_ = std::max(threads_, part.threads_);
  for (const PrecisionIssue& issue : part.issues_) add_issue(issues_, issue);
}

CostValue DenseEvaluator::cost(std::span<const double> x, Format format) {
  const Sums& sums = accumulate({x, Fill::residual, cost_plan(format)});
  return {sums.finite ? 0.5 * sums.packed[0] : std::numeric_limits<double>::quiet_NaN()};
}

Vector DenseEvaluator::second_order(std::span<const double> x, std::span<const double> direction, double h) {
  Vector out;
  second_order_into(x, direction, h, out);
  return out;
}

void DenseEvaluator::second_order_into(std::span<const double> x, std::span<const double> direction, double h, Vector& out) {
  const auto n = static_cast<std::size_t>(parameters());
  Vector& moved = scratch_->moved;
  moved.assign(x.begin(), x.end());
  for (std::size_t j = 0; j < n; ++j) moved[j] += h * direction[j];
  TilePass& here = scratch_->pass(model_, x, Fill::jacobian_and_residual, false);
  TilePass& there = scratch_->pass(model_, moved, Fill::residual, false);
  out.assign(n, 0.0);
  for (std::size_t t = 0; t < model_.tile_count(); ++t) {
    const TileRange range = model_.tile(t);
    const double* const* J = here.fill_f64(range.first, range.count, counters_);
    const double* moved_r = there.fill_f64(range.first, range.count, counters_)[n];
    for (std::size_t i = 0; i < range.count; ++i) {
      double linear = 0;
      for (std::size_t j = 0; j < n; ++j) linear += J[j][i] * direction[j];
      // Transtrum & Sethna: r_vv ≈ 2/h ((r(x + hv) - r(x))/h - J v).
      const double r_vv = 2 / h * ((moved_r[i] - J[n][i]) / h - linear);
      for (std::size_t j = 0; j < n; ++j) out[j] += J[j][i] * r_vv;
    }
  }
  work_ += static_cast<double>(model_.rows()) * (row_cost() + model_.row_cost(Fill::residual));
}

RowSizes DenseEvaluator::sizes(std::span<const double> x) {
  const auto pass = model_.begin(x, Fill::jacobian_and_residual, false);
  const auto n = static_cast<std::size_t>(parameters());
  RowSizes out;
  Vector largest(n + 1, 0.0);
  for (std::size_t t = 0; t < model_.tile_count(); ++t) {
    const TileRange range = model_.tile(t);
    const double* const* columns = pass->fill_f64(range.first, range.count, counters_);
    for (std::size_t i = 0; i < range.count; ++i) {
      for (std::size_t j = 0; j <= n; ++j) {
        const double size = std::fabs(columns[j][i]);
        if (!std::isfinite(size)) return {false, range.first + i, size, 0};
        largest[j] = std::max(largest[j], size);
        if (size <= out.largest) continue;
        out.largest = size;
        out.row = range.first + i;
      }
    }
  }
  out.least = out.largest;
  for (const double column : largest) {
    if (column > 0) out.least = std::min(out.least, column);
  }
  return out;
}

}  // namespace nlsq::inline v0
