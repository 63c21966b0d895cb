// Measures the times that reports name.
#pragma once

#include <chrono>

namespace nlsq::cli {

// This is a clock that starts when it is constructed.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace nlsq::cli
