// Selects the tiles of a sample.
#include "rows/sample_rows.hpp"

namespace nlsq::inline v0 {

SampleRows::SampleRows(RowModel& all, std::size_t rows) : all_(all) {
  const std::size_t tiles = all.tile_count();
  const std::size_t wanted =
      std::max<std::size_t>(1, std::min(tiles, (rows + all.tile_rows() - 1) / all.tile_rows()));
  tiles_.reserve(wanted);
  for (std::size_t k = 0; k < wanted; ++k) {
    sources_.push_back((2 * k + 1) * tiles / (2 * wanted));
    const TileRange range = all.tile(sources_.back());
    tiles_.push_back(range);
    rows_ += range.count;
  }
  gaps_.emplace(all, wanted);
}

}  // namespace nlsq::inline v0
