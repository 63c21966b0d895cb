// Declares the groups of --group-by: a number for each row, and the name of each group. group_command.cpp
// uses it.
#pragma once

#include "table/data_selection.hpp"

#include <nlsq/column.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace nlsq::cli {

class GroupNames {
 public:
  // If all texts of the column are numbers, equal numbers such as 1 and 1.0 are one group. `data` must
  // outlive the object.
  GroupNames(const FitData& data, const NumberFormat& format);

  // Returns a column in which the rows of one group have equal values.
  const Column& column() const { return column_; }
  // Returns the name of the group of row `row`: its text where it first appears, or its number.
  std::string name(std::size_t row) const;

 private:
  const FitData& data_;
  std::vector<double> values_;  // values of column_, unless it refers to the data's own
  Column column_;
};

}  // namespace nlsq::cli
