// nlsq::AutoDiffCostFunction replaces ceres::AutoDiffCostFunction. Under ceres::Solve it does the same, with
// Ceres's jets. Under nlsq::Solve its functor is recorded, and all blocks of one functor type share a program
// that runs on many of them at a time, in f32 or f64.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/ceres_jet.hpp>
#include <nlsq/export.hpp>

#include <ceres/sized_cost_function.h>
#include <ceres/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// This is the interface by which nlsq::Solve recognises a recordable ceres::CostFunction.
class NLSQ_API RecordableCostFunction {
 public:
  // Cost functions of one kind perform the same operations on different numbers.
  virtual const void* kind() const = 0;
  // False if a specialisation of nlsq::no_trace excludes the functor from recording.
  virtual bool recordable() const = 0;
  virtual bool record(const Traced* const* blocks, Traced* residuals) const = 0;
  // Returns the address of the functor, which a call reads; null if there is none.
  virtual const void* reads() const { return nullptr; }
  // Returns a number that is unique over the lifetime of the program. A cost function that was moved to gets
  // a new number.
  std::uint64_t serial() const { return serial_; }

 protected:
  RecordableCostFunction() : serial_(next_serial()) {}
  RecordableCostFunction(const RecordableCostFunction&) = delete;
  RecordableCostFunction& operator=(const RecordableCostFunction&) = delete;
  ~RecordableCostFunction() = default;

 private:
  static std::uint64_t next_serial();
  std::uint64_t serial_;
};

// Base of `Cost`, which calls a Functor. All cost functions of that type are of one kind.
template <class Cost, class Functor>
class RecordableFunctor : public RecordableCostFunction {
 public:
  const void* kind() const final {
    static const char tag = 0;
    return &tag;
  }
  bool recordable() const final { return !no_trace<Functor>; }

 protected:
  ~RecordableFunctor() = default;
};

template <class Functor, int kNumResiduals, int... Ns>
class AutoDiffCostFunction final
    : public ceres::SizedCostFunction<kNumResiduals, Ns...>,
      public RecordableFunctor<AutoDiffCostFunction<Functor, kNumResiduals, Ns...>, Functor> {
  static constexpr int kInputs = (Ns + ... + 0);
  static constexpr std::size_t kBlocks = sizeof...(Ns);
  static constexpr std::array<int, kBlocks> kSizes{Ns...};
  static constexpr std::make_index_sequence<kBlocks> kAll{};
  static constexpr bool kDynamic = kNumResiduals == ceres::DYNAMIC;

 public:
  explicit AutoDiffCostFunction(Functor* functor, ceres::Ownership ownership = ceres::TAKE_OWNERSHIP)
      : functor_(functor), ownership_(ownership) {
    static_assert(!kDynamic,
                  "the number of residuals is ceres::DYNAMIC: AutoDiffCostFunction(functor, residuals)");
  }
  AutoDiffCostFunction(Functor* functor, int residuals, ceres::Ownership ownership = ceres::TAKE_OWNERSHIP)
      : functor_(functor), ownership_(ownership) {
    static_assert(kDynamic, "the number of residuals is a template argument: AutoDiffCostFunction(functor)");
    this->set_num_residuals(residuals);
  }
  explicit AutoDiffCostFunction(std::unique_ptr<Functor> functor) : AutoDiffCostFunction(functor.release()) {}
  AutoDiffCostFunction(std::unique_ptr<Functor> functor, int residuals)
      : AutoDiffCostFunction(functor.release(), residuals) {}
  // Constructs the functor from these arguments, as Ceres 2.2 does.
  template <class... Args>
  requires(!kDynamic &&
           std::is_constructible_v<Functor, Args&&...>) explicit AutoDiffCostFunction(Args&&... args)
      : AutoDiffCostFunction(std::make_unique<Functor>(std::forward<Args>(args)...)) {}
  // `other` loses its functor. Its Evaluate returns false from then on.
  AutoDiffCostFunction(AutoDiffCostFunction&& other) noexcept
      : functor_(std::move(other.functor_)), ownership_(other.ownership_) {
    this->set_num_residuals(other.num_residuals());
  }
  ~AutoDiffCostFunction() override {
    if (ownership_ == ceres::DO_NOT_TAKE_OWNERSHIP) functor_.release();
  }

  const Functor& functor() const { return *functor_; }

  // Returns false if there is no functor: it was null or moved away.
  bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const override {
    if (!functor_) return false;
    if (!jacobians) return call(blocks, residuals, kAll);
    using Jet = ceres::Jet<double, kInputs>;
    Numbers<Jet> inputs;
    std::array<const Jet*, kBlocks> at;
    for (std::size_t k = 0, j = 0; k < kBlocks; ++k) {
      at[k] = inputs.data() + j;
      for (int i = 0; i < kSizes[k]; ++i, ++j) inputs[j] = Jet(blocks[k][i], static_cast<int>(j));
    }
    auto results = make_results<Jet>();
    if (!call(at.data(), results.data(), kAll)) return false;
    for (int r = 0; r < this->num_residuals(); ++r) {
      const Jet& result = results[static_cast<std::size_t>(r)];
      residuals[r] = result.a;
      for (std::size_t k = 0, j = 0; k < kBlocks; j += static_cast<std::size_t>(kSizes[k++])) {
        if (!jacobians[k]) continue;
        for (int i = 0; i < kSizes[k]; ++i)
          jacobians[k][r * kSizes[k] + i] = result.v[static_cast<Eigen::Index>(j) + i];
      }
    }
    return true;
  }

  const void* reads() const override { return functor_.get(); }

  bool record(const Traced* const* blocks, Traced* residuals) const override {
    if constexpr (no_trace<Functor>) {
      return false;
    } else {
      if (!functor_) return false;
      using Jet = ceres::Jet<double, 0>;
      Numbers<Jet> inputs;
      std::array<const Jet*, kBlocks> at;
      for (std::size_t k = 0, j = 0; k < kBlocks; ++k) {
        at[k] = inputs.data() + j;
        for (int i = 0; i < kSizes[k]; ++i, ++j) inputs[j] = Jet(blocks[k][i]);
      }
      auto results = make_results<Jet>();
      if (!call(at.data(), results.data(), kAll)) return false;
      for (int r = 0; r < this->num_residuals(); ++r)
        residuals[r] = results[static_cast<std::size_t>(r)].number();
      return true;
    }
  }

 private:
  template <class T>
  using Numbers = std::array<T, static_cast<std::size_t>(kInputs)>;
  template <class T>
  auto make_results() const {
    if constexpr (kDynamic) return std::vector<T>(static_cast<std::size_t>(this->num_residuals()));
    else return std::array<T, static_cast<std::size_t>(kNumResiduals)>();
  }
  template <class T, std::size_t... k>
  bool call(T const* const* blocks, T* residuals, std::index_sequence<k...>) const {
    return (*functor_)(blocks[k]..., residuals);
  }

  std::unique_ptr<Functor> functor_;
  ceres::Ownership ownership_;
};

}  // namespace nlsq::inline v0
