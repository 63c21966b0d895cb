// Implements PreparedModel: compiles a model once and fits it many times.
#include <nlsq/prepared_model.hpp>

#include "fit/curve.hpp"
#include "fit/fit_setup.hpp"
#include "fit/prepared_impl.hpp"
#include "fit/reads_beyond.hpp"
#include "models/model_families.hpp"
#include "models/recognise.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

std::shared_ptr<PreparedModel::Impl> prepare(Formula formula) {
  auto impl = std::make_shared<PreparedModel::Impl>();
  impl->names = formula.parameters;
  impl->predictors = formula.predictors;
  impl->formula = std::move(formula);
  return impl;
}

void record_callable(PreparedModel::Impl& impl, const Columns& x, const std::vector<double>& p0) {
  const ModelFunction& function = *impl.function;
  refuse_no_parameters(p0);
  const MemoryRows rows(x.list());
  if (rows.rows() > 0) refuse_reads_beyond(function, rows, p0);
  if (!function.trace) {
    impl.note = why_not_recorded(function.dual != nullptr);
    return;
  }
  if (rows.rows() == 0) throw DataError("no data rows were given: a callable is recorded at rows of x");
  auto residual = std::make_shared<RecordedResidual>(function, static_cast<int>(p0.size()), false);
  if (record(*residual, rows, p0)) impl.recorded = std::move(residual);
  else impl.note = "the callable could not be recorded: " + residual->reason();
}

}  // namespace

PreparedModel::PreparedModel(Formula formula) : impl_(prepare(std::move(formula))) {}

PreparedModel::PreparedModel(std::string_view formula, int predictors)
    : PreparedModel(formula_of_columns(formula, static_cast<std::size_t>(predictors))) {}

PreparedModel::PreparedModel(const Model& model) {
  auto impl = prepare(guessing::formula_of(model));
  impl->built_in = model;
  impl_ = std::move(impl);
}

PreparedModel::PreparedModel(ModelFunction function, const Columns& x, const std::vector<double>& p0,
                             std::vector<std::string> names) {
  for (std::size_t j = names.size(); j < p0.size(); ++j) names.push_back(fmt::format("p{}", j));
  const NamedValues start = named_start(names, p0);
  auto impl = std::make_shared<Impl>();
  impl->predictors = predictor_options(static_cast<std::size_t>(function.predictors)).predictors;
  if (x.size() != impl->predictors.size()) {
    throw DataError(fmt::format("the model has {} predictor(s), {} data column(s) of x were given",
                                impl->predictors.size(), x.size()));
  }
  impl->names = std::move(names);
  impl->function = std::move(function);
  record_callable(*impl, x, starting_values(impl->names, start, p0));
  impl_ = std::move(impl);
}

const std::vector<std::string>& PreparedModel::parameter_names() const { return impl_->names; }
int PreparedModel::predictors() const { return static_cast<int>(impl_->predictors.size()); }

std::shared_ptr<ResidualSource> PreparedModel::Impl::source(const ResidualForm& form) const {
  if (formula) return std::make_shared<FormulaResidual>(*formula, form);
  return std::make_shared<RecordedResidual>(*recorded, form);
}

bool PreparedModel::Impl::is_even(std::span<const int> flipped, const ResidualSource* source) const {
  if (formula) return nlsq::is_even(formula->graph, formula->model, flipped);
  if (!recorded) return false;
  const auto* const now = dynamic_cast<const RecordedResidual*>(source);
  Graph graph;
  const NodeId root = (now != nullptr ? *now : *recorded).build_model(graph);
  return nlsq::is_even(graph, root, flipped);
}

std::optional<Formula> PreparedModel::Impl::as_formula() const {
  constexpr std::size_t kMostSteps = 2000;
  if (formula || !recorded) return formula;
  Graph graph;
  const NodeId root = recorded->build_model(graph);
  auto steps = steps_of(graph, root, kMostSteps);
  if (!steps) return std::nullopt;
  Formula out;
  out.parameters = names;
  out.predictors = predictors;
  out.replace_model(std::move(*steps));
  return out;
}

std::shared_ptr<const CurvePrograms> PreparedModel::Impl::programs(const std::vector<int>& free,
                                                                   const ResidualForm& form) const {
  const std::lock_guard lock(mutex_);
  for (const auto& known : compiled_) {
    if (known->form == form && known->free == free) return known;
  }
  auto made = std::make_shared<CurvePrograms>();
  made->form = form;
  made->free = free;
  made->programs = std::make_shared<const ResidualPrograms>(ResidualPrograms::build(*source(form), free));
  Graph of_recording;
  const NodeId model = formula ? formula->model : recorded->build_model(of_recording);
  const Graph& graph = formula ? formula->graph : of_recording;
  made->linear = linear_among_free(graph, model, free);
  made->jumps = jump_parameters(graph, model, free);
  compiled_.push_back(made);
  return made;
}

std::unique_ptr<CurveWorker> PreparedModel::Impl::take_worker(
    const std::shared_ptr<const CurvePrograms>& wanted) const {
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(idle_.begin(), idle_.end(),
                                    [&](const auto& worker) { return worker->programs() == wanted; });
    if (found != idle_.end()) {
      std::unique_ptr<CurveWorker> worker = std::move(*found);
      idle_.erase(found);
      return worker;
    }
  }
  return std::make_unique<CurveWorker>(wanted, source(wanted->form), names.size());
}

void PreparedModel::Impl::return_worker(std::unique_ptr<CurveWorker> worker) const {
  if (!worker || !worker->as_prepared()) return;
  worker->forget_data();
  worker->rows.data_changed();
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
}

NamedValues named_start(const std::vector<std::string>& names, const std::vector<double>& p0) {
  if (names.size() != p0.size()) {
    throw ValidationError(fmt::format("{} starting values were given for {} parameters ({})", p0.size(),
                                      names.size(), fmt::join(names, ", ")));
  }
  return named_values(names, p0);
}

namespace {

FitResult fit_with_programs(const PreparedModel::Impl& model, Curve curve, std::span<const Column> columns) {
  const auto programs = model.programs(curve.free, curve.form);
  WorkerLease worker(model, programs);
  worker->set(columns, curve.start);
  worker->evaluator.set_parallelism(curve.options);
  worker->evaluator.keep_time(true);
  curve.jumps = programs->jumps;
  curve.is_even = [&](std::span<const int> flipped) { return model.is_even(flipped, worker->source.get()); };
  return fit_rows(curve, worker->rows, programs->linear, [&](const SolveRequest& request) {
    return solve(request, worker->evaluator, worker->workspace);
  });
}

// Ties change the model, so its prepared programs cannot be used.
FitResult fit_tied(const PreparedModel::Impl& model, const Columns& x, const Column& y, const NamedValues& p0,
                   FitOptions options) {
  if (model.built_in) return curve_fit(*model.built_in, x, y, p0, options);
  if (model.formula) return curve_fit(*model.formula, x, y, p0, options);
  options.parameter_names = model.names;
  const Limits limits = limits_of(options.bounds, model.names);
  return curve_fit(*model.function, x, y,
                   starting_values(model.names, p0, default_start(model.names.size(), limits), limits),
                   options);
}

}  // namespace

FitResult fit_prepared(const PreparedModel::Impl& model, const Columns& x, const Column& y,
                       const NamedValues& p0, const FitOptions& given,
                       const std::vector<std::string>& unstarted) {
  check_options(given);
  if (!given.parameter_names.empty() && given.parameter_names != model.names) {
    throw ValidationError("parameter_names: a prepared model has names of its own");
  }
  if (!given.ties.empty()) return fit_tied(model, x, y, p0, given);
  FitOptions options = given;
  static_cast<SolverOptions&>(options) = settled(given);
  SurveyedRows data = surveyed_rows(x, y, options, model.predictors);
  const Limits limits = limits_of(options.bounds, model.names);
  std::vector<double> start = default_start(model.names.size(), limits);
  const auto impose = [&](const std::vector<double>& guess) {
    return starting_values(model.names, p0, guess, limits);
  };
  std::string warning;
  if (model.built_in && p0.size() < start.size())
    start = guessed_start(*model.built_in, x, y, options.sigma, options.loss,
                          {&*model.formula, nullptr, impose}, warning);
  Curve curve = checked_curve(model.names, impose(start), limits, {}, std::move(data),
                              model.predictors.size(), options);
  curve.unstarted = unstarted;
  if (!model.built_in && unstarted.empty()) curve.unstarted = without_start(model.names, p0);
  std::optional<Formula> recording;
  if (!model.formula && unstarted.empty() && !curve.unstarted.empty()) recording = model.as_formula();
  const std::optional<Formula>& searched = model.formula ? model.formula : recording;
  if (searched && unstarted.empty()) curve.formula = &*searched;
  if (model.formula) fit_left_side(*model.formula, curve);
  if (!model.has_programs()) return fit_fallback(*model.function, curve, model.note);
  std::vector<Column> columns = x.list();
  columns.push_back(y);
  if (curve.form.weighted) columns.push_back(options.sigma);
  for (const int k : curve.form.x_errors) columns.push_back(options.sigma_x[static_cast<std::size_t>(k)]);
  curve.source_of = [&](const ResidualForm& form) { return model.source(form); };
  curve.rows_of = [&](const ResidualForm& form) {
    return std::make_unique<GraphRows>(model.source(form), model.programs(curve.free, form)->programs,
                                       curve.data, curve.start, curve.free);
  };
  std::string note = kRecordingDiscarded;
  try {
    FitResult fit = fit_with_programs(model, curve, columns);
    if (!warning.empty()) fit.warnings.insert(fit.warnings.begin(), warning);
    if (model.built_in) {
      add_warning(fit, warning_of_fixed_guesses(options.fixed, p0));
      add_warning(fit, guessing::pole_warning(*model.built_in, fit.parameters, x.list().front()));
    }
    if (model.formula || fit.summary.certificate.recheck_passed ||
        fit.summary.termination == Termination::failure)
      return fit;
  } catch (const RecordingFailed& failed) {
    note = failed.what();
  }
  return fit_fallback(*model.function, curve, note);
}

}  // namespace nlsq::inline v0
