// Implements how DenseEvaluator stores the sums of its passes in a journal, and reads them from there when a
// fit is repeated.
#include "dense/dense_pass.hpp"

#include "dense/tile_issues.hpp"
#include "support/bytes.hpp"
#include "support/shared_work.hpp"

#include <nlsq/journal.hpp>
#include <nlsq/team.hpp>

#include <fmt/format.h>

#include <utility>

namespace nlsq::inline v0 {

// Identifies what a pass computes, apart from the model and the data.
std::uint64_t DenseEvaluator::request_of(const Pass& pass) const {
  ByteHash hash;
  for (const std::span<const double> values : {pass.x, pass.beside, pass.direction, pass.moved}) {
    hash.add_value(values.size());
    for (const double v : values) hash.add_value(v);
  }
  const auto add_plan = [&](const PrecisionPlan& plan) {
    hash.add_value(plan.residual);
    hash.add_value(plan.gram);
  };
  add_plan(pass.plan);
  for (const PrecisionPlan& plan : raised_) add_plan(plan);
  hash.add_value(pass.beside_format);
  hash.add_value(pass.fill);
  hash.add_value(pass.gradient);
  hash.add_value(model_.rows());
  return hash.value();
}

// Takes the sums of a pass from the journal if it has them. The first pass is computed again and compared,
// because the model, the loss or the user's function may have changed.
DenseEvaluator::Sums& DenseEvaluator::accumulate_kept(const Pass& pass) {
  Journal& journal = *parallelism_.journal;
  const std::size_t number = journal.next();
  const std::uint64_t request = request_of(pass);
  const std::optional<std::string> kept = recall_in_team(journal, parallelism_.team.get(), number, request);
  if (kept && journal.compared()) return take_kept(pass, *kept);
  const KernelCounters before = counters_;
  const std::vector<KernelCounters> parts_before = component_counters_;
  Sums& sums = accumulate_now(pass);
  Account account;
  account.merging = counters_.since(before);
  account.parts = component_counters_;
  for (std::size_t k = 0; k < parts_before.size(); ++k)
    account.parts[k] = account.parts[k].since(parts_before[k]);
  account.issues = found_;
  ByteWriter out;
  account.put(out);
  sums.put(out);
  journal.note_compared();
  if (!kept) journal.keep(number, request, out.text());
  else if (*kept != out.text())
    throw JournalError(
        fmt::format("journal {}: the first pass over the rows gives other sums than it did; the model, an "
                    "option or the data have changed since, so begin anew",
                    journal.file()));
  return sums;
}

DenseEvaluator::Sums& DenseEvaluator::take_kept(const Pass& pass, std::string_view bytes) {
  if (survey_) survey_alone(pass);
  ByteReader in(bytes);
  Account account;
  account.add(in);
  sums_.resize(1);
  sums_.front().take(in);
  counters_.add(account.merging);
  component_counters_.resize(model_.components().size());
  for (std::size_t c = 0; c < component_counters_.size(); ++c) component_counters_[c].add(account.parts[c]);
  for (const PrecisionIssue& issue : account.issues) add_issue(issues_, issue);
  work_ += work_of(pass, row_work(pass));
  return sums_.front();
}

// Surveys the data as the pass would have done: chunk by chunk, so that the result has the same bits.
void DenseEvaluator::survey_alone(const Pass& pass) {
  const Share all = all_chunks(pass);
  const auto survey = std::exchange(survey_, nullptr);
  survey->start(all.chunks);
  run_tasks(all.chunks, parallelism_, [&](std::size_t c) {
    survey->look(c, first_row(all, c), first_row(all, c + 1) - first_row(all, c));
  });
  survey->finish();
}

}  // namespace nlsq::inline v0
