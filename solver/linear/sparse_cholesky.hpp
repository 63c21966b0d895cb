// Factors A = L Lᵀ for a sparse symmetric block matrix, by the multifrontal method (Duff, Reid, ACM TOMS 9,
// 1983). Each supernode is factored in a dense matrix that also holds its children's updates; kernels do the
// dense work. The reduced system of block problems uses it.
#pragma once

#include "blocks/schur/block_ordering.hpp"
#include "program/aligned_vector.hpp"

#include <functional>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Says where a block of the matrix is in a front. `turned` says that the block is transposed.
struct FrontPlace {
  double* front = nullptr;  // lower triangle by columns
  std::size_t ld = 0, column = 0, row = 0;
  bool turned = false;
};

class SparseCholesky {
 public:
  using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  // Block k of the matrix couples pairs[k].first with pairs[k].second. Diagonal blocks are included.
  SparseCholesky(std::vector<std::uint32_t> sizes, const Pairs& pairs);

  // Factors the matrix. `add(k, place)` must add block k at its place, which is zero before. Only the lower
  // triangle of a diagonal block is used. Returns false if the matrix is not positive definite.
  bool factor(const std::function<void(std::size_t, const FrontPlace&)>& add);
  // Solves A x = b and overwrites b with x. Must be called after factor().
  void solve(std::span<double> b);
  // Computes the diagonal of L, in the order of b.
  void diagonal(std::span<double> out) const;
  std::size_t bytes() const;
  // Returns the number of entries of L, including stored zeros.
  std::size_t numbers() const { return numbers_; }
  // Returns the multiply-adds of a factorisation, times six. It would be n³ for a dense matrix.
  double operations() const;

 private:
  struct Front {
    std::size_t columns = 0, rows = 0, ld = 0;  // counts of numbers; `rows` includes the columns' own
    std::uint64_t factor = 0;                   // position of its columns in factor_
    std::vector<std::size_t> into;              // for each block below: its first row in the parent's front
    std::vector<std::size_t> own;               // indices k of the matrix blocks that belong to this front
    std::vector<FrontPlace> places;
    std::vector<std::uint32_t> children;
  };
  void lay_out(const Pairs& pairs);
  std::size_t size_of(std::uint32_t place) const { return sizes_[ordering_.block[place]]; }
  void add_child(const Front& child, const Supernode& node, const double* update, double* front,
                 std::size_t ld) const;

  std::vector<std::uint32_t> sizes_;
  BlockOrdering ordering_;
  std::vector<Front> fronts_;
  std::vector<std::size_t> offset_;  // by place: position of the block in the caller's vectors
  std::size_t numbers_ = 0, largest_ = 0, stacked_ = 0, most_rows_ = 0;
  AlignedVector<double> factor_, front_, stack_;
  std::vector<double> local_;
};

}  // namespace nlsq::inline v0
