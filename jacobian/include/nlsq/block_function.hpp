// A BlockFunction is the type-erased function of a residual block. It computes some residuals from some
// parameter blocks. The solver calls the same code with double, with the recording scalar and with dual
// numbers. User code creates it. The rest of the library contains no template for it.
//
//  A functor has one of these forms. T is one scalar type for all arguments.
//    bool operator()(const T* a, const T* b, T* residuals) const
//        Ceres's form; may also return void. The number of residuals is given when the block is added.
//    auto operator()(const T* a, const T* b) const
//        Returns a T, or a range of T. The number of residuals follows from the result.
//    bool operator()(T const* const* blocks, T* residuals) const
//        Any number of blocks.
//  How its derivatives are computed depends on its scalar:
//  - generic in T: recorded; dual numbers are the fallback;
//  - double only: finite differences (f64);
//  - no_trace<F>: dual numbers.
//  A result of `false` means that the residuals do not exist at this point.
#pragma once

#include <nlsq/callable.hpp>

#include <cstddef>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

namespace nlsq::inline v0 {

class NLSQ_API BlockFunction {
 public:
  enum class Derivatives : std::uint8_t {
    traced,       // trace() and dual()
    traced_own,   // trace() and derivatives()
    dual,         // dual()
    own,          // derivatives()
    differences,  // only value()
  };

  explicit BlockFunction(int residuals) : residuals_(residuals) {}
  virtual ~BlockFunction();

  int residuals() const { return residuals_; }
  virtual Derivatives derivatives_by() const = 0;
  // Returns the kind of the block. Blocks of one kind perform the same operations on different numbers, apart
  // from branches, and share one recording.
  virtual const void* kind() const = 0;

  // `blocks` has one pointer for each parameter block. All these functions return false if the residuals do
  // not exist.
  virtual bool value(const double* const* blocks, double* residuals) const = 0;
  virtual bool trace(const Traced* const* blocks, Traced* residuals) const;
  virtual bool dual(const Dual8* const* blocks, Dual8* residuals) const;
  // J[k] is a row-major matrix of size residuals x size of block k, or null if it is not wanted.
  virtual bool derivatives(const double* const* blocks, double* residuals, double* const* J) const;

 private:
  int residuals_;
};

namespace detail {

template <class T, std::size_t>
using Repeated = T;

// These are the three forms of a functor. `k` is the number of parameter blocks.
struct OutputForm {};    // f(a, b, residuals)
struct ResultForm {};    // f(a, b)
struct PointersForm {};  // f(blocks, residuals)

template <class F, class T, std::size_t... i>
constexpr auto block_form(std::index_sequence<i...>) {
  if constexpr (std::is_invocable_v<const F&, Repeated<const T*, i>..., T*>) return OutputForm{};
  else if constexpr (std::is_invocable_v<const F&, Repeated<const T*, i>...>) return ResultForm{};
  else if constexpr (std::is_invocable_v<const F&, const T* const*, T*>) return PointersForm{};
  else return NoForm{};
}
template <class F, class T, std::size_t k>
using BlockForm = decltype(block_form<F, T>(std::make_index_sequence<k>{}));

template <class Call>
bool truth_of(Call call) {
  if constexpr (std::is_void_v<decltype(call())>) {
    call();
    return true;
  } else {
    return static_cast<bool>(call());
  }
}

// Writes at most `most` residuals. Returns how many the result has.
template <class T, class R>
std::size_t store_result(const R& result, T* residuals, std::size_t most) {
  if constexpr (std::is_convertible_v<R, T>) {
    if (most > 0) residuals[0] = static_cast<T>(result);
    return 1;
  } else {
    std::size_t count = 0;
    for (auto&& r : result) {
      if (count < most) residuals[count] = static_cast<T>(r);
      ++count;
    }
    return count;
  }
}

template <class T, class F, std::size_t... i>
bool call_block(const F& f, const T* const* blocks, T* residuals, int count, std::index_sequence<i...>) {
  using Form = BlockForm<F, T, sizeof...(i)>;
  if constexpr (std::is_same_v<Form, OutputForm>) {
    return truth_of([&] { return f(blocks[i]..., residuals); });
  } else if constexpr (std::is_same_v<Form, PointersForm>) {
    return truth_of([&] { return f(blocks, residuals); });
  } else {
    return store_result(f(blocks[i]...), residuals, static_cast<std::size_t>(count)) ==
           static_cast<std::size_t>(count);
  }
}

// True if F can be called with T, and any residuals that it returns have type T.
template <class F, class T, std::size_t... i>
constexpr bool is_generic_block(std::index_sequence<i...> indices) {
  using Form = decltype(block_form<F, T>(indices));
  if constexpr (std::is_same_v<Form, NoForm>) return false;
  else if constexpr (std::is_same_v<Form, ResultForm>) {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, Repeated<const T*, i>...>>;
    if constexpr (std::is_arithmetic_v<R>) return false;
    else if constexpr (std::is_convertible_v<R, T>) return true;
    else return std::is_same_v<std::ranges::range_value_t<R>, T>;
  } else {
    return true;
  }
}

// False if the functor returns its residuals, but the result for doubles is neither a number nor a range of
// numbers.
template <class F, std::size_t... i>
constexpr bool gives_residuals(std::index_sequence<i...> indices) {
  if constexpr (!std::is_same_v<decltype(block_form<F, double>(indices)), ResultForm>) return true;
  else {
    using R = std::remove_cvref_t<std::invoke_result_t<const F&, Repeated<const double*, i>...>>;
    if constexpr (std::is_convertible_v<R, double>) return true;
    else if constexpr (std::ranges::input_range<R>)
      return std::is_convertible_v<std::ranges::range_value_t<R>, double>;
    else return false;
  }
}

template <class F, std::size_t k>
class FunctorBlock final : public BlockFunction {
  static constexpr std::make_index_sequence<k> all{};
  static_assert(
      !std::is_same_v<BlockForm<F, double, k>, NoForm>,
      "a residual functor is called as f(a, b, ..., residuals) or f(a, b, ...), one pointer to const T for "
      "each parameter block and a pointer to T for the residuals, or as f(blocks, residuals), and is const");
  static constexpr bool kTraced = !no_trace<F> && is_generic_block<F, Traced>(all);
  static constexpr bool kDual = is_generic_block<F, Dual8>(all);

 public:
  FunctorBlock(F functor, int residuals) : BlockFunction(residuals), f_(std::move(functor)) {}

  Derivatives derivatives_by() const override {
    return kDual ? kTraced ? Derivatives::traced : Derivatives::dual : Derivatives::differences;
  }
  const void* kind() const override {
    static const char tag = 0;
    return &tag;
  }
  bool value(const double* const* blocks, double* residuals) const override {
    return call(blocks, residuals);
  }
  bool trace(const Traced* const* blocks, Traced* residuals) const override {
    if constexpr (kTraced) return call(blocks, residuals);
    else return BlockFunction::trace(blocks, residuals);
  }
  bool dual(const Dual8* const* blocks, Dual8* residuals) const override {
    if constexpr (kDual) return call(blocks, residuals);
    else return BlockFunction::dual(blocks, residuals);
  }

 private:
  template <class T>
  bool call(const T* const* blocks, T* residuals) const {
    return call_block<T>(f_, blocks, residuals, this->residuals(), all);
  }
  F f_;
};

// Calls a functor that returns its residuals, and returns their number.
template <class F, std::size_t... i>
int count_results(const F& f, const double* const* blocks, std::index_sequence<i...>) {
  return static_cast<int>(store_result<double>(f(blocks[i]...), nullptr, 0));
}

}  // namespace detail

// Makes a block function of k parameter blocks. The functor is copied.
template <std::size_t k, class F>
std::shared_ptr<const BlockFunction> make_block_function(F functor, int residuals) {
  constexpr bool fits = detail::gives_residuals<F>(std::make_index_sequence<k>{});
  static_assert(
      fits,
      "a residual functor f(a, b, ...) returns a real number or a range of them, and one that returns "
      "nothing (void) takes a pointer to T for its residuals as last argument");
  if constexpr (fits) return std::make_shared<detail::FunctorBlock<F, k>>(std::move(functor), residuals);
  else return nullptr;
}

// Does the same for a functor that returns its residuals. It is called at `at` once to count them.
template <std::size_t k, class F>
requires std::is_same_v<detail::BlockForm<F, double, k>, detail::ResultForm>
    std::shared_ptr<const BlockFunction> make_block_function(F functor, const double* const* at) {
  int residuals = 0;
  if constexpr (detail::gives_residuals<F>(std::make_index_sequence<k>{}))
    residuals = detail::count_results(functor, at, std::make_index_sequence<k>{});
  return make_block_function<k>(std::move(functor), residuals);
}

}  // namespace nlsq::inline v0
