// Implements CommonStart: the choice of the sample and the comparison.
#include "batch/common_start.hpp"

#include "support/parallel.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kSample = 512;
constexpr std::size_t kChunk = 64;     // groups of a task
constexpr double kMostFailures = 0.1;  // share of the sample's own fits that may fail
constexpr double kMostRefits = 0.4;    // share of fits from the common start that own guesses may repeat
constexpr double kUnusual = 0.05;      // share of the sample whose R² counts as unusually bad
constexpr double kSameCost = 1e-6;     // relative; the limit at which first guesses are judged

std::uint64_t mixed(std::uint64_t z) {  // the splitmix64 finaliser
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

std::uint64_t hash_of(std::span<const double> y) {
  std::uint64_t sum = 0;  // a sum, so that the order of the rows does not matter
  for (const double value : y) sum += mixed(std::bit_cast<std::uint64_t>(value));
  return mixed(sum);
}

double r_squared(double cost, double total) { return 1 - 2 * cost / total; }

}  // namespace

bool CommonStart::typical(Verdict verdict, const double* parameters, double r_squared) const {
  if (!is_success(verdict) || !(r_squared >= least_r_squared)) return false;
  for (std::size_t j = 0; j < low.size(); ++j) {
    if (!(parameters[j] >= low[j] && parameters[j] <= high[j])) return false;
  }
  return true;
}

bool CommonStart::better(Verdict a, double cost_a, Verdict b, double cost_b) {
  if (is_success(a) != is_success(b)) return is_success(a);
  return is_success(a) && cost_a * (1 + kSameCost) < cost_b;
}

std::vector<std::size_t> sample_groups(const std::vector<std::size_t>& groups,
                                       const std::function<std::span<const double>(std::size_t)>& y,
                                       const Parallelism& parallelism) {
  std::vector<std::pair<std::uint64_t, std::size_t>> hashed(groups.size());
  run_tasks((groups.size() + kChunk - 1) / kChunk, parallelism, [&](std::size_t t) {
    for (std::size_t i = t * kChunk; i < std::min(groups.size(), (t + 1) * kChunk); ++i)
      hashed[i] = {hash_of(y(groups[i])), groups[i]};
  });
  const std::size_t count = std::min(kSample, hashed.size());
  std::nth_element(hashed.begin(), hashed.begin() + static_cast<std::ptrdiff_t>(count), hashed.end());
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < count; ++i) sample.push_back(hashed[i].second);
  std::sort(sample.begin(), sample.end());
  return sample;
}

void CommonStartTest::add_own(const BatchResult& fits, std::size_t i, double total) {
  verdict_.push_back(fits.verdict[i]);
  cost_.push_back(fits.cost[i]);
  total_.push_back(total);
  of_parameter_.resize(parameters_);
  if (!is_success(fits.verdict[i])) return;
  for (std::size_t j = 0; j < parameters_; ++j) of_parameter_[j].push_back(fits.parameters(i, j));
}

bool CommonStartTest::propose() {
  std::vector<double> qualities;
  for (std::size_t i = 0; i < cost_.size(); ++i) {
    if (is_success(verdict_[i]) && total_[i] > 0) qualities.push_back(r_squared(cost_[i], total_[i]));
  }
  const auto size = static_cast<double>(cost_.size());
  if (static_cast<double>(qualities.size()) < (1 - kMostFailures) * size) return false;
  const auto low = qualities.begin() + static_cast<std::ptrdiff_t>(kUnusual * size);
  std::nth_element(qualities.begin(), low, qualities.end());
  found_.least_r_squared = *low;
  found_.start = Matrix(1, parameters_);
  for (std::size_t j = 0; j < parameters_; ++j) {
    std::vector<double>& values = of_parameter_[j];
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    found_.low.push_back(*least);
    found_.high.push_back(*most);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    found_.start(0, j) = *middle;
  }
  return true;
}

void CommonStartTest::add_common(const BatchResult& fits) {
  for (std::size_t i = 0; i < fits.size(); ++i, ++compared_) {
    const double quality = r_squared(fits.cost[i], total_[compared_]);
    if (!found_.typical(fits.verdict[i], &fits.parameters.data()[i * parameters_], quality)) {
      ++refitted_;
      continue;
    }
    missed_ =
        missed_ || (is_success(verdict_[compared_]) && fits.cost[i] > cost_[compared_] * (1 + kSameCost));
  }
}

std::optional<CommonStart> CommonStartTest::result() const {
  if (missed_ || static_cast<double>(refitted_) > kMostRefits * static_cast<double>(compared_)) return {};
  return found_;
}

}  // namespace nlsq::inline v0
