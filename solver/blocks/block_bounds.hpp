// Bounds of a block problem. A number that lies at its bound and would only leave the box is held for the
// step: its column is zero, and so is its step (an active set, after Bertsekas, SIAM J. Control Optim. 20,
// 1982, 2). What moves is brought back into the box, and the linear model is asked again what that step
// promises.
#pragma once

#include "blocks/block_structure.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace nlsq::inline v0 {

class BlockBounds {
 public:
  // Throws ValidationError where a lower bound is above the upper one.
  BlockBounds(const Problem::Impl& problem, const BlockStructure& structure);

  bool any() const { return !all_.empty(); }
  // Whether something had to be moved.
  bool project(std::vector<double>& x) const;
  // By tangent number: 1 where it is held at x. Returns how many are. On a manifold only what it moves like a
  // plain number.
  std::size_t find_held(std::span<const double> x, std::span<const double> gradient,
                        std::vector<std::uint8_t>& held) const;
  // The step that was really taken from x to `trial`, where numbers and steps correspond.
  void shorten(std::span<const double> x, std::span<const double> trial, std::vector<double>& step) const;

 private:
  struct Place {
    std::uint32_t number, tangent;  // in x, in steps
    double lower, upper;
  };
  std::vector<Place> all_, plain_;  // plain_: those that one tangent number moves, and it nothing else
};

}  // namespace nlsq::inline v0
