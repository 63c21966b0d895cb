// Implements RecordWindows.
#include "blocks/windows/record_windows.hpp"

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

using Window = RecordWindows::Window;

// Returns the position of the first number after the records of slots before `slot`.
std::uint64_t end_before(const BlockStructure& s, std::size_t slot) {
  if (slot == 0) return 0;
  return s.record()[slot - 1] + std::uint64_t{s.stride()[slot - 1]} * s.rows[slot - 1];
}

void find_ambient(const BlockStructure& s, Window& window) {
  const auto first =
                 std::ranges::lower_bound(s.manifold_records, window.first_slot, {}, &ManifoldRecord::slot),
             last = std::ranges::lower_bound(s.manifold_records, window.last_slot, {}, &ManifoldRecord::slot);
  if (first == last) return;
  const ManifoldRecord& end = *(last - 1);
  window.ambient = first->ambient;
  window.ambient_numbers =
      end.ambient + std::uint64_t{end.ambient_stride} * s.rows[end.slot] - first->ambient;
}

Window make(const BlockStructure& s, std::uint32_t first_point, std::uint32_t last_point) {
  Window window;
  window.first_point = first_point;
  window.last_point = last_point;
  window.first_slot = s.slot_first[first_point];
  window.last_slot = s.slot_first[last_point];
  window.first = end_before(s, window.first_slot);
  window.numbers = end_before(s, window.last_slot) - window.first;
  find_ambient(s, window);
  return window;
}

}  // namespace

WindowRule& window_rule() {
  static WindowRule rule;
  return rule;
}

RecordWindows::RecordWindows(const BlockStructure& structure, const WindowRule& rule) {
  const BlockStructure& s = structure;
  tangent_numbers = end_before(s, s.list.blocks());
  if (s.implicit || tangent_numbers < rule.least_numbers) return;
  of_chunk.assign(1, 0);
  for (std::size_t c = 0; c + 1 < s.chunk.size(); ++c) {
    const std::uint64_t begin = end_before(s, s.slot_first[s.chunk[c]]),
                        numbers = end_before(s, s.slot_first[s.chunk[c + 1]]) - begin;
    // The count is even, because half of the windows are evaluated again.
    const std::uint64_t pair = 2 * rule.window_numbers,
                        pairs = std::max<std::uint64_t>(1, (numbers + pair - 1) / pair), count = 2 * pairs;
    std::uint32_t point = s.chunk[c];
    for (std::uint64_t k = 0; k < count && point < s.chunk[c + 1]; ++k) {
      const std::uint32_t first = point;
      while (point < s.chunk[c + 1] && end_before(s, s.slot_first[point]) - begin < (k + 1) * numbers / count)
        ++point;
      if (k + 1 == count) point = s.chunk[c + 1];
      if (point == first) continue;
      windows.push_back(make(s, first, point));
      windows.back().again = k % 2 == 1;
    }
    of_chunk.push_back(static_cast<std::uint32_t>(windows.size()));
  }
  for (const Window& window : windows) {
    most_numbers = std::max<std::size_t>(most_numbers, window.numbers);
    most_ambient = std::max<std::size_t>(most_ambient, window.ambient_numbers);
  }
}

}  // namespace nlsq::inline v0
