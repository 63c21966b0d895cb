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

// Holds the programs of a curve for one set of free parameters and one form of its residuals.
struct CurvePrograms {
  ResidualForm form;
  std::vector<int> free, linear;  // linear: positions among the free parameters that enter linearly
  std::vector<int> jumps;         // free parameters that only move jumps
  std::shared_ptr<const ResidualPrograms> programs;
};

class CurveWorker {
 public:
  // `source` must be the worker's own copy if fits may record branches.
  CurveWorker(std::shared_ptr<const CurvePrograms> programs, std::shared_ptr<ResidualSource> source,
              std::size_t parameters)
      : programs_(std::move(programs)), source(std::move(source)),
        data(std::make_shared<MemoryRows>(no_data())),
        rows(this->source, programs_->programs, data, std::vector<double>(parameters), programs_->free),
        evaluator(rows) {}
  CurveWorker(const CurveWorker&) = delete;
  CurveWorker& operator=(const CurveWorker&) = delete;

  void set(std::span<const Column> columns, std::span<const double> start) {
    *data = MemoryRows({columns.begin(), columns.end()});
    rows.data_changed();
    rows.set_parameters(start);
    evaluator.forget_work();
  }
  const std::shared_ptr<const CurvePrograms>& programs() const { return programs_; }
  // Forgets the pointers to the user's memory.
  void forget_data() { *data = no_data(); }
  // Returns false if a fit recorded a new branch. That recording must not reach other fits, because their
  // bits would depend on it.
  bool as_prepared() const { return rows.shared_programs() == programs_->programs; }

 private:
  static MemoryRows no_data() { return MemoryRows({Column()}); }

  std::shared_ptr<const CurvePrograms> programs_;

 public:
  std::shared_ptr<ResidualSource> source;
  std::shared_ptr<MemoryRows> data;  // predictors, y, sigma
  GraphRows rows;
  DenseEvaluator evaluator;
  SolveWorkspace workspace;
};

}  // namespace nlsq::inline v0
