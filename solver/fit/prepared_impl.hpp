// Internal data of a prepared model: compiled programs by use, workers that fit with them, and idle workers.
#pragma once

#include "dense/dense_evaluator.hpp"
#include "fit/solve_workspace.hpp"

#include <nlsq/column.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/evaluate.hpp>
#include <nlsq/prepared_model.hpp>
#include "rows/graph_rows.hpp"
#include "rows/residual_sources.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds the programs of a curve for one set of free parameters and one form of its residuals.
struct CurvePrograms {
  ResidualForm form;
  std::vector<int> free, linear;  // linear: positions among the free parameters that enter linearly
  std::vector<int> jumps;         // free parameters that only move jumps
  std::shared_ptr<const ResidualPrograms> programs;
};

// Fits one data set after another with the same curve and the same memory. Batch fits and prepared models use
// it.
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
  // Returns false if a fit of this worker recorded a new branch. Such a worker must not be used for other
  // fits, because their bits would then depend on the fits before them.
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

struct PreparedModel::Impl {
  std::vector<std::string> names;
  std::vector<std::string> predictors;
  std::optional<Formula> formula;
  std::optional<Model> built_in;
  std::optional<ModelFunction> function;
  std::shared_ptr<const RecordedResidual> recorded;  // of `function`; null if it cannot be recorded
  std::string note;                                  // the reason

  bool has_programs() const { return formula.has_value() || recorded != nullptr; }
  std::shared_ptr<const CurvePrograms> programs(const std::vector<int>& free, const ResidualForm& form) const;
  std::shared_ptr<ResidualSource> source(const ResidualForm& form) const;
  // Returns true if the model keeps its value when these parameters change sign; false without programs.
  // `source` is that of a worker, which knows the branches of a callable that its fit entered. With null,
  // those of the recording are used.
  bool is_even(std::span<const int> flipped, const ResidualSource* source = nullptr) const;
  // Returns the formula, or the recorded function as a formula. There is none for functions that are not
  // recorded, that have branches which were not entered, or that take more than 2,000 steps.
  std::optional<Formula> as_formula() const;

  // Takes a worker for these programs, for exclusive use until it is returned. A worker that recorded a
  // branch is not reused.
  std::unique_ptr<CurveWorker> take_worker(const std::shared_ptr<const CurvePrograms>& programs) const;
  void return_worker(std::unique_ptr<CurveWorker> worker) const;

 private:
  mutable std::mutex mutex_;
  mutable std::vector<std::shared_ptr<const CurvePrograms>> compiled_;
  mutable std::vector<std::unique_ptr<CurveWorker>> idle_;
};

// Takes a worker in its constructor and returns it in its destructor.
class WorkerLease {
 public:
  WorkerLease(const PreparedModel::Impl& model, const std::shared_ptr<const CurvePrograms>& programs)
      : model_(model), worker_(model.take_worker(programs)) {}
  ~WorkerLease() { model_.return_worker(std::move(worker_)); }
  WorkerLease(const WorkerLease&) = delete;
  WorkerLease& operator=(const WorkerLease&) = delete;
  CurveWorker& operator*() { return *worker_; }
  CurveWorker* operator->() { return worker_.get(); }
  // Replaces a worker that recorded a branch by one that did not.
  void renew() {
    if (worker_->as_prepared()) return;
    auto programs = worker_->programs();
    worker_ = model_.take_worker(programs);
  }

 private:
  const PreparedModel::Impl& model_;
  std::unique_ptr<CurveWorker> worker_;
};

// Fits a prepared model. `unstarted` lists the parameters whose value in p0 was neither given by the caller
// nor guessed.
FitResult fit_prepared(const PreparedModel::Impl& model, const Columns& x, const Column& y,
                       const NamedValues& p0, const FitOptions& options,
                       const std::vector<std::string>& unstarted = {});

// Holds sizes and limits of the parameters of a model that is only called, for derivatives by differences. A
// step is at least as long as the step for the size given here, and it stays within the limits. If `sizes` is
// empty, the values of the parameters are their sizes. If `limits` are empty, there are no bounds.
struct DifferenceSizes {
  std::vector<double> sizes;
  Limits limits;
};
// Evaluates the model at p, the values of all its parameters in its order. See evaluate().
Evaluation evaluate_prepared(const PreparedModel::Impl& model, const Columns& x, const std::vector<double>& p,
                             const PrecisionPolicy& policy, const EvaluateOptions& options,
                             const DifferenceSizes& differences = {});

// Throws ValidationError if the number of values is not that of the model's parameters.
NamedValues named_start(const std::vector<std::string>& names, const std::vector<double>& p0);

}  // namespace nlsq::inline v0
