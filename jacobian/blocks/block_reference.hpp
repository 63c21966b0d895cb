// One residual block, the slow and sure way: through the user's own code.
#pragma once

#include <nlsq/block_function.hpp>

#include <span>
#include <vector>

namespace nlsq::inline v0 {

// Calls a block function with its parameter blocks side by side in one array.
class BlockCaller {
 public:
  // Sizes of the parameter blocks, in order.
  explicit BlockCaller(std::span<const int> sizes);
  std::size_t inputs() const { return static_cast<std::size_t>(starts_.back()); }

  bool value(const BlockFunction& function, const double* x, double* residuals);
  bool trace(const BlockFunction& function, const Traced* x, Traced* residuals);
  // Residuals and J (residuals x inputs, by rows), by dual numbers, the user's derivatives or differences.
  // False, or NaN among the results, where there are none.
  bool derivatives(const BlockFunction& function, const double* x, double* residuals, double* J);

 private:
  bool by_dual(const BlockFunction& function, const double* x, double* residuals, double* J);
  bool by_own(const BlockFunction& function, const double* x, double* residuals, double* J);
  bool by_differences(const BlockFunction& function, const double* x, double* residuals, double* J);

  std::vector<int> starts_;
  std::vector<const double*> plain_;
  std::vector<const Traced*> traced_;
  std::vector<const Dual8*> dual_;
  std::vector<Dual8> seeded_, results_;
  std::vector<double> moved_, above_, below_, own_;
  std::vector<double*> own_blocks_;
};

}  // namespace nlsq::inline v0
