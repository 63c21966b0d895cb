// curve_fit_groups: finds the start of each group, fits groups of one length in lanes and the others singly.
#include <nlsq/groups.hpp>

#include "batch/batch.hpp"
#include "batch/group_rows.hpp"
#include "batch/group_starts.hpp"
#include "batch/joint_solve.hpp"
#include "batch/lane_batch.hpp"
#include "dense/data_survey.hpp"
#include "fit/fit_setup.hpp"
#include "fit/kept_data.hpp"
#include "fit/prepared_impl.hpp"
#include "fit/solve.hpp"
#include "support/bytes.hpp"
#include "support/constants.hpp"
#include "support/fp_environment.hpp"
#include "support/parallel.hpp"
#include "support/shared_work.hpp"

#include <nlsq/curve_fit_batch.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kOwnThreads = std::size_t{1} << 17;  // rows from which a fit fills all threads itself
constexpr std::size_t kChunk = 64;                         // groups of a task that only prepares or sums up
constexpr std::size_t kUnit = 64;              // groups that remain together: lanes check each 64th in full
constexpr std::size_t kGroupsOfRecord = 8192;  // groups in lanes between two records of a journal
constexpr std::size_t kSinglesOfRecord = 64;   // the same for groups that are fitted singly
// Without a journal, records have this many times as many groups, because processes wait for each other after
// every block.
constexpr std::size_t kWithoutJournal = 16;

// Holds the positions of the columns of a fit among all columns of the table.
struct Layout {
  std::size_t predictors = 0;
  bool sigma = false;
  std::size_t sigma_x = 0;

  std::size_t y() const { return predictors; }
};

class GroupFits {
 public:
  GroupFits(const PreparedModel& model, const Columns& x, const Column& y, const Column& group,
            const NamedValues& p0, const GroupOptions& options)
      : model_(model), impl_(model.impl()), options_(options), work_(options), parallelism_(options),
        ties_(impl_.names, options.ties, options.fixed), starts_(impl_, p0, options, ties_),
        free_(free_parameters(impl_.names, options.fixed, ties_,
                              limits_of(options.bounds, impl_.names, ties_))),
        layout_{x.size(), !options.sigma.empty(), options.sigma_x.size()}, groups_(group),
        rows_(groups_, columns_of(x, y, options), parallelism_, work_.divided()),
        records_(options.journal ? 1 : kWithoutJournal) {
    check_starts(p0, impl_.names, ties_);
    work_.meet();
    if (options.journal) {
      std::vector<Column> columns = columns_of(x, y, options);
      std::erase_if(columns, [](const Column& column) { return column.empty(); });
      columns.push_back(group);
      check_kept_data(MemoryRows(columns), options);
      std::vector<double> start;  // a file of starts may have changed
      for (const auto& named : p0) start.push_back(named.second);
      ByteHash hash;
      add_numbers(start, hash);
      check_kept_hash(hash.value(), options);
    }
    static_cast<Parallelism&>(options_) = {.threads = options.threads, .executor = options.executor};
    make_room();
  }

  GroupsResult run() {
    look_for_starts();
    std::map<std::size_t, std::vector<std::size_t>> of_length;
    std::vector<std::size_t> single;
    for (std::size_t k = 0; k < groups_.size(); ++k) of_length[groups_.rows(k)].push_back(k);
    std::erase_if(of_length, [&](const auto& entry) {
      const auto& [rows, members] = entry;
      if (in_batch(rows, members.size())) return false;
      single.insert(single.end(), members.begin(), members.end());
      return true;
    });
    for (const auto& [rows, members] : of_length) fit_batch(members, single);
    std::sort(single.begin(), single.end());
    fit_singly(single);
    for (const Verdict v : out_.verdict) out_.succeeded += is_success(v) ? 1 : 0;
    return std::move(out_);
  }

 private:
  // Returns the predictors, y, sigma and the sigmas of x.
  static std::vector<Column> columns_of(const Columns& x, const Column& y, const GroupOptions& options) {
    std::vector<Column> columns = x.list();
    columns.push_back(y);
    if (!options.sigma.empty()) columns.push_back(options.sigma);
    columns.insert(columns.end(), options.sigma_x.begin(), options.sigma_x.end());
    return columns;
  }

  // Looks for starting values in the largest group if parameters of a formula have none. In a team this is
  // not possible, because no process has all rows.
  void look_for_starts() {
    if (starts_.unstarted().empty() || !work_.alone()) return;
    std::size_t largest = 0;
    for (std::size_t k = 1; k < groups_.size(); ++k)
      if (groups_.rows(k) > groups_.rows(largest)) largest = k;
    if (groups_.rows(largest) > kOwnThreads) return;  // so large a group would be fitted twice
    starts_.look_in(x_of(largest), y_of(largest), options_of(largest, options_));
  }

  void make_room() {
    const std::size_t count = groups_.size(), n = impl_.names.size();
    out_.parameter_names = impl_.names;
    out_.parameters = Matrix(count, n, kNaN);
    out_.standard_errors = Matrix(count, n);
    out_.at_bound.assign(count * n, 0);
    out_.first_row = groups_.first_row();
    for (std::size_t k = 0; k < count; ++k) {
      out_.rows.push_back(groups_.rows(k));
      out_.dof.push_back(
          static_cast<std::ptrdiff_t>(groups_.rows(k) - std::min(groups_.rows(k), free_.size())));
      for (const int j : free_) out_.standard_errors(k, static_cast<std::size_t>(j)) = kNaN;
    }
    for (auto* values : {&out_.cost, &out_.rss, &out_.r_squared, &out_.decrement_sigma})
      values->assign(count, kNaN);
    out_.verdict.assign(count, Verdict::failed);
    out_.termination.assign(count, Termination::failure);
    out_.iterations.assign(count, 0);
    out_.message.assign(count, {});
    out_.warnings.assign(count, {});
  }

  Column part(std::size_t column, std::size_t k) const { return rows_.part(column, k); }
  Columns x_of(std::size_t k) const {
    std::vector<Column> x;
    for (std::size_t c = 0; c < layout_.predictors; ++c) x.push_back(part(c, k));
    return Columns(std::move(x));
  }
  Column y_of(std::size_t k) const { return part(layout_.y(), k); }
  Column sigma_of(std::size_t k) const { return layout_.sigma ? part(layout_.y() + 1, k) : Column(); }

  // Returns true if lanes can fit these groups, and fit_in_lanes() computes every statistic of theirs.
  bool in_batch(std::size_t rows, std::size_t count) const {
    const bool plain = options_.loss.is_linear() && ties_.empty() && options_.bounds.empty() &&
                       layout_.sigma_x == 0 && options_.starts == 1 && !free_.empty() &&
                       !(impl_.formula && impl_.formula->has_left_side);
    if (!plain || !impl_.has_programs()) return false;
    FitOptions options = options_;
    static_cast<SolverOptions&>(options) = settled(options_);
    return lanes_take(options, count, rows, free_.size());
  }

  void for_chunks(std::size_t count, const std::function<void(std::size_t)>& one) const {
    run_tasks((count + kChunk - 1) / kChunk, parallelism_, [&](std::size_t t) {
      const FpEnvironment environment;
      for (std::size_t i = t * kChunk; i < std::min(count, (t + 1) * kChunk); ++i) one(i);
    });
  }

  // `warnings` are those of the first guesses.
  Matrix own_starts(std::span<const std::size_t> members, std::vector<std::string>& warnings) const {
    Matrix start(members.size(), impl_.names.size());
    warnings.resize(members.size());
    for_chunks(members.size(), [&](std::size_t i) {
      const std::vector<double> values =
          starts_.of(x_of(members[i]), y_of(members[i]), sigma_of(members[i]), warnings[i]);
      std::copy(values.begin(), values.end(), &start(i, 0));
    });
    return start;
  }

  BatchResult fit_in_batch(std::span<const std::size_t> members, const Matrix& start) const {
    const auto columns = [&](std::size_t column) {
      std::vector<Column> parts;
      parts.reserve(members.size());
      for (const std::size_t k : members) parts.push_back(part(column, k));
      return ColumnPerFit(std::move(parts));
    };
    std::vector<ColumnPerFit> x;
    for (std::size_t c = 0; c < layout_.predictors; ++c) x.push_back(columns(c));
    BatchOptions options = options_;
    options.sigma = {};
    if (layout_.sigma) options.sigma_per_fit = columns(layout_.y() + 1);
    return fit_in_lanes(model_, x, columns(layout_.y()), start, options);
  }

  // Fits groups of one length, each from its own start. Those that the lanes do not certify are added to
  // `single`: curve_fit certifies them, or explains why it cannot.
  void fit_batch(const std::vector<std::size_t>& members, std::vector<std::size_t>& single) {
    work_.in_blocks(members.size(), records_ * kGroupsOfRecord, kUnit,
                    [&](std::size_t first, std::size_t last) {
                      const std::span block = std::span(members).subspan(first, last - first);
                      out_.in_lanes += share(block, kUnit, [&](auto mine) { return fit_block(mine); });
                      const std::size_t before = single.size();
                      for (const std::size_t k : block) {
                        if (!is_success(out_.verdict[k])) single.push_back(k);
                      }
                      tell(block.size() - (single.size() - before));
                    });
  }

  // Fits a block of groups. Returns how many were fitted in lanes.
  std::size_t fit_block(std::span<const std::size_t> block) {
    std::vector<std::string> of_guesses;
    const BatchResult fits = fit_in_batch(block, own_starts(block, of_guesses));
    for_chunks(block.size(), [&](std::size_t i) { take(fits, i, block[i], of_guesses[i]); });
    return fits.in_lanes;
  }

  // Fits these groups, here and in the other processes, or takes their results from the journal. `fit` fits
  // the given groups, and returns how many of them were fitted in lanes.
  std::size_t share(std::span<const std::size_t> block, std::size_t unit,
                    const std::function<std::size_t(std::span<const std::size_t>)>& fit) {
    if (work_.alone()) return fit(block);
    const auto [begin, end] = work_.own_range(block.size(), unit);
    rows_.load(block.subspan(begin, end - begin));
    work_.meet();
    const SharedWork::Results results =
        work_.run(request_of(block), block.size(), unit, [&](std::size_t first, std::size_t last) {
          const std::span mine = block.subspan(first, last - first);
          const std::size_t in_lanes = fit(mine);
          return SharedWork::Results{in_lanes, group_bytes(out_, mine)};
        });
    take_group_bytes(results.bytes, block, out_);
    return results.number;
  }

  // Identifies the fits of these groups. A joint fit makes two fits of every group, which differ in the free
  // parameters.
  std::uint64_t request_of(std::span<const std::size_t> groups) const {
    ByteHash hash;
    hash.add_value(kGroupFormat);
    for (const int j : free_) hash.add_value(j);
    for (const std::size_t k : groups) hash.add_value(k);
    return hash.value();
  }

  void take(const BatchResult& fits, std::size_t i, std::size_t k, const std::string& of_guess) {
    for (std::size_t j = 0; j < impl_.names.size(); ++j) {
      out_.parameters(k, j) = fits.parameters(i, j);
      out_.standard_errors(k, j) = fits.standard_errors(i, j);
    }
    out_.cost[k] = fits.cost[i];
    out_.rss[k] = 2 * fits.cost[i];
    const double* const sigma = layout_.sigma ? part(layout_.y() + 1, k).direct_f64(0) : nullptr;
    const double total = total_squares(y_of(k).direct_f64(0), sigma, groups_.rows(k));
    out_.r_squared[k] = total > 0 ? 1 - out_.rss[k] / total : kNaN;
    out_.decrement_sigma[k] = fits.decrement_sigma[i];
    out_.verdict[k] = fits.verdict[i];
    out_.termination[k] = fits.termination[i];
    out_.iterations[k] = fits.iterations[i];
    std::vector<std::string> warnings;
    if (fits.warnings.contains(i)) warnings.push_back(fits.warnings.at(i));
    if (!of_guess.empty()) warnings.push_back(of_guess);
    if (is_success(fits.verdict[i])) warn(k, std::move(warnings));
  }

  // Stores the warnings of a group that succeeded.
  void warn(std::size_t k, std::vector<std::string> warnings) {
    if (!starts_.warning_of_fixed().empty()) warnings.push_back(starts_.warning_of_fixed());
    out_.warnings[k] = fmt::format("{}", fmt::join(warnings, "; "));
  }

  void fit_singly(const std::vector<std::size_t>& single) {
    work_.in_blocks(single.size(), records_ * kSinglesOfRecord, 1, [&](std::size_t first, std::size_t last) {
      const std::span block = std::span(single).subspan(first, last - first);
      std::size_t here = 0;
      share(block, 1, [&](auto mine) {
        fit_here(mine);
        here = mine.size();
        return std::size_t{0};
      });
      tell(block.size() - here);
    });
  }

  // Fits these groups singly. Large groups follow each other, and each uses all threads. Small ones share the
  // threads.
  void fit_here(std::span<const std::size_t> single) {
    std::vector<std::size_t> small;
    for (const std::size_t k : single) {
      if (groups_.rows(k) < kOwnThreads) small.push_back(k);
      else fit_one(k, options_);
    }
    FitOptions on_one_thread = options_;
    on_one_thread.threads = 1;
    on_one_thread.executor = {};
    run_tasks(small.size(), parallelism_, [&](std::size_t i) {
      const FpEnvironment environment;
      fit_one(small[i], on_one_thread);
    });
  }

  void tell(std::size_t fitted) const {
    if (options_.progress && fitted > 0) options_.progress(fitted, groups_.size());
  }

  FitOptions options_of(std::size_t k, FitOptions options) const {
    options.sigma = sigma_of(k);
    for (std::size_t c = 0; c < layout_.sigma_x; ++c) {
      if (!options.sigma_x[c].empty())
        options.sigma_x[c] = part(layout_.y() + (layout_.sigma ? 2 : 1) + c, k);
    }
    return options;
  }

  void fit_one(std::size_t k, const FitOptions& of_all) {
    const FitOptions options = options_of(k, of_all);
    const Columns x = x_of(k);
    std::string warning;
    try {
      check_counts(groups_.rows(k), free_.size());
      const std::vector<double> start = starts_.of(x, y_of(k), sigma_of(k), warning);
      store(fit_prepared(impl_, x, y_of(k), named_values(impl_.names, start, ties_), options,
                         starts_.unstarted()),
            k, warning);
    } catch (const DataError& e) {
      out_.message[k] = e.what();
    }
    tell(1);
  }

  void store(const FitResult& fit, std::size_t k, const std::string& warning) {
    std::copy(fit.parameters.begin(), fit.parameters.end(), &out_.parameters(k, 0));
    std::copy(fit.standard_errors.begin(), fit.standard_errors.end(), &out_.standard_errors(k, 0));
    std::copy(fit.at_bound.begin(), fit.at_bound.end(), &out_.at_bound[k * impl_.names.size()]);
    const Summary& s = fit.summary;
    out_.dof[k] = fit.dof;
    out_.cost[k] = s.final_cost;
    out_.rss[k] = fit.rss;
    out_.r_squared[k] = fit.r_squared;
    take_end(s, k, out_);
    std::vector<std::string> texts = fit.success() ? fit.warnings : std::vector{s.message};
    if (!warning.empty()) texts.push_back(warning);
    if (fit.success()) warn(k, std::move(texts));
    else out_.message[k] = fmt::format("{}", fmt::join(texts, "; "));
  }

  const PreparedModel& model_;
  const PreparedModel::Impl& impl_;
  GroupOptions options_;  // of the fits: this object shares them with other processes
  SharedWork work_;
  Parallelism parallelism_;
  Ties ties_;
  GroupStarts starts_;
  std::vector<int> free_;
  Layout layout_;
  GroupRows groups_;
  GroupColumns rows_;    // of columns_of()
  std::size_t records_;  // of a block
  GroupsResult out_;
};

}  // namespace

GroupsResult curve_fit_groups(const PreparedModel& model, const Columns& x, const Column& y,
                              const Column& group, const NamedValues& p0, const GroupOptions& options) {
  const FpEnvironment environment;
  check_options(options);
  check_group_columns(model.impl(), x, y, group, options);
  if (!options.share.empty()) return fit_with_shared_parameters(model, x, y, group, p0, options);
  return GroupFits(model, x, y, group, p0, options).run();
}

}  // namespace nlsq::inline v0
