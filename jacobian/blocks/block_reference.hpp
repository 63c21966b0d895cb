// Evaluates one residual block by the user's own code. It is slow; compiled programs are checked against it.
#pragma once

#include <nlsq/block_function.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Calls a block function whose parameter blocks are consecutive in one array.
class BlockCaller {
 public:
  // `sizes` are the sizes of the parameter blocks, in order.
  explicit BlockCaller(std::span<const int> sizes);
  std::size_t inputs() const { return static_cast<std::size_t>(starts_.back()); }

  bool value(const BlockFunction& function, const double* x, double* residuals);
  bool trace(const BlockFunction& function, const Traced* x, Traced* residuals);
  // Computes residuals and J (residuals x inputs, row-major) by dual numbers, the user's derivatives or
  // differences. If the residuals do not exist, it returns false, or some results are NaN. `shares` has, for
  // each input, the share of the usual step of differences, and `least_sizes` the least size from which its
  // step is computed. If they are empty, whole steps are taken, in proportion to the inputs.
  bool derivatives(const BlockFunction& function, const double* x, double* residuals, double* J,
                   std::span<const double> shares = {}, std::span<const double> least_sizes = {});
  // Computes residuals and derivatives by the function's own code, at the parameter blocks `blocks`. Then
  // own() has a matrix for each block, residuals x its size, row-major. Returns false if the function gives
  // none.
  bool evaluate_own(const BlockFunction& function, const double* const* blocks, double* residuals);
  std::span<double* const> own() const { return own_blocks_; }
  // Computes the same as derivatives() by extrapolated differences. `errors` gets their estimated errors, in
  // the order of J. `first` holds, for each input, the longest step, with which the extrapolation begins.
  bool extrapolated(const BlockFunction& function, const double* x, double* residuals, double* J,
                    std::span<const double> first, double* errors);

 private:
  bool by_dual(const BlockFunction& function, const double* x, double* residuals, double* J);
  bool by_own(const BlockFunction& function, const double* x, double* residuals, double* J);
  bool by_differences(const BlockFunction& function, const double* x, double* residuals, double* J,
                      std::span<const double> shares, std::span<const double> least_sizes);

  std::vector<int> starts_;
  std::vector<const double*> plain_;
  std::vector<const Traced*> traced_;
  std::vector<const Dual8*> dual_;
  std::vector<Dual8> seeded_, results_;
  std::vector<double> moved_, above_, below_, own_;
  std::vector<double*> own_blocks_;
};

}  // namespace nlsq::inline v0
