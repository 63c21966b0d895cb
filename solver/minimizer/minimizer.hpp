// Runs the Levenberg-Marquardt / Gauss-Newton loop over a System, for curves and block problems alike.
//
// Each iteration linearizes x in the precision in force and solves for a step. It changes the precision if
// the digits do not suffice, and concludes if a first-order test holds in float64. Otherwise it proposes a
// trial point, judges it, and accepts or rejects it. An escalation evaluates the same x again and is not an
// iteration. No solve concludes below float64.
//
// minimizer.cpp contains the loop. loop.hpp lists the functions that it calls and the file of each.
#pragma once

#include "minimizer/loop.hpp"

namespace nlsq::inline v0 {

// One object serves many solves and reuses its memory.
class Minimizer {
 public:
  // Throws nothing of its own. Exceptions of a user's function pass through.
  void run(System& system, const MinimizerRequest& request, MinimizerResult& out);
  // Iterates until the undamped step is shorter than `near` standard errors, and certifies nothing. Returns
  // false if the iteration did not come that close, or if the rows do not determine the parameters.
  bool warm_up(System& system, const MinimizerRequest& request, double near);
  // Must be called after warm_up. Moves the trace and the issues out.
  WarmStart warm_result();

 private:
  bool start(System& system, const MinimizerRequest& request);
  void iterate();

  Loop loop_;
};

}  // namespace nlsq::inline v0
