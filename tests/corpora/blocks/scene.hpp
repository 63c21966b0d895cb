// A Scene is a block problem written once, with parameter blocks and residual blocks of template functors. It
// builds an nlsq::Problem, a ceres::Problem, and the residuals in long double for the oracle.
#pragma once

#include "wide.hpp"

#include <nlsq/ceres.hpp>
#include <nlsq/problem.hpp>

#include <ceres/ceres.h>

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace blocks {

inline constexpr double kNone = std::numeric_limits<double>::infinity();

enum class Shape : std::uint8_t {
  vector,
  quaternion,
  eigen_quaternion,
  sphere
};  // a sphere has three numbers

struct Block {
  std::size_t first = 0;  // index of its first number in the scene
  int size = 0;
  Shape shape = Shape::vector;
  std::vector<int> held;  // for a vector: numbers fixed by a subset manifold
  bool constant = false;
  std::vector<double> lower, upper;  // empty: no bounds
};

struct LossSpec {
  enum class Kind : std::uint8_t { none, huber, soft_l1, cauchy, arctan, tukey, tolerant };
  Kind kind = Kind::none;
  double a = 1, b = 1;  // b is only used by the tolerant loss

  // Returns ρ, ρ′, ρ″ at s = ‖r‖².
  std::array<Real, 3> operator()(Real s) const;
  nlsq::Loss ours() const;
  ceres::LossFunction* theirs() const;
};
const char* name(LossSpec::Kind kind);
inline constexpr LossSpec::Kind kRobust[] = {LossSpec::Kind::huber,  LossSpec::Kind::soft_l1,
                                             LossSpec::Kind::cauchy, LossSpec::Kind::arctan,
                                             LossSpec::Kind::tukey,  LossSpec::Kind::tolerant};

// A Term is a residual block.
class Term {
 public:
  virtual ~Term() = default;
  virtual std::shared_ptr<const nlsq::BlockFunction> ours() const = 0;
  // Returns a cost function of nlsq that can be recorded if `recordable`; otherwise one that only offers
  // Evaluate.
  virtual ceres::CostFunction* theirs(bool recordable) const = 0;
  // These return false where the residuals do not exist. J is row-major, residuals x all numbers of the
  // blocks.
  virtual bool value(const double* const* x, double* r) const = 0;
  virtual bool value(const Real* const* x, Real* r) const = 0;
  virtual bool derivatives(const Real* const* x, Real* r, Real* J) const = 0;

  std::vector<int> blocks;
  LossSpec loss;
  int residuals = 0;
};

// Holds an error that is put into the hand-written derivatives of a functor.
struct Lie {
  int number = -1;    // index, among the numbers of all blocks, of the wrong derivative; -1: none
  double factor = 1;  // factor by which its derivative is wrong
};

namespace detail {

// Calls f(a, b, ..., residuals) with an array of pointers.
template <class T, class F, std::size_t... i>
bool call(const F& f, const T* const* x, T* r, std::index_sequence<i...>) {
  return f(x[i]..., r);
}

template <class F, int residuals_, int... sizes>
class TermOf : public Term {
 protected:
  static constexpr std::size_t kBlocks = sizeof...(sizes);
  static constexpr int kInputs = (sizes + ...);
  static constexpr std::make_index_sequence<kBlocks> kAll{};
  static constexpr std::array<int, kBlocks> kSizes{sizes...};

 public:
  explicit TermOf(F f) : f_(std::move(f)) { residuals = residuals_; }
  std::shared_ptr<const nlsq::BlockFunction> ours() const override {
    return nlsq::make_block_function<kBlocks>(f_, residuals_);
  }
  ceres::CostFunction* theirs(bool recordable) const override;
  bool value(const double* const* x, double* r) const override { return call(f_, x, r, kAll); }
  bool value(const Real* const* x, Real* r) const override { return call(f_, x, r, kAll); }
  bool derivatives(const Real* const* x, Real* r, Real* J) const override {
    using Dual = Wide<kInputs>;
    std::array<Dual, static_cast<std::size_t>(kInputs)> inputs;
    std::array<const Dual*, kBlocks> at;
    for (std::size_t k = 0, j = 0; k < kBlocks; ++k) {
      at[k] = inputs.data() + j;
      for (int i = 0; i < kSizes[k]; ++i, ++j) inputs[j] = Dual(x[k][i], static_cast<int>(j));
    }
    std::array<Dual, static_cast<std::size_t>(residuals_)> out;
    if (!call(f_, at.data(), out.data(), kAll)) return false;
    for (std::size_t i = 0; i < out.size(); ++i) {
      r[i] = out[i].a;
      for (std::size_t j = 0; j < inputs.size(); ++j) J[i * inputs.size() + j] = out[i].v[j];
    }
    return true;
  }

 protected:
  F f_;
};

// Offers only Ceres's interface, so that nlsq cannot record the functor.
class Opaque final : public ceres::CostFunction {
 public:
  explicit Opaque(ceres::CostFunction* inner) : inner_(inner) {
    *mutable_parameter_block_sizes() = inner->parameter_block_sizes();
    set_num_residuals(inner->num_residuals());
  }
  bool Evaluate(double const* const* x, double* r, double** J) const override {
    return inner_->Evaluate(x, r, J);
  }

 private:
  std::unique_ptr<ceres::CostFunction> inner_;
};

template <class F, int residuals_, int... sizes>
ceres::CostFunction* TermOf<F, residuals_, sizes...>::theirs(bool recordable) const {
  auto* function = new nlsq::AutoDiffCostFunction<F, residuals_, sizes...>(new F(f_));
  return recordable ? function : static_cast<ceres::CostFunction*>(new Opaque(function));
}

// Accepts only double, so that derivatives are finite differences.
template <class F>
struct DoubleOnly {
  F f;
  template <class... Pointers>
  requires((std::is_same_v<std::remove_const_t<std::remove_pointer_t<Pointers>>, double> && ...)) bool
  operator()(Pointers... pointers) const {
    return f(pointers...);
  }
};

template <class F, int residuals_, int... sizes>
class DifferencesTerm final : public TermOf<F, residuals_, sizes...> {
 public:
  using TermOf<F, residuals_, sizes...>::TermOf;
  std::shared_ptr<const nlsq::BlockFunction> ours() const override {
    return nlsq::make_block_function<sizeof...(sizes)>(DoubleOnly<F>{this->f_}, residuals_);
  }
  ceres::CostFunction* theirs(bool) const override {
    return new ceres::NumericDiffCostFunction<DoubleOnly<F>, ceres::CENTRAL, residuals_, sizes...>(
        new DoubleOnly<F>{this->f_});
  }
};

// Returns hand-written derivatives: those of `inner`, with an error. J[k] is null if it is not wanted.
bool faulty_derivatives(const Term& inner, std::span<const int> sizes, const Lie& lie, const double* const* x,
                        double* r, double* const* J);

template <class F, int residuals_, int... sizes>
class HandTerm final : public TermOf<F, residuals_, sizes...> {
  using Base = TermOf<F, residuals_, sizes...>;

 public:
  HandTerm(F f, Lie lie) : Base(std::move(f)), lie_(lie) {}
  std::shared_ptr<const nlsq::BlockFunction> ours() const override {
    return std::make_shared<Function>(*this);
  }
  ceres::CostFunction* theirs(bool) const override { return new Cost(*this); }

 private:
  struct Function final : nlsq::BlockFunction {
    explicit Function(const HandTerm& of) : BlockFunction(of.residuals), term(of) {}
    Derivatives derivatives_by() const override { return Derivatives::own; }
    const void* kind() const override {
      static const char tag = 0;
      return &tag;
    }
    bool value(const double* const* x, double* r) const override { return term.value(x, r); }
    bool derivatives(const double* const* x, double* r, double* const* J) const override {
      return faulty_derivatives(term, Base::kSizes, term.lie_, x, r, J);
    }
    HandTerm term;
  };
  struct Cost final : ceres::SizedCostFunction<residuals_, sizes...> {
    explicit Cost(const HandTerm& of) : term(of) {}
    bool Evaluate(double const* const* x, double* r, double** J) const override {
      return J == nullptr ? term.value(x, r) : faulty_derivatives(term, Base::kSizes, term.lie_, x, r, J);
    }
    HandTerm term;
  };
  Lie lie_;
};

// The solver gets the functor `shown`; the oracle uses F.
template <class Shown, class F, int residuals_, int... sizes>
class MaskedTerm final : public TermOf<F, residuals_, sizes...> {
 public:
  MaskedTerm(Shown shown, F f) : TermOf<F, residuals_, sizes...>(std::move(f)), shown_(std::move(shown)) {}
  std::shared_ptr<const nlsq::BlockFunction> ours() const override {
    return nlsq::make_block_function<sizeof...(sizes)>(shown_, residuals_);
  }
  ceres::CostFunction* theirs(bool) const override {
    return new ceres::NumericDiffCostFunction<Shown, ceres::CENTRAL, residuals_, sizes...>(new Shown(shown_));
  }

 private:
  Shown shown_;
};

}  // namespace detail

class Scene {
 public:
  // Adds a block with these starting values. Returns its id.
  int block(const std::vector<double>& start, Shape shape = Shape::vector);
  void hold(int id) { blocks_[static_cast<std::size_t>(id)].constant = true; }
  void hold_numbers(int id, std::vector<int> numbers) {
    blocks_[static_cast<std::size_t>(id)].held = std::move(numbers);
  }
  void bound(int id, int number, double lower, double upper);

  template <int residuals, int... sizes, class F>
  void add(F f, const std::array<int, sizeof...(sizes)>& blocks, LossSpec loss = {}) {
    keep(std::make_unique<detail::TermOf<F, residuals, sizes...>>(std::move(f)), blocks, loss);
  }
  template <int residuals, int... sizes, class F>
  void add_differences(F f, const std::array<int, sizeof...(sizes)>& blocks, LossSpec loss = {}) {
    keep(std::make_unique<detail::DifferencesTerm<F, residuals, sizes...>>(std::move(f)), blocks, loss);
  }
  template <int residuals, int... sizes, class F>
  void add_by_hand(F f, Lie lie, const std::array<int, sizeof...(sizes)>& blocks, LossSpec loss = {}) {
    keep(std::make_unique<detail::HandTerm<F, residuals, sizes...>>(std::move(f), lie), blocks, loss);
  }

  // Adds a residual block where the solver gets `shown` and the answer is judged by f.
  template <int residuals, int... sizes, class Shown, class F>
  void add_masked(Shown shown, F f, const std::array<int, sizeof...(sizes)>& blocks, LossSpec loss = {}) {
    keep(std::make_unique<detail::MaskedTerm<Shown, F, residuals, sizes...>>(std::move(shown), std::move(f)),
         blocks, loss);
  }

  const std::vector<double>& start() const { return start_; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<std::unique_ptr<Term>>& terms() const { return terms_; }
  int residuals() const;
  // Returns the cost in f64 by the functors. It is infinite where residuals do not exist.
  double cost(const std::vector<double>& x) const;

  // Builds the problem on the numbers at x, which must outlive it.
  nlsq::Problem ours(double* x) const;
  std::unique_ptr<ceres::Problem> theirs(double* x, bool recordable) const;

  // This is the size of the residuals' own terms. With exact data, anything below 1e-8 of it counts as
  // rounding.
  double scale = 1;
  // The largest term at the optimum where terms cancel. Residuals by the program and by the functor differ by
  // rounding errors of this size.
  double largest_term = 0;
  // Data that functors may refer to. change(data, k) alters them before the k-th solve of the same problem; k
  // = 0 restores them.
  std::shared_ptr<std::vector<double>> data;
  std::function<void(std::vector<double>& data, int solve)> change;

 private:
  template <class Ids>
  void keep(std::unique_ptr<Term> term, const Ids& ids, LossSpec loss) {
    term->blocks.assign(ids.begin(), ids.end());
    term->loss = loss;
    terms_.push_back(std::move(term));
  }
  std::vector<double> start_;
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<Term>> terms_;
};

}  // namespace blocks
