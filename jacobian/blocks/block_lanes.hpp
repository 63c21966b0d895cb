// Runs one program on many blocks at once, one block per lane, in one format. The block evaluator uses it.
#pragma once

#include "blocks/block_groups.hpp"
#include "machine_code/program_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

namespace nlsq::inline v0 {

// Lanes [first, last) of a group are computed. Those from `stored` on are stored.
struct LaneRange {
  std::size_t first, last, stored;
};

// Computed columns of derivatives: those of row i begin with at[i * width].
template <class T>
struct LaneColumns {
  const T* const* at;
  std::size_t rows, width;
};

// Copies the derivatives by the k-th parameter block, `size` columns of each row, to the records of the
// blocks.
template <class T, class Stored>
NLSQ_INLINE void copy_lanes(const BlockList& list, const BlockGroup& group, const LaneRange& t, std::size_t k,
                            const LaneColumns<T>& columns, std::size_t size, const RecordTarget<Stored>& J) {
  const EvenView<std::uint32_t> first_of = list.first.view(), stride_of = list.stride.view();
  const EvenView<std::uint64_t> record_of = list.record.view();
  for (std::size_t lane = t.stored; lane < t.last; ++lane) {
    const std::uint32_t block = group.blocks[lane];
    const std::int32_t column = list.column[first_of[block] + k];
    if (column < 0) continue;
    Stored* to = J.at(record_of[block]) + static_cast<std::size_t>(column);
    const std::size_t stride = stride_of[block], l = lane - t.first;
    const T* const* of_row = columns.at;
    for (std::size_t i = 0; i < columns.rows; ++i, to += stride, of_row += columns.width) {
      for (std::size_t c = 0; c < size; ++c) to[c] = static_cast<Stored>(of_row[c][l]);
    }
  }
}

// Holds the columns and registers of one program in one format.
template <class T>
class Lanes {
 public:
  void load(const BlockGroup& group, const TileProgram& program) {
    if (&program == program_ && stride_ == group.tile_rows)
      return;  // groups of one program can have different tile sizes
    program_ = &program;
    stride_ = group.tile_rows;
    const auto vectors = static_cast<std::size_t>(program.columns + program.registers);
    const auto inputs = static_cast<std::size_t>(group.program->inputs);
    const std::size_t pitch = stride_ + vectors_apart<T>;
    if (size_ < (vectors + inputs) * pitch) {
      size_ = (vectors + inputs) * pitch;
      storage_ = AlignedVector<T>(size_);
    }
    vectors_.resize(std::max(vectors, inputs + group.program->plan.columns.size()));
    for (std::size_t v = 0; v < vectors_.size(); ++v)
      vectors_[v] = storage_.data() + std::min(v, vectors) * pitch;
    if (program.once.empty()) return;
    KernelCounters fills;  // separate counters: filling constants does not evaluate blocks
    kernels().of<T>().run(program.once.data(), program.once.size(), vectors_.data(), uniforms(group), stride_,
                          &fills);
  }

  void gather(const BlockGroup& group, const BlockKind& kind, std::size_t first, std::size_t count,
              std::span<const double> x) {
    const std::size_t lanes = std::min((count + 63) / 64 * 64, stride_);
    std::size_t input = 0;
    for (std::size_t k = 0; k < kind.sizes.size(); ++k) {
      const std::uint32_t* offsets = group.offsets.data() + k * group.padded + first;
      for (int i = 0; i < kind.sizes[k]; ++i, ++input) {
        if (!uses(input)) continue;
        T* column = vectors_[input];
        const double* from = x.data() + i;
#pragma GCC unroll 8
        for (std::size_t l = 0; l < lanes; ++l) column[l] = static_cast<T>(from[offsets[l]]);
      }
    }
    for (std::size_t c = 0; c < group.program->plan.columns.size(); ++c) {
      if (!uses(input + c)) continue;
      const double* column = group.constants.data() + c * group.padded + first;
      if constexpr (kDouble) vectors_[input + c] = const_cast<T*>(column);  // programs never write to columns
      else
        std::transform(column, column + lanes, vectors_[input + c],
                       [](double v) { return static_cast<T>(v); });
    }
  }

  void run(const BlockGroup& group, std::size_t count, KernelCounters& counters) {
    const auto& chosen = !kDouble                            ? group.jacobian_f32
                         : program_ == &group.program->value ? group.value_f64
                                                             : group.jacobian_f64;
    const auto steps = chosen->steps();
    kernels().of<T>().run_steps(steps.data(), steps.size(), vectors_.data(), uniforms(group), count,
                                &counters);
  }

  const T* output(std::size_t k) const { return vectors_[static_cast<std::size_t>(program_->outputs[k])]; }

 private:
  static constexpr bool kDouble = std::is_same_v<T, double>;
  bool uses(std::size_t column) const {
    return column < program_->column_used.size() && program_->column_used[column];
  }
  const T* uniforms(const BlockGroup& group) const {
    if constexpr (kDouble)
      return (program_ == &group.program->value ? group.value_uniforms : group.jacobian_uniforms).data();
    else return group.jacobian_uniforms_f32.data();
  }

  const TileProgram* program_ = nullptr;
  std::size_t stride_ = 0, size_ = 0;
  AlignedVector<T> storage_;
  std::vector<T*> vectors_;
};

}  // namespace nlsq::inline v0
