// Ceres as a peer for curve fits.
#include "peers/peers.hpp"

#if NLSQ_BENCH_CERES

#include "curves/curve_models.hpp"
#include "curves/nist_models.hpp"

#include <ceres/ceres.h>
#include <ceres/version.h>

#if __has_include(<glog/logging.h>)
#include <glog/logging.h>
#endif

#include <stdexcept>
#include <tuple>

namespace bench {

namespace {

// Computes the residual of one row, as in Ceres's curve fitting tutorial.
template <class Model>
struct RowFunctor {
  double x[Model::predictors];
  double y;
  template <class T>
  bool operator()(const T* const p, T* residual) const {
    residual[0] = Model::template value<T>(x, p) - y;
    return true;
  }
};

using MakeRow = ceres::CostFunction* (*)(const Data&, std::size_t row);

template <class Model>
ceres::CostFunction* make_row(const Data& data, std::size_t row) {
  auto* functor = new RowFunctor<Model>;
  for (int k = 0; k < Model::predictors; ++k) functor->x[k] = data.x[k][row];
  functor->y = data.y[row];
  return new ceres::AutoDiffCostFunction<RowFunctor<Model>, 1, Model::parameters>(functor);
}

template <class... Models>
MakeRow find_row(std::string_view name, std::tuple<Models...>*) {
  MakeRow found = nullptr;
  ((Models::name == name ? void(found = make_row<Models>) : void()), ...);
  return found;
}

MakeRow row_maker(std::string_view name) {
  MakeRow found = find_row(name, static_cast<CurveModels*>(nullptr));
  if (found == nullptr) found = find_row(name, static_cast<NistModels*>(nullptr));
  if (found == nullptr) throw std::runtime_error("no Ceres functor for " + std::string(name));
  return found;
}

// Computes all rows in one cost function, with derivatives by hand.
class AllRows final : public ceres::CostFunction {
 public:
  AllRows(const ModelLoops& model, const Data& data) : model_(model), data_(data) {
    set_num_residuals(static_cast<int>(data.rows()));
    mutable_parameter_block_sizes()->push_back(model.parameters);
  }
  bool Evaluate(const double* const* p, double* residuals, double** jacobians) const override {
    model_.residuals(data_, p[0], residuals);
    if (jacobians != nullptr && jacobians[0] != nullptr) {
      model_.jacobian(data_, p[0], jacobians[0], static_cast<std::size_t>(model_.parameters), 1);
    }
    return true;
  }

 private:
  const ModelLoops& model_;
  const Data& data_;
};

std::vector<double> fit(const PeerTask& task, CeresForm form, CeresSolver solver) {
  std::vector<double> p = task.start;
  ceres::Problem problem;
  if (form == CeresForm::block_per_row) {
    const MakeRow make = row_maker(task.model);
    for (std::size_t i = 0; i < task.data->rows(); ++i) {
      problem.AddResidualBlock(make(*task.data, i), nullptr, p.data());
    }
  } else {
    problem.AddResidualBlock(new AllRows(model_loops(task.model), *task.data), nullptr, p.data());
  }
  ceres::Solver::Options options;
  options.linear_solver_type = solver == CeresSolver::qr ? ceres::DENSE_QR : ceres::DENSE_NORMAL_CHOLESKY;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = task.tolerance;
  options.max_num_iterations = 10000;
  options.num_threads = task.threads;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return p;
}

}  // namespace

void silence_ceres() {
#if __has_include(<glog/logging.h>)
  FLAGS_minloglevel = 3;
#endif
}

std::optional<Contender> ceres_fit(const PeerTask& task, CeresForm form, CeresSolver solver) {
  silence_ceres();
  const char* name = form == CeresForm::one_block ? "Ceres, one block by hand"
                     : solver == CeresSolver::qr  ? "Ceres AutoDiff, DENSE_QR"
                                                  : "Ceres AutoDiff, a block a row";
  return Contender{name, [=] { return fit(task, form, solver); }};
}

std::string detail::ceres_name() { return "Ceres " CERES_VERSION_STRING; }

}  // namespace bench

#else

namespace bench {

void silence_ceres() {}
std::optional<Contender> ceres_fit(const PeerTask&, CeresForm, CeresSolver) { return std::nullopt; }
std::string detail::ceres_name() { return {}; }

}  // namespace bench

#endif
