// Work shared out over threads. What is computed never depends on how: tasks are numbered, write to
// places of their own, and are combined afterwards in a fixed order.
#pragma once

#include <nlsq/options.hpp>

#include <cstddef>
#include <functional>

namespace nlsq::inline v0 {

// Runs task(0) ... task(count - 1), each once, in any order, and returns when all are done: how many threads
// took part. Of tasks that throw, the lowest-numbered one's exception is rethrown, after all others have
// ended. Throws ValidationError where the user's executor did not run each task once.
int run_tasks(std::size_t count, const Parallelism& parallelism,
              const std::function<void(std::size_t)>& task);

// For run_tasks: the same on oneTBB's threads (0: as many as the machine has); `task` must not throw.
void run_on_tbb(std::size_t count, int threads, const std::function<void(std::size_t)>& task);

}  // namespace nlsq::inline v0
