// Checks that a sample of the block corpus has the same bits on one, two and three threads, and with
// derivatives that are evaluated again instead of kept. If a functor throws, the exception must pass through,
// the parameter blocks must be as before, and the problem can be solved again.
#include "blocks/functors.hpp"
#include "blocks/windows/record_windows.hpp"
#include "run.hpp"  // first, because glog, which Ceres includes, has its own CHECK

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using blocks::Answer;
using blocks::Way;

bool same_bits(const Answer& a, const Answer& b) {
  return a.x.size() == b.x.size() && std::memcmp(a.x.data(), b.x.data(), a.x.size() * sizeof(double)) == 0 &&
         a.summary.final_cost == b.summary.final_cost && a.summary.verdict == b.summary.verdict &&
         a.summary.accepted == b.summary.accepted && a.summary.rejected == b.summary.rejected &&
         a.exception == b.exception;
}

// Sets which derivatives are evaluated again, as long as this object lives.
class WindowsOf {
 public:
  ~WindowsOf() { nlsq::window_rule() = before_; }
  void none() { nlsq::window_rule() = {.least_numbers = std::numeric_limits<std::size_t>::max()}; }
  void of(std::size_t numbers) { nlsq::window_rule() = {.least_numbers = 0, .window_numbers = numbers}; }

 private:
  nlsq::WindowRule before_ = nlsq::window_rule();
};

// Computes one row of an exponential. It throws once `left` calls are used up.
struct Throwing {
  blocks::Row<blocks::Exponential> row;
  std::shared_ptr<std::atomic<int>> left;
  template <class T>
  bool operator()(const T* p, T* r) const {
    if ((*left)-- == 0) throw std::runtime_error("the functor's own");
    return row(p, r);
  }
};

}  // namespace

TEST_CASE("the same bits on one, two and three threads") {
  int cases = 0, different = 0, count = 0;
  for (const blocks::Case& c : blocks::corpus()) {
    if (count++ % 6 != 0 || c.kind == blocks::Kind::changing) continue;
    ++cases;
    const blocks::Scene scene = c.make();
    for (const Way way : {Way::problem, Way::solve_tight}) {
      for (const char* policy : {"auto", "f32", "aggressive,gate=off"}) {
        const Answer one = blocks::solve(scene, way, policy, 1);
        for (const int threads : {2, 3}) {
          if (same_bits(one, blocks::solve(scene, way, policy, threads))) continue;
          ++different;
          fmt::print("other bits on {} threads: {}/{} {} {}\n", threads, c.family, c.name, name(way), policy);
        }
      }
    }
    blocks::reset(scene);
  }
  fmt::print("{} cases on three numbers of threads\n", cases);
  CHECK(cases >= 70);
  CHECK(different == 0);
}

TEST_CASE("the same bits whether derivatives in f64 are kept or evaluated again") {
  WindowsOf windows;
  int cases = 0, different = 0, count = 0;
  for (const blocks::Case& c : blocks::corpus()) {
    if (count++ % 24 != 1 || c.kind == blocks::Kind::changing) continue;
    ++cases;
    const blocks::Scene scene = c.make();
    for (const Way way : {Way::problem, Way::solve_opaque}) {
      for (const char* policy : {"auto", "f64"}) {
        windows.none();
        const Answer kept = blocks::solve(scene, way, policy, 1);
        windows.of(20);
        if (same_bits(kept, blocks::solve(scene, way, policy, 3))) continue;
        ++different;
        fmt::print("other bits with windows: {}/{} {} {}\n", c.family, c.name, name(way), policy);
      }
    }
    blocks::reset(scene);
  }
  fmt::print("{} cases with windows of derivatives\n", cases);
  CHECK(cases >= 35);
  CHECK(different == 0);
}

TEST_CASE(
    "a functor that throws: its exception passes, the blocks are as they were, and a second solve succeeds") {
  for (const Way way : {Way::problem, Way::solve_default, Way::solve_opaque}) {
    for (const char* policy : {"auto", "f64", "f32", "strict"}) {
      for (const int calls : {0, 1, 30, 31, 80, 200, 400}) {
        CAPTURE(name(way));
        CAPTURE(policy);
        CAPTURE(calls);
        const auto left = std::make_shared<std::atomic<int>>(calls);
        problems::Noise noise(1);
        blocks::Scene scene;
        const int p = scene.block({1.5, 0.4});
        const blocks::Sampled data = blocks::sample<blocks::Exponential>({1, 0.5}, 30, 0, 4, 0.1, noise);
        for (std::size_t i = 0; i < data.t.size(); ++i) {
          scene.add<1, 2>(Throwing{{data.t[i], data.y[i]}, left}, {p});
        }
        const Answer broken = blocks::solve(scene, way, policy);
        if (*left < 0) {  // otherwise the solve ended before it threw
          CHECK(broken.exception == "the functor's own");
          CHECK(broken.x == scene.start());
        }
        *left = 1 << 30;
        const Answer whole = blocks::solve(scene, way, policy);
        CHECK(whole.exception.empty());
        CHECK(blocks::Oracle(scene).judge(whole.x).gain_in_errors() < 0.1L);
      }
    }
  }
}
