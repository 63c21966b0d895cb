// Implements policy profiles: fits a sample of the data under several precision policies and compares time
// and digits.
#include <nlsq/policy_profile.hpp>

#include "support/clock.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kBlock = 512;  // consecutive rows per block of the sample
constexpr std::size_t kSample =
    1 << 20;  // large enough that fits on it sample rows as they would on all rows (start.cpp)
constexpr double kAllDigits = 16;

// A copy of blocks of rows spread evenly over a column. Columns of floats remain floats, because they are
// read faster.
class SampledColumn {
 public:
  SampledColumn(const Column& all, std::size_t rows) {
    if (all.empty() || rows >= all.size()) {
      view_ = all;
    } else if (all.type() == ElementType::f32) {
      gather(all, rows, floats_);
      view_ = floats_;
    } else {
      gather(all, rows, doubles_);
      view_ = doubles_;
    }
  }
  SampledColumn(const SampledColumn&) = delete;
  SampledColumn& operator=(const SampledColumn&) = delete;
  SampledColumn(SampledColumn&&) = default;
  const Column& column() const { return view_; }

 private:
  template <class T>
  static void gather(const Column& all, std::size_t rows, std::vector<T>& out) {
    out.resize(rows);
    const std::size_t blocks = (rows + kBlock - 1) / kBlock;
    for (std::size_t b = 0; b < blocks; ++b) {
      const std::size_t begin = b * kBlock, count = std::min(kBlock, rows - begin);
      // The block is centred in the b-th of `blocks` equal ranges of rows.
      const std::size_t middle = static_cast<std::size_t>(
          (static_cast<double>(b) + 0.5) * static_cast<double>(all.size()) / static_cast<double>(blocks));
      const std::size_t first = std::min(middle > count / 2 ? middle - count / 2 : 0, all.size() - count);
      all.read(first, count, out.data() + begin);
    }
  }

  std::vector<double> doubles_;
  std::vector<float> floats_;
  Column view_;
};

std::vector<PrecisionPolicy> policies_to_measure(const ProfileOptions& profile) {
  std::vector<PrecisionPolicy> policies = profile.policies;
  if (policies.empty()) {
    for (const PolicyAlias& alias : policy_aliases()) policies.push_back(alias.make());
  }
  std::vector<PrecisionPolicy> distinct;
  for (PrecisionPolicy& policy : policies) {
    if (std::ranges::find(distinct, policy) == distinct.end()) distinct.push_back(std::move(policy));
  }
  if (std::ranges::find(distinct, PrecisionPolicy::all_f64()) == distinct.end())
    distinct.insert(distinct.begin(), PrecisionPolicy::all_f64());
  std::vector<Violation> found;
  for (const PrecisionPolicy& policy : distinct) {
    for (Violation& v : policy.validate()) found.push_back(std::move(v));
  }
  if (!found.empty()) throw ValidationError(std::move(found));
  return distinct;
}

double digits_in_common(const FitResult& fit, const FitResult& f64) {
  double digits = kAllDigits;
  for (std::size_t j = 0; j < fit.parameters.size(); ++j) {
    const double a = fit.parameters[j], b = f64.parameters[j], error = f64.standard_errors[j];
    if (a == b) continue;
    const double size = std::max(std::fabs(b), std::isfinite(error) ? error : 0.0);
    digits = std::min(digits, -std::log10(std::fabs(a - b) / size));
  }
  return std::isnan(digits) ? 0 : std::clamp(digits, 0.0, kAllDigits);
}

// Fits one sample under one policy after another.
class Profiler {
 public:
  Profiler(const FitFunction& fit, const Columns& x, const Column& y, const FitOptions& options,
           const ProfileOptions& profile)
      : fit_(fit), options_(options), profile_(profile), rows_(y.size()) {
    const auto check = [this](const Column& column, const char* what) {
      if (!column.empty() && column.size() != rows_) {
        throw DataError(
            fmt::format("{} has {} rows, y has {}: give columns of one length", what, column.size(), rows_));
      }
    };
    for (const Column& column : x.list()) check(column, "x");
    check(options.sigma, "sigma");
    if (!options.sigma_matrix.empty())
      throw ValidationError("sigma_matrix: policies are measured on rows that are independent; leave it out");
    sampled_ = std::min(rows_, profile.rows > 0 ? profile.rows : kSample);
    for (const Column& column : x.list()) x_.emplace_back(column, sampled_);
    y_.emplace_back(y, sampled_);
    sigma_.emplace_back(options.sigma, sampled_);
    options_.sigma = sigma_.front().column();
    for (std::size_t k = 0; k < options.sigma_x.size(); ++k) {
      check(options.sigma_x[k], "sigma_x");
      sigma_x_.emplace_back(options.sigma_x[k], sampled_);
      options_.sigma_x[k] = sigma_x_.back().column();
    }
  }

  PolicyProfile run(const std::vector<PrecisionPolicy>& policies) {
    PolicyProfile out{rows_, sampled_, {}, false};
    const auto begin = Clock::now();
    const FitResult reference = fit(PrecisionPolicy::all_f64());  // not timed, because it also fills caches
    for (int round = 0; round < std::max(1, profile_.repeats) && !out.stopped; ++round) {
      if (round > 0 && seconds_since(begin) > profile_.seconds) break;
      for (std::size_t i = 0; i < policies.size() && !out.stopped; ++i) {
        const FitResult result = fit(policies[i]);
        out.stopped = result.summary.termination == Termination::user_stop;
        if (out.stopped) break;
        if (round == 0) out.policies.push_back(measurement(policies[i], result, reference));
        else out.policies[i].seconds = std::min(out.policies[i].seconds, result.summary.time.total);
      }
    }
    return out;
  }

 private:
  FitResult fit(const PrecisionPolicy& policy) {
    std::vector<Column> columns;
    for (const SampledColumn& column : x_) columns.push_back(column.column());
    options_.precision = policy;
    // Scales the threshold so that the sample enters low precision when all rows would.
    options_.precision->thresholds.entry_work *=
        static_cast<double>(sampled_) / static_cast<double>(std::max<std::size_t>(1, rows_));
    return fit_(Columns(std::move(columns)), y_.front().column(), options_);
  }

  PolicyMeasurement measurement(const PrecisionPolicy& policy, const FitResult& result,
                                const FitResult& f64) const {
    const Summary& s = result.summary;
    const KernelCounters& k = s.precision.counters;
    PolicyMeasurement m;
    m.policy = policy.to_string();
    m.seconds = s.time.total;
    m.peak_bytes = s.peak_bytes;
    m.digits = digits_in_common(result, f64);
    m.issues = s.precision.issues.size();
    m.escalations = s.precision.escalations;
    m.below_f64 =
        k.rows_f32 == 0 ? 0 : static_cast<double>(k.rows_f32) / static_cast<double>(k.rows_f32 + k.rows_f64);
    m.certified = result.success();
    m.status = name(s.verdict);
    return m;
  }

  const FitFunction& fit_;
  FitOptions options_;
  const ProfileOptions& profile_;
  std::size_t rows_, sampled_ = 0;
  std::vector<SampledColumn> x_, y_, sigma_, sigma_x_;
};

std::string bytes(std::size_t n) {
  if (n < 10 * 1024) return fmt::format("{} B", n);
  if (n < 10 * 1024 * 1024) return fmt::format("{} KiB", n / 1024);
  return fmt::format("{} MiB", n / 1024 / 1024);
}

std::string duration(double s) {
  return s < 1e-3 ? fmt::format("{:.0f} µs", s * 1e6)
         : s < 1  ? fmt::format("{:.2f} ms", s * 1e3)
                  : fmt::format("{:.2f} s", s);
}

// Pads a text to a width. "µ" is two bytes but one column.
std::string padded(const std::string& text, std::size_t width) {
  const std::size_t columns = text.size() - (text.find("µ") != std::string::npos ? 1 : 0);
  return std::string(columns < width ? width - columns : 0, ' ') + text;
}

}  // namespace

std::string PolicyProfile::table() const {
  std::size_t widest = 6;
  double f64 = kNaN;
  for (const PolicyMeasurement& m : policies) {
    widest = std::max(widest, m.policy.size());
    if (m.policy == "f64") f64 = m.seconds;
  }
  std::string out = sampled == rows ? fmt::format("Policies, on all {} rows\n", rows)
                                    : fmt::format("Policies, on a sample of {} of {} rows\n", sampled, rows);
  out += fmt::format("  {:<{}} {:>10} {:>7} {:>12} {:>7} {:>11} {:>7} {:>10}  {}\n", "policy", widest, "time",
                     "speed", "peak memory", "issues", "escalations", "digits", "below f64", "status");
  for (const PolicyMeasurement& m : policies) {
    out += fmt::format("  {:<{}} {} {:>7.2f} {:>12} {:>7} {:>11} {:>7.1f} {:>8.0f} %  {}\n", m.policy, widest,
                       padded(duration(m.seconds), 10), f64 / m.seconds, bytes(m.peak_bytes), m.issues,
                       m.escalations, m.digits, 100 * m.below_f64, m.status);
  }
  if (stopped) out += "  stopped: other policies were not measured\n";
  return out;
}

PolicyProfile profile_policies(const FitFunction& fit, const Columns& x, const Column& y,
                               const FitOptions& options, const ProfileOptions& profile) {
  const FpEnvironment environment;
  const std::vector<PrecisionPolicy> policies = policies_to_measure(profile);
  return Profiler(fit, x, y, options, profile).run(policies);
}

OptimizedPolicy optimize_policy(const PrecisionObjective& objective, const FitFunction& fit, const Columns& x,
                                const Column& y, const FitOptions& options, const ProfileOptions& profile) {
  const FpEnvironment environment;
  const std::vector<PrecisionPolicy> policies = policies_to_measure(profile);
  OptimizedPolicy out;
  out.profile = Profiler(fit, x, y, options, profile).run(policies);
  const bool compared = std::ranges::find(out.profile.policies, "f64", &PolicyMeasurement::policy) !=
                        out.profile.policies.end();
  if (!compared) {  // stopped before the reference was measured
    out.text = out.policy.to_string();
    out.met = !objective.target;
    out.message = fmt::format("{}: stopped before policies were measured; '{}' is the default",
                              objective.to_string(), out.text);
    return out;
  }
  PolicyChoice choice = choose_policy(out.profile.policies, objective);
  out.policy = policies[choice.index];
  out.text = out.profile.policies[choice.index].policy;
  out.met = choice.met;
  out.message =
      fmt::format("{} ({} {} rows)", choice.message,
                  out.profile.sampled == out.profile.rows ? "on all" : "on a sample of", out.profile.sampled);
  return out;
}

}  // namespace nlsq::inline v0
