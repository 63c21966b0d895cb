// Evaluates the rows of a recorded vector function. It has a few row programs, one for each different
// expression among its residuals.
#pragma once

#include "recording/trace.hpp"
#include "rows/graph_rows.hpp"

#include <memory>
#include <mutex>
#include <vector>

namespace nlsq::inline v0 {

class NLSQ_API GroupedRows final : public RowModel {
 public:
  // Takes over the groups. reference_residuals checks them against `function`. `start` gives the typical
  // sizes of the parameters. `components` must cover all residuals; a group that spans several is split.
  // `form` is applied to each residual.
  GroupedRows(RolledTrace rolled, VectorFunction function, const std::vector<double>& start,
              std::vector<RowComponent> components = {}, ResidualForm form = {});
  ~GroupedRows() override;

  int parameters() const override { return parameters_ + form_.extra_columns(); }
  std::size_t rows() const override { return original_.size(); }
  std::size_t tile_rows() const override { return tile_rows_; }
  std::size_t tile_count() const override { return tiles_.size(); }
  TileRange tile(std::size_t index) const override { return tiles_[index]; }
  std::span<const RowComponent> components() const override { return components_; }
  std::size_t component(std::size_t tile) const override {
    return tile_component_.empty() ? 0 : tile_component_[tile];
  }
  bool has_f32() const override { return true; }
  const char* kind() const override { return "graph"; }
  const Loss* robust_loss() const override { return form_.minimized_loss(); }
  double row_cost(Fill fill) const override;
  std::unique_ptr<TilePass> begin(std::span<const double> x, Fill fill, bool single) const override;
  // Calls the user's function in double once for each new x.
  void reference_residuals(std::span<const double> x, std::size_t first, std::size_t count, double* residuals,
                           double* magnitudes) const override;
  std::unique_ptr<TwofoldRows> twofold() const override;
  std::span<const double> typical_parameters() const override { return typical_; }
  // Returns the residual number of a row in the user's function.
  std::size_t original(std::size_t row) const { return original_[row]; }

 private:
  struct Group;
  class Pass;
  class Twofold;
  std::size_t group_of(std::size_t row) const;

  std::vector<std::unique_ptr<Group>> groups_;
  VectorFunction function_;
  int parameters_;
  ResidualForm form_;
  std::size_t tile_rows_ = 64;
  std::vector<TileRange> tiles_;
  std::vector<RowComponent> components_;
  std::vector<std::size_t> tile_component_;
  std::vector<std::size_t> original_;
  std::vector<double> typical_;  // sizes of the parameters
  mutable std::mutex mutex_;
  mutable std::vector<double> reference_at_, reference_;
};

}  // namespace nlsq::inline v0
