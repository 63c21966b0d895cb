// Tests that tasks which are shared out again and again, as in each step of a solve, do not take more memory
// each time.
#include "support/parallel.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <fstream>

using namespace nlsq;

namespace {

// Returns the memory of the process in bytes, or 0 if the system does not tell.
double resident() {
  std::ifstream file("/proc/self/statm");
  double total = 0, pages = 0;
  file >> total >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

void run(int times) {
  Parallelism parallelism;
  parallelism.threads = 2;
  std::atomic<std::size_t> sum{0};
  for (int k = 0; k < times; ++k) run_tasks(32, parallelism, [&](std::size_t i) { sum += i; });
  CHECK(sum == static_cast<std::size_t>(times) * 31 * 16);
}

}  // namespace

TEST_CASE("The tasks of many steps take no more memory than those of a few") {
  run(3);
  const double before = resident();
  run(2000);
  CHECK(resident() - before < 1e6);
}
