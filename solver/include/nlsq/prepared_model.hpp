// A PreparedModel is a model that is read or recorded, differentiated and compiled only once. Fits of many
// data sets share this cost and their memory.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/columns.hpp>
#include <nlsq/export.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nlsq::inline v0 {

// Copies share everything, and several threads may use them at once. Programs are compiled when a fit first
// needs them: one pair for each set of fixed parameters, with and without sigma.
class NLSQ_API PreparedModel {
 public:
  // Prepares a formula with the predictor `x`, or x1 ... xk. Throws FormulaError if it does not parse.
  explicit PreparedModel(std::string_view formula, int predictors = 1);
  explicit PreparedModel(Formula formula);
  explicit PreparedModel(const Model& model);
  // Prepares a callable, which is recorded at up to 16 rows of x with the parameters p0. A fit that takes a
  // branch that these rows do not take records it again. `names` are those of the parameters; missing ones
  // are p0, p1 ... Throws DataError if x has no rows, and ValidationError for an empty p0 and a callable that
  // reads more parameters than p0 has.
  PreparedModel(ModelFunction function, const Columns& x, const std::vector<double>& p0,
                std::vector<std::string> names = {});

  const std::vector<std::string>& parameter_names() const;
  int predictors() const;

  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace nlsq::inline v0
