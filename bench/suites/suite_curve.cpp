// Suite curve times whole fits of curves in memory, by nlsq, by nlsq in float64 with and without samples, and
// by peers.
#include "curves/curve_data.hpp"
#include "curves/curve_passes.hpp"
#include "memory_use.hpp"
#include "peers/peer_programs.hpp"
#include "peers/peers.hpp"
#include "suites/suites.hpp"

#include <nlsq/nlsq.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace bench {

namespace {

constexpr double kCeresRowBytes = 400;  // of a row with a block of its own; measured 340 at 1e6

// Lists the goals at 1e7 rows of exp, with all cores where possible, and at 1e6 rows on one core.
struct Wanted {
  std::string_view peer;  // start of its name
  double ratio;
};
constexpr Wanted kLarge[] = {{"nlsq all-f64", 2.5},   {"nlsq f64, same sampling", 1.2},
                             {"cminpack", 100},       {"GSL", 100},
                             {"Ceres AutoDiff", 500}, {"Ceres, one block", 50}};
constexpr Wanted kMillion[] = {{"cminpack", 20}};

class Fits {
 public:
  Fits(const CurveCase& c, std::size_t rows, int threads, const Settings& settings)
      : case_(c), data_(curve_data(c, rows)), threads_(threads), settings_(settings) {
    const auto head = [](const std::vector<double>& v) {
      return std::vector<double>(v.begin(), v.begin() + 100);
    };
    check_derivatives(c.model, {{head(data_.x[0])}, head(data_.y)}, c.start);
  }

  void run(std::span<const Wanted> wanted) {
    std::vector<Contender> contenders{ours("nlsq", "auto", nlsq::Sampling::automatic),
                                      ours("nlsq all-f64", "f64", nlsq::Sampling::never),
                                      ours("nlsq f64, same sampling", "f64", nlsq::Sampling::always)};
    const auto add = [&](std::optional<Contender> peer) {
      if (peer) contenders.push_back(std::move(*peer));
    };
    const PeerTask task{case_.model, &data_, case_.start, 1e-10, threads_};
    add(cminpack_lmder(task));
    add(gsl_multifit(task));
    add(ceres_fit(task, CeresForm::one_block, CeresSolver::normal_cholesky));
    add(ceres_by_rows(task));
    add(scipy_curve_fit(case_, data_, false));
    add(scipy_curve_fit(case_, data_, true));

    Row row = described(contenders);
    const std::vector<Measured> measured = measure(contenders, settings_);
    row.over_floor = measured[0].seconds / floor();
    report_against_peers(contenders, measured, row, settings_);
    for (const Wanted& want : wanted) {
      for (std::size_t k = 1; k < contenders.size(); ++k) {
        if (!contenders[k].name.starts_with(want.peer)) continue;
        settings_.report->goal({"curve", row.name + ": over " + contenders[k].name,
                                measured[k].seconds / measured[0].seconds, Asked::at_least, want.ratio, "x"});
      }
    }
  }

 private:
  double rows() const { return static_cast<double>(data_.rows()); }

  // Returns the lower bound of one f64 pass: its operations, or its bytes from memory.
  double floor() const {
    return settings_.machine.floor(data_.rows(), row_operations(case_), 2 * sizeof(double), false, threads_);
  }

  Contender ours(const char* name, const char* policy, nlsq::Sampling sampling) {
    nlsq::FitOptions options;
    options.precision = nlsq::PrecisionPolicy::parse(policy);
    options.sampling = sampling;
    options.threads = threads_;
    return {name, [this, options, formula = curve_formula(case_), start = named_start(case_)] {
              last_ = nlsq::curve_fit(formula, data_.x[0], data_.y, start, options);
              return last_.parameters;
            }};
  }

  // Fits with a block per row. If memory is short, fits only the first rows and scales the time.
  std::optional<Contender> ceres_by_rows(PeerTask task) {
    const double most = 0.5 * available_memory() / kCeresRowBytes;
    if (!(rows() > most)) return ceres_fit(task, CeresForm::block_per_row, CeresSolver::normal_cholesky);
    const auto few = std::max<std::size_t>(1000, static_cast<std::size_t>(most));
    const auto first = [&](const std::vector<double>& v) {
      return std::vector<double>(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(few));
    };
    part_ = {{first(data_.x[0])}, first(data_.y)};
    task.data = &part_;
    auto peer = ceres_fit(task, CeresForm::block_per_row, CeresSolver::normal_cholesky);
    if (peer) *peer = scaled(std::move(*peer), rows() / static_cast<double>(few));
    return peer;
  }

  // Returns the row with the verdict of our fit. Checks that all our fits give the certified answer.
  Row described(const std::vector<Contender>& contenders) {
    Row row;
    row.suite = "curve";
    row.name = fmt::format("{}, {} rows, {} thread{}", case_.model, count_name(data_.rows()), threads_,
                           threads_ == 1 ? "" : "s");
    const std::vector<double> answer = contenders[0].run();
    const nlsq::KernelCounters& counters = last_.summary.precision.counters;
    row.note = fmt::format("{}: f32 x{:.1f}, f64 x{:.1f}; floor {:.3g} ms", nlsq::name(last_.summary.verdict),
                           static_cast<double>(counters.rows_f32) / rows(),
                           static_cast<double>(counters.rows_f64) / rows(), 1e3 * floor());
    row.sound = last_.success();
    for (const std::size_t k : {1, 2}) {
      row.sound = row.sound && largest_difference(answer, contenders[k].run()) < 1e-6 && last_.success();
    }
    return row;
  }

  const CurveCase& case_;
  const Data data_;
  Data part_;
  int threads_;
  const Settings& settings_;
  nlsq::FitResult last_;
};

}  // namespace

void run_curve(const Settings& settings) {
  settings.report->begin_suite("curve",
                               "tolerances: ours the defaults, certified; peers 1e-10 (lmder ftol = xtol, "
                               "GSL xtol, Ceres all three), SciPy its\n"
                               "defaults; cminpack, GSL and SciPy have one thread. Goals: exp at 1e7 rows; "
                               "at 1e6 rows, one thread, 20x lmder;\n"
                               "a pass within 1.15x of the fused loop (ours/loop)");
  const std::size_t rows = settings.quick ? 100'000 : 1'000'000;
  for (const CurveCase& c : curve_cases()) Fits(c, rows, 1, settings).run(kMillion);
  const int cores = settings.clock == Clock::wall ? static_cast<int>(std::thread::hardware_concurrency()) : 1;
  if (!settings.quick) Fits(curve_cases()[0], 10'000'000, std::max(cores, 1), settings).run(kLarge);
  settings.report->text(
      "f32: float columns, f32 sums in a tile; wide: f64 sums; of f64: double columns, as in a fit of "
      "doubles");
  const std::size_t repay_code = 300'000;  // programs are run as machine code from about so many rows on
  for (const CurveCase& c : curve_cases()) run_passes(c, std::max(rows, repay_code), settings);
}

}  // namespace bench
