// Tests several processes of a team, which are threads here. They must have the bits of one process.
#include "same_fit.hpp"

#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/team.hpp>

#include <barrier>
#include <cmath>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace nlsq;

namespace {

// Holds the data that the threads of a team share.
struct Meeting {
  explicit Meeting(int size) : given(static_cast<std::size_t>(size)), all_here(size) {}
  std::vector<std::string> given;
  std::barrier<> all_here;
};

class ThreadTeam final : public Team {
 public:
  ThreadTeam(std::shared_ptr<Meeting> meeting, int rank, double uneven)
      : meeting_(std::move(meeting)), rank_(rank), uneven_(uneven) {}
  int size() const override { return static_cast<int>(meeting_->given.size()); }
  int rank() const override { return rank_; }
  std::vector<std::string> gather(std::string_view mine) override {
    meeting_->given[static_cast<std::size_t>(rank_)] = mine;
    meeting_->all_here.arrive_and_wait();
    std::vector<std::string> all = meeting_->given;
    meeting_->all_here.arrive_and_wait();
    ++exchanges;
    return all;
  }
  std::size_t first_row(int rank, std::size_t rows) const override {
    const double share = static_cast<double>(rank) / size();
    return rank == size() ? rows
                          : static_cast<std::size_t>(std::pow(share, uneven_) * static_cast<double>(rows));
  }
  int exchanges = 0;

 private:
  std::shared_ptr<Meeting> meeting_;
  int rank_;
  double uneven_;
};

struct Data {
  explicit Data(std::size_t rows) : x(rows), y(rows), sigma(rows) {
    std::mt19937_64 random(7);
    std::normal_distribution<double> noise;
    for (std::size_t i = 0; i < rows; ++i) {
      x[i] = 5.0 * static_cast<double>(i) / static_cast<double>(rows);
      sigma[i] = 0.05 + 0.01 * x[i];
      y[i] = 3 * std::exp(-0.8 * x[i]) + 0.4 + sigma[i] * noise(random);
    }
  }
  std::vector<double> x, y, sigma;
};

std::vector<FitResult> fit_in_team(const Data& data, int size, double uneven, const FitOptions& options,
                                   int* exchanges = nullptr) {
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<FitResult> results(static_cast<std::size_t>(size));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < size; ++rank) {
    threads.emplace_back([&, rank] {
      FitOptions own = options;
      const auto team = std::make_shared<ThreadTeam>(meeting, rank, uneven);
      own.team = team;
      results[static_cast<std::size_t>(rank)] =
          curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 1.0}, {"b", 1.0}, {"c", 0.0}}, own);
      if (exchanges != nullptr && rank == 0) *exchanges = team->exchanges;
    });
  }
  for (std::thread& thread : threads) thread.join();
  return results;
}

void check_same(const FitResult& a, const FitResult& b) {
  check_same_numbers(a, b);
  CHECK(a.summary.final_cost == b.summary.final_cost);
  CHECK(a.summary.accepted == b.summary.accepted);
  CHECK(a.summary.counted_work == b.summary.counted_work);
  CHECK(a.summary.precision.counters.rows_f64 == b.summary.precision.counters.rows_f64);
  CHECK(a.summary.precision.counters.gram_flops_f64 == b.summary.precision.counters.gram_flops_f64);
  CHECK(a.summary.precision.counters.rows_f32 == b.summary.precision.counters.rows_f32);
}

}  // namespace

TEST_CASE("a team of any size, with parts of any size, has the bits of one process") {
  const Data data(300'000);
  FitOptions options;
  options.threads = 2;
  SUBCASE("plain") {}
  SUBCASE("weighted") { options.sigma = data.sigma; }
  SUBCASE("a loss") {
    options.sigma = data.sigma;
    options.absolute_sigma = true;
    options.loss = Loss::huber();
  }
  SUBCASE("f64") { options.precision = PrecisionPolicy::all_f64(); }
  SUBCASE("fixed") { options.fixed = {"b"}; }
  const FitResult alone =
      curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 1.0}, {"b", 1.0}, {"c", 0.0}}, options);
  CHECK(alone.success());
  for (const int size : {1, 2, 3, 5}) {
    for (const double uneven : {1.0, 3.0}) {
      CAPTURE(size);
      int exchanges = 0;
      const std::vector<FitResult> team = fit_in_team(data, size, uneven, options, &exchanges);
      CHECK((exchanges > 0) == (size > 1));
      for (const FitResult& fit : team) check_same(alone, fit);
    }
  }
}

TEST_CASE("a number that cannot be used is found by the whole team") {
  Data data(300'000);
  data.y[299'123] = NAN;
  std::vector<std::string> messages(3);
  const auto meeting = std::make_shared<Meeting>(3);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 3; ++rank) {
    threads.emplace_back([&, rank] {
      FitOptions options;
      options.team = std::make_shared<ThreadTeam>(meeting, rank, 1.0);
      try {
        curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 1.0}, {"b", 1.0}, {"c", 0.0}}, options);
      } catch (const DataError& e) {
        messages[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(messages[0].find("row 299123") != std::string::npos);
  CHECK(messages[1] == messages[0]);
  CHECK(messages[2] == messages[0]);
}

TEST_CASE("processes with other arguments notice") {
  const Data data(300'000);
  const auto meeting = std::make_shared<Meeting>(2);
  std::vector<std::string> messages(2);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < 2; ++rank) {
    threads.emplace_back([&, rank] {
      FitOptions options;
      options.team = std::make_shared<ThreadTeam>(meeting, rank, 1.0);
      options.solve_linear_start = false;
      try {
        curve_fit("a*exp(-b*x)+c", data.x, data.y, {{"a", 1.0 + rank}, {"b", 1.0}, {"c", 0.0}}, options);
      } catch (const Error& e) {
        messages[static_cast<std::size_t>(rank)] = e.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& message : messages) CHECK(message.find("do different work") != std::string::npos);
}

TEST_CASE("options that a team does not support are refused by name") {
  const Data data(100);
  FitOptions options;
  options.team = std::make_shared<ThreadTeam>(std::make_shared<Meeting>(1), 0, 1.0);
  options.max_seconds = 1;
  CHECK_THROWS_WITH_AS(curve_fit("a*x", data.x, data.y, {}, options),
                       doctest::Contains("the clocks of the processes of a team differ"), ValidationError);
}
