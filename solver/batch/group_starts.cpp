// Implements GroupStarts.
#include "batch/group_starts.hpp"

#include "fit/curve.hpp"

namespace nlsq::inline v0 {

GroupStarts::GroupStarts(const PreparedModel::Impl& model, const NamedValues& p0, const FitOptions& options,
                         const Ties& ties)
    : model_(model), p0_(p0), limits_(limits_of(options.bounds, model.names, ties)),
      default_(default_start(model.names.size(), limits_)), loss_(options.loss) {
  if (p0.size() >= model.names.size()) return;
  if (model.built_in) guess_ = &*model.built_in;
  else if (model.formula) known_ = guessing::recognise(*model.formula), guess_ = known_.model;
  if (guess_ == nullptr) unstarted_ = without_start(model.names, p0);
}

std::vector<double> GroupStarts::of(const Columns& x, const Column& y, const Column& sigma,
                                    std::string& warning) const {
  std::vector<double> start = default_;
  if (guess_ != nullptr) {
    start = guessed_start(*guess_, x, y, sigma, loss_, warning);
    if (!model_.built_in) start = known_.convert(start);
  }
  return starting_values(model_.names, p0_, start, limits_);
}

}  // namespace nlsq::inline v0
