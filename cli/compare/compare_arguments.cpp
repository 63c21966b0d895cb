// Parses --compare.
#include "compare/compare_arguments.hpp"

#include "arguments/arguments.hpp"
#include "errors.hpp"
#include "table/column_expression.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>

#include <algorithm>

namespace nlsq::cli {

void add_compare_options(CLI::App& app, CompareArguments& compare) {
  app.add_option("--compare", compare.text,
                 "fit each model, rank them by AICc, test nested ones, report the best")
      ->type_name("MODEL,MODEL,...")
      ->group("Model and fit");
}

void take_compare(Arguments& arguments) {
  CompareArguments& compare = arguments.compare;
  if (compare.text.empty()) return;
  compare.models = split_list(compare.text);
  const bool listed = std::ranges::find(compare.models, arguments.model) != compare.models.end();
  if (arguments.model.empty()) arguments.model = compare.models.front();
  else if (!listed) compare.models.insert(compare.models.begin(), arguments.model);
  for (auto i = compare.models.begin(); i != compare.models.end(); ++i) {
    if (i->empty()) throw UsageError(fmt::format("--compare {}: a model is empty", printable(compare.text)));
    if (std::find(compare.models.begin(), i, *i) != i)
      throw UsageError(fmt::format("--compare: {} is given twice", printable(*i)));
  }
  if (compare.models.size() < 2)
    throw UsageError("--compare: give two models or more, separated by commas, as in exp,biexp");
  if (arguments.loss.is_robust()) {
    throw UsageError(
        fmt::format("--compare: the loss {} is no likelihood, so there is no AIC; leave --loss out, or use "
                    "poisson for counts",
                    arguments.loss.name()));
  }
  if (arguments.optimize || arguments.profile) {
    throw UsageError(fmt::format("{} measures one model; leave --compare out",
                                 arguments.optimize ? "--optimize" : "--profile"));
  }
}

}  // namespace nlsq::cli
