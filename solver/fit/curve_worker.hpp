// Fits one data set after another with the same curve and the same memory. Batch fits and prepared models use
// it.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve_workspace.hpp"

#include <nlsq/column.hpp>
#include "rows/graph_rows.hpp"

#include <memory>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// The programs of a curve for one set of free parameters and one form of its residuals.
struct CurvePrograms {
  ResidualForm form;
  std::vector<int> free, linear;  // linear: positions among the free parameters that enter linearly
  std::vector<int> jumps;         // free parameters that only move jumps
  std::shared_ptr<const ResidualPrograms> programs;
};

// Columns in memory that are replaced between fits: predictors, y, sigma.
class CurveData final : public RowSource {
 public:
  void set(std::span<const Column> columns) { columns_.assign(columns.begin(), columns.end()); }
  std::size_t rows() const override { return columns_.empty() ? 0 : columns_.front().size(); }
  int columns() const override { return static_cast<int>(columns_.size()); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    at(column).read(first, count, out);
  }
  void read(std::size_t first, std::size_t count, int column, float* out) const override {
    at(column).read(first, count, out);
  }
  const double* direct_f64(std::size_t first, int column) const override {
    return at(column).direct_f64(first);
  }
  const float* direct_f32(std::size_t first, int column) const override {
    return at(column).direct_f32(first);
  }
  void expect_gaps(bool gaps) const override {
    for (const Column& column : columns_) column.expect_gaps(gaps);
  }
  void will_read(std::size_t first, std::size_t count, int column) const override {
    at(column).will_read(first, count);
  }
  void was_read(std::size_t first, std::size_t count, int column) const override {
    at(column).was_read(first, count);
  }

 private:
  const Column& at(int column) const { return columns_[static_cast<std::size_t>(column)]; }
  std::vector<Column> columns_;
};

class CurveWorker {
 public:
  // `source` must be the worker's own copy if fits may record branches.
  CurveWorker(std::shared_ptr<const CurvePrograms> programs, std::shared_ptr<ResidualSource> source,
              std::size_t parameters)
      : programs_(std::move(programs)), source(std::move(source)), data(std::make_shared<CurveData>()),
        rows(this->source, programs_->programs, data, std::vector<double>(parameters), programs_->free),
        evaluator(rows) {}
  CurveWorker(const CurveWorker&) = delete;
  CurveWorker& operator=(const CurveWorker&) = delete;

  void set(std::span<const Column> columns, std::span<const double> start) {
    data->set(columns);
    rows.data_changed();
    rows.set_parameters(start);
    evaluator.forget_work();
  }
  const std::shared_ptr<const CurvePrograms>& programs() const { return programs_; }
  // Returns false if a fit recorded a new branch. That recording must not reach other fits, because their
  // bits would depend on it.
  bool as_prepared() const { return rows.shared_programs() == programs_->programs; }

 private:
  std::shared_ptr<const CurvePrograms> programs_;

 public:
  std::shared_ptr<ResidualSource> source;
  std::shared_ptr<CurveData> data;
  GraphRows rows;
  DenseEvaluator evaluator;
  SolveWorkspace workspace;
};

}  // namespace nlsq::inline v0
