// Implements SharedWork.
#include "support/shared_work.hpp"

#include "support/bytes.hpp"

#include <nlsq/journal.hpp>
#include <nlsq/team.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace nlsq::inline v0 {

namespace {

std::string text_of(const SharedWork::Results& results) {
  ByteWriter out;
  out.put(results.complete);
  out.put(results.number);
  out.put_text(results.bytes);
  return std::move(out.text());
}

SharedWork::Results results_of(std::string_view text) {
  ByteReader in(text);
  SharedWork::Results out;
  out.complete = in.get<bool>();
  out.number = in.get<std::uint64_t>();
  out.bytes = in.get_text();
  return out;
}

}  // namespace

std::optional<std::string> recall_in_team(Journal& journal, Team* team, std::size_t number,
                                          std::uint64_t request) {
  std::optional<std::string> kept = journal.recall(number, request);
  if (team == nullptr || team->size() < 2) return kept;
  const std::string of_first = team->gather(kept ? "1" + *kept : "0").front();
  if (!of_first.starts_with('1')) return std::nullopt;
  return of_first.substr(1);
}

std::size_t SharedWork::size() const { return team_ ? static_cast<std::size_t>(team_->size()) : 1; }

std::pair<std::size_t, std::size_t> SharedWork::own_range(std::size_t count, std::size_t unit) const {
  const std::size_t units = std::max<std::size_t>(1, count / unit);  // the last unit also has the remaining
                                                                     // items
  const auto begin = [&](std::size_t rank) {
    const std::size_t first = units * rank / size();
    return first == units ? count : first * unit;
  };
  const auto rank = team_ ? static_cast<std::size_t>(team_->rank()) : 0;
  return {begin(rank), begin(rank + 1)};
}

void SharedWork::meet() const {
  if (divided()) team_->gather("");
}

SharedWork::Results SharedWork::compute_in_team(std::size_t count, std::size_t unit, const Compute& compute) {
  if (!divided()) return compute(0, count);
  const auto [first, last] = own_range(count, unit);
  Results mine, all;
  if (first < last) mine = compute(first, last);
  for (const std::string& text : team_->gather(text_of(mine))) {
    const Results of_process = results_of(text);
    all.complete = all.complete && of_process.complete;
    all.number += of_process.number;
    all.bytes += of_process.bytes;
  }
  return all;
}

SharedWork::Results SharedWork::run(std::uint64_t request, std::size_t count, std::size_t unit,
                                    const Compute& compute) {
  if (!journal_) return compute_in_team(count, unit, compute);
  const std::size_t number = journal_->next();
  const std::optional<std::string> kept = recall_in_team(*journal_, team_.get(), number, request);
  if (kept && journal_->compared()) return results_of(*kept);
  Results found = compute_in_team(count, unit, compute);
  if (!found.complete) return found;
  const std::string text = text_of(found);
  journal_->note_compared();
  if (!kept) journal_->keep(number, request, text);
  else if (*kept != text)
    throw JournalError(
        fmt::format("journal {}: the first fits end otherwise than they did; the model, an "
                    "option or the data have changed since, so begin anew",
                    journal_->file()));
  return found;
}

void SharedWork::in_blocks(std::size_t count, std::size_t most, std::size_t unit,
                           const std::function<void(std::size_t first, std::size_t last)>& block) const {
  const std::size_t blocks = alone() ? 1 : std::max<std::size_t>(1, count / most);
  const auto begin = [&](std::size_t b) { return b == blocks ? count : count * b / blocks / unit * unit; };
  for (std::size_t b = 0; b < blocks && count > 0; ++b) block(begin(b), begin(b + 1));
}

}  // namespace nlsq::inline v0
