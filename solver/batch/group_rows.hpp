// GroupRows: the rows of a table sorted by group. curve_fit_groups uses it.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/options.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace nlsq::inline v0 {

class GroupRows {
 public:
  // Numbers the groups in the order of their first rows. Throws DataError if a group is not a number.
  explicit GroupRows(const Column& group);

  std::size_t size() const { return first_row_.size(); }
  std::size_t rows(std::size_t k) const { return begin_[k + 1] - begin_[k]; }
  // Where the rows of group k begin in a column from sorted().
  std::size_t first(std::size_t k) const { return begin_[k]; }
  const std::vector<std::size_t>& first_row() const { return first_row_; }
  // The part of a column from sorted() that belongs to group k.
  Column part(const Column& sorted, std::size_t k) const { return {sorted.direct_f64(begin_[k]), rows(k)}; }

  // The columns with the rows of each group together, in the order of the table. `memory` owns what had to be
  // copied. Empty columns stay empty.
  std::vector<Column> sorted(const std::vector<Column>& columns, const Parallelism& parallelism,
                             std::vector<std::vector<double>>& memory) const;

 private:
  void number(const Column& group, std::vector<std::uint32_t>& of_row);

  std::vector<std::size_t> first_row_, begin_;
  std::vector<std::uint32_t> order_;  // the rows, by group; empty: they already lie so
};

}  // namespace nlsq::inline v0
