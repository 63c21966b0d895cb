#include "parallel.hpp"

#include "fp_environment.hpp"

#if NLSQ_WITH_TBB
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#endif

#include <algorithm>
#include <exception>
#include <vector>

namespace nlsq::inline v0 {

namespace {

void run_sequentially(std::size_t count, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < count; ++i) task(i);
}

void run_on_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& task) {
#if NLSQ_WITH_TBB
  // More than the machine has would gain nothing, and oneTBB would print a warning about it.
  const int most = tbb::info::default_concurrency();
  tbb::task_arena arena(threads == 0 ? most : std::min(threads, most));
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, count, [&](std::size_t i) { task(i); }); });
#else
  (void)threads;
  run_sequentially(count, task);
#endif
}

}  // namespace

void run_tasks(std::size_t count, const Parallelism& parallelism, const std::function<void(std::size_t)>& task) {
  if (count <= 1 || (parallelism.threads == 1 && !parallelism.executor)) {
    run_sequentially(count, task);
    return;
  }
  std::vector<std::exception_ptr> thrown(count);
  const auto guarded = [&](std::size_t i) {
    const FpEnvironment environment;  // a worker's own
    try {
      task(i);
    } catch (...) {
      thrown[i] = std::current_exception();
    }
  };
  if (parallelism.executor) parallelism.executor(count, guarded);
  else run_on_threads(count, parallelism.threads, guarded);
  for (const std::exception_ptr& exception : thrown) {
    if (exception) std::rethrow_exception(exception);
  }
}

}  // namespace nlsq::inline v0
