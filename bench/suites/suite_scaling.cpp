// Suite scaling fits one curve at increasing numbers of rows, from a source that computes each row on request
// and from memory, on one thread and on all.
#include "curves/curve_data.hpp"
#include "memory_use.hpp"
#include "suites/suites.hpp"

#include <nlsq/nlsq.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

// Makes the rows of a curve measured repeatedly at 4096 values of x. Each row follows from its index alone:
// 12 bits of a hash choose x, and the sum of four 13-bit numbers is the noise (Irwin and Hall's approximation
// of a normal distribution).
class MadeRows final : public nlsq::RowSource {
 public:
  MadeRows(const CurveCase& c, std::size_t rows) : rows_(rows), x_(kSettings), f_(kSettings) {
    for (std::size_t k = 0; k < kSettings; ++k) {
      x_[k] = c.low + (c.high - c.low) * static_cast<double>(k) / (kSettings - 1);
    }
    const Data data{{x_}, std::vector<double>(kSettings)};
    model_loops(c.model).residuals(data, c.truth.data(), f_.data());  // with y = 0, the residual is f
    scale_ = c.noise * std::sqrt(3.0) / 8192;                         // each part is uniform over 8192 values
  }
  std::size_t rows() const override { return rows_; }
  int columns() const override { return 2; }
  using RowSource::read;
  void read(std::size_t first, std::size_t count, int column, double* out) const override {
    for (std::size_t i = 0; i < count; ++i) {
      const std::uint64_t bits = hash(first + i);
      const std::size_t k = bits % kSettings;
      out[i] = column == 0 ? x_[k] : f_[k] + noise(bits);
    }
  }

 private:
  static constexpr std::size_t kSettings = 4096;
  static std::uint64_t hash(std::uint64_t i) {  // splitmix64 (Steele, Lea, Flood 2014)
    i = (i + 1) * 0x9e3779b97f4a7c15u;
    i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
    i = (i ^ (i >> 27)) * 0x94d049bb133111ebu;
    return i ^ (i >> 31);
  }
  double noise(std::uint64_t bits) const {
    std::int64_t sum = -2 * 8191;
    for (int part = 12; part < 64; part += 13) sum += static_cast<std::int64_t>(bits >> part & 8191);
    return scale_ * static_cast<double>(sum);
  }

  std::size_t rows_;
  std::vector<double> x_, f_;
  double scale_ = 0;
};

Data in_memory(const MadeRows& rows) {
  Data data{{std::vector<double>(rows.rows())}, std::vector<double>(rows.rows())};
  rows.read(0, rows.rows(), 0, data.x[0].data());
  rows.read(0, rows.rows(), 1, data.y.data());
  return data;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double u, double v) {
    return std::bit_cast<std::uint64_t>(u) == std::bit_cast<std::uint64_t>(v);
  });
}

// Runs one fit. Parameters, standard errors and cost are compared.
using Fit = std::function<nlsq::FitResult(int threads)>;

std::vector<double> answer(const nlsq::FitResult& fit) {
  std::vector<double> values = fit.parameters;
  values.insert(values.end(), fit.standard_errors.begin(), fit.standard_errors.end());
  values.push_back(fit.summary.final_cost);
  return values;
}

struct Point {
  std::size_t rows = 0;
  double seconds = 0, beyond = 0;  // time on one thread; memory in bytes
  std::vector<double> answer;
};

class Series {
 public:
  Series(std::string kind, const Settings& settings) : kind_(std::move(kind)), settings_(settings) {
    const unsigned cores = std::thread::hardware_concurrency();
    if (settings.clock == Clock::wall && cores > 1) threads_ = static_cast<int>(cores);
  }

  void measure_at(std::size_t rows, double pass_bytes, double operations, const Fit& fit) {
    nlsq::FitResult last;
    const double beyond = memory_beyond([&] { last = fit(threads_); });
    const bool certified = last.success();
    std::vector<Contender> contenders{{"", [&] { return answer(last = fit(threads_)); }}};
    if (threads_ > 1) contenders.push_back({"nlsq, 1 thread", [&] { return answer(last = fit(1)); }});
    const std::vector<Measured> measured = measure(contenders, settings_);
    const Measured& alone = measured.back();
    const double m = static_cast<double>(rows);
    Row row;
    row.suite = "scaling";
    row.name = fmt::format("exp, {} rows, {}", count_name(rows), kind_);
    row.ours_s = measured[0].seconds;
    row.over_floor = alone.seconds / settings_.machine.floor(rows, operations, pass_bytes, false);
    row.sound = certified && same_bits(measured[0].result, alone.result);
    row.note = fmt::format("{:.2f} ns a row alone; {} beyond the data ({} counted)", 1e9 * alone.seconds / m,
                           bytes_name(beyond), bytes_name(static_cast<double>(last.summary.peak_bytes)));
    if (threads_ > 1) {
      report_against_peers(contenders, measured, row, settings_);
      if (rows >= 10'000'000) {
        settings_.report->goal({"scaling", fmt::format("{}: {} threads over one", row.name, threads_),
                                alone.seconds / row.ours_s, Asked::at_least, 0.9 * threads_, "x"});
      }
    } else {
      settings_.report->add(row);
    }
    points_.push_back({rows, alone.seconds, beyond, alone.result});
  }

  // Reports whether time per row or memory grows with the number of rows.
  void conclude() const {
    double least = 1e300, growth = 0;
    for (const Point& point : points_) {
      const double a_row = point.seconds / static_cast<double>(point.rows);
      growth = std::max(growth, a_row / least);
      least = std::min(least, a_row);
    }
    const Point &first = points_.front(), &last = points_.back();
    settings_.report->goal({"scaling", fmt::format("{}: time a row, most over that of fewer rows", kind_),
                            growth, Asked::at_most, 1.25, "x"});
    settings_.report->goal({"scaling",
                            fmt::format("{}: memory beyond the data, {} over {} rows", kind_,
                                        count_name(last.rows), count_name(first.rows)),
                            (last.beyond - first.beyond) / 1e6, Asked::at_most, 1.0, " MB"});
  }

  const std::vector<Point>& points() const { return points_; }

 private:
  static std::string bytes_name(double bytes) {
    return std::isnan(bytes) ? "?"
           : bytes < 1e6     ? fmt::format("{:.0f} kB", 1e-3 * bytes)
                             : fmt::format("{:.1f} MB", 1e-6 * bytes);
  }

  std::string kind_;
  const Settings& settings_;
  int threads_ = 1;
  std::vector<Point> points_;
};

nlsq::FitOptions options(int threads) {
  nlsq::FitOptions result;
  result.threads = threads;
  return result;
}

}  // namespace

void run_scaling(const Settings& settings) {
  settings.report->begin_suite("scaling",
                               "ours on all threads beside one (ratio: the speed-up), same bits; /floor: of "
                               "one f64 pass on one thread; memory: the\n"
                               "largest resident size during a fit beyond that before. Made: rows from a "
                               "RowSource, never held; it has time of\n"
                               "its own, in ours");
  const CurveCase& c = curve_case("exp");
  const nlsq::Formula formula = curve_formula(c);
  const nlsq::NamedValues start = named_start(c);
  const double operations = row_operations(c);
  std::vector<std::size_t> sizes{10'000, 100'000, 1'000'000};
  if (!settings.quick) sizes.insert(sizes.end(), {10'000'000, 100'000'000});
  Series made("made", settings), held("in memory", settings);
  for (const std::size_t rows : sizes) {
    const auto source = std::make_shared<const MadeRows>(c, rows);
    made.measure_at(rows, 0, operations,
                    [&](int threads) { return nlsq::curve_fit(formula, source, start, options(threads)); });
  }
  made.conclude();
  for (const std::size_t rows : sizes) {
    if (16.0 * static_cast<double>(rows) > 0.5 * available_memory()) {
      settings.report->text(fmt::format(
          "{} rows in memory: left out, they would take more than half of what is free", count_name(rows)));
      continue;
    }
    const Data data = in_memory(MadeRows(c, rows));
    held.measure_at(rows, 16, operations, [&](int threads) {
      return nlsq::curve_fit(formula, nlsq::Columns(data.x[0]), data.y, start, options(threads));
    });
  }
  held.conclude();
  bool same = true;  // computed rows and rows in memory are the same
  for (std::size_t k = 0; k < held.points().size(); ++k)
    same = same && same_bits(held.points()[k].answer, made.points()[k].answer);
  settings.report->goal(
      {"scaling", "made and in memory: fits of other bits", same ? 0.0 : 1.0, Asked::at_most, 0, ""});
}

}  // namespace bench
