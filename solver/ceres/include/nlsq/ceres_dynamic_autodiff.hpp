// nlsq::DynamicAutoDiffCostFunction replaces ceres::DynamicAutoDiffCostFunction, for functors whose numbers
// of blocks, parameters and residuals are set at run time. Under ceres::Solve it does the same, with Stride
// derivatives per call. Under nlsq::Solve its functor is recorded, and blocks of one functor type and one
// shape share a program.
#pragma once

#include <nlsq/callable.hpp>
#include <nlsq/ceres_autodiff.hpp>
#include <nlsq/ceres_jet.hpp>

#include <ceres/dynamic_cost_function.h>
#include <ceres/types.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace nlsq::inline v0 {

// The functor has template <class T> bool operator()(T const* const* blocks, T* residuals) const. Call
// AddParameterBlock for each block, and SetNumResiduals, before use.
template <class Functor, int Stride = 4>
class DynamicAutoDiffCostFunction final
    : public ceres::DynamicCostFunction,
      public RecordableFunctor<DynamicAutoDiffCostFunction<Functor, Stride>, Functor> {
 public:
  explicit DynamicAutoDiffCostFunction(Functor* functor, ceres::Ownership ownership = ceres::TAKE_OWNERSHIP)
      : functor_(functor), ownership_(ownership) {}
  explicit DynamicAutoDiffCostFunction(std::unique_ptr<Functor> functor)
      : DynamicAutoDiffCostFunction(functor.release()) {}
  // Constructs the functor from these arguments, as Ceres 2.2 does.
  template <class... Args>
  requires std::is_constructible_v<Functor, Args&&...>
  explicit DynamicAutoDiffCostFunction(Args&&... args)
      : DynamicAutoDiffCostFunction(std::make_unique<Functor>(std::forward<Args>(args)...)) {}
  // Copies the shape. `other` loses its functor. Its Evaluate returns false from then on.
  DynamicAutoDiffCostFunction(DynamicAutoDiffCostFunction&& other)
      : functor_(std::move(other.functor_)), ownership_(other.ownership_) {
    for (const int size : other.parameter_block_sizes()) AddParameterBlock(size);
    SetNumResiduals(other.num_residuals());
  }
  ~DynamicAutoDiffCostFunction() override {
    if (ownership_ == ceres::DO_NOT_TAKE_OWNERSHIP) functor_.release();
  }

  const Functor& functor() const { return *functor_; }

  // Returns false if the number of residuals was never set, or if there is no functor: it was null or moved
  // away.
  bool Evaluate(double const* const* blocks, double* residuals, double** jacobians) const override {
    if (num_residuals() <= 0 || !functor_) return false;
    if (!jacobians) return (*functor_)(blocks, residuals);
    using Jet = ceres::Jet<double, Stride>;
    Inputs<Jet> inputs(blocks, parameter_block_sizes());
    std::vector<Jet> results(static_cast<std::size_t>(num_residuals()));
    const std::vector<Place> wanted = places(jacobians);
    for (std::size_t first = 0; first < wanted.size() || first == 0; first += Stride) {
      const auto count = static_cast<int>(std::min<std::size_t>(Stride, wanted.size() - first));
      for (int k = 0; k < count; ++k)
        inputs.number(wanted[first + static_cast<std::size_t>(k)].input).v[k] = 1;
      if (!(*functor_)(inputs.pointers(), results.data())) return false;
      for (int k = 0; k < count; ++k) {
        const Place& place = wanted[first + static_cast<std::size_t>(k)];
        for (int r = 0; r < num_residuals(); ++r)
          place.column[r * place.size] = results[static_cast<std::size_t>(r)].v[k];
        inputs.number(place.input).v[k] = 0;
      }
    }
    for (int r = 0; r < num_residuals(); ++r) residuals[r] = results[static_cast<std::size_t>(r)].a;
    return true;
  }

  const void* reads() const override { return functor_.get(); }

  bool record(const Traced* const* blocks, Traced* residuals) const override {
    if constexpr (no_trace<Functor>) {
      return false;
    } else {
      if (!functor_) return false;
      using Jet = ceres::Jet<double, 0>;
      const Inputs<Jet> inputs(blocks, parameter_block_sizes());
      std::vector<Jet> results(static_cast<std::size_t>(num_residuals()));
      if (!(*functor_)(inputs.pointers(), results.data())) return false;
      for (std::size_t r = 0; r < results.size(); ++r) residuals[r] = results[r].number();
      return true;
    }
  }

 private:
  // Holds the numbers of all blocks as one scalar type, concatenated.
  template <class Jet>
  class Inputs {
   public:
    template <class T>
    Inputs(T const* const* blocks, const std::vector<int>& sizes) {
      for (std::size_t k = 0; k < sizes.size(); ++k) {
        for (int i = 0; i < sizes[k]; ++i) numbers_.push_back(Jet(blocks[k][i]));
      }
      const Jet* next = numbers_.data();
      for (const int size : sizes) pointers_.push_back(std::exchange(next, next + size));
    }
    Jet const* const* pointers() const { return pointers_.data(); }
    Jet& number(std::size_t i) { return numbers_[i]; }

   private:
    std::vector<Jet> numbers_;
    std::vector<const Jet*> pointers_;
  };

  // This is a requested derivative: its input, and where its column begins in a block of `size` columns.
  struct Place {
    std::size_t input;
    double* column;
    int size;
  };
  std::vector<Place> places(double** jacobians) const {
    std::vector<Place> out;
    std::size_t input = 0;
    for (std::size_t k = 0; k < parameter_block_sizes().size(); ++k) {
      const int size = parameter_block_sizes()[k];
      for (int i = 0; i < size; ++i, ++input) {
        if (jacobians[k]) out.push_back({input, jacobians[k] + i, size});
      }
    }
    return out;
  }

  std::unique_ptr<Functor> functor_;
  ceres::Ownership ownership_;
};

}  // namespace nlsq::inline v0
