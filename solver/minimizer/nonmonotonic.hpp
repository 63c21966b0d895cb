// Judges nonmonotonic steps, which may raise the cost for a while. A step is also judged against the highest
// of the last few points and the decrease predicted since (P. L. Toint, Math. Program. 77, 1997; A. R. Conn,
// N. I. M. Gould, P. L. Toint, Trust-Region Methods, 2000, section 10.1).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace nlsq::inline v0 {

class Nonmonotonic {
 public:
  explicit Nonmonotonic(int most) : most_(static_cast<std::size_t>(most)) {}
  bool on() const { return most_ > 0; }
  bool started() const { return !last_.empty(); }
  // Switches nonmonotonic steps off for good: each later step has to lower the cost.
  void end() {
    most_ = 0;
    last_.clear();
  }
  void start(double cost) {
    last_.assign(1, {cost, 0});
    least_ = cost;
  }
  // Returns the decrease from the highest point to `cost`; promised() returns the decrease predicted on the
  // way there.
  double decrease(double cost) const { return highest().cost - cost; }
  double promised(double predicted) const { return highest().promised + predicted; }
  // Records an accepted step. Returns true if the cost is the lowest so far.
  bool accepted(double cost, double predicted) {
    for (Point& point : last_) point.promised += predicted;
    if (last_.size() > most_) last_.erase(last_.begin());
    last_.push_back({cost, 0});
    if (!(cost < least_)) return false;
    least_ = cost;
    return true;
  }

 private:
  struct Point {
    double cost, promised;  // predicted decrease of the steps since then
  };
  const Point& highest() const { return *std::ranges::max_element(last_, {}, &Point::cost); }

  std::size_t most_;
  std::vector<Point> last_;  // the current point and `most_` before it
  double least_ = 0;
};

}  // namespace nlsq::inline v0
