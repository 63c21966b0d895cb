// Columns holds the predictors of a fit.
#pragma once

#include <nlsq/column.hpp>

#include <concepts>
#include <initializer_list>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Holds one predictor or several, each a column with one entry per row. It is a view: the data must outlive
// the call.
class Columns {
 public:
  template <class T>
  requires std::convertible_to<const T&, Column> Columns(const T& one)
      : columns_{Column(one)} {}                                          // NOLINT: implicit by design
  Columns(std::vector<Column> several) : columns_(std::move(several)) {}  // NOLINT
  Columns(std::initializer_list<Column> several) : columns_(several) {}
  const std::vector<Column>& list() const { return columns_; }
  std::size_t size() const { return columns_.size(); }

 private:
  std::vector<Column> columns_;
};

}  // namespace nlsq::inline v0
