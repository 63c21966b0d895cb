// The Levenberg-Marquardt / Gauss-Newton loop over a System, for curves and block problems alike.
//
// Each turn: linearize x in the precision in force, solve for a step, change the precision if the digits run
// out, conclude if a first-order test holds in float64, else propose a trial point, judge it, and accept or
// reject it. A promotion evaluates the same x again and is no iteration. Nothing concludes below float64.
//
// minimizer.cpp is the loop itself; loop.hpp lists the questions it is made of, each answered in a file of
// its own.
#pragma once

#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// One object serves one solve after the other, in the memory of the last.
class Minimizer {
 public:
  // Throws nothing of its own; what a user's callable throws passes through.
  void run(System& system, const MinimizerRequest& request, MinimizerResult& out);
  // Iterates until the undamped step is shorter than `near` standard errors; certifies nothing. False: it did
  // not get there, or the rows do not determine the parameters.
  bool warm_up(System& system, const MinimizerRequest& request, double near);
  // After warm_up. Its trace and issues are moved out.
  WarmStart warm_result();

 private:
  bool start(System& system, const MinimizerRequest& request);
  void iterate();

  Loop loop_;
};

}  // namespace nlsq::inline v0
