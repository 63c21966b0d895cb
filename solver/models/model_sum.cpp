// Implements make_sum(): the formula of a sum, the names of its parameters, and its first guess.
//
// Each term gets a label from the first letter of its model, g1, l1, l2, and its parameters get the label as
// prefix. Constants that the models add are merged into one, c, because the data determine only their sum.
#include "models/model_sum.hpp"

#include "expression/names.hpp"

#include "models/guesses/sum_guess.hpp"

#include <nlsq/error.hpp>
#include <nlsq/formula.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace nlsq::inline v0::guessing {
namespace {

constexpr int kMostTerms = 20;

// This is a name, or a multiple of one such as 3*lorentzian.
struct Multiple {
  int count = 1;
  std::string_view name;
};

std::optional<Multiple> read_multiple(std::string_view text) {
  Multiple out;
  text = trimmed(text);
  const std::size_t star = text.find('*');
  if (star != std::string_view::npos) {
    const std::string_view count = trimmed(text.substr(0, star));
    if (count.empty() || count.size() > 3 || !std::ranges::all_of(count, is_digit)) return std::nullopt;
    out.count = 0;
    for (const char digit : count) out.count = 10 * out.count + (digit - '0');
    text = trimmed(text.substr(star + 1));
  }
  out.name = text;
  return is_name(text) ? std::optional(out) : std::nullopt;
}

// Returns the terms of a sum; empty if the text does not have the form of one.
std::vector<Multiple> read_terms(std::string_view text) {
  std::vector<Multiple> terms;
  for (const std::string_view part : split(text, '+')) {
    const auto term = read_multiple(part);
    if (!term) return {};
    terms.push_back(*term);
  }
  const bool name_alone = terms.size() == 1 && text.find('*') == std::string_view::npos;
  return name_alone ? std::vector<Multiple>() : terms;
}

// Returns the built-in model of a term. If the name is unknown, the error explains why a name that may be a
// parameter's was looked up.
const Model& model_of_term(std::string_view name, const std::vector<Multiple>& terms) {
  const auto known =
      std::ranges::find_if(terms, [](const Multiple& m) { return find_builtin(m.name) != nullptr; });
  if (find_builtin(name) != nullptr || known == terms.end()) return model(name);
  try {
    return model(name);
  } catch (const ValidationError& e) {
    throw ValidationError(
        fmt::format("{}. The text is read as a sum of built-in models, because '{}' is one: to add terms of "
                    "your own, write "
                    "out its formula, {}",
                    e.what(), known->name, model(known->name).formula));
  }
}

std::vector<const Model*> read_sum(std::string_view text) {
  const std::vector<Multiple> terms = read_terms(text);
  std::vector<const Model*> models;
  for (const Multiple& term : terms) {
    if (term.count < 1 || static_cast<int>(models.size()) + term.count > kMostTerms) {
      throw ValidationError(
          fmt::format("{}*{}: a sum has 1 to {} models in all", term.count, term.name, kMostTerms));
    }
    models.insert(models.end(), static_cast<std::size_t>(term.count), &model_of_term(term.name, terms));
  }
  for (const Model* m : models) {
    if (m->predictors != models.front()->predictors) {
      throw ValidationError(fmt::format("{} has {} predictors and {} has {}: they cannot be added",
                                        models.front()->name, models.front()->predictors, m->name,
                                        m->predictors));
    }
  }
  return models;
}

// Splits a formula into the terms that it adds, with their signs: "a*x", "+b", "-c*exp(-x)".
std::vector<std::string> added_terms(std::string_view formula) {
  std::vector<std::string> terms(1);
  int depth = 0;
  for (const char c : formula) {
    if (c == '(') ++depth;
    if (c == ')') --depth;
    if (depth == 0 && (c == '+' || c == '-') && !terms.back().empty()) terms.emplace_back();
    terms.back() += c;
  }
  return terms;
}

// Puts the label before each name in the text that is one of the model's parameters. `constant`, if not
// empty, is the name that becomes the shared constant, because two parameters for one level would not be
// determined. It may occur more than once, as `bottom` in the formula of logistic4.
std::string with_prefix(std::string_view text, const Model& model, const std::string& label,
                        std::string_view constant) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i + 1;
    const bool name = is_letter(text[i]);
    while ((name || is_digit(text[i])) && end < text.size() && (is_letter(text[end]) || is_digit(text[end])))
      ++end;
    const std::string word(text.substr(i, end - i));
    const bool parameter = name && std::ranges::find(model.parameters, word) != model.parameters.end();
    if (parameter && word == constant) out += kSharedConstant;
    else out += parameter ? label + "_" + word : word;
    i = end;
  }
  return out;
}

Part make_part(const Model& model, const std::string& label) {
  Part part;
  part.model = &model;
  part.term = {label, model.name, ""};
  for (const std::string& term : added_terms(model.formula)) {
    const std::string bare = term.front() == '+' ? term.substr(1) : term;
    const auto at = std::ranges::find(model.parameters, bare);
    if (at != model.parameters.end() && part.constant == Part::npos) {
      part.constant = static_cast<std::size_t>(at - model.parameters.begin());
    } else {
      const bool known = part.constant != Part::npos;
      part.term.formula += with_prefix(part.term.formula.empty() ? bare : term, model, label,
                                       known ? std::string_view(model.parameters[part.constant]) : "");
    }
  }
  if (!part.term.formula.empty())
    part.formula =
        parse_formula(part.term.formula, predictor_options(static_cast<std::size_t>(model.predictors)));
  return part;
}

// Stores where each part's parameters are in the sum, and their meaning.
void place_parameters(Model& sum, std::vector<Part>& parts) {
  sum.meaning.assign(sum.parameters.size(), "constant background (units of y)");
  sum.trials.assign(sum.parameters.size(), TrialRange{});
  for (Part& part : parts) {
    for (std::size_t j = 0; j < part.model->parameters.size(); ++j) {
      part.of_sum.push_back(Part::npos);
      if (j == part.constant) continue;
      const std::string name = part.term.label + "_" + part.model->parameters[j];
      const auto at =
          static_cast<std::size_t>(std::ranges::find(sum.parameters, name) - sum.parameters.begin());
      part.of_sum.back() = at;
      sum.meaning[at] = part.term.label + ": " + part.model->meaning[j];
      sum.trials[at] = part.model->trials[j];
    }
  }
}

}  // namespace

bool is_sum(std::string_view text) { return !read_terms(text).empty(); }

bool chooses_model(std::string_view text, std::span<const std::string> predictors) {
  const auto is_predictor = [&](std::string_view name) {
    return std::ranges::find(predictors, name) != predictors.end();
  };
  text = trimmed(text);
  if (is_name(text)) return !is_predictor(text);
  return std::ranges::any_of(read_terms(text), [&](const Multiple& m) {
    return find_builtin(m.name) != nullptr && !is_predictor(m.name);
  });
}

bool may_mean_models(std::string_view text, std::span<const std::string> predictors) {
  const std::vector<Multiple> terms = read_terms(text);
  return !terms.empty() && std::ranges::none_of(terms, [&](const Multiple& m) {
    return std::ranges::find(predictors, m.name) != predictors.end();
  });
}

std::optional<Model> make_sum(std::string_view text) {
  const std::vector<const Model*> models = read_sum(text);
  if (models.empty()) return std::nullopt;
  Model sum;
  sum.name = std::string(trimmed(text));
  sum.predictors = models.front()->predictors;
  sum.trial_x = models.front()->trial_x;
  std::vector<Part> parts;
  std::map<char, int> labels;
  for (const Model* m : models) {
    const char letter = m->name.front();
    parts.push_back(make_part(*m, fmt::format("{}{}", letter, ++labels[letter])));
    const ModelTerm& term = parts.back().term;
    if (term.formula.empty()) continue;
    sum.description += fmt::format("{}{} = {}", sum.terms.empty() ? "" : ", ", term.label, m->name);
    sum.terms.push_back(term);
  }
  std::vector<const Part*> all;
  for (const Part& part : parts) all.push_back(&part);
  sum.formula = join(all);
  Formula formula = parse_formula(sum.formula, predictor_options(static_cast<std::size_t>(sum.predictors)));
  sum.parameters = formula.parameters;
  place_parameters(sum, parts);
  const std::size_t size = sum.parameters.size();
  const auto constant =
      static_cast<std::size_t>(std::ranges::find(sum.parameters, kSharedConstant) - sum.parameters.begin());
  sum.rule =
      sampled(sum.predictors, size, Domain::all, kSharp,
              sum_guess(std::move(parts), std::move(formula), constant < size ? constant : Part::npos));
  return sum;
}

}  // namespace nlsq::inline v0::guessing
