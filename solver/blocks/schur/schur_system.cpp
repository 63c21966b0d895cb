// Applies the undamped normal matrix of SchurSolver as an operator: computes products with H = JᵀJ, and H⁻¹
// by its factors.
#include "blocks/schur/schur.hpp"
#include "linear/dot.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

// Holds the rows of one slot and their columns.
struct SlotRows {
  const BlockStructure& s;
  const double* row;
  std::size_t slot, point;

  std::size_t points() const { return s.point_size[point]; }
  // Calls work(offset of the camera in reduced vectors, its size, its first column in a row).
  template <class Work>
  void for_each_camera(Work work) const {
    for (std::uint32_t c = s.cell_first[slot]; c < s.cell_first[slot + 1]; ++c) {
      const std::uint32_t camera = s.entry_block[s.entry_first[point] + s.cell_entry[c]];
      work(s.camera_offset[camera], s.block_size[camera], s.cell_column[c]);
    }
  }
};

template <class Work>
void for_each_row(const BlockStructure& s, const RecordView<double>& J, std::size_t point, Work work) {
  for (std::size_t slot = s.slot_first[point]; slot < s.slot_first[point + 1]; ++slot) {
    const double* row = J.at(s.record()[slot]);
    const std::size_t rows = s.rows[slot], stride = s.stride()[slot];
    for (std::size_t i = 0; i < rows; ++i, row += stride) work(SlotRows{s, row, slot, point});
  }
}

// Calls work(point, its records) for points [0, last).
template <class Work>
void for_each_point(RecordReader<double>& J, std::size_t last, Work work) {
  J.sweep([&](std::size_t first, std::size_t end, const RecordView<double>& records) {
    for (std::size_t p = first; p < std::min(end, last); ++p) work(p, records);
  });
}

// Calls work(vector, point, its records) for vectors [0, count) and points [0, last). Threads share the
// vectors, if the problem is large enough to have several chunks of points.
template <class Work>
void for_each_vector(RecordReader<double>& J, std::size_t count, std::size_t last, bool large,
                     const Parallelism& parallelism, Work work) {
  Parallelism alone;
  alone.threads = 1;
  J.sweep([&](std::size_t first, std::size_t end, const RecordView<double>& records) {
    run_tasks(count, large ? parallelism : alone, [&](std::size_t k) {
      for (std::size_t p = first; p < std::min(end, last); ++p) work(k, p, records);
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
  const auto multiply_row = [&](const SlotRows& r, const double* x, double* out) {
    const double* cameras = x + s.point_numbers;
    double* to_cameras = out + s.point_numbers;
    double along = dot(r.row, x + s.point_offset[r.point], r.points());
    r.for_each_camera([&](std::size_t first, std::size_t size, std::size_t column) {
      along += dot(r.row + column, cameras + first, size);
    });
    add_multiple(out + s.point_offset[r.point], along, r.row, r.points());
    r.for_each_camera([&](std::size_t first, std::size_t size, std::size_t column) {
      add_multiple(to_cameras + first, along, r.row + column, size);
    });
  };
  for_each_vector(J, all_x.size(), s.points, chunks() > 1, *parallelism_,
                  [&](std::size_t k, std::size_t p, const auto& records) {
                    for_each_row(s, records, p, [&](const SlotRows& r) {
                      multiply_row(r, all_x[k].data(), all_out[k].data());
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

// Computes b_c -= W V⁻¹ b_p for one point.
void SchurSolver::eliminate_from(double* b, std::size_t p, const RecordView<double>& records) const {
  const BlockStructure& s = structure_;
  const double* of = b + s.point_offset[p];
  double* cameras = b + s.point_numbers;
  double moved[kLargestPoint];
  if (std::all_of(of, of + s.point_size[p], [](double v) { return v == 0; })) return;
  solve_point(p, of, moved);
  for_each_row(s, records, p, [&](const SlotRows& r) {
    const double along = dot(r.row, moved, r.points());
    r.for_each_camera([&](std::size_t first, std::size_t size, std::size_t column) {
      add_multiple(cameras + first, -along, r.row + column, size);
    });
  });
}

// Computes x_p = V⁻¹ (b_p - Wᵀ x_c) for one point.
void SchurSolver::substitute_into(double* b, std::size_t p, const RecordView<double>& records) const {
  const BlockStructure& s = structure_;
  double* of = b + s.point_offset[p];
  const double* cameras = b + s.point_numbers;
  double moved[kLargestPoint];
  if (s.reduced_size() > 0)
    for_each_row(s, records, p, [&](const SlotRows& r) {
      double along = 0;
      r.for_each_camera([&](std::size_t first, std::size_t size, std::size_t column) {
        along += dot(r.row + column, cameras + first, size);
      });
      add_multiple(of, -along, r.row, r.points());
    });
  solve_point(p, of, moved);
  std::copy_n(moved, s.point_size[p], of);
}

void SchurSolver::solve_factored(RecordReader<double>& J, std::span<std::vector<double>> all_b) {
  const BlockStructure& s = structure_;
  const auto for_each = [&](auto work) {
    for_each_vector(
        J, all_b.size(), s.real_points, chunks() > 1, *parallelism_,
        [&](std::size_t k, std::size_t p, const auto& records) { work(all_b[k].data(), p, records); });
  };
  if (s.reduced_size() > 0)  // otherwise no row connects points with anything else
    for_each([&](double* b, std::size_t p, const auto& records) { eliminate_from(b, p, records); });
  for (std::vector<double>& b : all_b) reduced_->solve(std::span(b).subspan(s.point_numbers));
  for_each([&](double* b, std::size_t p, const auto& records) { substitute_into(b, p, records); });
}

}  // namespace nlsq::inline v0
