// Implements how the processes of a team share a pass of DenseEvaluator: each sums some blocks of chunks, and
// they exchange the sums, the counters and the results of the data survey.
#include "dense/dense_pass.hpp"

#include "dense/tile_issues.hpp"
#include "support/bytes.hpp"

#include <nlsq/team.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

constexpr double kSharedWork = 4 * kThreadWork;  // in f64 adds; an exchange takes longer than less work
// More blocks divide the rows more evenly; fewer make shorter messages.
constexpr std::size_t kBlocksPerProcess = 64;

// This header is exchanged first, so that processes notice if they are not doing the same work.
struct Head {
  std::uint64_t request = 0, blocks = 0;
  bool failed = false, finite = true;
  TileRange culprit;
};

void put_issues(const std::vector<PrecisionIssue>& issues, ByteWriter& out) {
  out.put(static_cast<std::uint64_t>(issues.size()));
  for (const PrecisionIssue& issue : issues) {
    out.put(issue.operation);
    out.put(issue.format);
    for (const std::size_t count : {issue.nan, issue.inf, issue.near_limit, issue.rows}) out.put(count);
    out.put_text(issue.component);
  }
}

void take_issues_from(ByteReader& in, std::vector<PrecisionIssue>& issues) {
  for (auto count = in.get<std::uint64_t>(); count > 0; --count) {
    PrecisionIssue issue;
    issue.operation = in.get<Operation>();
    issue.format = in.get<Format>();
    for (std::size_t* field : {&issue.nan, &issue.inf, &issue.near_limit, &issue.rows})
      *field = in.get<std::size_t>();
    issue.component = in.get_text();
    add_issue(issues, issue);
  }
}

}  // namespace

void DenseEvaluator::Sums::put(ByteWriter& out) const {
  out.put(finite);
  out.put(squares_beside);
  out.put_all(std::span<const double>(packed));
  out.put(triangle.rows());
  out.put_all(std::span<const double>(triangle.data(), triangle.rows() * triangle.columns()));
  out.put_all(std::span<const std::size_t>(redone));
}

void DenseEvaluator::Sums::take(ByteReader& in) {
  finite = in.get<bool>();
  squares_beside = in.get<double>();
  packed = in.get_all<double>();
  const auto rows = in.get<std::size_t>();
  const std::vector<double> entries = in.get_all<double>();
  if (rows > entries.size() || rows * rows != entries.size()) throw Error("sums of a pass are damaged");
  triangle.assign(rows, rows);
  std::ranges::copy(entries, triangle.data());
  redone = in.get_all<std::size_t>();
  issues.clear();
}

void DenseEvaluator::Account::put(ByteWriter& out) const {
  out.put_all(std::span<const KernelCounters>(parts));
  out.put(merging);
  put_issues(issues, out);
}

void DenseEvaluator::Account::add(ByteReader& in) {
  const std::vector<KernelCounters> others = in.get_all<KernelCounters>();
  parts.resize(std::max(parts.size(), others.size()));
  for (std::size_t k = 0; k < others.size(); ++k) parts[k].add(others[k]);
  merging.add(in.get<KernelCounters>());
  take_issues_from(in, issues);
}

// Returns the blocks that this process sums: those whose first rows lie in its part of the rows.
DenseEvaluator::Share DenseEvaluator::share_of_team(const Share& all, double work) const {
  const Team* const team = parallelism_.team.get();
  const std::size_t chunks = all.chunks;
  Share share = all;
  if (team == nullptr || team->size() < 2 || chunks < 2 || work < kSharedWork) return share;
  share.block = 1;
  while (chunks / share.block > kBlocksPerProcess * static_cast<std::size_t>(team->size())) share.block *= 2;
  const std::size_t blocks = (chunks + share.block - 1) / share.block;
  const auto first_block = [&](int rank) {
    if (rank == 0) return std::size_t{0};
    if (rank == team->size()) return blocks;
    const std::size_t row = team->first_row(rank, model_.rows());
    std::size_t low = 0, high = blocks;
    while (low < high) {
      const std::size_t middle = (low + high) / 2;
      if (first_row(all, middle * share.block) < row) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  share.begin = std::min(chunks, first_block(team->rank()) * share.block);
  share.end = std::min(chunks, first_block(team->rank() + 1) * share.block);
  return share;
}

// Sends the sums of this process's blocks to the others and receives theirs. `account` becomes that of all
// processes. `failure` says why this process has no sums; it is null if it has them.
void DenseEvaluator::exchange(const Share& share, const Pass& pass, Account& account, const char* failure) {
  const std::uint64_t request = request_of(pass);
  ByteWriter mine;
  const std::size_t own = share.end - share.begin;
  mine.put(Head{request, (own + share.block - 1) / share.block, failure != nullptr, account.finite,
                account.culprit});
  mine.put_text(failure == nullptr ? "" : failure);
  account.put(mine);
  if (failure == nullptr && account.finite)
    for (std::size_t c = share.begin; c < share.end; c += share.block) sums_[c].put(mine);
  if (survey_) mine.put_text(survey_->seen(share.begin, failure == nullptr ? share.end : share.begin));
  const std::vector<std::string> all = parallelism_.team->gather(mine.text());
  if (failure != nullptr) return;  // the other processes have been informed

  account = {};
  std::size_t chunk = 0;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    ByteReader in(all[rank]);
    const auto head = in.get<Head>();
    const std::string reason = in.get_text();
    if (head.request != request)
      throw Error("the processes of a team do different work: give all of them the same arguments");
    if (head.failed) throw Error(fmt::format("process {} of the team failed: {}", rank, reason));
    account.add(in);
    if (!head.finite && account.finite) {
      account.finite = false;
      account.culprit = head.culprit;
    }
    const std::size_t begin = chunk;
    for (std::uint64_t k = 0; k < head.blocks; ++k, chunk += share.block) {
      if (chunk >= share.chunks) throw Error("the processes of a team divide the rows in different ways");
      if (head.finite) sums_[chunk].take(in);
    }
    if (survey_) survey_->take_seen(begin, std::min(chunk, share.chunks), in.get_text());
  }
  if (chunk < share.chunks) throw Error("the processes of a team divide the rows in different ways");
  if (!account.finite) sums_.front().restart(pass, static_cast<std::size_t>(parameters()) + 1, 1);
}

}  // namespace nlsq::inline v0
