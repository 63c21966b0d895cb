// Applies the undamped normal matrix of SchurSolver as an operator: computes products with H = JᵀJ, and H⁻¹
// by its factors.
#include "blocks/record_rows.hpp"
#include "blocks/schur/schur.hpp"
#include "linear/dot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

using Parts = std::vector<RecordColumns>;

// Calls work(vector, point, its records, parts) for vectors [0, count) and points [0, last). The
// work may overwrite `parts`. Threads share the vectors, if the problem is large enough to have several
// chunks of points.
template <class Work>
void for_each_vector(RecordReader<double>& J, std::size_t count, std::size_t last, bool large,
                     const Parallelism& parallelism, Work work) {
  Parallelism alone;
  alone.threads = 1;
  J.sweep([&](std::size_t first, std::size_t end, const RecordView<double>& records) {
    run_tasks(count, large ? parallelism : alone, [&](std::size_t k) {
      Parts parts;
      for (std::size_t p = first; p < std::min(end, last); ++p) work(k, p, records, parts);
    });
  });
}

void add_multiple(double* to, double factor, const double* of, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] += factor * of[i];
}

}  // namespace

std::string SchurSolver::describe(Preconditioner preconditioner) const {
  const std::size_t n = structure_.reduced_size();
  if (!operator_) return fmt::format("a {} factor of {} unknowns", dense() ? "dense" : "sparse", n);
  return fmt::format("conjugate gradients on {} unknowns, blocks of {} for preconditioner", n,
                     preconditioner == Preconditioner::jacobi ? "JtJ" : "the Schur complement");
}

bool SchurSolver::factor(RecordReader<double>& J) {
  const std::vector<double> ones(structure_.tangent_size(), 1.0);
  return eliminate<double, double>(J, 0, ones) && factor_reduced<double>();
}

void SchurSolver::multiply(RecordReader<double>& J, std::span<const std::vector<double>> all_x,
                           std::span<std::vector<double>> all_out) const {
  const BlockStructure& s = structure_;
  for (std::vector<double>& out : all_out) std::ranges::fill(out, 0.0);
  for_each_vector(J, all_x.size(), s.points, chunks() > 1, *parallelism_,
                  [&](std::size_t k, std::size_t p, const RecordView<double>& records, Parts& parts) {
                    const double* x = all_x[k].data();
                    double* out = all_out[k].data();
                    for_each_row_of_point(s, records, p, parts, [&](const JacobianRow& row) {
                      row.add_multiple(row.times(x), out);
                    });
                  });
}

// Computes V⁻¹ b = NᵀN b of one point.
void SchurSolver::solve_point(std::size_t point, const double* b, double* x) const {
  const std::size_t e = structure_.point_size[point];
  const double* N = roots_.data() + structure_.point_matrix[point];
  double y[kLargestPoint];
  for (std::size_t i = 0; i < e; ++i) y[i] = dot(N + triangle(i), b, i + 1);
  std::fill_n(x, e, 0.0);
  for (std::size_t i = 0; i < e; ++i) add_multiple(x, y[i], N + triangle(i), i + 1);
}

namespace {

// Returns the row without the columns of its point, which has e numbers.
JacobianRow cameras_of(const JacobianRow& row, std::size_t e) {
  return {row.entries, row.parts.subspan(e > 0 ? 1 : 0), row.residual_at, row.number};
}

}  // namespace

// Computes b_c -= W V⁻¹ b_p for one point.
void SchurSolver::eliminate_from(double* b, std::size_t p, const RecordView<double>& records,
                                 std::vector<RecordColumns>& parts) const {
  const BlockStructure& s = structure_;
  const double* of = b + s.point_offset[p];
  const std::size_t e = s.point_size[p];
  double moved[kLargestPoint];
  if (std::all_of(of, of + e, [](double v) { return v == 0; })) return;
  solve_point(p, of, moved);
  for_each_row_of_point(s, records, p, parts, [&](const JacobianRow& row) {
    cameras_of(row, e).add_multiple(-dot(row.entries, moved, e), b);
  });
}

// Computes x_p = V⁻¹ (b_p - Wᵀ x_c) for one point.
void SchurSolver::substitute_into(double* b, std::size_t p, const RecordView<double>& records,
                                  std::vector<RecordColumns>& parts) const {
  const BlockStructure& s = structure_;
  double* of = b + s.point_offset[p];
  const std::size_t e = s.point_size[p];
  double moved[kLargestPoint];
  if (s.reduced_size() > 0)
    for_each_row_of_point(s, records, p, parts, [&](const JacobianRow& row) {
      add_multiple(of, -cameras_of(row, e).times(b), row.entries, e);
    });
  solve_point(p, of, moved);
  std::copy_n(moved, e, of);
}

void SchurSolver::solve_factored(RecordReader<double>& J, std::span<std::vector<double>> all_b) {
  const BlockStructure& s = structure_;
  const auto for_each = [&](auto work) {
    for_each_vector(J, all_b.size(), s.real_points, chunks() > 1, *parallelism_,
                    [&](std::size_t k, std::size_t p, const RecordView<double>& records, Parts& parts) {
                      (this->*work)(all_b[k].data(), p, records, parts);
                    });
  };
  if (s.reduced_size() > 0)  // otherwise no row connects points with anything else
    for_each(&SchurSolver::eliminate_from);
  for (std::vector<double>& b : all_b) reduced_->solve(std::span(b).subspan(s.point_numbers));
  for_each(&SchurSolver::substitute_into);
}

}  // namespace nlsq::inline v0
