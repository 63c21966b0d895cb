// Detects which argument types a callable accepts. Part of <nlsq/callable.hpp>; not to be included alone.
//
//  An error in the body of a generic callable is a hard compiler error, so a body must only be instantiated
//  with types it was written for. std::is_invocable selects the form and tries spans first. A declared result
//  type that is a plain number means that the callable is not generic.
#pragma once

namespace nlsq::inline v0::detail {

// These are the forms of an argument. `Form::Of<T>` is its type. A callable that takes a vector gets a copy.
struct SpanForm {
  template <class T>
  using Of = std::span<const T>;
  template <class T>
  static std::span<const T> pass(std::span<const T> p) {
    return p;
  }
};
struct VectorForm {
  template <class T>
  using Of = const std::vector<T>&;
  // A callable that reads doubles beyond the end finds NaN there, and not what the memory held before.
  template <class T>
  static std::vector<T> pass(std::span<const T> p) {
    std::vector<T> copy;
    if constexpr (std::is_same_v<T, double>) copy.assign(p.size() + 8, std::numeric_limits<T>::quiet_NaN());
    copy.assign(p.begin(), p.end());
    return copy;
  }
};
struct PointerForm {
  template <class T>
  using Of = const T*;
  template <class T>
  static const T* pass(std::span<const T> p) {
    return p.data();
  }
};
struct NoForm {};

// These are the forms of x in a call: a number, or several numbers. Several numbers have the form of the
// parameters if the callable takes that, and are a span otherwise.
struct NumberX {
  template <class Form, class T>
  using Of = const T&;
  template <class Form, class T>
  static const T& pass(std::span<const T> x) {
    return x[0];
  }
};
struct IndexedX {
  template <class Form, class T>
  using Of = typename Form::template Of<T>;
  template <class Form, class T>
  static auto pass(std::span<const T> x) {
    return Form::pass(x);
  }
};

template <class X, class F, class TX, class T, class Form>
inline constexpr bool takes =
    std::is_invocable_v<F&, typename X::template Of<Form, TX>, typename Form::template Of<T>>;

template <class X, class F, class TX, class T>
constexpr auto model_form() {
  if constexpr (takes<X, F, TX, T, SpanForm>) return SpanForm{};
  else if constexpr (takes<X, F, TX, T, VectorForm>) return VectorForm{};
  else if constexpr (takes<X, F, TX, T, PointerForm>) return PointerForm{};
  else return NoForm{};
}
template <class X, class F, class TX, class T>
using ModelForm = decltype(model_form<X, F, TX, T>());

template <class X, class F, class TX, class T, class Form = ModelForm<X, F, TX, T>>
auto call_model(F& f, std::span<const TX> x, std::span<const T> p) {
  return f(X::template pass<Form>(x), Form::pass(p));
}

// True if the callable accepts T and returns something made of T instead of a plain number.
template <class X, class F, class TX, class T>
constexpr bool is_generic_model() {
  using Form = ModelForm<X, F, TX, T>;
  if constexpr (std::is_same_v<Form, NoForm>) return false;
  else {
    using R = std::remove_cvref_t<
        std::invoke_result_t<F&, typename X::template Of<Form, TX>, typename Form::template Of<T>>>;
    return !std::is_arithmetic_v<R> && std::convertible_to<R, T>;
  }
}

// The type-erased functions share this state. It is const if the callable can be called as const.
template <class F, bool Const>
using State = std::shared_ptr<std::conditional_t<Const, const F, F>>;

// True if a call with doubles returns a number, as it must.
template <class X, class F>
constexpr bool gives_number() {
  using Form = ModelForm<X, F, double, double>;
  return std::convertible_to<
      std::invoke_result_t<F&, typename X::template Of<Form, double>, typename Form::template Of<double>>,
      double>;
}

// Adds the abilities of a generic callable: recording and dual numbers.
template <class X, class F, class C>
void add_derivatives(ModelFunction& model, const std::shared_ptr<C>& f, std::size_t k) {
  if constexpr (!no_trace<F>) {
    if constexpr (is_generic_model<X, C, Traced, Traced>()) {
      model.trace = [f, k](const Traced* x, std::span<const Traced> p) -> Traced {
        return call_model<X>(*f, std::span<const Traced>(x, k), p);
      };
    }
  }
  if constexpr (is_generic_model<X, C, Dual8, Dual8>()) {
    model.dual = [f, k](const double* x, std::span<const Dual8> p) -> Dual8 {
      if constexpr (std::is_same_v<X, NumberX>) {
        const Dual8 number(*x);
        return call_model<X>(*f, std::span<const Dual8>(&number, k), p);
      } else {
        const std::vector<Dual8> numbers(x, x + k);
        return call_model<X>(*f, std::span<const Dual8>(numbers), p);
      }
    };
  } else if constexpr (is_generic_model<X, C, double, Dual8>()) {
    model.dual = [f, k](const double* x, std::span<const Dual8> p) -> Dual8 {
      return call_model<X>(*f, std::span<const double>(x, k), p);
    };
  }
}

// Makes a model of a callable. If the callable does not fit, one message reports this, and nothing more of it
// is compiled.
template <class X, class F>
ModelFunction erase_model(F callable, int predictors) {
  constexpr bool is_const = !std::is_same_v<ModelForm<X, const F, double, double>, NoForm>;
  using C = std::conditional_t<is_const, const F, F>;
  constexpr bool fits = !std::is_same_v<ModelForm<X, C, double, double>, NoForm>;
  static_assert(
      fits,
      "a model is called as f(x, p): x a double (several predictors: indexable), p a std::span<const "
      "double>, const std::vector<double>& or const double*, and gives a number");
  ModelFunction model;
  if constexpr (fits) {
    static_assert(
        gives_number<X, C>(),
        "a model f(x, p) returns one real number: this one returns nothing (void), a complex number or "
        "another type that is no number. Of complex numbers fit real and imaginary parts or the "
        "absolute value, with least_squares for several residuals in each row");
    if constexpr (gives_number<X, C>()) {
      const auto f = std::make_shared<C>(std::move(callable));
      const auto k = static_cast<std::size_t>(predictors);
      model.predictors = predictors;
      model.concurrent = is_const;
      model.value = [f, k](const double* x, std::span<const double> p) {
        return static_cast<double>(call_model<X>(*f, std::span<const double>(x, k), p));
      };
      add_derivatives<X, F>(model, f, k);
    }
  }
  return model;
}

template <class F, class T>
constexpr auto vector_form() {
  if constexpr (std::is_invocable_v<F&, std::span<const T>>) return SpanForm{};
  else if constexpr (std::is_invocable_v<F&, const std::vector<T>&>) return VectorForm{};
  else if constexpr (std::is_invocable_v<F&, const T*>) return PointerForm{};
  else return NoForm{};
}

template <class F, class T>
constexpr bool is_generic_vector() {
  using Form = decltype(vector_form<F, T>());
  if constexpr (std::is_same_v<Form, NoForm>) return false;
  else {
    using R = std::invoke_result_t<F&, typename Form::template Of<T>>;
    if constexpr (!std::ranges::input_range<R>) return false;
    else return std::is_same_v<std::ranges::range_value_t<R>, T>;
  }
}

template <class T, class F>
std::vector<T> call_vector(F& f, std::span<const T> p) {
  decltype(auto) result = f(decltype(vector_form<F, T>())::pass(p));
  if constexpr (std::is_same_v<std::remove_cvref_t<decltype(result)>, std::vector<T>>) return result;
  else {
    std::vector<T> copy;
    for (auto&& r : result) copy.push_back(static_cast<T>(r));
    return copy;
  }
}

template <class F>
constexpr bool gives_numbers() {
  using Form = decltype(vector_form<F, double>());
  using R = std::invoke_result_t<F&, typename Form::template Of<double>>;
  if constexpr (!std::ranges::input_range<R>) return false;
  else return std::convertible_to<std::ranges::range_value_t<R>, double>;
}

template <class F>
VectorFunction erase_vector(F callable) {
  constexpr bool is_const = !std::is_same_v<decltype(vector_form<const F, double>()), NoForm>;
  using C = std::conditional_t<is_const, const F, F>;
  constexpr bool fits = !std::is_same_v<decltype(vector_form<C, double>()), NoForm>;
  static_assert(
      fits,
      "residuals are called as f(p), p a std::span<const double>, const std::vector<double>& or const "
      "double*, and give a range of numbers");
  VectorFunction function;
  if constexpr (fits) {
    static_assert(
        gives_numbers<C>(),
        "residuals f(p) return a range of real numbers, such as a std::vector: this function returns "
        "nothing (void), a single number, complex numbers or no numbers");
    if constexpr (gives_numbers<C>()) {
      const auto f = std::make_shared<C>(std::move(callable));
      function.concurrent = is_const;
      function.value = [f](std::span<const double> p) { return call_vector<double>(*f, p); };
      if constexpr (!no_trace<F>) {
        if constexpr (is_generic_vector<C, Traced>()) {
          function.trace = [f](std::span<const Traced> p) { return call_vector<Traced>(*f, p); };
        }
      }
      if constexpr (is_generic_vector<C, Dual8>()) {
        function.dual = [f](std::span<const Dual8> p) { return call_vector<Dual8>(*f, p); };
      }
    }
  }
  return function;
}

}  // namespace nlsq::inline v0::detail
