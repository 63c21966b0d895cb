// Measures multiply-add rate and memory bandwidth, and computes the lower bound of a pass.
#include "machine.hpp"

#include "isa/isa_loops.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace bench {

namespace {

// Returns the shortest time of several runs, because a limit is not a median.
template <class F>
double least_seconds(int runs, F f) {
  double least = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return least;
}

}  // namespace

double Machine::floor(std::size_t rows, double operations, double bytes, bool single, int threads) const {
  const double m = static_cast<double>(rows);
  return std::max(m * operations / (threads * (single ? fma_f32 : fma_f64)),
                  m * bytes / (threads > 1 ? bandwidth_all : bandwidth));
}

Machine measure_machine() {
  const IsaLoops& loops = isa_loops();
  Machine machine;
  machine.isa = loops.name;
  constexpr std::size_t kRounds = 200'000;
  volatile double sink = 0;
  machine.fma_f64 =
      loops.fmas_f64(kRounds, 1e-9) / least_seconds(8, [&] { sink = loops.fmas_f64(kRounds, 1e-9); });
  machine.fma_f32 =
      loops.fmas_f32(kRounds, 1e-9f) / least_seconds(8, [&] { sink = loops.fmas_f32(kRounds, 1e-9f); });
  // The array is larger than the caches of one socket.
  const std::vector<double> memory(std::size_t{1} << 24, 1.0);
  machine.bandwidth = static_cast<double>(memory.size() * sizeof(double)) /
                      least_seconds(4, [&] { sink = loops.sum(memory.data(), memory.size()); });
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t share = memory.size() / cores;
  std::vector<double> sums(cores);
  const double together = least_seconds(4, [&] {
    std::vector<std::thread> threads;
    for (unsigned k = 0; k < cores; ++k) {
      threads.emplace_back([&, k] { sums[k] = loops.sum(memory.data() + k * share, share); });
    }
    for (std::thread& thread : threads) thread.join();
  });
  sink = sums[0];
  machine.bandwidth_all = static_cast<double>(cores * share * sizeof(double)) / together;
  static_cast<void>(sink);
  return machine;
}

}  // namespace bench
