// Cuts the records of J into windows: ranges of consecutive points whose derivatives in f64 are kept, or
// evaluated again, together. WindowedRecords works on them. The cut depends on the graph alone.
#pragma once

#include "blocks/block_structure.hpp"

#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

// When records are cut, and how finely.
struct WindowRule {
  // Records are cut if they have at least this many numbers: 4 MiB in f64. Smaller records are a small part
  // of the memory of a solve, and reading them whole is faster.
  std::size_t least_numbers = std::size_t{1} << 19;
  // The approximate number of numbers in a window. A window of 256 KiB stays in the L2 cache between its
  // evaluation and its use, and is large beside the tiles of blocks at its ends, which belong to its
  // neighbours in part.
  std::size_t window_numbers = std::size_t{1} << 15;
};
// Returns the rule in force. Tests change it, so that small problems have windows, or large ones have none.
NLSQ_API WindowRule& window_rule();

struct RecordWindows {
  struct Window {
    std::uint32_t first_point = 0, last_point = 0;
    std::uint32_t first_slot = 0, last_slot = 0;
    std::uint64_t first = 0, numbers = 0;            // its records
    std::uint64_t ambient = 0, ambient_numbers = 0;  // and those over ambient numbers (ManifoldRecord)
    // Every second window is evaluated again where its blocks have programs. So f64 derivatives take half of
    // their memory, as much as f32 ones, and no chunk has more of them than another.
    bool again = false;
  };

  // Makes no windows if the rule does not require them, or if S is applied as an operator, because conjugate
  // gradients read the records dozens of times for each step.
  RecordWindows(const BlockStructure& structure, const WindowRule& rule);

  bool any() const { return !windows.empty(); }

  std::vector<Window> windows;
  std::vector<std::uint32_t> of_chunk;  // windows of chunk c: [of_chunk[c], of_chunk[c + 1])
  std::uint64_t tangent_numbers = 0;    // records over ambient numbers begin here, after the padding
  std::size_t most_numbers = 0, most_ambient = 0;  // in a window
};

}  // namespace nlsq::inline v0
