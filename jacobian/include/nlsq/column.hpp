// A Column is a view of data in the user's memory; a RowSource supplies tiles with data.
#pragma once

#include <nlsq/error.hpp>
#include <nlsq/export.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <ranges>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Says which type the numbers in memory have; `source` if a row source supplies them.
enum class ElementType : std::uint8_t { f64, f32, i8, u8, i16, u16, i32, u32, source };

class RowSource;

// Views numbers in memory, contiguous or strided, or a column of a row source. It does not own them; the data
// must outlive the fit.
class NLSQ_API Column {
 public:
  Column() = default;
  // `stride` counts elements, not bytes. It may be negative or larger than one.
  Column(const double* data, std::size_t size, std::ptrdiff_t stride = 1)
      : Column(data, size, stride, ElementType::f64) {}
  Column(const float* data, std::size_t size, std::ptrdiff_t stride = 1)
      : Column(data, size, stride, ElementType::f32) {}
  Column(const std::int8_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::i8) {}
  Column(const std::uint8_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::u8) {}
  Column(const std::int16_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::i16) {}
  Column(const std::uint16_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::u16) {}
  Column(const std::int32_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::i32) {}
  Column(const std::uint32_t* d, std::size_t n, std::ptrdiff_t s = 1) : Column(d, n, s, ElementType::u32) {}

  // Views any contiguous range of one of the types above: vector, array, span.
  template <std::ranges::contiguous_range Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, Column>)
      Column(const Range& range)  // NOLINT: implicit by design
      : Column(std::ranges::data(range), std::ranges::size(range)) {}

  // Views column `column` of a row source, which reads the rows from their place, for instance a file. So
  // data larger than memory can be fitted: a fit reads blocks of rows, several times.
  Column(const RowSource& rows, int column);

  // Views vectors, arrays, maps, references, rows and columns of Eigen: any type that has memory, a size and
  // a stride, and is one-dimensional at compile time.
  template <class V>
  requires(!std::ranges::contiguous_range<V> && bool(V::IsVectorAtCompileTime) &&
           requires(const V& v) { Column(v.data(), std::size_t(v.size()), std::ptrdiff_t(v.innerStride())); })
      Column(const V& v)  // NOLINT: implicit by design
      : Column(v.data(), static_cast<std::size_t>(v.size()), static_cast<std::ptrdiff_t>(v.innerStride())) {}

  // Prevents a column that outlives a temporary, as in `options.sigma = errors()`. A temporary passed
  // directly to a fit lives long enough.
  template <class Owner>
  requires(std::ranges::contiguous_range<Owner> && !std::is_lvalue_reference_v<Owner> &&
           !std::ranges::borrowed_range<Owner>) Column&
  operator=(Owner&&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ElementType type() const { return type_; }
  // Return the first number in memory, and the distance between rows in numbers. For a row source they return
  // null and 0.
  const void* memory() const { return type_ == ElementType::source ? nullptr : data_; }
  std::ptrdiff_t stride() const { return type_ == ElementType::source ? 0 : stride_; }
  double operator[](std::size_t row) const;

  // Writes rows [first, first + count), converted to the type of `out`.
  void read(std::size_t first, std::size_t count, double* out) const;
  void read(std::size_t first, std::size_t count, float* out) const;
  // Returns the memory itself if no conversion is needed, else null.
  const double* direct_f64(std::size_t first) const;
  const float* direct_f32(std::size_t first) const;
  // These pass on hints to a row source. RowSource describes them.
  void expect_gaps(bool gaps) const;
  void will_read(std::size_t first, std::size_t count) const;
  void was_read(std::size_t first, std::size_t count) const;

 private:
  Column(const void* data, std::size_t size, std::ptrdiff_t stride, ElementType type)
      : data_(data), size_(size), stride_(stride), type_(type) {}

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::ptrdiff_t stride_ = 1;
  ElementType type_ = ElementType::f64;
};

// Supplies rows, from memory or from anywhere else. Several threads may read at once and in any order. The
// same rows must always give the same numbers.
class NLSQ_API RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::size_t rows() const = 0;
  virtual int columns() const = 0;
  // Writes rows [first, first + count) of one column.
  virtual void read(std::size_t first, std::size_t count, int column, double* out) const = 0;
  virtual void read(std::size_t first, std::size_t count, int column, float* out) const;
  // Returns memory that already holds row `first` and those after it in this type, at least 65,536 of them or
  // all that are left, and stays valid as long as the source. Returns null if there is no such memory.
  virtual const double* direct_f64(std::size_t first, int column) const;
  virtual const float* direct_f32(std::size_t first, int column) const;
  // Gives a hint for reading ahead. With true, reads from now on leave long gaps between rows (samples), so
  // reading ahead would be wasted. With false, they go through the rows again. Each call with true needs one
  // with false. Fits that run at the same time, such as those of the bootstrap, call it from their own
  // threads.
  virtual void expect_gaps(bool gaps) const;
  // Gives a hint that these rows of a column are among the next that are read. A source on a disk can fetch
  // the rows of a sample at once, which takes far less time than one after the other.
  virtual void will_read(std::size_t first, std::size_t count, int column) const;
  // Gives a hint that the current pass needs none of these rows of a column any more. A source can free the
  // memory that holds them.
  virtual void was_read(std::size_t first, std::size_t count, int column) const;
};

// Supplies rows from columns in memory.
class NLSQ_API MemoryRows final : public RowSource {
 public:
  explicit MemoryRows(std::vector<Column> columns);  // throws DataError if lengths differ
  std::size_t rows() const override { return rows_; }
  int columns() const override { return static_cast<int>(columns_.size()); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    view(column).read(first, count, out);
  }
  void read(std::size_t first, std::size_t count, int column, float* out) const override {
    view(column).read(first, count, out);
  }
  const double* direct_f64(std::size_t first, int column) const override {
    return view(column).direct_f64(first);
  }
  const float* direct_f32(std::size_t first, int column) const override {
    return view(column).direct_f32(first);
  }
  void expect_gaps(bool gaps) const override;
  void will_read(std::size_t first, std::size_t count, int column) const override {
    view(column).will_read(first, count);
  }
  void was_read(std::size_t first, std::size_t count, int column) const override {
    view(column).was_read(first, count);
  }

 private:
  const Column& view(int column) const { return columns_[static_cast<std::size_t>(column)]; }

  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

}  // namespace nlsq::inline v0
