// Chooses the steps of differences, and sums up their errors.
#include "blocks/block_groups.hpp"

#include "blocks/block_reference.hpp"
#include "rows/calls/difference_step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nlsq::inline v0 {

namespace {

constexpr std::uint32_t kMost = 64;  // largest number of blocks that are called for a parameter block

// Returns blocks with differences. For each parameter block these are up to kMost of those that depend on it,
// evenly spread.
std::vector<std::uint32_t> blocks_to_try(const BlockList& list, const BlockGroups& groups) {
  std::vector<std::uint32_t> all, blocks, count(list.sizes.size(), 0), seen(list.sizes.size(), 0);
  for (const std::uint32_t block : groups.slow) {
    if (by_differences(list.function(block))) all.push_back(block);
  }
  for (const std::uint32_t block : all) {
    for (const std::uint32_t parameter : list.of(block)) ++count[parameter];
  }
  for (const std::uint32_t block : all) {
    bool wanted = false;
    for (const std::uint32_t parameter : list.of(block))
      wanted = seen[parameter]++ % (1 + (count[parameter] - 1) / kMost) == 0 || wanted;
    if (wanted) blocks.push_back(block);
  }
  return blocks;
}

// Compares the size of all terms of the residuals with the size of the terms of one number. The largest terms
// determine the rounding errors of a residual. A difference quotient by the number divides these errors by
// the step of the number. So if the other terms are much larger than its own, the step has to be longer.
class TermSizes {
 public:
  void add(double own, double all) {
    if (own == 0 || !std::isfinite(own) || !std::isfinite(all)) return;
    own_ += own * own;
    all_ += all * all;
  }
  // Returns the factor by which the usual step should be longer. The best step of a central difference is
  // proportional to the cube root of the relative rounding error. The usual step is long enough up to 10³
  // times the rounding error of the number's own terms. The longest step is some 0.02 of the number.
  double share() const {
    constexpr double kUsual = 1e3, kMost = 3e10;
    const double noise = own_ > 0 ? std::sqrt(all_ / own_) : 1;
    return noise > kUsual ? std::cbrt(std::min(noise, kMost)) : 1;
  }

 private:
  double own_ = 0, all_ = 0;  // sums of squares
};

// Moves the numbers of a block one by one and adds the changes of the residuals to the checks of those
// numbers.
class BlockTrial {
 public:
  BlockTrial(const BlockList& list, const BlockGroups& groups, std::span<const double> x)
      : list_(list), groups_(groups), x_(x) {}

  // Moves only numbers whose search is open. Adds the sizes of terms if `terms` is given.
  void run(std::uint32_t block, const std::vector<ShareSearch>& searches, std::vector<StepCheck>& checks,
           std::vector<TermSizes>* terms = nullptr) {
    if (std::ranges::none_of(list_.of(block), [&](std::uint32_t p) { return any_open(p, searches); })) return;
    const BlockFunction& function = list_.function(block);
    BlockCaller caller(groups_.kinds[groups_.kind(block)].sizes);
    inputs_.resize(caller.inputs());
    gather_block(list_, block, x_, inputs_.data());
    const auto rows = static_cast<std::size_t>(function.residuals());
    here_.resize(rows), above_.resize(rows), below_.resize(rows);
    if (!caller.value(function, inputs_.data(), here_.data())) return;
    all_.resize(rows);
    for (std::size_t r = 0; r < rows; ++r) all_[r] = std::fabs(here_[r]);
    own_.assign(rows * caller.inputs(), 0.0);
    std::size_t input = 0, column = list_.first[block];
    for (const std::uint32_t parameter : list_.of(block)) {
      const bool wanted = list_.column[column++] >= 0;
      for (int i = 0; i < list_.sizes[parameter]; ++i, ++input) {
        const std::size_t j = list_.offsets[parameter] + static_cast<std::size_t>(i);
        if (!wanted || !searches[j].open()) continue;
        const double size = size_of_number(x_[j], groups_.least_sizes.empty() ? 0 : groups_.least_sizes[j]);
        const DifferenceStep step(x_[j], size, -kNoBound, kNoBound, searches[j].share());
        inputs_[input] = step.above;
        const bool up = caller.value(function, inputs_.data(), above_.data());
        inputs_[input] = step.below;
        const bool down = caller.value(function, inputs_.data(), below_.data());
        inputs_[input] = x_[j];
        if (!up || !down) above_.assign(rows, kNoBound);  // a step that leaves the domain is too long
        for (std::size_t r = 0; r < rows; ++r) {
          checks[j].add(above_[r], here_[r], below_[r]);
          double& own = own_[input * rows + r];
          own = size * step.slope(x_[j], above_[r], here_[r], below_[r]);
          all_[r] += std::fabs(own);
        }
      }
    }
    if (terms != nullptr) add_terms(block, *terms);
  }

 private:
  bool any_open(std::uint32_t parameter, const std::vector<ShareSearch>& searches) const {
    const auto of = std::span(searches).subspan(list_.offsets[parameter],
                                                static_cast<std::size_t>(list_.sizes[parameter]));
    return std::ranges::any_of(of, &ShareSearch::open);
  }

  void add_terms(std::uint32_t block, std::vector<TermSizes>& terms) const {
    std::size_t input = 0;
    for (const std::uint32_t parameter : list_.of(block)) {
      for (int i = 0; i < list_.sizes[parameter]; ++i, ++input) {
        TermSizes& of_number = terms[list_.offsets[parameter] + static_cast<std::size_t>(i)];
        for (std::size_t r = 0; r < all_.size(); ++r) of_number.add(own_[input * all_.size() + r], all_[r]);
      }
    }
  }

  const BlockList& list_;
  const BlockGroups& groups_;
  std::span<const double> x_;
  std::vector<double> inputs_, here_, above_, below_;
  std::vector<double> own_, all_;  // terms of the residuals: by number of the block, and of all together
};

// Returns the least size of each number, from which its steps are computed. A number that comes close to 0 on
// the way would otherwise get steps that move no residual, beside terms that are far larger. It is a small
// part of the number at x, where a solve starts, because a start may be far too large.
std::vector<double> block_least_sizes(std::span<const double> x) {
  constexpr double kPart = 0.1;
  std::vector<double> sizes = typical_sizes(x);
  for (double& size : sizes) size *= kPart;
  return sizes;
}

// Returns a search for a step between the usual one and `share` times that. The error of the longer step must
// not exceed that of the usual step for a residual which curves over a length like the size of the number.
ShareSearch among_longer(double share) {
  return ShareSearch(share, std::min(kCurved, share * std::cbrt(std::numeric_limits<double>::epsilon())), 1);
}

// Sets the sizes of tiny numbers as SizeSearch finds them. The trial must read its sizes from `sizes`.
void find_tiny_sizes(const std::vector<std::uint32_t>& blocks, BlockTrial& trial, std::span<const double> x,
                     std::vector<double>& sizes) {
  const std::vector<double> least = sizes;
  std::vector<SizeSearch> found;
  std::vector<ShareSearch> open;  // tells the trial which numbers to move
  for (const double number : x) {
    found.emplace_back(number != 0 ? std::fabs(number) : 1.0);
    open.emplace_back();
    if (!found.back().open()) open.back().take(0);
  }
  while (std::ranges::any_of(open, &ShareSearch::open)) {
    std::vector<StepCheck> checks(x.size());
    for (std::size_t j = 0; j < x.size(); ++j)
      if (open[j].open()) sizes[j] = found[j].size();
    for (const std::uint32_t block : blocks) trial.run(block, open, checks);
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (!open[j].open()) continue;
      found[j].take(checks[j]);
      if (found[j].open()) continue;
      open[j].take(0);
      sizes[j] = found[j].found() > std::fabs(x[j]) ? found[j].found() : least[j];
    }
  }
}

}  // namespace

std::vector<double> block_step_shares(const BlockList& list, BlockGroups& groups, std::span<const double> x) {
  const std::vector<std::uint32_t> blocks = blocks_to_try(list, groups);
  if (blocks.empty()) return {};
  const bool first_time = groups.least_sizes.empty();
  if (first_time) groups.least_sizes = block_least_sizes(x);
  BlockTrial trial(list, groups, x);
  if (first_time) find_tiny_sizes(blocks, trial, x, groups.least_sizes);
  std::vector<ShareSearch> searches(x.size());
  std::vector<TermSizes> terms(x.size());
  std::vector<bool> longer(x.size(), false);
  for (bool first = true; std::ranges::any_of(searches, &ShareSearch::open); first = false) {
    std::vector<StepCheck> checks(x.size());
    for (const std::uint32_t block : blocks) trial.run(block, searches, checks, first ? &terms : nullptr);
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (!searches[j].open()) continue;
      searches[j].take(checks[j].ratio());
      if (!first || searches[j].open() || !(terms[j].share() > 1)) continue;
      longer[j] = true;
      searches[j] = among_longer(terms[j].share());
    }
  }
  std::vector<double> shares;
  for (std::size_t j = 0; j < x.size(); ++j)
    shares.push_back(longer[j] && !searches[j].found() ? 1 : searches[j].best());
  return shares;
}

std::vector<double> block_first_steps(std::span<const double> shares, std::span<const double> least_sizes,
                                      std::span<const double> x) {
  // Over this multiple of a step whose ratio is kCurved, residuals are still almost straight. From longer
  // steps the first entries of the extrapolation are so far off that it ends early.
  constexpr double kLonger = 4;
  constexpr double kMost = 0.01;  // of the number
  std::vector<double> first;
  for (std::size_t j = 0; j < shares.size(); ++j) {
    const double size = size_of_number(x[j], least_sizes.empty() ? 0 : least_sizes[j]);
    const double usual = shares[j] * std::cbrt(std::numeric_limits<double>::epsilon()) * size;
    first.push_back(std::clamp(kMost * size, usual, kLonger * usual));
  }
  return first;
}

void add_difference_sums(const BlockList& list, std::uint32_t block, std::span<const double> J,
                         std::span<const double> errors, std::span<DifferenceSums> sums) {
  std::size_t inputs = 0, input = 0, column = list.first[block];
  for (const std::uint32_t parameter : list.of(block))
    inputs += static_cast<std::size_t>(list.sizes[parameter]);
  for (const std::uint32_t parameter : list.of(block)) {
    const bool wanted = list.column[column++] >= 0;
    for (int i = 0; i < list.sizes[parameter]; ++i, ++input) {
      DifferenceSums& of_number = sums[list.offsets[parameter] + static_cast<std::size_t>(i)];
      for (std::size_t at = input; wanted && at < J.size(); at += inputs) {
        of_number.slopes += J[at] * J[at];
        of_number.errors += errors[at] * errors[at];
      }
    }
  }
}

}  // namespace nlsq::inline v0
