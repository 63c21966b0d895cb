// LaneBatch makes the fits of a batch in lanes. f32 brings them near the optimum and f64 converges them. Each
// is certified and re-evaluated by the user's own callable. curve_fit_batch uses it.
#pragma once

#include "batch/batch.hpp"
#include "batch/lane_minimizer.hpp"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// Holds the certificate of a fit that was done in a lane. It contains the results of those tests of
// certificate.hpp for which the normal equations suffice.
struct LaneCertificate {
  double condition = 0;        // κ₀, 1-norm
  double decrement_sigma = 0;  // ν₀/σ
  double step = 0;             // ‖D s₀‖ / ‖D x‖
  Vector variances;            // diagonal of (JᵀJ)⁻¹
};

// Returns true if so many fits, each of so many rows and `free` parameters, can run in lanes: many small fits
// without options that only single fits support. settled() must have been applied to the options.
bool lanes_take(const FitOptions& options, std::size_t fits, std::size_t rows, std::size_t free);
// Returns true if the fits of this batch can run in lanes. They also need one length, and no bounds, losses
// or ties.
bool lanes_serve(const Batch& batch);

// Runs the fits of one thread in lanes.
class LaneBatch {
 public:
  LaneBatch(const Batch& batch, BatchResult& out);

  // Runs fits [first, last). Those that end without a certificate, and those whose data are wrong, are in
  // left() afterwards, with their parameters reset.
  void run(std::size_t first, std::size_t last);
  const std::vector<std::size_t>& left() const { return left_; }
  std::size_t done() const { return done_; }
  // Returns the warnings of fits with success in the last run, by fit.
  const std::map<std::size_t, std::string>& warnings() const { return warnings_; }
  const KernelCounters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kSampledRows = 8;  // rows of every fit that the callable re-evaluates

  struct Way {  // the lanes of one format
    Way(const Batch& batch, const LaneProblem& problem, bool single);
    std::unique_ptr<LanePass> pass;
    LaneMinimizer minimizer;
  };

  template <class End>
  void send(Way& way, const std::vector<std::size_t>& fits, End end);
  void fetch(std::size_t fit) const;
  void lead(std::size_t lane);
  void converge(std::size_t lane);
  bool some_unmoved(std::size_t fit) const;
  bool improved(std::size_t lane, std::size_t fit);
  void set_worker(std::size_t fit);
  bool confirmed(std::size_t lane, std::size_t fit);
  bool confirmed_in_full(std::size_t fit);
  bool agree(double largest, double discrepancy) const;
  double* values(std::size_t fit) { return values_.data() + (fit - first_) * batch_.model.names.size(); }

  const Batch& batch_;
  BatchResult& out_;
  LaneProblem problem_;
  std::unique_ptr<Way> lead_, finish_;  // f32, if it is used; f64
  WorkerLease worker_;                  // for the callable
  std::vector<std::size_t> some_rows_;  // the rows by which columns are judged
  bool seen_ = false;                   // f32 is used and distinguishes the values of all shared columns
  std::size_t first_ = 0, done_ = 0;
  std::vector<double> values_;     // starting parameters, by fit
  std::vector<LaneStart> starts_;  // by fit
  Vector arrivals_;                // the step by which each f32 fit reached its end, by fit
  // Fits for the lanes; those of them that begin in f32; and those to be fitted singly.
  std::vector<std::size_t> queue_, led_, left_;
  std::map<std::size_t, std::string> warnings_;
  Vector sampled_;  // data columns at the sampled rows
  std::vector<const double*> sampled_columns_;
  std::vector<Column> columns_;
  Vector x_, residuals_, sizes_;
  std::array<double, kSampledRows> of_lane_;  // residuals at the sampled rows
  Linearization at_;
  CertificateTests tests_;
  LaneCertificate certificate_;
  Recheck recheck_;
  KernelCounters counters_;
};

}  // namespace nlsq::inline v0
