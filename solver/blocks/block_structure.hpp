// The structure of a block problem says which parameter blocks are eliminated first ("points"), which remain
// ("cameras"), the order of the residual blocks, and the layout of their records of J. It depends on the
// graph only, not on values. BlockModel and SchurSolver use it.
//
// Terms used below:
//   point   a parameter block that is eliminated. A residual block without one has a point of size 0.
//   camera  one or several parameter blocks that remain.
//   slot    the position of a residual block in the order of elimination: by point, then by camera.
//   record  the derivatives and residuals of a slot, row by row: [E | r | F ...]. E belongs to the point.
//   cell    an F: the columns of a record that belong to one camera.
//   entry   a camera on which some slot of a point depends. Each camera is listed once for a point.
//   pad     length of a camera's part in vectors over cameras: the largest camera, in whole SIMD vectors.
//   chunk   a range of points whose sums are kept apart.
#pragma once

#include "blocks/problem_impl.hpp"

#include "blocks/block_evaluator.hpp"
#include "kernels/block_kernels.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Describes a residual block with manifolds or fixed numbers. Its derivatives go to an ambient record first
// and are then mapped to tangent coordinates.
struct ManifoldRecord {
  std::uint32_t slot = 0;
  std::uint64_t ambient = 0;  // its record over ambient numbers
  std::uint32_t ambient_stride = 0;
};

// Returns true if a residual block depends on a parameter block that is not constant.
bool takes_part(const Problem::Impl& problem, std::size_t block);

struct BlockStructure {
  // `lanes_f32` and `lanes_f64` are the numbers per SIMD vector. The problem must have no gaps. `known` says
  // that list.known gives the place of each residual block in the problem's last evaluator.
  BlockStructure(const Problem::Impl& problem, std::size_t lanes_f32, std::size_t lanes_f64,
                 bool known = false, StepSolver how = StepSolver::factored, bool factor_if_cheaper = false);

  // Lists the residual blocks in elimination order. The position in this order is called "slot". The
  // evaluator uses this list.
  BlockList list;
  std::vector<Loss> losses;                      // by slot; empty if all are linear
  std::vector<ManifoldRecord> manifold_records;  // ascending by slot
  // Like list.column, but for the tangent records of the solver. Without manifolds both are the same array.
  const std::vector<std::int32_t>& local_column() const {
    return manifold_records.empty() ? list.column : own_column_;
  }
  std::size_t residuals = 0;
  std::size_t record_size = 0;  // numbers in all records, including padding that is read after the last

  // Parameter blocks. x holds all of them, including the constant ones.
  std::size_t ambient = 0;
  bool groups_followed = false;  // elimination groups from the user decide which blocks are points
  std::vector<std::int32_t> point_of, camera_of;  // by parameter block; -1 if it is not one
  // A point is one parameter block. A camera is one or several parameter blocks on which the same, or nearly
  // the same, residual blocks depend (position and rotation of a pose). Their tangent coordinates are
  // adjacent.
  std::vector<std::uint32_t> point_parameter, camera_parameter;
  std::vector<std::uint32_t> within;  // by parameter block: its offset in its camera
  std::size_t cameras() const { return block_size.size(); }
  bool zeros_in_records = false;  // some record entries are never written and must be zero in J

  // Arrays that EliminationData points to.
  std::size_t pad = 0, points = 0, real_points = 0;  // points from real_points on have size 0
  EvenNumbers<std::uint32_t> point_size, point_offset, rows, cell_first;
  EvenNumbers<std::uint64_t> point_matrix;
  std::vector<std::uint32_t> slot_first, entry_first, cell_entry, cell_column, entry_block, block_size;
  // The blocks of S of all pairs of entries: in a table by pair of cameras, if that is small and takes less
  // memory.
  std::vector<std::uint32_t> pair_table, pair_block;
  std::vector<std::uint64_t> pair_first;
  std::size_t pairs = 0;
  const EvenNumbers<std::uint64_t>& record() const {
    return manifold_records.empty() ? list.record : own_record_;
  }
  const EvenNumbers<std::uint32_t>& stride() const {
    return manifold_records.empty() ? list.stride : own_stride_;
  }
  // Numbers in vectors over the points, and in all their matrices.
  std::size_t point_numbers = 0, matrix_numbers = 0;
  std::size_t most_entries = 0;  // scratch: largest number of entries * e of a point

  std::size_t most_rows = 0;  // scratch: largest number of rows of a point

  // True if S is applied as an operator, because StepSolver::iterative is requested or is faster. Then only
  // its diagonal blocks are stored.
  bool implicit = false;
  // Returns true if S is applied as an operator. `factor_if_cheaper` is ProblemControl::factor_if_cheaper.
  bool implicit_if(StepSolver how, bool factor_if_cheaper) const;
  // Describes a block of S for cameras a <= b. Blocks ascend and include all diagonal ones.
  struct ReducedBlock {
    std::uint32_t a = 0, b = 0;
  };
  std::vector<ReducedBlock> reduced_blocks;
  // Offset of each block, and the end, for sums in that format (ReducedLayout for its lanes).
  std::vector<std::uint64_t> reduced_target_f32, reduced_target_f64;
  std::size_t lanes_f32 = 0, lanes_f64 = 0;
  template <class T>
  const std::vector<std::uint64_t>& reduced_target() const {
    if constexpr (sizeof(T) == sizeof(float)) return reduced_target_f32;
    else return reduced_target_f64;
  }
  template <class T>
  ReducedLayout layout(std::size_t reduced_block) const {
    const auto [a, b] = reduced_blocks[reduced_block];
    return {block_size[a], block_size[b], sizeof(T) == sizeof(float) ? lanes_f32 : lanes_f64};
  }
  std::vector<std::uint32_t> camera_offset;  // in the reduced vector, and its length
  std::size_t reduced_size() const { return camera_offset.back(); }
  std::size_t tangent_size() const { return point_numbers + reduced_size(); }
  // Returns the offset of a parameter block in steps, or -1 if it is constant or no residual depends on it.
  std::int64_t tangent_offset(std::uint32_t parameter) const {
    if (point_of[parameter] >= 0) return point_offset[static_cast<std::size_t>(point_of[parameter])];
    if (camera_of[parameter] < 0) return -1;
    return static_cast<std::int64_t>(point_numbers) +
           camera_offset[static_cast<std::size_t>(camera_of[parameter])] + within[parameter];
  }

  // Points [chunk[c], chunk[c + 1]) are summed separately, and the chunks are added in order. The partition
  // depends on operation counts only, so that results do not depend on threads.
  std::vector<std::uint32_t> chunk;

  // Returns the data for records in R and sums in T. J points to number `first` of all records.
  template <class R, class T>
  EliminationData<R> data(const R* J, std::uint64_t first = 0) const;
  std::size_t bytes() const;

 private:
  void number_parameters(const Problem::Impl& problem);
  void choose_points(const Problem::Impl& problem);
  void form_cameras(const Problem::Impl& problem, const std::vector<std::size_t>& first,
                    const std::vector<std::uint32_t>& blocks);
  bool follow_groups(const Problem::Impl& problem, const std::vector<std::uint32_t>& uses,
                     std::vector<std::uint8_t>& taken) const;
  void order_slots(const Problem::Impl& problem);
  void lay_out_records(const Problem::Impl& problem);
  std::uint32_t lay_out_columns(const Problem::Impl& problem, std::uint32_t block);
  std::uint32_t share_columns(std::size_t count, bool allowed);
  std::size_t shared_first_ = 0, shared_count_ = 0;  // in list.column; the count is 0 if there are none yet
  void lay_out_ambient_records(std::span<const std::uint32_t> mapped);
  void find_entries();
  bool iteration_pays() const;
  bool iteration_takes_less() const;
  bool iteration_pays_ = false;
  std::vector<std::int32_t> own_column_;
  EvenNumbers<std::uint64_t> own_record_;
  EvenNumbers<std::uint32_t> own_stride_;
  void find_pairs();
  void lay_out_reduced();
  void cut_chunks();
};

template <class R, class T>
EliminationData<R> BlockStructure::data(const R* J, std::uint64_t first) const {
  EliminationData<R> d;
  d.J = J;
  d.J_first = first;
  d.pad = pad;
  d.point_size = point_size.view();
  d.point_offset = point_offset.view();
  d.point_matrix = point_matrix.view();
  d.slot_first = slot_first.data();
  d.entry_first = entry_first.data();
  d.pair_first = pair_first.data();
  d.pair_table = pair_table.empty() ? nullptr : pair_table.data();
  d.pair_stride = cameras();
  d.record = record().view();
  d.stride = stride().view();
  d.rows = rows.view();
  d.cell_first = cell_first.view();
  d.cell_entry = cell_entry.data();
  d.cell_column = cell_column.data();
  d.entry_block = entry_block.data();
  d.pair_block = pair_block.data();
  d.reduced_target = reduced_target<T>().data();
  d.block_size = block_size.data();
  return d;
}

}  // namespace nlsq::inline v0
