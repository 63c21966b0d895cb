// Interprets --model: the name of a built-in model, or a formula. It assigns each name in the formula to a
// predictor, the response or a parameter, according to --x and --y.
#pragma once

#include "table/data_selection.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/models.hpp>
#include <nlsq/prepared_model.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::cli {

struct ModelChoice {
  const Model* builtin = nullptr;
  Formula formula;                    // set for a built-in model, too
  std::vector<std::string> notes;     // notes for the report: "x is the column day"
  std::vector<std::string> warnings;  // for example, a parameter has the name of a column that was not chosen
  PreparedModel prepared() const {
    return builtin != nullptr ? PreparedModel(*builtin) : PreparedModel(formula);
  }
  // Returns the name of a built-in model, or `text` for a formula.
  const std::string& name_or(const std::string& text) const {
    return builtin != nullptr ? builtin->name : text;
  }
};

// A predictor has the name of its column. If the formula uses none of these names, it has the name x (x1 ...
// xk for several). The response has the name of its column, otherwise y. Throws UsageError.
// `own_names`: names that the user gave to parameters elsewhere (--p0, --fix, --bounds, --tie). They are
// parameters even if a model has the same name. A sum of models (gaussian + linear) counts as a built-in one.
ModelChoice choose_model(const std::string& text, const FitData& data,
                         std::span<const std::string> own_names = {});

// Finds the model of a command without --model, such as nlsq-fit data.csv 'a*exp(-b*x)'. It removes the last
// of `files` and returns it, if no file has this name and the text is a model. The text is a model if it is
// the name of a built-in one. It is taken for a formula if it has one of the characters "(*+^" and does not
// end like the name of a file (".csv"). Otherwise the function throws UsageError. The function returns
// an empty text if `files` is empty. If the model is `optional`, it also returns one if all of `files` are
// files.
std::string take_model_among(std::vector<std::string>& files, bool optional = false);

// Reads starting values from the JSON of an earlier fit, or from a plain {"a": 1, "b": 2}. Throws UsageError.
std::vector<std::pair<std::string, double>> read_start_file(const std::string& path);

}  // namespace nlsq::cli
