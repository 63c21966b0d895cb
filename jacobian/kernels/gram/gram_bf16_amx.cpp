// Computes bf16 Gram matrices by the tile registers of AMX. This file is compiled with AMX_BF16, and the
// kernel is used if cpuid reports it and the operating system permits it. The linker sees only the entry
// point.
//
// A tile register has 16 rows of 64 bytes. TDPBF16PS multiplies a tile of 16 columns of J by 32 rows with a
// tile of 32 rows by 16 columns, and adds to a tile of 16 x 16 sums in f32. For each sum it forms one chain
// over the even rows and one over the odd rows, adds the two, and adds the result to the sum. Every operation
// rounds to nearest, and results below 2^-126 are zero (Intel 64 Architectures Software Developer's Manual,
// volume 2, TDPBF16PS).
#include "kernels/gram/gram_bf16_panels.hpp"
#include "kernels/kernel_sets.hpp"

namespace nlsq::inline v0 {
namespace {

// Defines the shape of the eight tile registers: 0 to 3 hold sums, 4 and 5 columns, 6 and 7 panels.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// Configures the tile registers of this thread. The destructor releases them, so that the operating system
// need not save them.
class Tiles {
 public:
  Tiles() {
    const TileShapes shapes;
    _tile_loadconfig(&shapes);
  }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
  ~Tiles() { _tile_release(); }
};

// The packed columns of one run of rows.
struct PackedColumns {
  std::uint32_t *panels, *plain;
  std::size_t size;  // of a panel, in numbers of 32 bits: 256 for every 32 rows
};

constexpr std::size_t side = 16;  // rows and columns of a tile of sums

// Adds a tile of J'J, with its first entry at row i and column j, to the sums.
NLSQ_INLINE void flush_tile(const float (&tile)[side][side], std::size_t i, std::size_t j, std::size_t n1,
                            double* sums) {
  const std::size_t n = n1 - 1, height = n - i < side ? n - i : side;
  double* out = sums + gram_bf16_row(i, n1) + j;
  if (height == side && i + side <= j + 1 && j + side <= n) {  // all of it is in the triangle
    for (std::size_t k = 0; k < side; out += n1 - (i + ++k)) flush(_mm512_load_ps(tile[k]), out);
    return;
  }
  for (std::size_t k = 0; k < height; out += n1 - (i + ++k))
    flush(_mm512_load_ps(tile[k]), out, lanes_of_triangle(i + k, j, n));
}

// Multiplies NI times 16 columns, from number i on, with NJ panels from column j on.
template <int NI, int NJ>
[[gnu::noinline]] void rectangle(const PackedColumns& packed, std::size_t i, std::size_t j, std::size_t n1,
                                 double* sums) {
  const std::uint32_t *a = packed.plain + i / side * packed.size, *b = packed.panels + j / side * packed.size;
  for (std::size_t k = i; k < i + NI * side && k + 1 < n1; ++k) {
    const double* out = sums + gram_bf16_row(k, n1) + j;
    for (std::size_t line = 0; line <= 2 * NJ; ++line) __builtin_prefetch(out + 8 * line, 1);
  }
  _tile_zero(0);
  if constexpr (NJ == 2) _tile_zero(1);
  if constexpr (NI == 2) _tile_zero(2);
  if constexpr (NI == 2 && NJ == 2) _tile_zero(3);
  for (std::size_t at = 0; at < packed.size; at += side * side) {
    _tile_loadd(4, a + at, 64);
    _tile_loadd(6, b + at, 64);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (NJ == 2) {
      _tile_loadd(7, b + packed.size + at, 64);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (NI == 2) {
      _tile_loadd(5, a + packed.size + at, 64);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (NJ == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  alignas(64) float tile[side][side];
  _tile_stored(0, tile, 64);
  flush_tile(tile, i, j, n1, sums);
  if constexpr (NJ == 2) {
    _tile_stored(1, tile, 64);
    flush_tile(tile, i, j + side, n1, sums);
  }
  if constexpr (NI == 2) {
    _tile_stored(2, tile, 64);
    if (i != j) flush_tile(tile, i + side, j, n1, sums);  // else it is below the triangle
    if constexpr (NJ == 2) {
      _tile_stored(3, tile, 64);
      flush_tile(tile, i + side, j + side, n1, sums);
    }
  }
}

// Packs two panels at a time, then multiplies them with all columns up to them.
void add_rows(const float* const* columns, std::size_t n1, std::size_t first, std::size_t rows,
              const PackedColumns& packed, double* sums) {
  const std::size_t n = n1 - 1;
  alignas(64) double r[gram_bf16_rows];
  sums[gram_bf16_row(n, n1) + n] += widen_residuals(columns[n] + first, rows, r);
  for (std::size_t j = 0, end; j < n; j = end) {
    end = n - j < 2 * side ? n : j + 2 * side;
    for (std::size_t k = j; k < end; k += side) {
      const std::size_t at = k / side * packed.size;
      pack_panel<true>(columns, k, n1, first, rows, r, packed.panels + at, packed.plain + at, sums);
    }
    const bool two = end - j > side;
    for (std::size_t i = 0; i < j; i += 2 * side) {
      if (two) rectangle<2, 2>(packed, i, j, n1, sums);
      else rectangle<2, 1>(packed, i, j, n1, sums);
    }
    if (two) rectangle<2, 2>(packed, j, j, n1, sums);
    else rectangle<1, 1>(packed, j, j, n1, sums);
  }
}

}  // namespace

void gram_bf16_amx(const float* const* columns, int n1, std::size_t rows, double* sums,
                   KernelCounters* counters) {
  thread_local PanelBuffer buffer;
  const auto width = static_cast<std::size_t>(n1);
  const std::size_t most = rows < gram_bf16_rows ? (rows + 31) / 32 * 32 : gram_bf16_rows;
  const std::size_t panels = (width - 1 + side - 1) / side, half = panels * most / 2 * side;
  auto* memory = static_cast<std::uint32_t*>(buffer.bytes(2 * half * sizeof(std::uint32_t)));
  const Tiles tiles;
  for (std::size_t first = 0; first < rows; first += gram_bf16_rows) {
    const std::size_t left = rows - first, some = left < gram_bf16_rows ? left : gram_bf16_rows;
    add_rows(columns, width, first, some, {memory, memory + half, (some + 31) / 32 * side * side}, sums);
  }
  count_gram_bf16(width, rows, counters);
}

}  // namespace nlsq::inline v0
