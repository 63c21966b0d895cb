// Reads and converts columns of the user's data.
#include <nlsq/column.hpp>
#include "kernels/kernel_table.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Calls `use` with a typed pointer to element `first` of the column.
template <class Use>
auto with_type(const void* data, ElementType type, std::ptrdiff_t offset, Use use) {
  switch (type) {
    case ElementType::f64: return use(static_cast<const double*>(data) + offset);
    case ElementType::f32: return use(static_cast<const float*>(data) + offset);
    case ElementType::i8: return use(static_cast<const std::int8_t*>(data) + offset);
    case ElementType::u8: return use(static_cast<const std::uint8_t*>(data) + offset);
    case ElementType::i16: return use(static_cast<const std::int16_t*>(data) + offset);
    case ElementType::u16: return use(static_cast<const std::uint16_t*>(data) + offset);
    case ElementType::i32: return use(static_cast<const std::int32_t*>(data) + offset);
    case ElementType::u32:
    case ElementType::source: break;  // the callers read from the source themselves
  }
  return use(static_cast<const std::uint32_t*>(data) + offset);
}

template <class To>
void read_as(const void* data, ElementType type, std::ptrdiff_t stride, std::size_t first, std::size_t count,
             To* out) {
  with_type(data, type, static_cast<std::ptrdiff_t>(first) * stride, [&](const auto* from) {
    // Consecutive elements, and every second element, have loops of their own, because these vectorize.
    if (stride == 1) {
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(from[i]);
      return;
    }
    if (stride == 2) {
      for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<To>(from[2 * i]);
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = static_cast<To>(from[static_cast<std::ptrdiff_t>(i) * stride]);
    }
  });
}

const RowSource& source_of(const void* data) { return *static_cast<const RowSource*>(data); }

}  // namespace

Column::Column(const RowSource& rows, int column)
    : Column(static_cast<const void*>(&rows), rows.rows(), column, ElementType::source) {
  if (column < 0 || column >= rows.columns()) {
    throw DataError(fmt::format("column {} of a row source with {} columns: columns count from 0", column,
                                rows.columns()));
  }
}

double Column::operator[](std::size_t row) const {
  if (const double* direct = direct_f64(row)) return *direct;
  double value = 0;
  read(row, 1, &value);
  return value;
}

void Column::read(std::size_t first, std::size_t count, double* out) const {
  if (type_ == ElementType::source)
    return source_of(data_).read(first, count, static_cast<int>(stride_), out);
  if (const double* direct = direct_f64(first)) {
    std::copy_n(direct, count, out);
    return;
  }
  read_as(data_, type_, stride_, first, count, out);
}

void Column::read(std::size_t first, std::size_t count, float* out) const {
  if (type_ == ElementType::source)
    return source_of(data_).read(first, count, static_cast<int>(stride_), out);
  if (const double* direct = direct_f64(first)) {
    kernels().narrow(direct, out, count);
    return;
  }
  read_as(data_, type_, stride_, first, count, out);
}

const double* Column::direct_f64(std::size_t first) const {
  if (type_ == ElementType::source) return source_of(data_).direct_f64(first, static_cast<int>(stride_));
  return type_ == ElementType::f64 && stride_ == 1 ? static_cast<const double*>(data_) + first : nullptr;
}

const float* Column::direct_f32(std::size_t first) const {
  if (type_ == ElementType::source) return source_of(data_).direct_f32(first, static_cast<int>(stride_));
  return type_ == ElementType::f32 && stride_ == 1 ? static_cast<const float*>(data_) + first : nullptr;
}

void Column::expect_gaps(bool gaps) const {
  if (type_ == ElementType::source) source_of(data_).expect_gaps(gaps);
}

void Column::will_read(std::size_t first, std::size_t count) const {
  if (type_ == ElementType::source) source_of(data_).will_read(first, count, static_cast<int>(stride_));
}

void Column::was_read(std::size_t first, std::size_t count) const {
  if (type_ == ElementType::source) source_of(data_).was_read(first, count, static_cast<int>(stride_));
}

void RowSource::read(std::size_t first, std::size_t count, int column, float* out) const {
  std::vector<double> wide(count);
  read(first, count, column, wide.data());
  for (std::size_t i = 0; i < count; ++i) out[i] = static_cast<float>(wide[i]);
}

const double* RowSource::direct_f64(std::size_t, int) const { return nullptr; }
const float* RowSource::direct_f32(std::size_t, int) const { return nullptr; }
void RowSource::expect_gaps(bool) const {}
void RowSource::will_read(std::size_t, std::size_t, int) const {}
void RowSource::was_read(std::size_t, std::size_t, int) const {}

MemoryRows::MemoryRows(std::vector<Column> columns) : columns_(std::move(columns)) {
  if (columns_.empty()) throw DataError("no data columns were given");
  rows_ = columns_.front().size();
  for (std::size_t c = 1; c < columns_.size(); ++c) {
    if (columns_[c].size() != rows_) {
      throw DataError(fmt::format("data column {} has {} rows, column 0 has {}: give columns of one length",
                                  c, columns_[c].size(), rows_),
                      DataError::npos, c);
    }
  }
}

void MemoryRows::expect_gaps(bool gaps) const {
  for (const Column& column : columns_) column.expect_gaps(gaps);
}

}  // namespace nlsq::inline v0
