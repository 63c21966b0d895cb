// nlsq::mpi: fits a curve by several MPI processes, each of which holds a part of the rows. CMake component
// `mpi`.
//
//   MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
//   const nlsq::FitResult fit = nlsq::mpi::curve_fit(MPI_COMM_WORLD, "a*exp(-b*x)", my_x, my_y, {{"b",
//   0.5}});
//
// All processes call it, with the same model, starting values and options, and get the same result. Its bits
// are those of nlsq::curve_fit with the rows of all processes in the order of their ranks, for any number of
// processes on one instruction set.
#pragma once

#include <nlsq/curve_fit.hpp>
#include <nlsq/team.hpp>

#include <mpi.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0::mpi {

// Joins the processes of a communicator in a Team. MPI must have been initialised.
class NLSQ_API ProcessTeam : public Team {
 public:
  // All processes must call the constructor together. `ends` holds the first row of each process and, last,
  // the number of all rows; if it is empty, the parts are equal. The communicator must outlive the team.
  // Throws Error if the processes run different versions or instruction sets, with which their sums would
  // differ.
  explicit ProcessTeam(MPI_Comm communicator, std::vector<std::size_t> ends = {});
  int size() const override { return size_; }
  int rank() const override { return rank_; }
  // Throws Error in all processes that still work if one has called leave().
  std::vector<std::string> gather(std::string_view mine) override;
  std::size_t first_row(int rank, std::size_t rows) const override;
  // Declares that this process takes no further part, because of an error. Returns when all processes have
  // called it.
  void leave();
  // Returns true if gather() threw because another process had called leave().
  bool left_behind() const { return left_behind_; }

 private:
  MPI_Comm communicator_;
  std::vector<std::size_t> ends_;
  int size_ = 1, rank_ = 0;
  bool left_behind_ = false;
};

// Columns whose rows lie on the processes of a communicator, in the order of their ranks. A process reads its
// own rows from memory and fetches others by one-sided communication, so processes may read at any time. The
// fit reads other processes' rows only in small samples, at the edges of its part, and for first guesses.
class NLSQ_API Rows final : public RowSource {
 public:
  // All processes must call the constructor together. `columns` are this process's rows; their memory must
  // outlive the object. Throws Error if the processes have different numbers of columns, or if threads may
  // not call MPI (MPI_THREAD_SERIALIZED is needed).
  Rows(MPI_Comm communicator, std::vector<Column> columns);
  // All processes must destroy it together.
  ~Rows() override;
  std::size_t rows() const override { return ends_.back(); }
  int columns() const override { return static_cast<int>(columns_.size()); }
  void read(std::size_t first, std::size_t count, int column, double* out) const override;
  void read(std::size_t first, std::size_t count, int column, float* out) const override;
  const double* direct_f64(std::size_t first, int column) const override;
  const float* direct_f32(std::size_t first, int column) const override;
  // Returns the processes with their parts of the rows, for FitOptions::team.
  std::shared_ptr<ProcessTeam> team() const { return team_; }

 private:
  struct Windows;
  template <class T>
  void read_as(std::size_t first, std::size_t count, int column, T* out) const;

  std::vector<Column> columns_;
  std::vector<std::size_t> ends_;  // the first row of each process, and the number of all rows
  std::size_t begin_ = 0, end_ = 0;
  std::shared_ptr<ProcessTeam> team_;
  std::unique_ptr<Windows> windows_;
};

// Holds the columns and options of a fit, with the rows of all processes.
class NLSQ_API SharedData {
 public:
  SharedData(MPI_Comm communicator, const Columns& x, const Column& y, const FitOptions& options);
  Columns x() const;
  Column y() const;
  const FitOptions& options() const { return options_; }

 private:
  std::size_t predictors_;
  FitOptions options_;
  std::unique_ptr<Rows> rows_;
};

// Does what nlsq::curve_fit does, for each of its kinds of models. `x`, `y`, and `sigma` and `sigma_x` of the
// options are the rows of this process; it may have none. Throws as nlsq::curve_fit does, in all processes;
// rows in messages count over all processes. options.sigma_matrix and options.max_seconds are not allowed.
template <class AnyModel>
requires(!Callable<AnyModel>) FitResult
    curve_fit(MPI_Comm communicator, const AnyModel& model, const Columns& x, const Column& y,
              const NamedValues& p0, const FitOptions& options = {}) {
  const SharedData data(communicator, x, y, options);
  return nlsq::curve_fit(model, data.x(), data.y(), p0, data.options());
}
template <class AnyModel>
requires(!Callable<AnyModel>) FitResult
    curve_fit(MPI_Comm communicator, const AnyModel& model, const Columns& x, const Column& y,
              const std::vector<double>& p0, const FitOptions& options = {}) {
  const SharedData data(communicator, x, y, options);
  return nlsq::curve_fit(model, data.x(), data.y(), p0, data.options());
}
// Fits a callable f(x, p) with a number x, or with x[0], x[1] ...
template <Callable F>
FitResult curve_fit(MPI_Comm communicator, F model, const Column& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options = {}) {
  return curve_fit(communicator, make_model_function(std::move(model)), Columns(x), y, p0, options);
}
template <Callable F>
FitResult curve_fit(MPI_Comm communicator, F model, const std::vector<Column>& x, const Column& y,
                    const std::vector<double>& p0, const FitOptions& options = {}) {
  return curve_fit(communicator, make_model_function(std::move(model), static_cast<int>(x.size())),
                   Columns(x), y, p0, options);
}

}  // namespace nlsq::inline v0::mpi
