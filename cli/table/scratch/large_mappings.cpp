// Implements the list of large mappings.
#include "table/scratch/large_mappings.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

namespace nlsq::cli {

namespace {

std::mutex mappings_mutex;
struct Mapping {
  std::size_t bytes;
  ReadPages pages;
};
std::map<void*, Mapping> mappings;
int gaps_expected = 0;  // calls with true less those with false

// A mapping that prefers large pages would be read by 2 MB whatever else is advised.
void advise(void* memory, std::size_t bytes) {
#ifdef MADV_NOHUGEPAGE
  ::madvise(memory, bytes, MADV_NOHUGEPAGE);
#endif
  ::madvise(memory, bytes, gaps_expected > 0 ? MADV_RANDOM : MADV_NORMAL);
}

std::uintptr_t page_of(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  return address / page * page;
}

std::size_t bytes_of(ElementType type) {
  switch (type) {
    case ElementType::i8:
    case ElementType::u8: return 1;
    case ElementType::i16:
    case ElementType::u16: return 2;
    case ElementType::f32:
    case ElementType::i32:
    case ElementType::u32: return 4;
    default: return 8;
  }
}

struct Place {
  std::uintptr_t begin = 0, end = 0;
};

// Returns where rows of a column lie in memory. The place is empty if they do not.
Place place_of(const Column& column, std::size_t first, std::size_t count) {
  if (column.memory() == nullptr || column.stride() < 1) return {};
  const std::size_t item = bytes_of(column.type()), row = static_cast<std::size_t>(column.stride()) * item;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(column.memory()) + first * row;
  return {begin, begin + (count - 1) * row + item};
}

// Tells the system to begin reading these rows from the disk. Does not wait until they have been read.
void fetch(const Place& rows) {
  const std::uintptr_t from = page_of(rows.begin);
  if (rows.end > from) ::madvise(reinterpret_cast<void*>(from), rows.end - from, MADV_WILLNEED);
}

// Gives pages of a mapping back to the system. Their contents stay in its file cache as long as there is
// room. The system makes room much faster if no process holds the pages.
void release(void* from, std::size_t bytes, ReadPages pages) {
  if (pages == ReadPages::go_back) ::madvise(from, bytes, MADV_DONTNEED);
}

// Gives the pages of these rows back to the system if the rows are in a mapped file. Pages of other memory
// are kept, because they would lose their contents. The last page is kept, too, because it may also hold rows
// that have not been read yet.
void release(const Place& rows) {
  const std::lock_guard lock(mappings_mutex);
  const auto after = mappings.upper_bound(reinterpret_cast<void*>(rows.begin));
  if (after == mappings.begin()) return;
  const auto& [memory, mapping] = *std::prev(after);
  if (rows.end > reinterpret_cast<std::uintptr_t>(memory) + mapping.bytes) return;
  const std::uintptr_t from = page_of(rows.begin);
  release(reinterpret_cast<void*>(from), page_of(rows.end) - from, mapping.pages);
}

class HintedRows final : public RowSource {
 public:
  explicit HintedRows(const std::vector<Column>& columns) : memory_(columns), columns_(columns) {}
  std::size_t rows() const override { return columns_.rows(); }
  int columns() const override { return columns_.columns(); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    columns_.read(first, count, column, out);
  }
  void read(std::size_t first, std::size_t count, int column, float* out) const override {
    columns_.read(first, count, column, out);
  }
  const double* direct_f64(std::size_t first, int column) const override {
    return columns_.direct_f64(first, column);
  }
  const float* direct_f32(std::size_t first, int column) const override {
    return columns_.direct_f32(first, column);
  }
  void expect_gaps(bool gaps) const override {
    const std::lock_guard lock(mappings_mutex);
    const bool before = gaps_expected > 0;
    gaps_expected += gaps ? 1 : -1;
    if (before == (gaps_expected > 0)) return;
    for (const auto& [memory, mapping] : mappings) {
      advise(memory, mapping.bytes);
      if (before) release(memory, mapping.bytes, mapping.pages);  // the rows that lay between the gaps
    }
  }

  void will_read(std::size_t first, std::size_t count, int column) const override {
    fetch(place_of(memory_[static_cast<std::size_t>(column)], first, count));
  }
  void was_read(std::size_t first, std::size_t count, int column) const override {
    release(place_of(memory_[static_cast<std::size_t>(column)], first, count));
  }

 private:
  std::vector<Column> memory_;
  MemoryRows columns_;
};

}  // namespace

void add_large_mapping(void* memory, std::size_t bytes, ReadPages pages) {
  const std::lock_guard lock(mappings_mutex);
  mappings[memory] = {bytes, pages};
  advise(memory, bytes);
}

void remove_large_mapping(void* memory) noexcept {
  const std::lock_guard lock(mappings_mutex);
  mappings.erase(memory);
}

bool has_large_mappings() noexcept {
  const std::lock_guard lock(mappings_mutex);
  return !mappings.empty();
}

std::vector<Column> hinted_columns(const std::vector<Column>& columns, std::shared_ptr<void>& owner) {
  const auto rows = std::make_shared<HintedRows>(columns);
  owner = rows;
  std::vector<Column> out;
  for (std::size_t c = 0; c < columns.size(); ++c) out.emplace_back(*rows, static_cast<int>(c));
  return out;
}

}  // namespace nlsq::cli
