// Implements WindowedRecords.
#include "blocks/windows/windowed_records.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kWindowTasks = 32;  // number of tasks that evaluate windows
constexpr std::size_t kMostAhead = 16;    // windows that a sweep evaluates at once

}  // namespace

WindowedRecords::WindowedRecords(const BlockStructure& structure, const BlockEvaluator& evaluator,
                                 IdlePool<BlockPass>& passes, const RecordFinish& finish)
    : structure_(structure), evaluator_(evaluator), passes_(passes), finish_(finish),
      windows_(structure, window_rule()) {}

std::unique_ptr<WindowedRecords::Scratch> WindowedRecords::make_scratch() const {
  auto scratch = std::make_unique<Scratch>();
  scratch->records.resize(windows_.most_numbers + structure_.pad);
  scratch->ambient.resize(windows_.most_ambient);
  return scratch;
}

// Decides which windows are kept. Programs may have changed since the last time.
void WindowedRecords::choose() {
  std::vector<std::uint8_t> again;
  for (const Window& window : windows_.windows)
    again.push_back(window.again && !evaluator_.calls_functions(window.first_slot, window.last_slot));
  late_.clear();
  late_.resize(again.size());
  if (again == again_) return;
  again_ = std::move(again);
  place_.clear();
  std::uint64_t numbers = 0;
  for (std::size_t w = 0; w < again_.size(); ++w) {
    place_.push_back(numbers);
    if (!again_[w]) numbers += windows_.windows[w].numbers;
  }
  kept_ = std::vector<double>();
  kept_.resize(numbers + structure_.pad);
}

RecordTarget<double> WindowedRecords::target_of(const Window& window, double* records,
                                                Scratch& scratch) const {
  return {.records = records,
          .first = window.first,
          .ambient = scratch.ambient.data(),
          .ambient_first = window.ambient,
          .boundary = windows_.tangent_numbers + structure_.pad};
}

std::size_t WindowedRecords::evaluate(const Window& window, const RecordTarget<double>& to) {
  const IdlePool<BlockPass>::Loan pass(passes_);
  const std::size_t left = pass->jacobian_of(window.first_slot, window.last_slot, x_, to);
  finish_.finish(window.first_slot, window.last_slot, to);
  return left;
}

void WindowedRecords::linearize(std::span<const double> x, const Parallelism& parallelism) {
  valid_ = false;
  x_ = x;
  parallelism_ = parallelism;
  left_ = 0;
  choose();
  run_tasks(kWindowTasks, parallelism_, [&](std::size_t task) {
    const Borrowed scratch(scratches_);
    const std::size_t count = windows_.windows.size();
    for (std::size_t w = task * count / kWindowTasks; w < (task + 1) * count / kWindowTasks; ++w) {
      if (again_[w]) continue;
      const Window& window = windows_.windows[w];
      left_ += evaluate(window, target_of(window, kept_.data() + place_[w], *scratch));
    }
  });
  valid_ = true;
}

void WindowedRecords::check() const {
  if (!valid_) throw std::logic_error("WindowedRecords: records are read that are not those of x");
}

RecordView<double> WindowedRecords::kept(std::size_t window) const {
  const std::vector<double>& late = late_[window];
  return {late.empty() ? kept_.data() + place_[window] : late.data(), windows_.windows[window].first};
}

void WindowedRecords::keep(std::size_t window, const double* records) {
  const std::size_t numbers = windows_.windows[window].numbers;
  std::vector<double> late(numbers + structure_.pad);
  std::copy_n(records, numbers, late.begin());
  late_[window] = std::move(late);
}

RecordView<double> WindowedRecords::evaluate_again(std::size_t window, Scratch& scratch) {
  const Window& of = windows_.windows[window];
  double* records = scratch.records.data();
  // Entries that no derivative is written to are zero. The padding must be finite.
  if (structure_.zeros_in_records) std::fill_n(records, of.numbers, 0.0);
  std::fill_n(records + of.numbers, structure_.pad, 0.0);
  const std::size_t left = evaluate(of, target_of(of, records, scratch));
  left_ += left;
  if (left > 0) keep(window, records);
  return {records, of.first};
}

void WindowedRecords::keep_all() {
  if (!valid_) return;
  run_tasks(again_.size(), parallelism_, [&](std::size_t w) {
    if (is_kept(w)) return;
    const Borrowed scratch(scratches_);
    keep(w, evaluate_again(w, *scratch).numbers);
  });
}

void WindowedRecords::clear_held() {
  Scratch none;
  for (std::size_t w = 0; w < again_.size(); ++w) {
    const Window& window = windows_.windows[w];
    double* records = const_cast<double*>(kept(w).numbers);  // of kept_ or late_
    if (is_kept(w)) finish_.clear_held(window.first_slot, window.last_slot, target_of(window, records, none));
  }
}

void WindowedRecords::visit(std::size_t chunk, const Work& work) {
  check();
  for (std::size_t w = windows_.of_chunk[chunk]; w < windows_.of_chunk[chunk + 1]; ++w) {
    const Window& window = windows_.windows[w];
    if (is_kept(w)) {
      work(window.first_point, window.last_point, kept(w));
      continue;
    }
    const Borrowed scratch(scratches_);
    work(window.first_point, window.last_point, evaluate_again(w, *scratch));
  }
}

// Evaluates some windows ahead, on all threads.
void WindowedRecords::sweep(const Work& work) {
  check();
  const std::size_t threads = parallelism_.executor ? 4 : most_threads(parallelism_);
  std::vector<std::unique_ptr<Borrowed>> scratches;
  std::vector<std::size_t> ahead;
  std::vector<RecordView<double>> views;
  for (std::size_t k = 0; k < std::min(threads, kMostAhead); ++k)
    scratches.push_back(std::make_unique<Borrowed>(scratches_));
  std::size_t next = 0;
  for (std::size_t w = 0; w < again_.size(); ++w) {
    const Window& window = windows_.windows[w];
    const bool evaluated = next < ahead.size() && ahead[next] == w;  // it may be kept since then
    if (!evaluated && is_kept(w)) {
      work(window.first_point, window.last_point, kept(w));
      continue;
    }
    if (!evaluated) {
      ahead.clear();
      for (std::size_t of = w; of < again_.size() && ahead.size() < scratches.size(); ++of) {
        if (!is_kept(of)) ahead.push_back(of);
      }
      views.resize(ahead.size());
      run_tasks(ahead.size(), parallelism_,
                [&](std::size_t k) { views[k] = evaluate_again(ahead[k], **scratches[k]); });
      next = 0;
    }
    work(window.first_point, window.last_point, views[next++]);
  }
}

std::size_t WindowedRecords::bytes() const {
  std::size_t numbers = kept_.capacity();
  for (const std::vector<double>& late : late_) numbers += late.capacity();
  for (const auto& scratch : scratches_.all())
    numbers += scratch->records.capacity() + scratch->ambient.capacity();
  return numbers * sizeof(double);
}

}  // namespace nlsq::inline v0
