// Implements the adapters for Ceres's cost functions, losses and manifolds.
#include "ceres_parts.hpp"
#include "support/all_finite.hpp"

#include <nlsq/ceres_autodiff.hpp>

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

namespace nlsq::inline v0 {

class CostBlock final : public BlockFunction {
 public:
  CostBlock(const ceres::CostFunction* function, const RecordableCostFunction* recordable, bool has_empty)
      : BlockFunction(function->num_residuals()), function_(function), recordable_(recordable),
        kind_(recordable ? recordable->kind() : &kNotRecorded),
        reads_(recordable ? recordable->reads() : nullptr), has_empty_(has_empty) {}

  Derivatives derivatives_by() const override {
    return recordable_ ? Derivatives::traced_own : Derivatives::own;
  }
  const void* kind() const override { return kind_; }
  void look_in(std::shared_ptr<CostAnswer> answer) { answer_ = std::move(answer); }
  // Detects residuals that a function does not write: they stay non-finite, as in Ceres.
  bool value(const double* const* blocks, double* residuals) const override {
    if (given(CostAnswer::Of::residuals, blocks, residuals, nullptr)) return true;
    std::fill_n(residuals, this->residuals(), kUnwritten);
    std::vector<const double*> all;
    return function_->Evaluate(with_empty(blocks, kNothing, all), residuals, nullptr);
  }
  // A cost function and its functor lie anywhere in memory.
  void fetch() const {
    prefetch_object(function_);
    __builtin_prefetch(reads_);
  }
  bool trace(const Traced* const* blocks, Traced* residuals) const override {
    return recordable_->record(blocks, residuals);
  }
  bool derivatives(const double* const* blocks, double* residuals, double* const* J) const override {
    if (given(CostAnswer::Of::derivatives, blocks, residuals, J)) return true;
    std::fill_n(residuals, function_->num_residuals(), kUnwritten);
    const std::vector<int>& sizes = function_->parameter_block_sizes();
    std::vector<const double*> all;
    std::vector<double*> all_of_J;
    double* const none = nullptr;
    double* const* const to = with_empty(J, none, all_of_J);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      if (to[k]) std::fill_n(to[k], function_->num_residuals() * sizes[k], kUnwritten);
    }
    // The function writes only to the memory that J points to.
    return function_->Evaluate(with_empty(blocks, kNothing, all), residuals, const_cast<double**>(to));
  }

 private:
  bool given(CostAnswer::Of of, const double* const* blocks, double* residuals, double* const* J) const {
    return answer_ && answer_->give(of, function_->parameter_block_sizes(), blocks, residuals, J);
  }
  // Ceres allows parameter blocks without numbers, which nlsq::Problem does not have. Adds `empty` for them.
  template <class T>
  T* const* with_empty(T* const* blocks, T* empty, std::vector<T*>& all) const {
    if (!has_empty_) return blocks;
    for (const int size : function_->parameter_block_sizes()) all.push_back(size > 0 ? *blocks++ : empty);
    return all.data();
  }

  static constexpr double kNothing[1] = {0};
  static constexpr char kNotRecorded = 0;  // its address is the kind of all functions that are not recorded
  static constexpr double kUnwritten = std::numeric_limits<double>::quiet_NaN();

  const ceres::CostFunction* function_;
  const RecordableCostFunction* recordable_;
  const void* kind_;
  const void* reads_;
  std::shared_ptr<CostAnswer> answer_;  // null for most functions
  bool has_empty_;
};

namespace {

// If Ceres's manifold fails or leads to infinity, the point becomes NaN. Its cost is then not finite and the
// step is rejected, as in Ceres.
class WrappedManifold final : public Manifold {
 public:
  explicit WrappedManifold(const ceres::Manifold* manifold) : manifold_(manifold) {}

  int ambient() const override { return manifold_->AmbientSize(); }
  int tangent() const override { return manifold_->TangentSize(); }
  void plus(const double* x, const double* delta, double* out) const override {
    if (std::all_of(delta, delta + tangent(), [](double d) { return d == 0; })) {
      std::copy_n(x, ambient(), out);
    } else if (!manifold_->Plus(x, delta, out) ||
               !all_finite({out, static_cast<std::size_t>(manifold_->AmbientSize())})) {
      std::fill_n(out, ambient(), std::numeric_limits<double>::quiet_NaN());
    }
  }
  void plus_jacobian(const double* x, double* J) const override {
    if (!manifold_->PlusJacobian(x, J))
      std::fill_n(J, ambient() * tangent(), std::numeric_limits<double>::quiet_NaN());
  }

 private:
  const ceres::Manifold* manifold_;
};

}  // namespace

bool usable_at(const ceres::Manifold& manifold, const double* x) {
  std::vector<double> J(static_cast<std::size_t>(manifold.AmbientSize() * manifold.TangentSize()));
  return manifold.PlusJacobian(x, J.data()) && all_finite(J);
}

std::uint64_t RecordableCostFunction::next_serial() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

CostBlocks::CostBlocks(bool may_record)
    : blocks_(std::make_shared<std::deque<CostBlock>>()), may_record_(may_record) {}

// Does what dynamic_cast does. In all objects of one type, a base is at the same place, and most functions
// have the type of the one before. So the slow search for the base is made only if the type changes.
const RecordableCostFunction* CostBlocks::recordable(const ceres::CostFunction* function) {
  const char* const at = reinterpret_cast<const char*>(function);
  const std::type_info* const type = &typeid(*function);
  const std::ptrdiff_t of_function = at - static_cast<const char*>(dynamic_cast<const void*>(function));
  if (type != type_ || of_function != of_function_) {
    const auto* found = dynamic_cast<const RecordableCostFunction*>(function);
    type_ = type;
    of_function_ = of_function;
    to_recordable_.reset();
    if (found) to_recordable_ = reinterpret_cast<const char*>(found) - at;
  }
  return to_recordable_ ? reinterpret_cast<const RecordableCostFunction*>(at + *to_recordable_) : nullptr;
}

CostBlocks::Wrapped CostBlocks::wrap(const ceres::CostFunction* function, bool has_empty) {
  const RecordableCostFunction* found = may_record_ ? recordable(function) : nullptr;
  if (found && (has_empty || !found->recordable())) found = nullptr;
  return {{blocks_, &blocks_->emplace_back(function, found, has_empty)}, found ? found->serial() : 0};
}

void CostBlocks::look_in(std::size_t number, std::shared_ptr<CostAnswer> answer) {
  (*blocks_)[number].look_in(std::move(answer));
}

bool CostAnswer::give(Of wanted, const std::vector<int>& sizes, const double* const* blocks, double* r,
                      double* const* J_out) {
  if (of != wanted) return false;
  const double* number = at.data();
  for (std::size_t k = 0; k < sizes.size(); number += sizes[k++]) {
    if (!std::equal(blocks[k], blocks[k] + sizes[k], number)) return false;
  }
  of = Of::none;
  std::ranges::copy(residuals, r);
  const double* from = J.data();
  for (std::size_t k = 0; J_out && k < sizes.size(); ++k) {
    const auto count = residuals.size() * static_cast<std::size_t>(sizes[k]);
    if (J_out[k]) std::copy_n(from, count, J_out[k]);
    from += count;
  }
  return true;
}

void CostBlocks::fetch(const BlockFunction& wrapped) { static_cast<const CostBlock&>(wrapped).fetch(); }

Loss wrap(const ceres::LossFunction* loss) {
  if (loss == nullptr) return {};
  return Loss::own([loss](double s) {
    double rho[3];
    loss->Evaluate(s, rho);
    return Loss::Value{rho[0], std::max(rho[1], 0.0)};
  });
}

ManifoldPtr Manifolds::wrap(const ceres::Problem& problem, const double* block) {
  // In Ceres 2.1, a local parameterization also appears as a manifold.
  const ceres::Manifold* manifold = problem.GetManifold(block);
  if (manifold == nullptr) return nullptr;
  ManifoldPtr& wrapped = wrapped_[manifold];
  if (!wrapped) wrapped = std::make_shared<WrappedManifold>(manifold);
  return wrapped;
}

}  // namespace nlsq::inline v0
