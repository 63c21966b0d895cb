// Implements BlockStructure: elimination order, cameras, record layout and chunks of a block problem.
#include "blocks/block_structure.hpp"

#include "blocks/block_scan.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kMostChunks = 16;
constexpr double kLeastWork = 2e6;   // multiplications per chunk that repay a thread
constexpr double kSumWork = 400;     // work for each number that a chunk sums; clearing and adding take a
                                     // tenth of that
constexpr double kEvaluations = 20;  // of J in a typical solve
constexpr std::uint32_t kNoSlot = 0xffffffffU;

std::size_t round_up(std::size_t n, std::size_t multiple) { return (n + multiple - 1) / multiple * multiple; }

struct SlotKey {
  std::uint32_t point, camera, block;
};

// Sorts by point, then camera, then block. Points are counted, so that only the few blocks of each one are
// compared.
std::vector<SlotKey> in_slot_order(std::span<const SlotKey> keys, std::size_t points) {
  std::vector<std::size_t> first(points + 2, 0);  // of each point, and of the blocks without one
  const auto place = [&](const SlotKey& key) { return std::min<std::size_t>(key.point, points); };
  for (const SlotKey& key : keys) ++first[place(key) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<SlotKey> sorted(keys.size());
  std::vector<std::size_t> next = first;
  for (const SlotKey& key : keys) sorted[next[place(key)]++] = key;
  for (std::size_t p = 0; p <= points; ++p) {
    const auto at = [&](std::size_t i) { return sorted.begin() + static_cast<std::ptrdiff_t>(first[i]); };
    std::sort(at(p), at(p + 1), [](const SlotKey& a, const SlotKey& b) {
      return a.camera != b.camera ? a.camera < b.camera : a.block < b.block;
    });
  }
  return sorted;
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
  for (std::size_t slot = 0; known && slot < list.residual_block.size(); ++slot)
    list.known.push_back(problem.traced[list.residual_block[slot]]);
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

// Sorts by point, then by the first camera. Residual blocks without a point come last, and each is a point of
// size 0.
void BlockStructure::order_slots(const Problem::Impl& problem) {
  std::vector<SlotKey> found;
  for (std::uint32_t b = 0; b < problem.functions.size(); ++b) {
    if (!takes_part(problem, b)) continue;
    SlotKey key{kNoSlot, kNoSlot, b};
    for (const std::uint32_t p : problem.parameters_of(b)) {
      if (point_of[p] >= 0) key.point = static_cast<std::uint32_t>(point_of[p]);
      if (camera_of[p] >= 0) key.camera = std::min(key.camera, static_cast<std::uint32_t>(camera_of[p]));
    }
    found.push_back(key);
  }
  const std::vector<SlotKey> keys = in_slot_order(found, real_points);
  bool robust = false;
  for (const SlotKey& key : keys) {
    robust = robust || !problem.losses[key.block].is_linear();
    const auto slot = static_cast<std::uint32_t>(list.residual_block.size());
    if (key.point == kNoSlot || slot_first.empty() || list.residual_block.empty() ||
        keys[slot - 1].point != key.point)
      slot_first.push_back(slot);
    list.residual_block.push_back(key.block);
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
    matrix_numbers += triangle(size);
  }
  if (!robust) return;
  for (std::size_t slot = 0; slot < list.blocks(); ++slot)
    losses.push_back(problem.losses[list.residual_block[slot]]);
}

// Records are [E | r | F ...] by rows. Derivatives of a block without manifolds and fixed numbers are
// evaluated into its record. Others go to an ambient record after all records.
void BlockStructure::lay_out_records(const Problem::Impl& problem) {
  list.problem = &problem;
  cell_first.push_back(0);
  std::vector<std::uint32_t> mapped;  // slots with manifolds
  const bool components = problem.has_components();
  for (std::uint32_t slot = 0; slot < list.residual_block.size(); ++slot) {
    const std::uint32_t block = list.residual_block[slot];
    load_ahead(list, slot + kBlocksAhead);
    const auto parameters = problem.parameters_of(block);
    const auto has_manifold = [&](std::uint32_t p) {
      return problem.parameters[p].tangent() > 0 && problem.parameters[p].manifold;
    };
    const bool maps = std::ranges::any_of(parameters, has_manifold);
    if (maps) mapped.push_back(slot);
    const std::uint32_t width = lay_out_columns(problem, block);
    const auto count = static_cast<std::uint32_t>(problem.functions[block]->residuals());
    if (components) list.component.push_back(problem.component[block]);
    list.first.push_back(share_columns(parameters.size(), !maps));
    list.row.push_back(static_cast<std::uint32_t>(residuals));
    residuals += count;
    list.record.push_back(record_size);
    list.stride.push_back(width);
    rows.push_back(count);
    record_size += static_cast<std::size_t>(width) * count;
  }
  record_size += pad;
  lay_out_ambient_records(mapped);
}

// Drops the last `count` columns if the last block that may share its columns has the same ones. Returns
// where they begin.
std::uint32_t BlockStructure::share_columns(std::size_t count, bool allowed) {
  const std::size_t begin = list.column.size() - count;
  const auto of = [&](std::size_t first) { return std::span(list.column).subspan(first, count); };
  if (!allowed) return static_cast<std::uint32_t>(begin);
  if (count == shared_count_ && std::ranges::equal(of(begin), of(shared_first_))) list.column.resize(begin);
  else shared_first_ = begin, shared_count_ = count;
  return static_cast<std::uint32_t>(shared_first_);
}

// Gives each parameter block of a residual block its columns in the record, and lists the record's cells.
// Returns the number of columns.
std::uint32_t BlockStructure::lay_out_columns(const Problem::Impl& problem, std::uint32_t block) {
  const std::size_t begin = cell_entry.size();
  const auto parameters = problem.parameters_of(block);
  std::uint32_t e = 0;
  for (const std::uint32_t p : parameters) {
    if (point_of[p] >= 0) e = static_cast<std::uint32_t>(problem.parameters[p].tangent());
  }
  std::uint32_t column = e + 1;
  for (const std::uint32_t p : parameters) {
    std::int32_t at = -1;
    if (point_of[p] >= 0) at = 0;
    if (camera_of[p] >= 0) {
      const auto camera = static_cast<std::uint32_t>(camera_of[p]);
      std::size_t cell = begin;
      while (cell < cell_entry.size() && cell_entry[cell] != camera) ++cell;
      if (cell == cell_entry.size()) {
        cell_entry.push_back(camera);  // find_entries makes it relative to the point
        cell_column.push_back(column);
        column += block_size[camera];
      }
      at = static_cast<std::int32_t>(cell_column[cell] + within[p]);
    }
    list.column.push_back(at);
  }
  // Sorts the cells by camera. Most residual blocks have one or two.
  for (std::size_t i = begin; i < cell_entry.size(); ++i) {
    for (std::size_t k = i; k > begin && cell_entry[k - 1] > cell_entry[k]; --k) {
      std::swap(cell_entry[k - 1], cell_entry[k]);
      std::swap(cell_column[k - 1], cell_column[k]);
    }
  }
  cell_first.push_back(static_cast<std::uint32_t>(cell_entry.size()));
  return column;
}

// Makes these residual blocks evaluate into ambient records, from which the derivatives are mapped into the
// blocks' own records.
void BlockStructure::lay_out_ambient_records(std::span<const std::uint32_t> mapped) {
  if (mapped.empty()) return;
  own_record_ = list.record;
  own_stride_ = list.stride;
  own_column_ = list.column;
  for (const std::uint32_t slot : mapped) {
    std::uint32_t width = 0;
    std::uint32_t k = list.first[slot];
    for (const std::uint32_t p : list.of(slot)) {
      std::int32_t& column = list.column[k++];
      if (column < 0) continue;
      column = static_cast<std::int32_t>(width);
      width += static_cast<std::uint32_t>(list.sizes[p]);
    }
    list.record.set(slot, record_size);
    list.stride.set(slot, width);
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

// Visits the entries of one camera after the other. So the blocks of S come in order, and the only memory
// beside them is one number for each camera.
void BlockStructure::find_pairs() {
  const auto cameras = static_cast<std::uint32_t>(block_size.size());
  struct Entry {
    std::uint32_t point, number;
  };
  std::vector<std::size_t> first(cameras + 2, 0);  // of each camera's entries, once they are in order
  for (const std::uint32_t camera : entry_block) ++first[camera + 2];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<Entry> of_cameras(entry_block.size());
  for (std::uint32_t p = 0; p < points; ++p) {
    for (std::uint32_t i = entry_first[p]; i < entry_first[p + 1]; ++i)
      of_cameras[first[entry_block[i] + 1]++] = {p, i};
    const std::size_t entries = entry_first[p + 1] - entry_first[p];
    pairs += entries * (entries + 1) / 2;
  }
  constexpr std::uint64_t kCached = 1U << 14;  // numbers that stay in the nearest cache
  const std::uint64_t all = std::uint64_t{cameras} * cameras;
  const bool listed = all > kCached || all > pairs;
  if (listed) {
    pair_block.resize(pairs);
    pair_first.assign(1, 0);
    for (std::size_t p = 0; p < points; ++p) {
      const std::size_t entries = entry_first[p + 1] - entry_first[p];
      pair_first.push_back(pair_first.back() + entries * (entries + 1) / 2);
    }
  }
  std::vector<std::uint32_t> met, number(cameras, kNoSlot);  // the block of S for each camera that a meets
  for (std::uint32_t a = 0; a < cameras; ++a) {
    const std::span<const Entry> entries = std::span(of_cameras).subspan(first[a], first[a + 1] - first[a]);
    met.assign(1, a);
    number[a] = 0;
    for (const Entry& e : entries) {
      for (std::uint32_t j = e.number; j < entry_first[e.point + 1]; ++j) {
        if (number[entry_block[j]] != kNoSlot) continue;
        number[entry_block[j]] = 0;
        met.push_back(entry_block[j]);
      }
    }
    std::ranges::sort(met);
    for (const std::uint32_t b : met) {
      number[b] = static_cast<std::uint32_t>(reduced_blocks.size());
      reduced_blocks.push_back({a, b});
    }
    for (const Entry& e : listed ? entries : std::span<const Entry>()) {
      // The pairs of a point are listed by rows of a triangle.
      const std::size_t row = e.number - entry_first[e.point],
                        rows = entry_first[e.point + 1] - entry_first[e.point];
      std::size_t pair = pair_first[e.point] + row * rows - row * (row - 1) / 2;
      for (std::uint32_t j = e.number; j < entry_first[e.point + 1]; ++j)
        pair_block[pair++] = number[entry_block[j]];
    }
    for (const std::uint32_t b : met) number[b] = kNoSlot;
  }
  if (listed) return;
  pair_table.assign(all, kNoSlot);
  for (std::uint32_t k = 0; k < reduced_blocks.size(); ++k)
    pair_table[std::size_t{reduced_blocks[k].a} * cameras + reduced_blocks[k].b] = k;
}

void BlockStructure::lay_out_reduced() {
  reduced_target_f32.reserve(reduced_blocks.size() + 1);
  reduced_target_f64.reserve(reduced_blocks.size() + 1);
  reduced_target_f32.assign(1, 0);
  reduced_target_f64.assign(1, 0);
  for (std::size_t k = 0; k < reduced_blocks.size(); ++k) {
    reduced_target_f32.push_back(reduced_target_f32.back() + layout<float>(k).numbers());
    reduced_target_f64.push_back(reduced_target_f64.back() + layout<double>(k).numbers());
  }
}

// Cuts the points into as many chunks as possible while the work of adding them up remains small beside their
// own work. A power of two lets threads share them evenly. (On Ladybug-49, four chunks instead of eight take
// a tenth less time.)
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
  return point_size.bytes() + point_offset.bytes() + of(slot_first) + of(entry_first) + rows.bytes() +
         cell_first.bytes() + of(cell_entry) + of(cell_column) + of(entry_block) + point_matrix.bytes() +
         of(pair_first) + of(pair_block) + of(pair_table) + own_record_.bytes() + own_stride_.bytes() +
         of(own_column_) + list.first.bytes() + list.row.bytes() + list.record.bytes() + list.stride.bytes() +
         of(list.column) + of(list.offsets) + of(list.sizes) + list.residual_block.bytes() +
         of(reduced_blocks) + of(reduced_target_f32) + of(reduced_target_f64);
}

}  // namespace nlsq::inline v0
