// Converts columns of the C interface to columns of the library. The strides of a C column are in bytes.
#pragma once

#include <nlsq/c/base.h>
#include <nlsq/column.hpp>
#include <nlsq/curve_fit_batch.hpp>

#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace nlsq::inline v0::c {

// Makes columns, and keeps the copies of those that had to be copied: those with data that are not aligned,
// or with a stride that is no multiple of the size of an entry.
class CallerColumns {
 public:
  // `name` is for the message of ArgumentError.
  Column view(const nlsq_column& column, const std::string& name);
  std::vector<Column> views(const nlsq_column* columns, std::size_t count, const std::string& name);
  // Returns one column for each fit, without the rows that `mask` leaves out.
  ColumnPerFit batch(const nlsq_batch_column& column, const nlsq_batch_column* mask, std::size_t fits,
                     const std::string& name);

 private:
  Column view_at(const char* data, const nlsq_column& column, const std::string& name);
  std::deque<std::vector<double>> copies_;
};

}  // namespace nlsq::inline v0::c
