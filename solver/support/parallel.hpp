// Runs work on several threads; passes and solvers use it. Results never depend on the number of threads:
// tasks are numbered, write to separate places, and are combined afterwards in a fixed order.
#pragma once

#include <nlsq/options.hpp>

#include <cstddef>
#include <functional>

namespace nlsq::inline v0 {

// Runs task(0) ... task(count - 1), each once, in any order. Returns the number of threads that took part,
// when all tasks are done. If tasks throw, rethrows the exception of the lowest-numbered one after all others
// have ended. Throws ValidationError if the user's executor did not run each task once.
int run_tasks(std::size_t count, const Parallelism& parallelism,
              const std::function<void(std::size_t)>& task);

// Returns the largest number of threads that run_tasks uses. With an executor it is unknown, and 1 is
// returned.
std::size_t most_threads(const Parallelism& parallelism);

// Does the same on oneTBB's threads, for run_tasks. With 0, there are as many threads as the machine has.
// `task` must not throw.
void run_on_tbb(std::size_t count, int threads, const std::function<void(std::size_t)>& task);

// Returns the number of threads that run_on_tbb uses for this limit, for run_tasks.
int threads_of_tbb(int limit);

}  // namespace nlsq::inline v0
