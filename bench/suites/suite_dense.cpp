// Suite dense has many parameters. It compares Gram kernels with a core's peak, and whole fits with all-f64
// and Ceres.
#include "curves/wide_models.hpp"
#include "memory_use.hpp"
#include "suites/suites.hpp"

#include <nlsq/nlsq.hpp>
#include "kernels/kernel_table.hpp"

#if NLSQ_BENCH_CERES
#include <ceres/ceres.h>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <utility>

namespace bench {

namespace {

constexpr std::size_t kTileRows = 448;  // typical tile of a fit with about five hundred columns
constexpr int kIterations = 50;         // of Ceres, where the time to its cost is compared
constexpr double kLanes16 = 8;          // bf16 products in the time of one f64 product, by register width

// Times a kernel for the Gram matrix of n + 1 columns of one tile, including packing and flush.
template <class T, class Kernel>
Contender gram(const char* name, int n, Kernel kernel) {
  const auto n1 = static_cast<std::size_t>(n) + 1;
  struct alignas(64) Line {
    T values[64 / sizeof(T)];
  };
  auto data = std::make_shared<std::vector<Line>>(n1 * kTileRows * sizeof(T) / sizeof(Line));
  T* const first = data->front().values;
  for (std::size_t i = 0; i < n1 * kTileRows; ++i)
    first[i] = static_cast<T>(static_cast<double>(i * 7919 % 1000) * 1e-3);
  auto columns = std::make_shared<std::vector<const T*>>();
  for (std::size_t j = 0; j < n1; ++j) columns->push_back(first + j * kTileRows);
  auto sums = std::make_shared<std::vector<double>>(n1 * (n1 + 1) / 2);
  return {name, [=, owner = data] {
            nlsq::KernelCounters counters;
            kernel(columns->data(), static_cast<int>(n1), kTileRows, sums->data(), &counters);
            return std::vector<double>{};  // sums accumulate over calls, as in a fit
          }};
}

void compare_kernels(const Settings& settings) {
  const nlsq::KernelTable& k = nlsq::kernels();
  for (const int n : {64, 128, 256, 512, 1024}) {
    const std::vector<Contender> contenders{
        gram<float>("bf16", n, k.gram_bf16), gram<double>("f64", n, k.gram_f64),
        gram<float>("f32", n, k.gram_f32), gram<float>("f32, f64 sums", n, k.gram_f32_wide)};
    const std::vector<Measured> measured = measure(contenders, settings);
    // Half of a square product; a multiply-add is two operations.
    const double operations = static_cast<double>(n + 1) * (n + 2) / 2 * static_cast<double>(kTileRows);
    const auto share = [&](std::size_t c, double lanes) {
      return operations / (measured[c].seconds * settings.machine.fma_f64 * lanes);
    };
    const double bf16 = share(0, kLanes16 / 2), f64 = share(1, 1),
                 ratio = measured[1].seconds / measured[0].seconds;
    Row row;
    row.suite = "dense";
    row.name = fmt::format("Gram kernel bf16, n = {}, {} rows", n, kTileRows);
    row.over_floor = 1 / bf16;
    for (std::size_t c = 1; c < contenders.size(); ++c) {
      row.ours_s = measured[0].seconds;
      row.peer = contenders[c].name;
      row.peer_s = measured[c].seconds;
      row.note = fmt::format("{:.0f} Gflop/s beside {:.0f}", 2e-9 * operations / measured[0].seconds,
                             2e-9 * operations / measured[c].seconds);
      settings.report->add(row);
    }
    if (n != 512) continue;
    if (k.multiplies_bf16()) {
      settings.report->goal({"dense", "Gram kernel bf16, n = 512: of 4 x f64's multiply-adds", 100 * bf16,
                             Asked::at_least, 85, " %"});
      settings.report->goal(
          {"dense", "Gram kernel bf16, n = 512: over f64", ratio, Asked::at_least, 3.5, "x"});
    }
    settings.report->goal({"dense", "Gram kernel f64, n = 512: of the multiply-adds measured", 100 * f64,
                           Asked::at_least, 85, " %"});
  }
}

// Times adding a tile to R, including the copy of the tile that the kernel overwrites.
Contender qr(int n) {
  const auto n1 = static_cast<std::size_t>(n) + 1;
  auto data = std::make_shared<std::vector<double>>(n1 * kTileRows),
       copy = std::make_shared<std::vector<double>>(n1 * kTileRows);
  for (std::size_t i = 0; i < data->size(); ++i) (*data)[i] = static_cast<double>(i * 7919 % 1009) * 1e-3;
  auto R = std::make_shared<std::vector<double>>(n1 * n1);
  return {"f64 QR", [=] {
            *copy = *data;
            std::vector<double*> columns;
            for (std::size_t j = 0; j < n1; ++j) columns.push_back(copy->data() + j * kTileRows);
            nlsq::KernelCounters counters;
            nlsq::kernels().qr_fold(R->data(), n1, static_cast<int>(n1), columns.data(), kTileRows,
                                    &counters);
            return std::vector<double>{};
          }};
}

void compare_qr(const Settings& settings) {
  for (const int n : {128, 512, 2000}) {
    const std::vector<Measured> measured =
        measure({qr(n), gram<double>("f64 Gram", n, nlsq::kernels().gram_f64)}, settings);
    const double operations = 2 * static_cast<double>(n + 1) * (n + 1) * static_cast<double>(kTileRows),
                 times = measured[0].seconds / measured[1].seconds;
    Row row;
    row.suite = "dense";
    row.name = fmt::format("QR kernel f64, n = {}, {} rows", n, kTileRows);
    row.over_floor = 2 * measured[0].seconds * settings.machine.fma_f64 / operations;
    row.ours_s = measured[0].seconds;
    row.peer = "f64 Gram";
    row.peer_s = measured[1].seconds;
    row.note = fmt::format("{:.0f} Gflop/s; {:.2f} times the Gram matrix, whose operations are half",
                           1e-9 * operations / measured[0].seconds, times);
    settings.report->add(row);
    if (n >= 512 && nlsq::kernels().qr_block_columns > 0) {
      settings.report->goal({"dense", fmt::format("QR kernel f64, n = {}: times the Gram matrix", n), times,
                             Asked::at_most, 3, "x"});
    }
  }
}

#if NLSQ_BENCH_CERES
class ByHand final : public ceres::CostFunction {
 public:
  explicit ByHand(const WideModel& model) : model_(model) {
    set_num_residuals(static_cast<int>(model.rows));
    mutable_parameter_block_sizes()->push_back(static_cast<int>(model.parameters()));
  }
  bool Evaluate(const double* const* p, double* residuals, double** jacobians) const override {
    model_.residuals(p[0], residuals, jacobians == nullptr ? nullptr : jacobians[0]);
    return true;
  }

 private:
  const WideModel& model_;
};

std::vector<double> fit_with_ceres(const WideModel& model, int threads) {
  std::vector<double> p = model.start;
  ceres::Problem problem;
  problem.AddResidualBlock(new ByHand(model), nullptr, p.data());
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_NORMAL_CHOLESKY;
  options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance =
      model.flat ? 1e-16 : 1e-10;
  options.max_num_iterations = kIterations;
  options.num_threads = threads;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  return model.flat ? std::vector{summary.final_cost} : p;
}
#endif

// Fits with one policy. If the model is flat, the fit stops at cost `target`. `last` keeps the result for the
// note.
Contender fit(const char* name, const WideModel& model, const char* policy, int threads, double target,
              std::shared_ptr<nlsq::FitResult> last) {
  nlsq::FitOptions options;
  options.threads = threads;
  options.precision = nlsq::PrecisionPolicy::parse(policy);
  if (model.flat) {
    options.max_iterations = 10 * kIterations;
    options.callback = [target](const nlsq::IterationSummary& it) {
      return it.cost <= target ? nlsq::Stop : nlsq::Continue;
    };
  }
  std::vector<nlsq::Column> x(model.x.begin(), model.x.end());
  return {name, [&model, options, x = std::move(x), last] {
            *last = nlsq::curve_fit(model.callable, nlsq::Columns(x), model.y, model.start, options);
            return model.flat ? std::vector{last->summary.final_cost} : last->parameters;
          }};
}

void compare_fits(const WideModel& model, int threads, const Settings& settings) {
  auto ours = std::make_shared<nlsq::FitResult>(), f64 = std::make_shared<nlsq::FitResult>();
  double target = 0;
#if NLSQ_BENCH_CERES
  if (model.flat) target = fit_with_ceres(model, threads)[0] * (1 + 1e-9);
#endif
  if (model.flat && target == 0) return;  // without a peer there is no target
  std::vector<Contender> contenders{fit("nlsq", model, "auto", threads, target, ours),
                                    fit("nlsq all-f64", model, "f64", threads, target, f64)};
#if NLSQ_BENCH_CERES
  contenders.push_back(
      {"Ceres DENSE_NORMAL_CHOLESKY, by hand", [&model, threads] { return fit_with_ceres(model, threads); }});
#endif
  const std::vector<Measured> measured = measure(contenders, settings);
  Row row;
  row.suite = "dense";
  row.name = fmt::format("{}, n = {}, {} rows, {} thread{}", model.name, model.parameters(), model.rows,
                         threads, threads == 1 ? "" : "s");
  const auto ended = [&](const nlsq::FitResult& fit) {
    return model.flat ? fit.summary.final_cost <= target : fit.success();
  };
  row.sound = ended(*ours) && ended(*f64);
  const auto& counters = ours->summary.precision.counters;
  const double n = static_cast<double>(model.parameters()), m = static_cast<double>(model.rows);
  row.over_floor = measured[0].seconds / settings.machine.floor(model.rows, 0.5 * (n + 1) * (n + 2),
                                                                8 * (static_cast<double>(model.x.size()) + 1),
                                                                false, threads);
  row.note =
      fmt::format("{}: f32 x{:.1f}, f64 x{:.1f}",
                  model.flat ? "to Ceres's cost after 50 iterations" : nlsq::name(ours->summary.verdict),
                  static_cast<double>(counters.rows_f32) / m, static_cast<double>(counters.rows_f64) / m);
  report_against_peers(contenders, measured, row, settings);
  const bool named = model.name.starts_with("radial");
  if (!named || settings.quick) return;
  const auto over = [&](std::size_t c) { return measured[c].seconds / measured[0].seconds; };
  settings.report->goal({"dense", row.name + ": over nlsq all-f64", over(1), Asked::at_least, 2.5, "x"});
  if (contenders.size() > 2)
    settings.report->goal({"dense", row.name + ": over Ceres", over(2), Asked::at_least, 10, "x"});
}

// Makes one fit of thousands of parameters. Checks the certificate, and measures time and memory.
void complete(const WideModel& model, int threads, const Settings& settings) {
  constexpr double kMatrices = 24;  // memory limit in n x n matrices: sums of eight chunks of rows (halves),
                                    // H, its factors, the covariance
  auto ours = std::make_shared<nlsq::FitResult>();
  const Contender contender = fit("nlsq", model, "auto", threads, 0, ours);
  const double n = static_cast<double>(model.parameters()), m = static_cast<double>(model.rows);
  Row row;
  const double bytes = memory_beyond([&] { row.ours_s = measure({contender}, settings)[0].seconds; });
  row.suite = "dense";
  row.name = fmt::format("{}, n = {}, {} rows, {} thread{}", model.name, model.parameters(), model.rows,
                         threads, threads == 1 ? "" : "s");
  row.sound = ours->success();
  row.over_floor =
      row.ours_s / settings.machine.floor(model.rows, 0.5 * (n + 1) * (n + 2), 16, false, threads);
  const auto& counters = ours->summary.precision.counters;
  row.note = fmt::format(
      "{}: f32 x{:.1f}, f64 x{:.1f}; memory {:.0f} MB = {:.1f} n x n, passes {:.0f} MB; J would take {:.0f} "
      "MB",
      nlsq::name(ours->summary.verdict), static_cast<double>(counters.rows_f32) / m,
      static_cast<double>(counters.rows_f64) / m, 1e-6 * bytes, bytes / (8 * n * n),
      1e-6 * static_cast<double>(ours->summary.peak_bytes), 8e-6 * n * m);
  settings.report->add(row);
  settings.report->goal(
      {"dense", row.name + ": memory in n x n matrices", bytes / (8 * n * n), Asked::at_most, kMatrices, ""});
}

}  // namespace

void run_dense(const Settings& settings) {
  settings.report->begin_suite(
      "dense",
      "Gram kernels on one tile, /floor: of bf16 at 4 times f64's multiply-adds; then fits of many "
      "parameters, /floor:\n"
      "of one f64 Gram matrix; goals: bf16 and f64 kernels 85 %, 3.5x apart; 2.5x all-f64, 10x Ceres");
  compare_kernels(settings);
  compare_qr(settings);
  const int cores =
      settings.clock == Clock::cpu ? 1 : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  compare_fits(radial_basis(settings.quick ? 10'000 : 100'000, settings.quick ? 42 : 170), cores, settings);
  if (!settings.quick) {
    complete(radial_basis(20'000, 666), cores, settings);
    complete(radial_basis(20'000, 1'333), cores, settings);
  }
  compare_fits(neural_network(settings.quick ? 10'000 : 100'000, settings.quick ? 8 : 16), cores, settings);
}

}  // namespace bench
