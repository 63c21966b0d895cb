// Data columns as the user holds them (uncopied), and row sources: where tiles come from.
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

enum class ElementType : std::uint8_t { f64, f32, i8, u8, i16, u16, i32, u32 };

// A view of numbers in memory: contiguous or strided, not owned. The data must outlive the fit.
class NLSQ_API Column {
 public:
  Column() = default;
  // `stride` counts elements, not bytes; it may be negative or larger than one.
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

  // Any contiguous range of one of the types above: vector, array, span.
  template <std::ranges::contiguous_range Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, Column>)
      Column(const Range& range)  // NOLINT: implicit by design
      : Column(std::ranges::data(range), std::ranges::size(range)) {}

  // Eigen's vectors, arrays, maps, references, rows and columns of matrices: whatever has memory, a size and
  // a stride, and is one-dimensional by its type.
  template <class V>
  requires(!std::ranges::contiguous_range<V> && bool(V::IsVectorAtCompileTime) &&
           requires(const V& v) { Column(v.data(), std::size_t(v.size()), std::ptrdiff_t(v.innerStride())); })
      Column(const V& v)  // NOLINT: implicit by design
      : Column(v.data(), static_cast<std::size_t>(v.size()), static_cast<std::ptrdiff_t>(v.innerStride())) {}

  // Kept in a column, the memory of a temporary would be gone before the fit: `options.sigma = errors()`.
  // As an argument of the fit itself it lives long enough.
  template <class Owner>
  requires(std::ranges::contiguous_range<Owner> && !std::is_lvalue_reference_v<Owner> &&
           !std::ranges::borrowed_range<Owner>) Column&
  operator=(Owner&&) = delete;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  ElementType type() const { return type_; }
  double operator[](std::size_t row) const;

  // Rows [first, first + count) converted.
  void read(std::size_t first, std::size_t count, double* out) const;
  void read(std::size_t first, std::size_t count, float* out) const;
  // The memory itself where no conversion is needed, else null.
  const double* direct_f64(std::size_t first) const;
  const float* direct_f32(std::size_t first) const;

 private:
  Column(const void* data, std::size_t size, std::ptrdiff_t stride, ElementType type)
      : data_(data), size_(size), stride_(stride), type_(type) {}

  const void* data_ = nullptr;
  std::size_t size_ = 0;
  std::ptrdiff_t stride_ = 1;
  ElementType type_ = ElementType::f64;
};

// Where rows come from: memory today, generated or filed elsewhere. Reads may come from several
// threads at once and in any order; the same rows must always give the same numbers.
class NLSQ_API RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::size_t rows() const = 0;
  virtual int columns() const = 0;
  // Rows [first, first + count) of one column.
  virtual void read(std::size_t first, std::size_t count, int column, double* out) const = 0;
  virtual void read(std::size_t first, std::size_t count, int column, float* out) const;
  // Memory that already holds the rows in the wanted type, valid as long as the source; else null.
  virtual const double* direct_f64(std::size_t first, int column) const;
  virtual const float* direct_f32(std::size_t first, int column) const;
};

// Columns in memory.
class NLSQ_API MemoryRows final : public RowSource {
 public:
  explicit MemoryRows(std::vector<Column> columns);  // throws DataError when lengths disagree
  std::size_t rows() const override { return rows_; }
  int columns() const override { return static_cast<int>(columns_.size()); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override;
  void read(std::size_t first, std::size_t count, int column, float* out) const override;
  const double* direct_f64(std::size_t first, int column) const override;
  const float* direct_f32(std::size_t first, int column) const override;

 private:
  std::vector<Column> columns_;
  std::size_t rows_ = 0;
};

}  // namespace nlsq::inline v0
