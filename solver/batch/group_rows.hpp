// GroupRows holds the rows of a table sorted by group. curve_fit_groups uses it.
#pragma once

#include <nlsq/column.hpp>
#include <nlsq/options.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class GroupRows {
 public:
  // Numbers the groups in the order of their first rows. Throws DataError if a group is not a number.
  explicit GroupRows(const Column& group);

  std::size_t size() const { return first_row_.size(); }
  std::size_t rows(std::size_t k) const { return begin_[k + 1] - begin_[k]; }
  // Returns where the rows of group k begin in a column from sorted().
  std::size_t first(std::size_t k) const { return begin_[k]; }
  const std::vector<std::size_t>& first_row() const { return first_row_; }
  // Returns the part of a column from sorted() that belongs to group k.
  Column part(const Column& sorted, std::size_t k) const { return {sorted.direct_f64(begin_[k]), rows(k)}; }

  // Memory for the columns that have to be copied; the others have none. It is empty at first.
  using Memory = std::vector<std::shared_ptr<double[]>>;
  // Returns the columns with the rows of each group together, in the order of the table. Empty columns remain
  // empty.
  std::vector<Column> sorted(const std::vector<Column>& columns, const Parallelism& parallelism,
                             Memory& memory) const;
  // Returns true if the rows of each group are consecutive in the table.
  bool contiguous() const { return order_.empty(); }

 private:
  struct Run {
    std::uint32_t first, number;  // its first row, and the group
  };
  std::vector<Run> find_runs(const Column& group);

  std::vector<std::size_t> first_row_, begin_;
  std::vector<std::uint32_t> order_;  // the rows sorted by group; empty if the table is already sorted
};

// Copies the columns of a table by groups. If a team divides the groups and their rows are consecutive, a
// process copies only those rows of its own groups that it does not have in memory.
class GroupColumns {
 public:
  // `divided` says that load() is called before parts are used.
  GroupColumns(const GroupRows& groups, std::vector<Column> columns, const Parallelism& parallelism,
               bool divided);
  void load(std::span<const std::size_t> groups);
  Column part(std::size_t column, std::size_t k) const;

 private:
  // Returns the rows of group k in the column's own memory, or null if they are not there.
  const double* in_place(const Column& column, std::size_t k) const;

  const GroupRows& groups_;
  std::vector<Column> columns_;
  GroupRows::Memory memory_;
  bool divided_;
};

}  // namespace nlsq::inline v0
