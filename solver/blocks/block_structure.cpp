// Implements BlockStructure: elimination order, cameras, record layout and chunks of a block problem.
#include "blocks/block_structure.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <string>
#include <unordered_map>

namespace nlsq::inline v0 {

namespace {

constexpr int kLargestPoint = 8;              // tangent size of a block that may be eliminated first
constexpr std::uint32_t kLargestCamera = 16;  // tangent size of blocks that are merged into one camera
constexpr std::size_t kManyCells = 8;  // cells per residual block above which larger cameras pay for zeros
constexpr double kInCommon = 0.75;     // share of common residual blocks to merge parameter blocks
constexpr std::size_t kMostChunks = 16;
constexpr double kLeastWork = 2e6;   // multiplications per chunk that repay a thread
constexpr double kSumWork = 400;     // per number a chunk sums; clearing and adding cost a tenth
constexpr double kEvaluations = 20;  // of J in a typical solve
constexpr std::uint32_t kNone = 0xffffffffU;

std::size_t round_up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

// Whether two ascending lists have most of their numbers in common.
bool mostly_equal(std::span<const std::uint32_t> a, std::span<const std::uint32_t> b) {
  const auto least = static_cast<std::size_t>(kInCommon * static_cast<double>(std::max(a.size(), b.size())));
  if (std::min(a.size(), b.size()) <= least) return false;
  std::size_t common = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) ++common, ++i, ++j;
    else if (*i < *j) ++i;
    else ++j;
  }
  return common > least;
}

bool takes_part(const Problem::Impl& problem, std::size_t block) {
  return std::ranges::any_of(problem.parameters_of(block),
                             [&](std::uint32_t p) { return problem.parameters[p].tangent() > 0; });
}

}  // namespace

BlockStructure::BlockStructure(const Problem::Impl& problem, std::size_t vector_f32, std::size_t vector_f64,
                               bool known, StepSolver how, bool factor_if_cheaper)
    : lanes_f32(vector_f32), lanes_f64(vector_f64) {
  number_parameters(problem);
  choose_points(problem);
  for (const std::uint32_t size : block_size) pad = std::max<std::size_t>(pad, size);
  pad = round_up(std::max<std::size_t>(pad, 1), std::max(lanes_f32, lanes_f64));
  camera_offset.assign(1, 0);
  for (const std::uint32_t size : block_size) camera_offset.push_back(camera_offset.back() + size);
  order_slots(problem);
  lay_out_records(problem);
  list.evaluations = kEvaluations;
  for (std::size_t slot = 0; known && slot < residual_block.size(); ++slot)
    list.known.push_back(problem.traced[residual_block[slot]]);
  find_entries();
  iteration_pays_ = iteration_pays();
  implicit = implicit_if(how, factor_if_cheaper);
  if (implicit) {
    for (std::uint32_t a = 0; a < cameras(); ++a) reduced_blocks.push_back({a, a});
  } else {
    find_pairs();
  }
  lay_out_reduced();
  cut_chunks();
}

void BlockStructure::number_parameters(const Problem::Impl& problem) {
  for (const ParameterBlock& block : problem.parameters) {
    list.offsets.push_back(static_cast<std::uint32_t>(ambient));
    list.sizes.push_back(block.size);
    ambient += static_cast<std::size_t>(block.size);
  }
  if (ambient > 0xffffffffU) throw ValidationError("a problem of more than 2^32 parameters");
}

// Tries to use the blocks of the lowest elimination group as points. Returns whether that is possible.
bool BlockStructure::follow_groups(const Problem::Impl& problem, const std::vector<std::uint32_t>& uses,
                                   std::vector<std::uint8_t>& taken) const {
  int lowest = -1, highest = -1;
  for (std::size_t p = 0; p < problem.parameters.size(); ++p) {
    const ParameterBlock& block = problem.parameters[p];
    if (uses[p] == 0 || block.tangent() == 0 || block.group < 0) continue;
    lowest = lowest < 0 ? block.group : std::min(lowest, block.group);
    highest = std::max(highest, block.group);
  }
  if (lowest == highest) return false;  // no group, or only one: no order is given
  const auto first = [&](std::uint32_t p) {
    return uses[p] > 0 && problem.parameters[p].tangent() > 0 && problem.parameters[p].group == lowest;
  };
  for (std::size_t b = 0; b < problem.functions.size(); ++b) {
    if (takes_part(problem, b) && std::ranges::count_if(problem.parameters_of(b), first) > 1) return false;
  }
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) {
    if (first(p) && problem.parameters[p].tangent() > kLargestPoint) return false;
  }
  for (std::uint32_t p = 0; p < problem.parameters.size(); ++p) taken[p] = first(p) ? 1 : 0;
  return true;
}

// Finds greedily, fewest neighbours first, a maximal set of small blocks of which no two share a residual
// block. They are eliminated only if they hold most of the parameters.
void BlockStructure::choose_points(const Problem::Impl& problem) {
  const std::size_t count = problem.parameters.size();
  std::vector<std::uint32_t> uses(count, 0);
  for (std::size_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    for (const std::uint32_t p : problem.parameters_of(b)) ++uses[p];
  }
  std::vector<std::size_t> first(count + 1, 0);  // residual blocks of each parameter block
  std::partial_sum(uses.begin(), uses.end(), first.begin() + 1);
  std::vector<std::uint32_t> blocks(first.back());
  std::vector<std::size_t> next(first.begin(), first.end() - 1);
  for (std::uint32_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    for (const std::uint32_t p : problem.parameters_of(b)) blocks[next[p]++] = b;
  }
  std::vector<std::uint32_t> order;
  std::size_t all = 0;
  for (std::uint32_t p = 0; p < count; ++p) {
    const int tangent = problem.parameters[p].tangent();
    if (uses[p] == 0 || tangent == 0) continue;
    all += static_cast<std::size_t>(tangent);
    if (tangent <= kLargestPoint) order.push_back(p);
  }
  std::ranges::stable_sort(order, [&](std::uint32_t p, std::uint32_t q) { return uses[p] < uses[q]; });
  std::vector<std::uint8_t> taken(count, 0);
  std::size_t eliminated = 0;
  for (const std::uint32_t p : order) {
    bool free = true;
    for (std::size_t i = first[p]; free && i < first[p + 1]; ++i) {
      for (const std::uint32_t q : problem.parameters_of(blocks[i])) free = free && !taken[q];
    }
    if (!free) continue;
    taken[p] = 1;
    eliminated += static_cast<std::size_t>(problem.parameters[p].tangent());
  }
  if (2 * eliminated <= all) std::ranges::fill(taken, std::uint8_t{0});
  groups_followed = follow_groups(problem, uses, taken);
  point_of.assign(count, -1);
  for (std::uint32_t p = 0; p < count; ++p) {
    if (uses[p] == 0 || problem.parameters[p].tangent() == 0) continue;
    if (taken[p]) point_of[p] = static_cast<std::int32_t>(point_parameter.size());
    (taken[p] ? point_parameter : camera_parameter).push_back(p);
  }
  real_points = point_parameter.size();
  form_cameras(problem, first, blocks);
}

// `blocks` lists, from first[p] on, the residual blocks that depend on parameter block p, in ascending order.
// Parameter blocks with the same residual blocks form one camera. Where a residual block depends on many
// small ones (control points of a spline), the elimination spends its time on pairs of them. There most
// residual blocks in common are enough, and missing derivatives are stored as zeros.
void BlockStructure::form_cameras(const Problem::Impl& problem, const std::vector<std::size_t>& first,
                                  const std::vector<std::uint32_t>& blocks) {
  camera_of.assign(problem.parameters.size(), -1);
  within.assign(problem.parameters.size(), 0);
  const auto uses_of = [&](std::uint32_t p) {
    return std::span(blocks).subspan(first[p], first[p + 1] - first[p]);
  };
  for (const std::uint32_t p : camera_parameter) {
    const auto size = static_cast<std::uint32_t>(problem.parameters[p].tangent());
    const auto beside = problem.parameters_of(blocks[first[p]]);
    for (const std::uint32_t q : beside) {
      if (q == p || camera_of[q] < 0) continue;
      std::uint32_t& together = block_size[static_cast<std::size_t>(camera_of[q])];
      if (together + size > kLargestCamera) continue;
      const bool same = std::ranges::equal(uses_of(p), uses_of(q));
      if (!same && (beside.size() <= kManyCells || !mostly_equal(uses_of(p), uses_of(q)))) continue;
      zeros_in_records = zeros_in_records || !same;
      camera_of[p] = camera_of[q];
      within[p] = together;
      together += size;
      break;
    }
    if (camera_of[p] >= 0) continue;
    camera_of[p] = static_cast<std::int32_t>(block_size.size());
    block_size.push_back(size);
  }
}

// Sorts by point, then by first camera. Residual blocks without a point come last, with points of size 0.
void BlockStructure::order_slots(const Problem::Impl& problem) {
  struct Key {
    std::uint32_t point, camera, block;
  };
  std::vector<Key> keys;
  for (std::uint32_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    Key key{kNone, kNone, b};
    for (const std::uint32_t p : problem.parameters_of(b)) {
      if (point_of[p] >= 0) key.point = static_cast<std::uint32_t>(point_of[p]);
      if (camera_of[p] >= 0) key.camera = std::min(key.camera, static_cast<std::uint32_t>(camera_of[p]));
    }
    keys.push_back(key);
  }
  std::ranges::stable_sort(keys, [](const Key& a, const Key& b) {
    return a.point != b.point ? a.point < b.point : a.camera < b.camera;
  });
  bool robust = false;
  for (const Key& key : keys) {
    robust = robust || !problem.losses[key.block].is_linear();
    const auto slot = static_cast<std::uint32_t>(residual_block.size());
    if (key.point == kNone || slot_first.empty() || residual_block.empty() ||
        keys[slot - 1].point != key.point)
      slot_first.push_back(slot);
    residual_block.push_back(key.block);
  }
  slot_first.push_back(static_cast<std::uint32_t>(keys.size()));
  points = slot_first.size() - 1;
  for (std::size_t p = 0; p < points; ++p) {
    const std::uint32_t size =
        p < real_points ? static_cast<std::uint32_t>(problem.parameters[point_parameter[p]].tangent()) : 0;
    point_size.push_back(size);
    point_offset.push_back(static_cast<std::uint32_t>(point_numbers));
    point_matrix.push_back(matrix_numbers);
    point_numbers += size;
    matrix_numbers += static_cast<std::size_t>(size) * size;
  }
  if (!robust) return;
  for (const std::uint32_t block : residual_block) losses.push_back(problem.losses[block]);
}

// Records are [E | r | F ...] by rows. Derivatives of a block without manifolds and fixed numbers are
// evaluated into its record. Others go to an ambient record after all records.
void BlockStructure::lay_out_records(const Problem::Impl& problem) {
  list.first.assign(1, 0);
  cell_first.assign(1, 0);
  std::vector<std::uint32_t> mapped;  // slots with manifolds
  const bool components = problem.has_components();
  for (std::uint32_t slot = 0; slot < residual_block.size(); ++slot) {
    const std::uint32_t block = residual_block[slot];
    const BlockFunction& function = *problem.functions[block];
    const auto parameters = problem.parameters_of(block);
    std::uint32_t e = 0;
    bool manifolds = false;
    for (const std::uint32_t p : parameters) {
      const ParameterBlock& q = problem.parameters[p];
      if (point_of[p] >= 0) e = static_cast<std::uint32_t>(q.tangent());
      manifolds = manifolds || (q.tangent() > 0 && q.manifold);
    }
    std::uint32_t column = e + 1;
    struct Cell {
      std::uint32_t camera, column;
    };
    std::vector<Cell> cells;
    for (const std::uint32_t p : parameters) {
      list.parameters.push_back(p);
      std::int32_t at = -1;
      if (point_of[p] >= 0) at = 0;
      if (camera_of[p] >= 0) {
        const auto camera = static_cast<std::uint32_t>(camera_of[p]);
        auto cell = std::ranges::find(cells, camera, &Cell::camera);
        if (cell == cells.end()) {
          cell = cells.insert(cells.end(), {camera, column});
          column += block_size[camera];
        }
        at = static_cast<std::int32_t>(cell->column + within[p]);
      }
      list.column.push_back(at);
    }
    std::ranges::sort(cells, {}, &Cell::camera);
    for (const Cell& cell : cells) {
      cell_entry.push_back(cell.camera);  // find_entries makes it relative to the point
      cell_column.push_back(cell.column);
    }
    cell_first.push_back(static_cast<std::uint32_t>(cell_entry.size()));
    const auto count = static_cast<std::uint32_t>(function.residuals());
    list.functions.push_back(&function);
    if (components) list.component.push_back(problem.component[residual_block[slot]]);
    list.first.push_back(static_cast<std::uint32_t>(list.parameters.size()));
    list.row.push_back(static_cast<std::uint32_t>(residuals));
    residuals += count;
    list.record.push_back(record_size);
    list.stride.push_back(column);
    rows.push_back(count);
    record_size += static_cast<std::size_t>(column) * count;
    if (manifolds) mapped.push_back(slot);
  }
  if (!mapped.empty()) {
    own_record_ = list.record;
    own_stride_ = list.stride;
    own_column_ = list.column;
  }
  record_size += pad;
  for (const std::uint32_t slot : mapped) {
    std::uint32_t width = 0;
    for (std::uint32_t k = list.first[slot]; k < list.first[slot + 1]; ++k) {
      const std::uint32_t p = list.parameters[k];
      if (list.column[k] < 0) continue;
      list.column[k] = static_cast<std::int32_t>(width);
      width += static_cast<std::uint32_t>(list.sizes[p]);
    }
    list.record[slot] = record_size;
    list.stride[slot] = width;
    manifold_records.push_back({slot, record_size, width});
    record_size += static_cast<std::size_t>(width) * rows[slot];
  }
}

// Lists the cameras of each point in ascending order, and the entry that each cell belongs to.
void BlockStructure::find_entries() {
  entry_first.assign(1, 0);
  std::vector<std::uint32_t> met;
  for (std::size_t p = 0; p < points; ++p) {
    const std::uint32_t begin = cell_first[slot_first[p]], end = cell_first[slot_first[p + 1]];
    met.assign(cell_entry.begin() + begin, cell_entry.begin() + end);
    std::ranges::sort(met);
    met.erase(std::ranges::unique(met).begin(), met.end());
    for (std::uint32_t c = begin; c < end; ++c) {
      cell_entry[c] = static_cast<std::uint32_t>(std::ranges::lower_bound(met, cell_entry[c]) - met.begin());
    }
    entry_block.insert(entry_block.end(), met.begin(), met.end());
    entry_first.push_back(static_cast<std::uint32_t>(entry_block.size()));
    most_entries = std::max(most_entries, met.size() * point_size[p]);
    std::size_t rows_of = 0;
    for (std::size_t slot = slot_first[p]; slot < slot_first[p + 1]; ++slot) rows_of += rows[slot];
    most_rows = std::max(most_rows, rows_of);
  }
}

void BlockStructure::find_pairs() {
  const auto cameras = static_cast<std::uint32_t>(block_size.size());
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  const std::uint64_t all = std::uint64_t{cameras} * cameras;
  std::vector<std::uint32_t> table(all <= 1U << 22 ? all : 0, kNone);  // few cameras: a table is faster
  const auto number = [&](std::uint32_t a, std::uint32_t b) {
    const std::uint64_t key = std::uint64_t{a} * cameras + b;
    const auto fresh = static_cast<std::uint32_t>(reduced_blocks.size());
    std::uint32_t& place = table.empty() ? known.try_emplace(key, fresh).first->second : table[key];
    if (place == kNone) place = fresh;
    if (place == fresh) reduced_blocks.push_back({a, b});
    return place;
  };
  for (std::uint32_t a = 0; a < cameras; ++a) number(a, a);
  pair_first.assign(1, 0);
  for (std::size_t p = 0; p < points; ++p) {
    for (std::uint32_t i = entry_first[p]; i < entry_first[p + 1]; ++i) {
      for (std::uint32_t j = i; j < entry_first[p + 1]; ++j)
        pair_block.push_back(number(entry_block[i], entry_block[j]));
    }
    pair_first.push_back(pair_block.size());
  }
  std::vector<std::uint32_t> order(reduced_blocks.size()), place(reduced_blocks.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::uint32_t i, std::uint32_t j) {
    const ReducedBlock &x = reduced_blocks[i], &y = reduced_blocks[j];
    return x.a != y.a ? x.a < y.a : x.b < y.b;
  });
  std::vector<ReducedBlock> sorted;
  for (const std::uint32_t k : order) {
    place[k] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(reduced_blocks[k]);
  }
  reduced_blocks = std::move(sorted);
  for (std::uint32_t& k : pair_block) k = place[k];
}

void BlockStructure::lay_out_reduced() {
  reduced_target_f32.assign(1, 0);
  reduced_target_f64.assign(1, 0);
  for (std::size_t k = 0; k < reduced_blocks.size(); ++k) {
    reduced_target_f32.push_back(reduced_target_f32.back() + layout<float>(k).numbers());
    reduced_target_f64.push_back(reduced_target_f64.back() + layout<double>(k).numbers());
  }
}

// Uses as many chunks as keep the work of adding them up small beside their own work. A power of two lets
// threads share them evenly. (On Ladybug-49, four chunks instead of eight take a tenth less time.)
void BlockStructure::cut_chunks() {
  std::vector<double> work(points);
  double all = 0;
  for (std::size_t p = 0; p < points; ++p) {
    const double entries = entry_first[p + 1] - entry_first[p];
    const double slots = slot_first[p + 1] - slot_first[p];
    const double c = static_cast<double>(pad);
    const double pairs = implicit ? entries : 0.5 * entries * (entries + 1);
    work[p] = pairs * c * (point_size[p] + 1.0) * c + 40 * slots * c + 100;
    all += work[p];
  }
  const double least = std::max(
      kLeastWork, kSumWork * static_cast<double>(implicit ? cameras() * pad : reduced_target_f64.back()));
  const auto count = std::bit_floor(
      static_cast<std::size_t>(std::clamp(all / least, 1.0, static_cast<double>(kMostChunks))));
  chunk.assign(1, 0);
  double done = 0;
  for (std::uint32_t p = 0; p < points; ++p) {
    done += work[p];
    if (done * static_cast<double>(count) >= all * static_cast<double>(chunk.size()) && chunk.size() < count)
      chunk.push_back(p + 1);
  }
  if (chunk.back() != points || chunk.size() == 1) chunk.push_back(static_cast<std::uint32_t>(points));
}

std::size_t BlockStructure::bytes() const {
  const auto of = [](const auto& v) { return v.capacity() * sizeof(v[0]); };
  return of(point_size) + of(point_offset) + of(slot_first) + of(entry_first) + of(rows) + of(cell_first) +
         of(cell_entry) + of(cell_column) + of(entry_block) + of(point_matrix) + of(pair_first) +
         of(pair_block) + of(own_record_) + of(own_stride_) + of(own_column_) + of(list.functions) +
         of(list.first) + of(list.parameters) + of(list.row) + of(list.record) + of(list.stride) +
         of(list.column) + of(list.offsets) + of(list.sizes) + of(residual_block) + of(reduced_blocks) +
         of(reduced_target_f32) + of(reduced_target_f64);
}

}  // namespace nlsq::inline v0
