// These functions visit rows: all tiles, or groups of neighbouring rows within one tile. The probe and the
// recheck use such groups as samples.
#pragma once

#include "rows/row_model.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// For models whose tiles leave rows out (a sample): finds the tile that holds the row with number `row` among
// the rows present.
inline TileRange tile_of_sample(const RowModel& model, std::size_t row, std::size_t& place) {
  std::size_t t = 0;
  for (std::size_t count = model.tile(0).count; row >= count && t + 1 < model.tile_count();
       count = model.tile(++t).count) {
    row -= count;
  }
  place = model.tile(t).first + row;
  return model.tile(t);
}

// Finds the tile that holds `row` by bisection, because tiles may have any size.
inline TileRange tile_of(const RowModel& model, std::size_t row) {
  std::size_t low = 0, high = model.tile_count();
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    (model.tile(middle).first <= row ? low : high) = middle;
  }
  return model.tile(low);
}

// Makes a pass over all rows at x, in f64. Calls visit(tile, columns) for each tile and its columns [J | r].
void for_each_tile(const RowModel& model, std::span<const double> x, const auto& visit) {
  KernelCounters uncounted;
  const std::unique_ptr<TilePass> pass = model.begin(x, Fill::jacobian_and_residual, false);
  for (std::size_t t = 0; t < model.tile_count(); ++t) {
    const TileRange tile = model.tile(t);
    const double* const* columns = pass->fill_f64(tile.first, tile.count, uncounted);
    visit(tile, columns);
  }
}

inline constexpr std::size_t kRowGroup = 64;  // rows of a group, or fewer

inline void cut_into_groups(const TileRange& tile, std::vector<TileRange>& groups) {
  for (std::size_t i = 0; i < tile.count; i += kRowGroup)
    groups.push_back({tile.first + i, std::min(kRowGroup, tile.count - i)});
}

// Returns all rows once if there are at most `most`, and else evenly spread groups of about `most` rows in
// all.
inline std::vector<TileRange> row_groups(const RowModel& model, std::size_t most) {
  std::vector<TileRange> groups;
  const std::size_t m = model.rows();
  if (m <= most) {
    for (std::size_t t = 0; t < model.tile_count(); ++t) cut_into_groups(model.tile(t), groups);
    return groups;
  }
  const std::size_t count = std::max<std::size_t>(1, most / kRowGroup);
  const TileRange last = model.tile(model.tile_count() - 1);
  const bool gaps = last.first + last.count > m;
  for (std::size_t g = 0; g < count; ++g) {
    std::size_t wanted = m / count * g + (m / count - kRowGroup) / 2;
    const TileRange tile = gaps ? tile_of_sample(model, wanted, wanted) : tile_of(model, wanted);
    const std::size_t rows = std::min(kRowGroup, tile.count);
    groups.push_back({std::clamp(wanted, tile.first, tile.first + tile.count - rows), rows});
  }
  return groups;
}

// Does the same for the given tiles only.
inline std::vector<TileRange> row_groups(const std::vector<TileRange>& tiles, std::size_t most) {
  std::vector<TileRange> groups;
  std::size_t m = 0;
  for (const TileRange& tile : tiles) m += tile.count;
  const std::size_t count = std::max<std::size_t>(1, most / kRowGroup);
  std::size_t t = 0, before = 0;  // before: number of rows in the tiles before tile t
  for (std::size_t g = 0; g < count && m > most; ++g) {
    const std::size_t wanted = m / count * g + (m / count - kRowGroup) / 2;
    while (before + tiles[t].count <= wanted) before += tiles[t++].count;
    const std::size_t rows = std::min(kRowGroup, tiles[t].count),
                      last = tiles[t].first + tiles[t].count - rows;
    groups.push_back({std::min(tiles[t].first + (wanted - before), last), rows});
  }
  if (!groups.empty()) return groups;
  for (const TileRange& tile : tiles) cut_into_groups(tile, groups);
  return groups;
}

}  // namespace nlsq::inline v0
