// Declares the interface by which SchurSolver and the certificate read the records of J, one range of points
// after the other. A reader need not know whether a range is kept in memory or is evaluated again for this
// reading.
#pragma once

#include "blocks/block_structure.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace nlsq::inline v0 {

// Consecutive records. `numbers` points to number `first` of all records.
template <class R>
struct RecordView {
  const R* numbers = nullptr;
  std::uint64_t first = 0;

  const R* at(std::uint64_t record) const { return numbers + (record - first); }
};

template <class R>
class RecordReader {
 public:
  // Receives points [first, last) and a view of their records, which is valid during the call.
  using Work = std::function<void(std::size_t first, std::size_t last, const RecordView<R>& records)>;

  virtual ~RecordReader() = default;
  // Calls `work` for all points of a chunk, in ascending order. Threads may visit different chunks at once.
  virtual void visit(std::size_t chunk, const Work& work) = 0;
  // Calls `work` for all points, in ascending order, on this thread.
  virtual void sweep(const Work& work) = 0;
  // Returns all records in one array, or null if some of them are not kept.
  virtual const R* whole() const = 0;
};

// Records that are all kept, in one array.
template <class R>
class WholeRecords final : public RecordReader<R> {
 public:
  using typename RecordReader<R>::Work;
  explicit WholeRecords(const BlockStructure& structure) : structure_(structure) {}

  void visit(std::size_t chunk, const Work& work) override {
    work(structure_.chunk[chunk], structure_.chunk[chunk + 1], {numbers.data(), 0});
  }
  void sweep(const Work& work) override { work(0, structure_.points, {numbers.data(), 0}); }
  const R* whole() const override { return numbers.data(); }

  std::vector<R> numbers;

 private:
  const BlockStructure& structure_;
};

}  // namespace nlsq::inline v0
