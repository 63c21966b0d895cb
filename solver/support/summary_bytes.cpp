// Implements put_summary() and take_summary(). One list of fields is used for both.
#include "support/bytes.hpp"

#include <nlsq/summary.hpp>

#include <type_traits>

namespace nlsq::inline v0 {

namespace {

template <class T, class Owner>
concept Is = std::is_same_v<std::remove_const_t<T>, Owner>;

void all_of(auto& visit, auto&... fields) { (visit(fields), ...); }

void fields_of(Is<PrecisionIssue> auto& i, auto& visit) {
  all_of(visit, i.iteration, i.operation, i.format, i.nan, i.inf, i.near_limit, i.rows, i.component);
}

void fields_of(Is<ComponentSummary> auto& c, auto& visit) {
  all_of(visit, c.name, c.rows, c.escalations, c.counters);
}

void fields_of(Is<PrecisionSummary> auto& p, auto& visit) {
  all_of(visit, p.policy, p.escalations, p.issues, p.counters, p.components);
}

void fields_of(Is<IterationSummary> auto& i, auto& visit) {
  all_of(visit, i.iteration, i.cost, i.gradient_norm, i.decrement_sigma, i.step_norm, i.lambda, i.rho, i.plan,
         i.rows, i.counters, i.condition, i.linear_iterations, i.outcome, i.event, i.reason, i.components);
}

void fields_of(Is<Certificate> auto& c, auto& visit) {
  all_of(visit, c.passed, c.verdict, c.governed_by, c.cost, c.gradient_norm, c.gradient_bound,
         c.decrement_sigma, c.step, c.last_step, c.condition, c.rank, c.confounded, c.at_bound,
         c.covariance_error, c.qr, c.rechecked_rows, c.recheck_discrepancy, c.recheck_passed, c.wrong_column,
         c.wrong_loss, c.jacobian_difference);
}

void fields_of(Is<Summary> auto& s, auto& visit) {
  all_of(visit, s.termination, s.verdict, s.message, s.initial_cost, s.final_cost, s.iterations,
         s.certificate, s.precision, s.time, s.counted_work, s.accepted, s.rejected, s.eliminated,
         s.step_solver, s.linear_iterations, s.threads, s.kernel, s.evaluator, s.evaluator_note,
         s.peak_bytes);
}

class SummaryWriter {
 public:
  explicit SummaryWriter(ByteWriter& out) : out_(out) {}
  template <class T>
  void operator()(const T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) out_.put(value);
    else if constexpr (std::is_same_v<T, std::string>) out_.put_text(value);
    else fields_of(value, *this);
  }
  template <class T>
  void operator()(const std::vector<T>& values) {
    out_.put(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) (*this)(value);
  }

 private:
  ByteWriter& out_;
};

class SummaryReader {
 public:
  explicit SummaryReader(ByteReader& in) : in_(in) {}
  template <class T>
  void operator()(T& value) {
    if constexpr (std::is_trivially_copyable_v<T>) value = in_.get<T>();
    else if constexpr (std::is_same_v<T, std::string>) value = in_.get_text();
    else fields_of(value, *this);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    for (auto left = in_.get<std::uint64_t>(); left > 0; --left) (*this)(values.emplace_back());
  }

 private:
  ByteReader& in_;
};

}  // namespace

void put_summary(const Summary& summary, ByteWriter& out) { SummaryWriter{out}(summary); }

Summary take_summary(ByteReader& in) {
  Summary summary;
  SummaryReader{in}(summary);
  return summary;
}

}  // namespace nlsq::inline v0
