// Declares GroupStarts, which finds the starting values of each group in the way that curve_fit does.
// curve_fit_groups uses it.
#pragma once

#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "models/recognise.hpp"

#include "expression/ties.hpp"

#include <nlsq/columns.hpp>
#include <nlsq/curve_fit.hpp>
#include <nlsq/groups.hpp>

#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

class GroupStarts {
 public:
  // `model`, `p0` and `options` must outlive the object.
  GroupStarts(const PreparedModel::Impl& model, const NamedValues& p0, const FitOptions& options,
              const Ties& ties);

  // Returns the start of all parameters. `warning` is set to that of the guess.
  std::vector<double> of(const Columns& x, const Column& y, const Column& sigma, std::string& warning) const;
  // If some parameters have no start, fits this group by itself. If this fit is a success, and began at
  // values that were found in the data (scan_for_better_starts), these parameters start at its end in all
  // groups.
  void look_in(const Columns& x, const Column& y, const FitOptions& options);
  // Returns the parameters that have neither a value in p0 nor a guess.
  const std::vector<std::string>& unstarted() const { return unstarted_; }
  // Returns a warning of parameters that are fixed at the guess of each group; empty if none is.
  const std::string& warning_of_fixed() const { return warning_of_fixed_; }

 private:
  const PreparedModel::Impl& model_;
  std::optional<Formula> formula_;  // PreparedModel::Impl::as_formula(), if starts are missing
  const NamedValues& p0_;
  Limits limits_;
  std::vector<double> default_;
  const Loss& loss_;
  Ties ties_;
  std::vector<std::string> unstarted_;
  std::string warning_of_fixed_;
  const Model* guess_ = nullptr;
  guessing::Recognised known_;
};

// Throws ValidationError or DataError if options or columns are not those of fits of groups.
void check_group_columns(const PreparedModel::Impl& model, const Columns& x, const Column& y,
                         const Column& group, const FitOptions& options);

// Throws ValidationError if an option is not for joint fits, if the model has no parameter of a name in
// options.share, if such a name is given twice, or if that parameter is fixed and p0 has no value for it.
void check_shared(const PreparedModel::Impl& model, const NamedValues& p0, const GroupOptions& options);

}  // namespace nlsq::inline v0
