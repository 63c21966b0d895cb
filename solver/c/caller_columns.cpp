// Turns the caller's columns into views, and copies those that cannot be viewed.
#include "c/caller_columns.hpp"

#include "c/errors.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace nlsq::inline v0::c {

namespace {

// Calls f with a value of the C++ type of the entries.
template <class F>
auto with_type(int type, const std::string& name, F f) {
  switch (type) {
    case NLSQ_F64: return f(double{});
    case NLSQ_F32: return f(float{});
    case NLSQ_I8: return f(std::int8_t{});
    case NLSQ_U8: return f(std::uint8_t{});
    case NLSQ_I16: return f(std::int16_t{});
    case NLSQ_U16: return f(std::uint16_t{});
    case NLSQ_I32: return f(std::int32_t{});
    case NLSQ_U32: return f(std::uint32_t{});
    default:
      throw ArgumentError(fmt::format("{}: its type is {}; use NLSQ_F64 (0) to NLSQ_U32 (7)", name, type));
  }
}

template <class T>
bool can_view(const char* data, std::ptrdiff_t stride) {
  return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0 &&
         stride % static_cast<std::ptrdiff_t>(sizeof(T)) == 0;
}

template <class T>
double entry(const char* data, std::ptrdiff_t stride, std::size_t i) {
  T value;
  std::memcpy(&value, data + static_cast<std::ptrdiff_t>(i) * stride, sizeof value);
  return static_cast<double>(value);
}

}  // namespace

Column CallerColumns::view_at(const char* data, const nlsq_column& column, const std::string& name) {
  if (column.count == 0) return {};
  if (data == nullptr)
    throw ArgumentError(fmt::format("{}: its data are NULL, and count is {}", name, column.count));
  return with_type(column.type, name, [&]<class T>(T) {
    if (can_view<T>(data, column.stride)) {
      return Column(reinterpret_cast<const T*>(data), column.count,
                    column.stride / static_cast<std::ptrdiff_t>(sizeof(T)));
    }
    std::vector<double>& copy = copies_.emplace_back(column.count);
    for (std::size_t i = 0; i < column.count; ++i) copy[i] = entry<T>(data, column.stride, i);
    return Column(copy);
  });
}

Column CallerColumns::view(const nlsq_column& column, const std::string& name) {
  return view_at(static_cast<const char*>(column.data), column, name);
}

std::vector<Column> CallerColumns::views(const nlsq_column* columns, std::size_t count,
                                         const std::string& name) {
  if (count > 0) required(columns, name.c_str());
  std::vector<Column> out;
  for (std::size_t k = 0; k < count; ++k) out.push_back(view(columns[k], fmt::format("{}[{}]", name, k)));
  return out;
}

ColumnPerFit CallerColumns::batch(const nlsq_batch_column& given, const nlsq_batch_column* mask,
                                  std::size_t fits, const std::string& name) {
  const auto at = [](const nlsq_batch_column& c, std::size_t fit) {
    return static_cast<const char*>(c.column.data) + static_cast<std::ptrdiff_t>(fit) * c.fit_stride;
  };
  if (mask != nullptr && mask->column.count != given.column.count) {
    throw ArgumentError(fmt::format("mask has {} entries for each fit, {} has {}", mask->column.count, name,
                                    given.column.count));
  }
  if (given.column.data == nullptr && given.column.count > 0)
    throw ArgumentError(fmt::format("{}: its data are NULL, and count is {}", name, given.column.count));
  if (mask == nullptr && given.fit_stride == 0) return view(given.column, name);
  std::vector<Column> columns;
  columns.reserve(fits);
  for (std::size_t fit = 0; fit < fits; ++fit) {
    const Column all = view_at(at(given, fit), given.column, name);
    if (mask == nullptr) {
      columns.push_back(all);
      continue;
    }
    const Column left_out = view_at(at(*mask, fit), mask->column, "mask");
    std::vector<double>& kept = copies_.emplace_back();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (left_out[i] == 0) kept.push_back(all[i]);
    }
    columns.emplace_back(kept);
  }
  return ColumnPerFit(std::move(columns));
}

}  // namespace nlsq::inline v0::c
