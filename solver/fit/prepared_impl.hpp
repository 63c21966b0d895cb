// Internal data of a prepared model: compiled programs by use, and idle workers.
#pragma once

#include "fit/curve_worker.hpp"

#include <nlsq/curve_fit.hpp>
#include <nlsq/prepared_model.hpp>
#include "rows/residual_sources.hpp"

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

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
// Throws ValidationError if the number of values is not that of the model's parameters.
NamedValues named_start(const std::vector<std::string>& names, const std::vector<double>& p0);

}  // namespace nlsq::inline v0
