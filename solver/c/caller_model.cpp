// Makes models from texts, tapes and callbacks.
#include "c/caller_model.hpp"

#include "c/errors.hpp"
#include "expression/names.hpp"
#include "fit/curve.hpp"
#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "models/model_sum.hpp"
#include "support/fp_environment.hpp"

#include <fmt/format.h>
#include <nlsq/json/writer.hpp>

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <numbers>
#include <set>

namespace nlsq::inline v0::c {

void Callback::call(const double* p, double* y, double* jacobian) const {
  const int code = function(p, y, jacobian, user);
  if (code != 0) throw CallbackStopped(fmt::format("the model's callback returned {}", code), code);
}

const guessing::Recognised& CallerModel::recognised() const {
  std::call_once(once_, [&] {
    if (!prepared || builtin != nullptr) return;
    formula_ = prepared->impl().as_formula();
    if (formula_) recognised_ = guessing::recognise(*formula_);
  });
  return recognised_;
}

std::vector<double> CallerModel::guess(const Columns& x, const Column& y, const Column& sigma,
                                       const Loss& loss, const Impose& impose, std::string& warning) const {
  const guessing::Recognised& known = recognised();
  const Model* const model = builtin != nullptr ? builtin : known.model;
  if (model == nullptr) return std::vector<double>(parameters.size(), 1.0);
  guessing::StartRule rule{nullptr, builtin != nullptr ? nullptr : &known, impose};
  if (impose) rule.formula = builtin != nullptr ? &*prepared->impl().formula : &*formula_;
  return rule.converted(guessed_start(*model, x, y, sigma, loss, rule, warning));
}

void CallerModel::evaluate_rows(std::span<const double* const> columns, std::span<const double> p,
                                std::size_t count, std::span<const double> noise, double* out) const {
  if (tape) tape->run_rows(columns, p.data(), count, noise, out);
  else prepared->impl().formula->evaluate_rows(columns, p, count, out);
}

namespace {

constexpr std::size_t kMostParameters = 100000, kMostPredictors = 10000;

const Model& builtin_model(const std::string& text, std::size_t predictors) {
  const Model* found = nullptr;
  try {
    found = &model(text);
  } catch (const Error& e) {
    throw ModelError(e.what());
  }
  if (static_cast<std::size_t>(found->predictors) != predictors) {
    throw ModelError(fmt::format("the model {} has {} predictor(s), {} were given", found->name,
                                 found->predictors, predictors));
  }
  return *found;
}

// Throws ModelError for a predictor that a formula cannot name.
void check_predictors(const std::vector<std::string>& names) {
  std::set<std::string> seen;
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (!is_name(names[k])) {
      throw ModelError(fmt::format("predictor {}: '{}' is no name: use letters, digits and _, a letter first",
                                   k, is_text(names[k]) ? names[k] : "(no text in UTF-8)"));
    }
    if (!seen.insert(names[k]).second)
      throw ModelError(fmt::format("predictor {}: the name '{}' is given twice", k, names[k]));
  }
}

// Returns the names that the caller gave, or p0, p1 ... Throws ModelError for a name that is given twice.
std::vector<std::string> parameter_names(const char* const* names, std::size_t count) {
  if (count > kMostParameters)
    throw ModelError(fmt::format("{} parameters: use at most {}", count, kMostParameters));
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (std::size_t j = 0; j < count; ++j) {
    out.push_back(names != nullptr ? required(names[j], "a name of a parameter") : fmt::format("p{}", j));
    if (!is_text(out.back()))
      throw ModelError(
          fmt::format("parameter {}: its name is no text in UTF-8, or has control characters", j));
    if (out.back().empty() || !seen.insert(out.back()).second)
      throw ModelError(fmt::format("parameter {}: the name '{}' is empty or given twice", j, out.back()));
  }
  return out;
}

}  // namespace

std::shared_ptr<CallerModel> model_of_text(const std::string& given, std::vector<std::string> names,
                                           std::size_t predictors) {
  const FpEnvironment environment;  // for the numbers in the formula
  if (predictors > kMostPredictors)
    throw ModelError(fmt::format("{} predictors: use at most {}", predictors, kMostPredictors));
  auto out = std::make_shared<CallerModel>();
  const std::string text(trimmed(given));
  FormulaOptions options = predictor_options(predictors);
  if (!names.empty()) options.predictors = std::move(names);
  out->predictors = options.predictors;
  if (guessing::chooses_model(text, options.predictors)) {
    out->builtin = &builtin_model(text, predictors);
    out->name = out->builtin->name;
    out->formula = out->builtin->formula;
    out->prepared.emplace(*out->builtin);
  } else {
    check_predictors(options.predictors);
    Formula formula = parse_formula(text, options);
    check_uses_predictors(formula);
    out->name = out->formula = formula.text;
    if (guessing::may_mean_models(text, options.predictors)) {
      out->note =
          fmt::format("the formula {} names no predictor ({}) and no built-in model; its parameters: {}",
                      formula.text, fmt::join(options.predictors, ", "), fmt::join(formula.parameters, ", "));
    }
    out->prepared.emplace(std::move(formula));
  }
  out->parameters = out->prepared->parameter_names();
  return out;
}

namespace {

std::shared_ptr<CallerModel> model_of_tape(const Tape& given, std::size_t predictors, std::size_t parameters,
                                           const char* const* names) {
  if (given.outputs().size() != 1)
    throw ModelError(fmt::format("the tape has {} outputs; a model has one", given.outputs().size()));
  if (given.columns() > predictors || given.parameters() > parameters) {
    throw ModelError(fmt::format("the tape uses {} columns and {} parameters, and the model has {} and {}",
                                 given.columns(), given.parameters(), predictors, parameters));
  }
  if (predictors > kMostPredictors)
    throw ModelError(fmt::format("{} predictors: use at most {}", predictors, kMostPredictors));
  auto out = std::make_shared<CallerModel>();
  out->tape = std::make_shared<const Tape>(given);
  out->parameters = parameter_names(names, parameters);
  out->predictors = predictor_options(predictors).predictors;
  out->name = out->formula = out->tape->text(out->parameters, out->predictors);
  // A tape has no branches, so one row records all of it. Its numbers are different from each other and from
  // 1, because at a kink, such as that of |x - p| at x = p, the program and dual numbers choose other slopes,
  // and the recording is refused. If that happens nevertheless, other numbers are tried.
  constexpr int kAttempts = 4;
  double phase = 0;
  const auto next = [&phase] {
    phase = std::fmod(phase + std::numbers::phi, 1.0);
    return 0.6 + 0.8 * phase;
  };
  for (int k = 0; k < kAttempts && !(out->prepared && out->prepared->impl().has_programs()); ++k) {
    std::vector<double> row(predictors), start(parameters);
    std::ranges::generate(row, next);
    std::ranges::generate(start, next);
    std::vector<Column> x;
    for (const double& number : row) x.emplace_back(std::span<const double>(&number, 1));
    out->prepared.emplace(model_of(out->tape, predictors), Columns(x), start, out->parameters);
  }
  return out;
}

std::shared_ptr<CallerModel> model_of_callback(const Callback& callback, bool has_jacobian,
                                               std::size_t parameters, const char* const* names) {
  if (parameters == 0) throw ModelError("a callback has at least one parameter");
  auto out = std::make_shared<CallerModel>();
  out->parameters = parameter_names(names, parameters);
  out->name = "callback";
  out->callback = callback;
  out->has_jacobian = has_jacobian;
  return out;
}

}  // namespace

namespace {

constexpr std::size_t kKept = 8, kLongest = 1000;  // models, and characters of a text that is kept

struct Kept {
  std::string text;
  std::size_t predictors;
  std::shared_ptr<const CallerModel> model;
};

struct Cache {
  std::mutex mutex;
  std::list<Kept> latest;  // the latest first
};

// Never destroyed, so that functions which run at the end of the program may still fit.
Cache& cache() {
  static Cache* const one = new Cache;
  return *one;
}

std::shared_ptr<const CallerModel> kept_model(const std::string& text, std::size_t predictors) {
  const std::lock_guard lock(cache().mutex);
  std::list<Kept>& all = cache().latest;
  for (auto it = all.begin(); it != all.end(); ++it) {
    if (it->predictors != predictors || it->text != text) continue;
    all.splice(all.begin(), all, it);
    return it->model;
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const CallerModel> cached_model(const std::string& text, std::size_t predictors) {
  if (auto model = kept_model(text, predictors)) return model;
  std::shared_ptr<const CallerModel> made = model_of_text(text, {}, predictors);
  if (text.size() > kLongest) return made;
  const std::lock_guard lock(cache().mutex);
  cache().latest.push_front({text, predictors, made});
  if (cache().latest.size() > kKept) cache().latest.pop_back();
  return made;
}

}  // namespace nlsq::inline v0::c

using namespace nlsq::c;

extern "C" {

int nlsq_model_text(const char* text, const char* const* names, size_t predictors, nlsq_model** model) {
  return output(model, "model", [&] {
    std::vector<std::string> of_predictors;
    for (std::size_t k = 0; k < predictors && names != nullptr && k <= kMostPredictors; ++k)
      of_predictors.emplace_back(required(names[k], "a name of a predictor"));
    return to_handle<nlsq_model>(model_of_text(required(text, "text"), std::move(of_predictors), predictors));
  });
}

int nlsq_model_tape(const nlsq_tape* tape, size_t predictors, size_t parameters, const char* const* names,
                    nlsq_model** model) {
  return output(model, "model", [&] {
    return to_handle<nlsq_model>(model_of_tape(*from_handle<Tape>(tape), predictors, parameters, names));
  });
}

int nlsq_model_callback(nlsq_function function, void* user, int has_jacobian, size_t parameters,
                        const char* const* names, nlsq_model** model) {
  return output(model, "model", [&] {
    const Callback callback{required(function, "function"), user};
    return to_handle<nlsq_model>(model_of_callback(callback, has_jacobian != 0, parameters, names));
  });
}

int nlsq_model_set_recheck(nlsq_model* model, nlsq_function function, void* user) {
  return guarded([&] {
    const auto object = from_handle<CallerModel>(model);
    if (object->is_callback())
      throw ArgumentError("a callback is called itself: there is nothing to check it by");
    object->recheck = {function, user};
  });
}

int nlsq_model_free(nlsq_model* model) {
  return guarded([&] { free_handle<CallerModel>(model); });
}

int nlsq_model_size(const nlsq_model* model, size_t* parameters, size_t* predictors) {
  return guarded([&] {
    const auto object = from_handle<CallerModel>(model);
    *required(parameters, "parameters") = object->parameters.size();
    *required(predictors, "predictors") = object->predictors.size();
  });
}

const char* nlsq_model_parameter(const nlsq_model* model, size_t index) {
  return text_or_null([&] {
    const auto object = from_handle<CallerModel>(model);
    if (index >= object->parameters.size())
      throw ArgumentError(fmt::format("parameter {}: the model has {}", index, object->parameters.size()));
    return object->parameters[index].c_str();
  });
}

const char* nlsq_model_formula(const nlsq_model* model) {
  return text_or_null([&] { return from_handle<CallerModel>(model)->formula.c_str(); });
}

}  // extern "C"
