// Tests that there are no globals: solves at once, a solve inside another's callable or callback, a solve
// after fork.
#include <nlsq/nlsq.hpp>

#include "support/parallel.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>
#include <vector>

using namespace nlsq;

namespace {

// It has enough rows for several tasks, and for f32.
struct Decay {
  std::vector<double> x, y;
  explicit Decay(std::size_t rows, double rate = 0.7) : x(rows), y(rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      x[i] = 5 * static_cast<double>(i) / static_cast<double>(rows);
      y[i] = 2 * std::exp(-rate * x[i]) + 0.5 + 0.01 * std::sin(37.0 * static_cast<double>(i));
    }
  }
  FitResult fit() const {
    FitOptions options;
    options.threads = 2;
    return curve_fit("a*exp(-b*x)+c", x, y, {{"b", 3}}, options);
  }
};

constexpr std::size_t kMany = 1 << 18;

}  // namespace

TEST_CASE("solves at once on several threads give the bits of each alone") {
  const Decay first(kMany, 0.7), second(kMany, 1.3), third(1000, 2.0);
  const std::vector<double> alone[] = {first.fit().parameters, second.fit().parameters,
                                       third.fit().parameters};
  FitResult results[6];
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] { results[i] = (i % 3 == 0 ? first : i % 3 == 1 ? second : third).fit(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    CHECK(results[i].success());
    CHECK(results[i].parameters == alone[i % 3]);
  }
}

// Keeps all threads of oneTBB busy as long as this object lives.
class Busy {
 public:
  Busy() : threads_(most_threads({})) {
    holder_ = std::thread([this] {
      run_tasks(threads_, {}, [this](std::size_t) {
        ++started_;
        while (!done_) std::this_thread::yield();
      });
    });
    const auto begin = std::chrono::steady_clock::now();
    while (!all() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(20))
      std::this_thread::yield();
  }
  ~Busy() {
    done_ = true;
    holder_.join();
  }
  bool all() const { return started_ == threads_; }

 private:
  std::size_t threads_;
  std::atomic<std::size_t> started_{0};
  std::atomic<bool> done_{false};
  std::thread holder_;
};

// Where other work keeps the threads busy, fewer of them take part in a pass. The memory may decide which
// policy is chosen, so it must not depend on that.
TEST_CASE("the memory of a fit is the same number, whatever runs beside it") {
  const Decay decay(4 * kMany);
  std::set<std::size_t> found;
  for (int i = 0; i < 20; ++i) found.insert(decay.fit().summary.peak_bytes);
  const Busy busy;
  REQUIRE(busy.all());
  found.insert(decay.fit().summary.peak_bytes);
  CHECK(found.size() == 1);
}

TEST_CASE("a callable may solve a problem of its own") {
  const Decay inner(30);
  const double rate = inner.fit().parameters[1];
  // In y = a x + rate, the rate is fitted anew at every call.
  const auto line = [&](double x, const std::vector<double>& p) {
    return p[0] * x + p[1] * inner.fit().parameters[1];
  };
  std::vector<double> x, y;
  for (int i = 0; i < 20; ++i) x.push_back(i), y.push_back(3 * x.back() + 2 * rate);
  const FitResult fit = curve_fit(line, x, y, {1.0, 1.0});
  CHECK(fit.success());
  CHECK(fit.parameters[0] == doctest::Approx(3).epsilon(1e-9));
  CHECK(fit.parameters[1] == doctest::Approx(2).epsilon(1e-9));
  // This callable is recorded, and the solve inside is a constant in the recording.
  const auto generic = [&](const auto& t, const auto& p) {
    return p[0] * exp(-inner.fit().parameters[1] * t) + p[1];
  };
  const FitResult recorded = curve_fit(generic, inner.x, inner.y, {1.0, 0.0});
  CHECK(recorded.success());
  CHECK(recorded.parameters[0] == doctest::Approx(inner.fit().parameters[0]).epsilon(1e-6));
}

TEST_CASE("a callback may solve a problem of its own, and changes no bit") {
  const Decay outer(kMany), inner(200, 1.1);
  const std::vector<double> inside = inner.fit().parameters;
  FitOptions options;
  int calls = 0;
  options.threads = 2;
  options.callback = [&](const IterationSummary&) {
    CHECK(inner.fit().parameters == inside);
    ++calls;
    return Continue;
  };
  const FitResult fit = curve_fit("a*exp(-b*x)+c", outer.x, outer.y, {{"b", 3}}, options);
  CHECK(calls > 0);
  CHECK(fit.parameters == outer.fit().parameters);
}

// The thread sanitizer stops a process that starts threads after a fork.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a process that has fitted on threads may fork, and the child may fit") {
  const Decay data(kMany);
  const std::vector<double> before = data.fit().parameters;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    alarm(60);  // a child that waited for its parent's threads would wait for ever
    _exit(data.fit().parameters == before ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK(data.fit().parameters == before);
}
#endif
