// Implements how DenseEvaluator makes a pass: threads sum chunks of tiles in any order, and a fixed tree adds
// up the chunks.
#include "dense/dense_pass.hpp"

#include "ablation.hpp"
#include "dense/tile_folder.hpp"
#include "support/all_finite.hpp"
#include "support/clock.hpp"
#include "support/constants.hpp"

#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kTilesPerChunk = 16;      // leaves of the reduction tree
constexpr std::size_t kChunkDoubles = 1 << 23;  // limit on the numbers in all leaves together
// limit on leaves, so that memory does not grow with the rows
constexpr std::size_t kMostChunks = 2048;
constexpr std::size_t kLeastChunks = 8;            // if there are enough rows
constexpr std::size_t kLeastTriangles = 4;         // each takes as much memory as many Gram sums
constexpr std::size_t kSecondOrderRows = 1 << 16;  // summed in order; few fits with fewer rows need threads
constexpr int kMaxRecordings = 64;                 // limit on passes repeated because a row took a new branch

// Returns true if a number may be near the limit of f32, because the sum of its column is at least its
// square. n1 is the number of columns of [J | r].
bool may_be_near_limit(const Vector& sums, std::size_t n1) {
  constexpr double kSquare = kNearLimit * kNearLimit * (1 - 1e-6);
  for (std::size_t j = 0, k = 0; j < n1; k += n1 - j, ++j) {
    if (sums[k] >= kSquare) return true;
  }
  return false;
}

// Returns true if a sum of squares in float64 is so small that subnormal squares may matter in it. Sums of
// other products are not needed: none exceeds the root of the product of two sums of squares.
bool has_tiny_squares(const Vector& packed, const PrecisionPlan& plan, std::size_t n1, bool gradient) {
  constexpr double kTiny = 1e-280;  // the squares of 10²⁰ rows below 2.2e-308 do not change its last digits
  if (plan.residual != Format::f64 || plan.gram != Gram::f64) return false;
  if (gradient) return packed[n1 - 1] < kTiny;
  for (std::size_t j = 0, k = 0; j < n1; k += n1 - j, ++j) {
    if (packed[k] < kTiny) return true;
  }
  return false;
}

}  // namespace

// Returns the work of a pass; `row` is the work per row in f64.
double DenseEvaluator::work_of(const Pass& pass, double row) const {
  const double m = static_cast<double>(model_.rows());
  const auto part = [&](double rows, const PrecisionPlan& plan) {
    Pass in_plan = pass;
    in_plan.plan = plan;
    return rows * (row * row_price(plan) + in_plan.products(parameters()));
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
  return parallelism_.journal ? accumulate_kept(pass) : accumulate_now(pass);
}

DenseEvaluator::Sums& DenseEvaluator::accumulate_now(const Pass& wanted) {
  Pass pass = wanted;
  pass.keep_tiny = pass.by_qr();  // these passes are rare, and form no squares that would show what is lost
  const double row = row_work(pass);
  for (int round = 0; round < kMaxRecordings; ++round) {
    bool retry = false;
    const auto begin = timed_ ? Clock::now() : Clock::time_point();
    Sums& sums = accumulate_once(pass, retry);
    if (timed_) seconds_ += seconds_since(begin);
    work_ += work_of(pass, row);
    if (retry) continue;  // values of an unknown branch must not be reported as issues of formats
    if (!pass.keep_tiny && !pass.second_order() && sums.finite &&
        has_tiny_squares(sums.packed, pass.plan, static_cast<std::size_t>(sum_columns(pass)),
                         pass.gradient)) {
      pass.keep_tiny = true;
      continue;
    }
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

// Calls use(first tile, end, component) for every run of tiles of one component.
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

// Returns the number of tiles in a leaf. It depends on the problem alone, and the memory of the sums limits
// it. A chunk with many columns gets at least twice as many rows as columns. Joining two triangles then takes
// a sixth of the operations that made one.
std::size_t DenseEvaluator::tiles_of_chunk(const Pass& pass, int n1) const {
  const std::size_t tiles = std::max<std::size_t>(1, model_.tile_count());
  const bool wide = pass.by_qr() && in_blocks(n1);
  const auto columns = static_cast<std::size_t>(n1);
  const std::size_t most =
      std::clamp<std::size_t>(kChunkDoubles / (wide ? columns * columns : packed_size(n1)),
                              wide ? kLeastTriangles : kLeastChunks, kMostChunks);
  const std::size_t rows = wide ? 2 * columns : pass.second_order() ? kSecondOrderRows : 0;
  const std::size_t least = (rows + model_.tile_rows() - 1) / model_.tile_rows();
  return std::max({kTilesPerChunk, least, (tiles + most - 1) / most});
}

int DenseEvaluator::sum_columns(const Pass& pass) const {
  return pass.fill == Fill::residual ? 1 : parameters() + 1;
}

DenseEvaluator::Share DenseEvaluator::all_chunks(const Pass& pass) const {
  const std::size_t tiles = std::max<std::size_t>(1, model_.tile_count());
  const std::size_t chunk_tiles = tiles_of_chunk(pass, sum_columns(pass));
  const std::size_t chunks = (tiles + chunk_tiles - 1) / chunk_tiles;
  return {0, chunks, chunks, chunk_tiles};
}

// Returns the first row of a chunk. For the chunk after the last, returns the number of rows.
std::size_t DenseEvaluator::first_row(const Share& share, std::size_t chunk) const {
  return chunk >= share.chunks ? model_.rows() : model_.tile(chunk * share.chunk_tiles).first;
}

// Adds up the chunks of `part` in a fixed binary tree, from the branches of `first_step` chunks up to those
// of `last_step`. Triangles of many columns take time, so threads join them.
void DenseEvaluator::merge(const Share& part, std::size_t first_step, std::size_t last_step, int n1,
                           bool alone) {
  const std::size_t size = part.end - part.begin;
  for (std::size_t step = first_step; step < std::min(size, last_step); step *= 2) {
    std::vector<KernelCounters> counters((size - step + 2 * step - 1) / (2 * step));
    run_tasks(counters.size(), alone ? Parallelism{1, {}} : parallelism_, [&](std::size_t k) {
      const std::size_t at = part.begin + 2 * step * k;
      sums_[at].merge(sums_[at + step], n1, counters[k]);
    });
    for (const KernelCounters& of_task : counters) counters_.add(of_task);
  }
}

// Sums one chunk of tiles in order. In a QR pass, stops at the first tile that is not finite.
void DenseEvaluator::sum_chunk(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch,
                               Sums& sums) {
  const bool qr = pass.by_qr();
  const auto n1 = static_cast<std::size_t>(sum_columns(pass));
  sums.restart(pass, n1, std::max<std::size_t>(1, model_.components().size()));
  if (pass.gradient) return sum_gradients(begin, end, pass, scratch, sums);
  if (pass.second_order()) return sum_second_order(begin, end, pass, scratch, sums);
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    const PrecisionPlan plan = plan_of_component(c, pass.plan);
    // Interleaving both points tile by tile would be no faster, because a chunk stays in cache.
    if (!pass.beside.empty()) {
      const Format format = std::max(plan.residual, pass.beside_format);
      TileFolder folder(model_, pass.beside, Fill::residual, cost_plan(format), sums.parts[c], scratch,
                        !pass.keep_tiny);
      for (std::size_t t = first; t < last; ++t) folder.add(model_.tile(t), &sums.squares_beside);
    }
    TileFolder folder(model_, pass.x, pass.fill, plan, sums.parts[c], scratch, !pass.keep_tiny);
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

// Does the same for Jᵀr and rᵀr only.
void DenseEvaluator::sum_gradients(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch,
                                   Sums& sums) {
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    TileFolder folder(model_, pass.x, pass.fill, pass.plan, sums.parts[c], scratch, !pass.keep_tiny);
    for (std::size_t t = first; t < last && sums.finite; ++t) {
      folder.add_gradient(model_.tile(t), sums.packed.data());
      sums.finite = all_finite(sums.packed);
      sums.culprit = model_.tile(t);
    }
  });
}

// Counts numbers near the limit of f32. Called only if the sums of squares show that there may be some, so
// that other passes take no extra time.
void DenseEvaluator::note_near_limit(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch,
                                     Sums& sums) {
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    TileFolder folder(model_, pass.x, pass.fill, plan_of_component(c, pass.plan), sums.parts[c], scratch,
                      !pass.keep_tiny);
    for (std::size_t t = first; t < last && folder.below_f64(); ++t) {
      PrecisionIssue issue = folder.issue(model_.tile(t));
      issue.component = component_name(c);
      add_issue(sums.issues, issue);
    }
  });
}

// Repeats a chunk whose sums are not finite, to find the tiles responsible and to redo them in f64.
void DenseEvaluator::sum_one_by_one(std::size_t begin, std::size_t end, const Pass& pass, Scratch& scratch,
                                    Sums& sums) {
  Vector& tile = scratch.tile;
  const auto n1 = static_cast<std::size_t>(sum_columns(pass));
  sums.packed.assign(sums.packed.size(), 0.0);
  by_component(begin, end, [&](std::size_t first, std::size_t last, std::size_t c) {
    TileFolder folder(model_, pass.x, pass.fill, plan_of_component(c, pass.plan), sums.parts[c], scratch,
                      !pass.keep_tiny);
    const auto note = [&](PrecisionIssue issue) {
      issue.component = component_name(c);
      add_issue(sums.issues, issue);
      return issue.nan + issue.inf > 0;
    };
    for (std::size_t t = first; t < last && sums.finite; ++t) {
      const TileRange range = model_.tile(t);
      tile.assign(sums.packed.size(), 0.0);
      folder.add(range, tile.data());
      if (folder.below_f64() && !all_finite(tile) && rule_active(Rule::tiles_are_redone)) {
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

// Sums the products of all chunks of a share. If the data have not been surveyed yet, the survey reads the
// rows of each chunk right after the chunk was summed, while they are still in the caches.
void DenseEvaluator::sum_share(const Share& share, const Pass& pass, bool alone) {
  const auto one = [&](std::size_t c, Scratch& scratch) {
    sum_chunk(c * share.chunk_tiles, std::min(model_.tile_count(), (c + 1) * share.chunk_tiles), pass,
              scratch, sums_[c]);
  };
  if (share.chunks == 1) {
    if (survey_) survey_->look(0, 0, model_.rows());
    return one(0, *scratch_);
  }
  model_.prepare(pass.x, pass.fill);
  const std::size_t count = share.end - share.begin;
  const Parallelism parallelism = alone ? Parallelism{1, {}} : parallelism_;
  const bool backwards = workers_->begin(count, parallelism);
  const int threads = run_tasks(count, parallelism, [&](std::size_t k) {
    const std::size_t c = backwards ? share.end - 1 - k : share.begin + k;
    auto scratch = workers_->take();
    one(c, *scratch);
    workers_->give_back(std::move(scratch));
    const TileRange last = model_.tile(std::min(model_.tile_count(), (c + 1) * share.chunk_tiles) - 1);
    const std::size_t first = model_.tile(c * share.chunk_tiles).first, end = last.first + last.count;
    if (survey_) survey_->look(c, first, end - first);
    model_.was_read(first, end - first);
  });
  threads_ = std::max(threads_, threads);
}

DenseEvaluator::Account DenseEvaluator::account_of(const Share& share) const {
  Account out;
  out.parts.resize(std::max<std::size_t>(1, model_.components().size()));
  for (std::size_t c = share.begin; c < share.end; ++c) {
    const Sums& s = sums_[c];
    for (std::size_t k = 0; k < s.parts.size(); ++k) out.parts[k].add(s.parts[k]);
    for (const PrecisionIssue& issue : s.issues) add_issue(out.issues, issue);
    if (s.finite || !out.finite) continue;
    out.finite = false;
    out.culprit = s.culprit;
  }
  return out;
}

// Threads sum chunks of tiles in any order, and a fixed binary tree combines them. So the result has the same
// bits for any number of threads, and rounding errors grow with the logarithm of the number of chunks. In a
// team, each process sums its share of the chunks, and all combine them in the same tree.
DenseEvaluator::Sums& DenseEvaluator::accumulate_once(const Pass& pass, bool& retry) {
  const int n1 = sum_columns(pass);
  const Share all = all_chunks(pass);
  const double work = static_cast<double>(model_.rows()) * model_.row_cost(pass.fill);
  const bool alone = !model_.concurrent() || work < kThreadWork;
  const bool threads_merge = !alone && pass.by_qr() && in_blocks(n1);
  const Share share = share_of_team(all, work);
  sums_.resize(all.chunks);
  if (survey_) survey_->start(all.chunks);
  Account account;
  const KernelCounters before = counters_;
  if (!share.divided()) {
    sum_share(share, pass, alone);
    account = account_of(share);
  } else {
    try {
      sum_share(share, pass, alone);
      account = account_of(share);
      if (account.finite) merge(share, 1, share.block, n1, !threads_merge);
    } catch (const std::exception& e) {
      exchange(share, pass, account, e.what());
      throw;
    }
    account.merging = std::exchange(counters_, before).since(before);
    exchange(share, pass, account, nullptr);
  }
  if (survey_) {  // before any failure that unusable data may have caused in the sums
    survey_->finish();
    survey_.reset();
  }
  std::size_t bytes = scratch_->bytes() + workers_->bytes();
  for (const Sums& s : sums_)
    bytes += (s.packed.size() + s.triangle.rows() * s.triangle.columns()) * sizeof(double);
  peak_bytes_ = std::max(peak_bytes_, bytes);
  found_ = std::move(account.issues);
  component_counters_.resize(model_.components().size());
  counters_.add(account.merging);
  for (const KernelCounters& part : account.parts) counters_.add(part);
  for (std::size_t c = 0; c < component_counters_.size(); ++c) component_counters_[c].add(account.parts[c]);
  if (!account.finite) {
    const TileRange culprit = account.culprit;
    const auto why = model_.explain_non_finite(pass.x, culprit.first, culprit.count);
    if (why == RowModel::NonFinite::give_up)
      throw RecordingFailed("a row took a branch that could not be recorded");
    retry = why == RowModel::NonFinite::retry;
    sums_.front().finite = false;
    return sums_.front();
  }
  merge(all, std::max<std::size_t>(1, share.block), all.chunks, n1, !threads_merge);
  return sums_.front();
}

}  // namespace nlsq::inline v0
