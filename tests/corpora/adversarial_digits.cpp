// Defines generators 1 to 10 of the adversarial set. Low precision cannot represent the digits, sizes or
// directions of their data, parameters or residuals.
#include "adversarial_cases.hpp"
#include "benign.hpp"
#include "noise.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace problems::adversarial_cases {

std::vector<double> spaced(double low, double high, std::size_t count) {
  std::vector<double> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1);
  }
  return x;
}

Problem curve(int generator, std::string name, std::string equation, std::vector<double> x,
              const std::function<double(double)>& f, double level, nlsq::NamedValues p0) {
  Problem out;
  out.generator = generator;
  out.name = std::move(name);
  out.equation = std::move(equation);
  out.p0 = std::move(p0);
  std::uint64_t seed = static_cast<std::uint64_t>(generator);
  for (const char c : out.name) seed = seed * 31 + static_cast<unsigned char>(c);
  Noise noise(seed);
  for (const double t : x) out.y.push_back(f(t) + level * noise.normal());
  out.x = {std::move(x)};
  return out;
}

// 1: the parameters of interest only change the last digits of y.
Cases big_response_offset() {
  Cases out;
  for (int p = 0; p <= 12; ++p) {
    const double offset = std::pow(10.0, p);
    Problem c = curve(1, fmt::format("y offset 1e{}", p), "c+a*exp(-b*x)", spaced(0, 8, 300),
                      [&](double x) { return offset + 2 * std::exp(-0.7 * x); }, 0.01,
                      {{"a", 1}, {"b", 1}, {"c", offset}});
    if (p >= 5) c.events = {Event::gradient_noise, Event::cost_noise};
    // Near 1e12, numbers of f64 are a fifth of a standard error of c apart, so no end can be within a tenth.
    if (p == 12) c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  for (const int peaks : {18, 32}) {  // with so many parameters, the products cost more than the rows
    Problem c = gaussian_peaks(peaks, 2000, static_cast<std::uint64_t>(peaks), 1e5);
    c.generator = 1;
    c.name = fmt::format("{} peaks, y offset 1e5", peaks);
    c.events = {Event::gradient_noise, Event::cost_noise};
    c.repeatable = false;
    out.push_back(std::move(c));
  }
  return out;
}

// 2: few digits of x remain when its offset is stored with it.
Cases big_predictor_offset() {
  Cases out;
  for (int p = 0; p <= 9; ++p) {
    const double offset = std::pow(10.0, p);
    Problem c = curve(2, fmt::format("x offset 1e{} exp", p), fmt::format("a*exp(-b*(x-{:.17g}))+c", offset),
                      spaced(offset, offset + 8, 300),
                      [&](double x) { return 2 * std::exp(-0.7 * (x - offset)) + 0.5; }, 0.01,
                      {{"a", 1}, {"b", 1}, {"c", 0}});
    if (p >= 7) c.events = {Event::gradient_noise, Event::cost_noise, Event::overflow, Event::jacobian_error};
    out.push_back(std::move(c));
  }
  for (int p = 1; p <= 8; ++p) {
    const double offset = std::pow(10.0, p);
    out.push_back(curve(2, fmt::format("x offset 1e{} line", p), "a+b*x", spaced(offset, offset + 8, 300),
                        [&](double x) { return 3 - 0.25 * (x - offset); }, 0.01, {}));
  }
  for (int p = 1; p <= 5; ++p) {
    const double offset = std::pow(10.0, p);
    out.push_back(curve(2, fmt::format("x offset 1e{} wave", p), "a*sin(w*x)+b*cos(w*x)",
                        spaced(offset, offset + 8, 300),
                        [&](double x) { return std::sin(2 * x) + 0.5 * std::cos(2 * x); }, 0.01,
                        {{"w", 2 * (1 + 0.1 / offset)}, {"a", 1}, {"b", 1}}));
  }
  // Only the parameter is large, like a time since 1970. f32 has no value between two seconds, so rows
  // evaluated in f32 do not see the difference.
  for (const int p : {3, 5, 6, 7, 9}) {
    const double offset = std::pow(10.0, p);
    Problem c = curve(2, fmt::format("parameter offset 1e{}", p),
                      fmt::format("h*exp(-((x-(c-{:.17g}))/w)^2)+d", offset), spaced(0, 8, 300),
                      [](double x) { return 2 * std::exp(-std::pow((x - 4.3) / 1.1, 2)) + 0.5; }, 0.01,
                      {{"h", 1}, {"c", offset + 3.5}, {"w", 1.5}, {"d", 0}});
    if (p >= 5) c.events = {Event::gradient_noise};
    out.push_back(std::move(c));
  }
  return out;
}

// 3: columns of J with very different lengths; equilibration must make them harmless.
Cases scaled_columns() {
  Cases out;
  for (int p = -12; p <= 12; p += 3) {
    const double s = std::pow(10.0, p);
    Problem c =
        curve(3, fmt::format("columns 1e{:+d}", p), fmt::format("{:.17g}*a*exp(-{:.17g}*b*x)+c", s, 1 / s),
              spaced(0, 8, 300), [](double x) { return 2 * std::exp(-0.7 * x) + 0.5; }, 0.01,
              {{"a", 1 / s}, {"b", s}, {"c", 0}});
    c.must_stay_low = true;
    out.push_back(std::move(c));
  }
  for (const int p : {-30, -18, 18, 30, 45}) {
    const double s = std::pow(10.0, p);
    out.push_back(curve(3, fmt::format("column 1e{:+d}", p), fmt::format("a*exp(-b*x)+{:.17g}*c*x", s),
                        spaced(0, 8, 300), [](double x) { return 2 * std::exp(-0.7 * x) + 0.5 * x; }, 0.01,
                        {{"a", 1}, {"b", 1}, {"c", 0}}));
  }
  return out;
}

// 4: two exponentials whose rates differ by a relative 10^-q.
Cases collinear_exponentials() {
  Cases out;
  for (const double q : {0.2, 0.5, 1.0, 1.5, 2.0, 2.5}) {
    for (const double level : {1e-3, 1e-7, 1e-11}) {
      const double b2 = 0.7 * (1 + std::pow(10.0, -q));
      Problem c = curve(4, fmt::format("exponentials 10^-{} apart, noise {:.0e}", q, level),
                        "a1*exp(-b1*x)+a2*exp(-b2*x)", spaced(0, 8, 300),
                        [&](double x) { return 2 * std::exp(-0.7 * x) + std::exp(-b2 * x); }, level,
                        {{"a1", 1.5}, {"b1", 0.6}, {"a2", 1.5}, {"b2", 0.8 * b2 / 0.7}});
      c.expect = Expect::as_f64;
      out.push_back(std::move(c));
    }
  }
  return out;
}

// 5: parameters that the data cannot separate.
Cases confounded() {
  Cases out;
  const auto add = [&out](const char* equation, const std::function<double(double)>& f,
                          nlsq::NamedValues p0) {
    Problem c = curve(5, fmt::format("confounded {}", equation), equation, spaced(0.5, 8, 300), f, 0.01,
                      std::move(p0));
    c.expect = Expect::rank_deficient;
    out.push_back(std::move(c));
  };
  const auto line = [](double x) { return 3 * x; };
  const auto decay = [](double x) { return 2 * std::exp(-0.7 * x) + 0.5; };
  add("(a+b)*x", line, {});
  add("(a+b)*x+c", line, {{"c", 1}});
  add("(a-1e3*b)*x+c", line, {});
  add("a*b*x+c", line, {{"a", 1}, {"b", 2}});
  add("a*exp(b-d*x)+c", decay, {{"a", 1}, {"b", 0.1}, {"d", 1}, {"c", 0}});
  add("a*exp(-(b+d)*x)+c", decay, {{"a", 1}, {"b", 0.4}, {"d", 0.4}, {"c", 0}});
  add("a*exp(-b*x)+c+d", decay, {{"a", 1}, {"b", 1}});
  add("a*exp(-b*x)+c+1e-6*d", decay, {{"a", 1}, {"b", 1}});
  add("a*sin(b*x)^2+c*cos(b*x)^2+d", [](double x) { return 2 * std::pow(std::sin(0.7 * x), 2) + 1; },
      {{"a", 2}, {"b", 0.68}, {"c", 0}, {"d", 1}});
  return out;
}

// 6: some rows exceed the range of f32 but not of f64.
Cases overflow_in_f32() {
  Cases out;
  for (const double share : {0.001, 0.005, 0.02, 0.2}) {
    for (const bool spread : {false, true}) {
      const std::size_t m = 60000, far = static_cast<std::size_t>(share * static_cast<double>(m));
      std::vector<double> x = spaced(-8, 8, m);
      for (std::size_t k = 0; k < far; ++k)
        x[spread ? k * (m / far) : m - far + k] =
            90 + 100 * static_cast<double>(k) / static_cast<double>(far);
      // Linear for large arguments: only the inner exponential overflows.
      Problem c = curve(
          6, fmt::format("softplus, {} % of rows {}", 100 * share, spread ? "spread" : "together"),
          "a*log(1+exp(b*(x-c)))", std::move(x),
          [](double t) { return t > 50 ? 0.5 * 1.2 * (t - 1) : 0.5 * std::log1p(std::exp(1.2 * (t - 1))); },
          0.01, {{"a", 0.4}, {"b", 1.1}, {"c", 0.5}});
      if (spread || share > 0.01) c.events = {Event::overflow};
      c.repeatable = false;
      out.push_back(std::move(c));
    }
  }
  for (const double top : {80.0, 95.0, 200.0, 600.0}) {  // the weights bring these rows back to size one
    Problem c = curve(6, fmt::format("exp up to e^{}", top), "a*exp(b*x)", spaced(0, top, 2000),
                      [](double x) { return 2 * std::exp(x); }, 0, {{"a", 1}, {"b", 1.001}});
    Noise noise(static_cast<std::uint64_t>(top));
    for (double& y : c.y) {
      c.sigma.push_back(0.01 * y);
      y *= 1 + 0.01 * noise.normal();
    }
    if (top > 89) c.events = {Event::overflow};
    out.push_back(std::move(c));
  }
  return out;
}

// 7: a trial step leaves the range of f64; the remedy is damping, not more digits.
Cases overflow_at_trial() {
  Cases out;
  for (const double start : {0.001, 0.01, 0.05, 0.1, 0.5, 1.0}) {
    Problem c = curve(7, fmt::format("growth from b={}", start), "a*exp(b*x)", spaced(0, 300, 400),
                      [](double x) { return 0.1 * std::exp(0.03 * x); }, 0.01, {{"a", 1}, {"b", start}});
    if (start >= 0.5) c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  for (const double start : {0.1, 1.0, 3.0}) {
    Problem c =
        curve(7, fmt::format("double exponential from b={}", start), "a*exp(exp(b*x)-1)", spaced(0, 2, 400),
              [](double x) { return 0.5 * std::exp(std::exp(0.6 * x) - 1); }, 0.01, {{"a", 1}, {"b", start}});
    c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  return out;
}

// 8: cancellation inside the model, with the same sign in every row.
Cases cancellation() {
  Cases out;
  for (int q = 0; q <= 5; ++q) {
    for (const double level : {1e-2, 1e-5}) {
      const double scale = std::pow(10.0, -q);
      Problem c =
          curve(8, fmt::format("(1-cos)/x^2 at 1e-{}, noise {:.0e}", q, level), "(1-cos(b*x))/x^2",
                spaced(scale, 2 * scale, 300),
                [](double x) { return 2 * std::pow(std::sin(1.3 * x / 2) / x, 2); }, level, {{"b", 1}});
      if (q >= 4) c.expect = Expect::as_f64;  // f64 itself has few correct digits left, or none
      if (q >= 3) c.events = {Event::gradient_noise, Event::cost_noise, Event::stalled};
      out.push_back(std::move(c));
    }
  }
  return out;
}

// 9: zero residual at the optimum: all digits of the answer come from the data.
Cases zero_residual() {
  Cases out;
  const auto add = [&out](std::string name, std::string equation, std::vector<double> x,
                          const std::function<double(double)>& f, nlsq::NamedValues p0) {
    out.push_back(curve(9, std::move(name), std::move(equation), std::move(x), f, 0, std::move(p0)));
    out.back().expect = Expect::as_f64;
  };
  const auto decay = [](double x) { return 2 * std::exp(-0.7 * x); };
  add("exact exp", "a*exp(-b*x)", spaced(0, 8, 300), decay, {{"a", 1}, {"b", 1}});
  add("exact exp, m=n", "a*exp(-b*x)", {1, 2}, decay, {{"a", 1}, {"b", 1}});
  add("exact exp, m=n+1", "a*exp(-b*x)", {1, 2, 3}, decay, {{"a", 1}, {"b", 1}});
  add("exact line", "a+b*x", spaced(0, 8, 300), [](double x) { return 3 + 0.25 * x; }, {});
  add("exact line, 2 rows", "a+b*x", {1, 2}, [](double x) { return 3 + 0.25 * x; }, {});
  add("exact constant", "c+0*x", spaced(0, 8, 300), [](double) { return 0.1; }, {});
  add("all zero", "a*exp(-b*x)", spaced(0, 8, 300), [](double) { return 0.0; }, {{"a", 1}, {"b", 1}});
  add("exact logistic", "a/(1+exp(-b*(x-c)))", spaced(0, 8, 300),
      [](double x) { return 2 / (1 + std::exp(-1.5 * (x - 4))); }, {{"a", 1}, {"b", 1}, {"c", 3}});
  add("exact Michaelis", "v*x/(k+x)", spaced(0.1, 8, 300), [](double x) { return 2 * x / (1.5 + x); },
      {{"v", 1}, {"k", 1}});
  add("exact Gaussian", "h*exp(-((x-c)/w)^2)", spaced(0, 8, 300),
      [](double x) { return 3 * std::exp(-std::pow((x - 4) / 1.5, 2)); }, {{"h", 1}, {"c", 3.5}, {"w", 1}});
  for (const double gap : {3.0, 1.0, 0.3}) {
    add(fmt::format("exact Lanczos, rates {} apart", gap), "a1*exp(-b1*x)+a2*exp(-b2*x)+a3*exp(-b3*x)",
        spaced(0, 1.15, 24),
        [gap](double x) {
          return 0.1 * std::exp(-x) + 0.86 * std::exp(-(1 + gap) * x) + 1.56 * std::exp(-(1 + 2 * gap) * x);
        },
        {{"a1", 0.2}, {"b1", 0.9}, {"a2", 0.8}, {"b2", 1.1 + gap}, {"a3", 1.4}, {"b3", 1.2 + 2 * gap}});
  }
  return out;
}

namespace {

// Removes from z its projection on the rows of `basis`.
std::vector<double> orthogonal(std::vector<double> z, std::vector<std::vector<double>> basis) {
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  };
  const auto remove = [&](std::vector<double>& from, const std::vector<double>& direction) {
    const double share = dot(from, direction) / dot(direction, direction);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] -= share * direction[i];
  };
  for (int thrice = 0; thrice < 3; ++thrice) {
    for (std::size_t k = 0; k < basis.size(); ++k) {
      for (std::size_t l = 0; l < k; ++l) remove(basis[k], basis[l]);
    }
    for (const auto& column : basis) remove(z, column);
  }
  return z;
}

}  // namespace

// 10: residuals far larger than the model. Their contributions to the gradient cancel: they are orthogonal to
// the first and second derivatives, so that the parameters of the simulation remain the optimum.
Cases large_residual() {
  Cases out;
  const std::vector<double> x = spaced(0, 8, 400);
  const auto powers = [&x](int count, double rate) {
    std::vector<std::vector<double>> basis;
    for (int k = 0; k < count; ++k) {
      basis.emplace_back();
      for (const double t : x) basis.back().push_back(std::pow(t, k) * std::exp(-rate * t));
    }
    return basis;
  };
  for (int p = 0; p <= 7; ++p) {
    const double size = std::pow(10.0, p);
    std::vector<double> z(x.size());
    Noise noise(static_cast<std::uint64_t>(p) + 100);
    for (double& v : z) v = noise.normal();
    std::size_t row = 0;
    const std::vector<double> beside = orthogonal(z, powers(3, 0));
    out.push_back(curve(10, fmt::format("residual 1e{}, parabola", p), "a+b*x+c*x^2", x,
                        [&](double t) { return 2 - 0.7 * t + 0.1 * t * t + size * beside[row++]; }, 0, {}));
    auto basis = powers(3, 0.7);
    basis.emplace_back(x.size(), 1.0);
    const std::vector<double> about = orthogonal(z, basis);
    const double off = 0.1 / size;  // the basin of convergence shrinks as residuals grow
    row = 0;
    out.push_back(curve(10, fmt::format("residual 1e{}, exp", p), "a*exp(-b*x)+c", x,
                        [&](double t) { return 2 * std::exp(-0.7 * t) + 0.5 + size * about[row++]; }, 0,
                        {{"a", 2 - off}, {"b", 0.7 - 0.2 * off}, {"c", 0.5 - off}}));
    if (p >= 1) out.back().expect = Expect::as_f64;
  }
  return out;
}

}  // namespace problems::adversarial_cases
