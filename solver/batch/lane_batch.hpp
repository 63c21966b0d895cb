// Fits of a batch in lanes: led in f32, converged in f64, certified one by one, and re-evaluated by the
// user's own callable.
#pragma once

#include "batch/batch.hpp"
#include "batch/lane_certificate.hpp"
#include "batch/lane_minimizer.hpp"

#include <memory>
#include <vector>

namespace nlsq::inline v0 {

// Whether fits of this batch may go in lanes: many, alike, small, and asked for nothing that only one fit at
// a time can do.
bool lanes_serve(const Batch& batch);

// One thread's fits in lanes.
class LaneBatch {
 public:
  LaneBatch(const Batch& batch, BatchResult& out);

  // Fits [first, last). Those that end without a certificate are in left() afterwards, as they were before.
  void run(std::size_t first, std::size_t last);
  const std::vector<std::size_t>& left() const { return left_; }
  std::size_t done() const { return done_; }
  const KernelCounters& counters() const { return counters_; }

 private:
  struct Way {  // in one format
    Way(const Batch& batch, const LaneProblem& problem, bool single);
    std::unique_ptr<LanePass> pass;
    LaneMinimizer minimizer;
  };

  template <class End>
  void send(Way& way, const std::vector<std::size_t>& fits, End end);
  void lead(std::size_t lane);
  void converge(std::size_t lane);
  bool confirmed(std::size_t lane, std::size_t fit);
  bool confirmed_in_full(std::size_t fit);
  bool agree(double largest, double discrepancy) const;
  double* values(std::size_t fit) { return values_.data() + (fit - first_) * batch_.model.names.size(); }

  const Batch& batch_;
  BatchResult& out_;
  LaneProblem problem_;
  std::unique_ptr<Way> lead_, finish_;  // f32, where it serves; f64
  WorkerLease worker_;                  // for the callable
  std::size_t first_ = 0, done_ = 0;
  std::vector<double> values_;     // parameters fits begin with, by fit
  std::vector<LaneStart> starts_;  // by fit
  Vector arrivals_;                // steps by which fits that were led arrived, by fit
  std::vector<std::size_t> queue_, led_,
      left_;        // fits for the lanes; those of them that begin in f32; those for others
  Vector sampled_;  // data columns at the sampled rows
  std::vector<const double*> sampled_columns_;
  std::vector<Column> columns_;
  Vector x_, residuals_, sizes_;
  Linearization at_;
  LaneCertificate certificate_;
  Recheck recheck_;
  KernelCounters counters_;
};

}  // namespace nlsq::inline v0
