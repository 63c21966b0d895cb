// Keeps the bounds of a block problem by an active set (Bertsekas, SIAM J. Control Optim. 20, 1982, 2). A
// number at its bound whose step would leave the box is fixed for that step: its column and its step are
// zero. Steps of free numbers are projected back into the box, and the linear model is evaluated again for
// the projected step.
#pragma once

#include "blocks/block_structure.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class BlockBounds {
 public:
  // Throws ValidationError if a lower bound is above the upper one.
  BlockBounds(const Problem::Impl& problem, const BlockStructure& structure);

  bool any() const { return !all_.empty(); }
  // Projects x onto the box. Returns true if any number changed. A number on a curved part of a manifold
  // cannot be changed alone, because x would leave the manifold. It becomes NaN if it is outside the box,
  // which makes x a point without a cost.
  bool project(std::vector<double>& x) const;
  // Does the same for the start of a solve. Throws ValidationError if a number would become NaN.
  void project_start(std::vector<double>& x) const;
  // Sets held[j] = 1 for each tangent coordinate j fixed at x, and returns their count. On a manifold, only
  // coordinates that move one number like a plain vector can be fixed.
  std::size_t find_held(std::span<const double> x, std::span<const double> gradient,
                        std::vector<std::uint8_t>& held) const;
  // Replaces `step` by the difference trial - x where a number and a tangent coordinate correspond.
  void shorten(std::span<const double> x, std::span<const double> trial, std::vector<double>& step) const;

 private:
  struct Place {
    std::uint32_t number, tangent;  // indices: in x, in steps
    double lower, upper;
    bool curved;  // no tangent coordinate moves this number alone
  };
  std::vector<Place> all_, plain_;  // plain_: numbers moved by exactly one tangent coordinate
};

}  // namespace nlsq::inline v0
