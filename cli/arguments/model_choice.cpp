// Implements --model: finds the built-in model, or parses the formula and assigns its names.
#include "arguments/model_choice.hpp"

#include "errors.hpp"
#include "table/formula_words.hpp"
#include "table/numbers/number.hpp"
#include "table/source/byte_source.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

namespace nlsq::cli {

namespace {

// Returns the name that a chosen column can have in a formula. It is empty for expressions, for names that
// are not identifiers, and for `T [K]` beside another column T.
std::string formula_name(const ColumnExpression& expression, const CsvShape& shape) {
  if (!expression.plain) return "";
  const std::size_t column = expression.columns[0];
  const std::string name(name_in_formulas(shape.names[column]));
  return find_column(shape, name) == column ? name : "";
}

// Returns the left side of `left = right`: the text before the first = that is not part of a comparison.
std::string_view left_side(std::string_view formula) {
  for (std::size_t i = 0; i < formula.size(); ++i) {
    if (formula[i] != '=') continue;
    const bool after = i > 0 && std::string_view("<>!=").find(formula[i - 1]) != std::string_view::npos;
    const bool before = i + 1 < formula.size() && formula[i + 1] == '=';
    if (!after && !before) return formula.substr(0, i);
  }
  return {};
}

std::vector<std::string> alias_names(std::size_t count) {
  if (count == 1) return {"x"};
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= count; ++i) names.push_back(fmt::format("x{}", i));
  return names;
}

// Refuses a formula that uses both names of a column `a (m)`: a and x. One of the two is meant as a
// parameter, but the program cannot know which. In a*x+b, it would be x if a were the column.
void refuse_two_names(const std::string& text, const FitData& data, const ColumnExpression& x,
                      const std::string& name, const std::string& alias) {
  const std::string title = column_title(data.shape, x);
  if (name.empty() || name == title || name == alias || find_column(data.shape, alias)) return;
  if (!mentions(text, name) || !mentions(text, alias)) return;
  throw UsageError(fmt::format(
      "--model uses both {} and {}, and either may be the column {}: name the parameter otherwise", name,
      alias, title));
}

// Returns the names of the predictors. These are the names of their columns if `text` uses any of them,
// otherwise x, or x1 ... xk.
std::vector<std::string> predictor_names(const std::string& text, const FitData& data, ModelChoice& choice) {
  const std::vector<std::string> aliases = alias_names(data.x.size());
  std::vector<std::string> columns;
  for (const ColumnExpression& x : data.x) columns.push_back(formula_name(x, data.shape));
  const bool by_column = std::any_of(columns.begin(), columns.end(), [&](const std::string& name) {
    return !name.empty() && mentions(text, name);
  });
  std::vector<std::string> names = aliases;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (by_column && !columns[i].empty()) names[i] = columns[i];
    refuse_two_names(text, data, data.x[i], columns[i], aliases[i]);
    if (names[i] == columns[i] || !mentions(text, names[i])) continue;
    if (find_column(data.shape, names[i])) {
      const std::string title = column_title(data.shape, data.x[i]);
      const std::string advice =
          columns[i].empty() ? "" : fmt::format("; write {} where the formula means {}", columns[i], title);
      throw UsageError(
          fmt::format("--model uses '{}', a column that --x did not choose (it chose {}); choose it with "
                      "--x, or name the parameter otherwise{}",
                      names[i], title, advice));
    }
    choice.notes.push_back(fmt::format("{} is {}", names[i], column_title(data.shape, data.x[i])));
  }
  return names;
}

std::string response_name(const std::string& text, const FitData& data,
                          const std::vector<std::string>& predictors, ModelChoice& choice) {
  const std::string column = formula_name(data.y_expression, data.shape);
  const std::string_view left = left_side(text);
  if (left.empty()) {
    // Without a left side, the response needs no name. Its name must not be that of a predictor or of a
    // parameter, as A is in A*exp(-t/b), fitted to the column `A (V)`.
    const bool whole = !column.empty() && column == data.shape.names[data.y_expression.columns[0]];
    const std::string name = whole ? column : "y";
    return std::find(predictors.begin(), predictors.end(), name) == predictors.end() ? name : "";
  }
  if (!column.empty() && mentions(left, column)) return column;
  if (column != "y" && mentions(left, "y"))
    choice.notes.push_back("y is " + column_title(data.shape, data.y_expression));
  return "y";
}

void parse_choice(ModelChoice& choice, const std::string& text, const FormulaOptions& options) {
  try {
    choice.formula = parse_formula(text, options);
  } catch (const Error& e) {
    throw UsageError(std::string("--model: ") + e.what());
  }
}

ModelChoice choose_builtin(const Model& model, const FitData& data) {
  ModelChoice choice;
  choice.builtin = &model;
  if (static_cast<std::size_t>(model.predictors) != data.x.size()) {
    throw UsageError(fmt::format("--model {} has {} predictor{}, but --x chose {}", model.name,
                                 model.predictors, model.predictors == 1 ? "" : "s", data.x.size()));
  }
  FormulaOptions options;
  options.predictors = alias_names(data.x.size());
  parse_choice(choice, model.formula, options);
  return choice;
}

// Returns the first name in the formula that is a built-in model's and neither a function call, nor a column,
// nor one of `own_names`. The result is empty if there is none.
std::string model_inside(std::string_view text, const CsvShape& shape,
                         std::span<const std::string> own_names) {
  for (const std::string& name : names_in(text)) {
    const bool own = std::ranges::find(own_names, name) != own_names.end();
    if (find_builtin(name) && !find_column(shape, name) && !own) return name;
  }
  return {};
}

// A sum of built-in models. A formula of any other form that contains a model's name is refused: that name
// would silently become a parameter.
ModelChoice choose_sum(const std::string& text, const std::string& inside, const FitData& data) {
  if (!is_model_sum(text)) {
    ModelChoice other;
    parse_choice(other, text, {});  // a mistake in the formula itself is reported first
    throw UsageError(fmt::format(
        "--model: '{0}' is a built-in model, and a formula cannot contain one. Add models to each "
        "other (gaussian + 2*lorentzian + linear), or write out its formula, {1}. If '{0}' is a "
        "parameter of yours, give it a start: --p0 {0}=1",
        inside, model(inside).formula));
  }
  try {
    return choose_builtin(model(text), data);
  } catch (const ValidationError& e) {
    throw UsageError(fmt::format("--model: {}", e.what()));
  }
}

// Warns if the formula does not use a chosen column: the user may have meant a name for it that became a
// parameter. Refuses a formula that uses no column and has several parameters. Such a formula is the same
// constant in every row, and many values of its parameters give the same constant.
void check_unused(const std::string& text, const FitData& data, ModelChoice& choice) {
  const std::vector<std::string> aliases = alias_names(data.x.size());
  std::vector<std::string> unused, forms;
  for (std::size_t i = 0; i < data.x.size(); ++i) {
    if (mentions(text, choice.formula.predictors[i])) continue;
    const std::string column = formula_name(data.x[i], data.shape);
    forms.push_back(aliases[i] + (column.empty() || column == aliases[i] ? "" : " or " + column));
    unused.push_back(fmt::format("{} (as {})", column_title(data.shape, data.x[i]), forms.back()));
  }
  if (unused.empty()) return;
  const std::vector<std::string>& names = choice.formula.parameters;
  const std::string parameters = fmt::format("{} {}", fmt::join(names, ", "),
                                             names.size() == 1 ? "is its parameter" : "are its parameters");
  if (unused.size() == data.x.size() && names.size() > 1) {
    throw UsageError(
        fmt::format("--model: the formula does not use {}, so {} and cannot be told apart; write {} "
                    "where the formula means the column",
                    fmt::join(unused, ", "), parameters, fmt::join(forms, ", ")));
  }
  choice.warnings.push_back(fmt::format("the formula does not use {}; {}", fmt::join(unused, ", "),
                                        names.empty() ? "it has no parameters" : parameters));
}

ModelChoice choice_of(const std::string& text, const FitData& data, std::span<const std::string> own_names) {
  const std::string name(trim_blanks(text));
  if (is_identifier(name) && !mentions(name, data.x.size() == 1 ? "x" : "x1")) {
    try {
      return choose_builtin(model(name), data);
    } catch (const Error& e) {
      throw UsageError(fmt::format("--model: {}; --list-models shows every name", e.what()));
    }
  }
  const std::string inside = model_inside(text, data.shape, own_names);
  if (!inside.empty()) return choose_sum(name, inside, data);
  ModelChoice choice;
  FormulaOptions options;
  options.predictors = predictor_names(text, data, choice);
  options.response = response_name(text, data, options.predictors, choice);
  parse_choice(choice, text, options);
  for (const std::string& parameter : choice.formula.parameters) {
    const std::optional<std::size_t> column = find_column(data.shape, parameter);
    const bool response = data.y_expression.plain && data.y_expression.columns[0] == column;
    if (!column || response) continue;
    choice.warnings.push_back(
        fmt::format("'{}' is fitted as a parameter, although a column has that name: --x did not "
                    "choose it",
                    parameter));
  }
  check_unused(text, data, choice);
  return choice;
}

}  // namespace

ModelChoice choose_model(const std::string& text, const FitData& data,
                         std::span<const std::string> own_names) {
  ModelChoice choice = choice_of(text, data, own_names);
  const ColumnExpression& y = data.y_expression;
  for (const ColumnExpression& x : data.x) {
    if (x.plain && y.plain && x.columns == y.columns)
      choice.warnings.push_back(fmt::format("{} is both x and y: a column is fitted to itself", x.text));
  }
  return choice;
}

std::string take_model_among(std::vector<std::string>& files, bool optional) {
  if (files.empty()) return {};
  const std::string last = files.back();
  const bool all_files = files.size() == 1 || last == "-" || file_exists(last);
  if (all_files && optional) return {};
  if (all_files)
    throw UsageError("which model? give --model NAME or a formula (--list-models shows the names)");
  const std::size_t equals = last.find('=');
  double value = 0;
  if (equals != std::string::npos && is_identifier(last.substr(0, equals)) &&
      parse_number(last.substr(equals + 1), NumberFormat{}, value) == NumberStatus::ok) {
    throw UsageError(fmt::format(
        "which model? {} is a value: write starting values with commas, --p0 a=1,b=2", printable(last, 200)));
  }
  const std::string extension = std::filesystem::path(last).extension().string();  // ".csv"; ".5" of c+1.5
  const bool file_name =
      extension.size() > 2 &&
      std::ranges::all_of(extension.substr(1), [](unsigned char c) { return std::isalpha(c) != 0; });
  if (!find_builtin(last) && (file_name || last.find_first_of("(*+^") == std::string::npos)) {
    throw UsageError(fmt::format("which model? there is no file {0}; if it is the model, write --model '{0}'",
                                 printable(last, 200)));
  }
  files.pop_back();
  return last;
}

}  // namespace nlsq::cli
