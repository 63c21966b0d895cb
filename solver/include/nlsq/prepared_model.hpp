// A model made ready once: read or recorded, differentiated, compiled. Fits of one data set after another
// share what that costs, and the memory they run in.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/columns.hpp>
#include <nlsq/export.hpp>
#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// Copies share everything, and may be used by several threads at once. Programs are compiled when a fit first
// needs them: one pair for each set of fixed parameters, with and without sigma.
class NLSQ_API PreparedModel {
 public:
  // A formula, with `x` (or x1 ... xk) as predictors.
  explicit PreparedModel(std::string_view formula, int predictors = 1);
  explicit PreparedModel(Formula formula);
  explicit PreparedModel(const Model& model);
  // A callable, recorded at up to 16 rows of x with the parameters p0: branches that these rows take not are
  // recorded by every fit that meets them anew. `names`: of the parameters; p0, p1 ... where there are fewer.
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
