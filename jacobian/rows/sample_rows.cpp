// Selects the windows of a sample.
#include "rows/sample_rows.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// A sample consists of many short windows rather than few long ones, since neighbouring rows are alike. A
// window is no shorter than some cache lines, and no longer than a tile.
constexpr std::size_t kWindows = 512, kLeast = 64;

}  // namespace

SampleRows::SampleRows(RowModel& all, std::size_t rows) : all_(all) {
  const std::size_t tile_rows = all.tile_rows(),
                    in_a_tile = std::max<std::size_t>(1, tile_rows / std::max(kLeast, rows / kWindows)),
                    size = (tile_rows + in_a_tile - 1) / in_a_tile, places = all.tile_count() * in_a_tile,
                    wanted = std::clamp<std::size_t>((rows + size - 1) / size, 1, places);
  tiles_.reserve(wanted);
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t place = (2 * k + 1) * places / (2 * wanted), tile = place / in_a_tile;
    const TileRange whole = all.tile(tile);
    const std::size_t skipped = place % in_a_tile * size;
    if (skipped >= whole.count) continue;  // the tile is shorter than others
    sources_.push_back(tile);
    tiles_.push_back({whole.first + skipped, std::min(size, whole.count - skipped)});
    rows_ += tiles_.back().count;
  }
  if (tiles_.empty()) {
    sources_.push_back(all.tile_count() / 2);
    tiles_.push_back(all.tile(sources_.back()));
    rows_ = tiles_.back().count;
  }
  for (const TileRange& window : tiles_) window_ = std::max(window_, (window.count + 63) / 64 * 64);
  gaps_.emplace(all, tiles_.size());
  if (!gaps_->are_long()) return;
  for (const TileRange& window : tiles_) all.will_read(window.first, window.count);
}

}  // namespace nlsq::inline v0
