// Runs numbered tasks on the user's executor, on oneTBB or in sequence, and checks that each ran once.
#include "support/parallel.hpp"

#include "support/fp_environment.hpp"

#include <nlsq/error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace nlsq::inline v0 {

namespace {

void run_sequentially(std::size_t count, const std::function<void(std::size_t)>& task) {
  for (std::size_t i = 0; i < count; ++i) task(i);
}

// Records one task: the thread that ran it and the exception it threw.
struct TaskRecord {
  std::atomic<bool> taken{false};
  std::thread::id thread;
  std::exception_ptr thrown;
};

int distinct_threads(const std::vector<TaskRecord>& records) {
  std::vector<std::thread::id> met;
  for (const TaskRecord& record : records) met.push_back(record.thread);
  std::sort(met.begin(), met.end());
  return static_cast<int>(std::unique(met.begin(), met.end()) - met.begin());
}

}  // namespace

std::size_t most_threads(const Parallelism& parallelism) {
  if (parallelism.executor) return 1;
#if NLSQ_WITH_TBB
  return static_cast<std::size_t>(threads_of_tbb(parallelism.threads));
#else
  return 1;
#endif
}

int run_tasks(std::size_t count, const Parallelism& parallelism,
              const std::function<void(std::size_t)>& task) {
  if (count <= 1 || (parallelism.threads == 1 && !parallelism.executor)) {
    run_sequentially(count, task);
    return 1;
  }
  std::vector<TaskRecord> records(count);
  std::atomic<std::size_t> done{0};
  std::atomic<bool> unasked{false};
  const auto guarded = [&](std::size_t i) {
    if (i >= count || records[i].taken.exchange(true)) {  // A faulty executor cannot run a task twice.
      unasked = true;
      return;
    }
    const FpEnvironment environment;  // the worker's own
    records[i].thread = std::this_thread::get_id();
    try {
      task(i);
    } catch (...) {
      records[i].thrown = std::current_exception();
    }
    ++done;
  };
  if (parallelism.executor) parallelism.executor(count, guarded);
#if NLSQ_WITH_TBB
  else run_on_tbb(count, parallelism.threads, guarded);
#else
  else run_sequentially(count, guarded);
#endif
  const std::size_t ran = done;
  for (const TaskRecord& record : records) {
    if (record.thrown) std::rethrow_exception(record.thrown);
  }
  if (ran < count || unasked) {
    throw ValidationError("executor: it ran " + std::to_string(ran) + " of " + std::to_string(count) +
                          " tasks" + (unasked ? ", some more than once or beyond the last" : "") +
                          "; it has to run task(0) ... task(count - 1), each once, before it returns");
  }
  return distinct_threads(records);
}

}  // namespace nlsq::inline v0
