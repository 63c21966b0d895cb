// Defines generators 11 to 18 of the adversarial set. Low precision, or samples of the rows, fail on their
// rows, derivatives or paths to the optimum.
#include "adversarial_cases.hpp"
#include "nist.hpp"
#include "noise.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>

namespace problems::adversarial_cases {

namespace {

std::string polynomial(int degree) {
  std::string text = "p0";
  for (int k = 1; k <= degree; ++k) text += k == 1 ? "+p1*x" : fmt::format("+p{0}*x^{0}", k);
  return text;
}

}  // namespace

// 11: powers of x, which are nearly dependent.
Cases polynomials() {
  Cases out;
  for (const int degree : {2, 4, 6, 7, 8, 10, 12, 14}) {
    Problem c = curve(11, fmt::format("degree {} on [0, 1]", degree), polynomial(degree), spaced(0, 1, 300),
                      [](double x) { return std::sin(3 * x) + x; }, 1e-3, {});
    if (degree >= 10)
      c.events = {Event::condition, Event::not_definite, Event::gradient_noise, Event::cost_noise,
                  Event::jacobian_error};
    out.push_back(std::move(c));
  }
  for (const int degree : {4, 7, 10}) {  // NIST's Filip is degree 10 on [-9, -3]
    static constexpr double kFilip[] = {-1467.48961422980,    -2772.17959193342,     -2316.37108160893,
                                        -1127.97394098372,    -354.478233703349,     -75.1242017393757,
                                        -10.8753180355343,    -1.06221498588947,     -0.0670191154593408,
                                        -0.00246781078275479, -0.0000402962525080404};
    Problem c =
        curve(11, fmt::format("Filip's range, degree {}", degree), polynomial(degree), spaced(-8.8, -3.1, 82),
              [](double x) {
                long double y = 0;
                for (int k = 10; k >= 0; --k) y = y * x + kFilip[k];
                return static_cast<double>(y);
              },
              0.003, {});
    if (degree > 4)
      c.events = {Event::condition, Event::not_definite, Event::gradient_noise, Event::cost_noise,
                  Event::jacobian_error};
    out.push_back(std::move(c));
  }
  return out;
}

// 12: nearly all rows are equal and have the same rounding error.
Cases constant_predictor() {
  Cases out;
  for (const double share : {0.9, 0.99, 0.999}) {
    for (const double level : {1e-2, 1e-5}) {
      const std::size_t m = 30000, same = static_cast<std::size_t>(share * static_cast<double>(m));
      std::vector<double> x = spaced(0, 8, m);
      for (std::size_t i = 0; i < same; ++i) x[(i * 7919) % m] = 0.7123456789;
      out.push_back(curve(
          12, fmt::format("{} % of x equal, noise {:.0e}", 100 * share, level), "a*exp(-b*x)+c", std::move(x),
          [](double t) { return 2 * std::exp(-0.7 * t) + 0.5; }, level, {{"a", 1}, {"b", 1}, {"c", 0}}));
    }
  }
  return out;
}

// 13: the squares of the derivatives, or the data, leave the range of f32.
Cases tiny_and_huge() {
  Cases out;
  for (const int p :
       {-300, -160, -100, -46, -42, -38, -30, -25, -20, -10, 10, 20, 30, 37, 39, 60, 100, 150}) {
    const double s = std::pow(10.0, p);
    Problem c = curve(13, fmt::format("y scaled 1e{:+d}", p), "a*exp(-b*x)+c", spaced(0, 8, 300),
                      [&](double x) { return s * (2 * std::exp(-0.7 * x) + 0.5); }, 0.01 * s,
                      {{"a", s}, {"b", 1}, {"c", 0}});
    // The squares of 1e±160 leave the range of f64 too; an honest refusal is acceptable.
    if (std::abs(p) > 150) c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  for (const int p : {-25, 25}) {
    const double s = std::pow(10.0, p);
    out.push_back(curve(13, fmt::format("J 1e{:+d}", p), fmt::format("{:.17g}*a*exp(-b*x)+{:.17g}*c", s, s),
                        spaced(0, 8, 300), [&](double x) { return s * (2 * std::exp(-0.7 * x) + 0.5); },
                        0.01 * s, {{"a", 1}, {"b", 1}, {"c", 0}}));
  }
  for (const int p : {-30, -10, 10, 30}) {
    const double s = std::pow(10.0, p);
    out.push_back(curve(13, fmt::format("x scaled 1e{:+d}", p), "a*exp(-b*x)+c", spaced(0, 8 * s, 300),
                        [&](double x) { return 2 * std::exp(-0.7 * x / s) + 0.5; }, 0.01,
                        {{"a", 1}, {"b", 1 / s}, {"c", 0}}));
  }
  return out;
}

namespace {

// All information about a, or four fifths of it, is in rows between the tiles of the samples, and the model
// does not fit those rows.
Cases unseen_rows() {
  Cases out;
  constexpr std::size_t kRows = 200000, kFirst = 100000, kUnseen = 170;
  for (const double shared : {0.0, 0.05}) {
    for (const double misfit : {0.03, 0.3, 3.0}) {
      Problem c;
      c.generator = 14;
      c.name = fmt::format("{} rows of {} unseen, misfit {}{}", kUnseen, kRows, misfit,
                           shared > 0 ? ", shared" : "");
      c.equation = fmt::format("u*a*exp(a*x)+(1-u)*(b*exp(0.4*b*x)*x+a*{}*sin(7*x))", shared);
      c.predictors = {"x", "u"};
      c.x.resize(2);
      Noise noise(kUnseen);
      for (std::size_t i = 0; i < kRows; ++i) {
        const bool unseen = i >= kFirst && i < kFirst + kUnseen;
        const double x = unseen ? -2 * static_cast<double>(i - kFirst) / static_cast<double>(kUnseen)
                                : static_cast<double>(i % 1000) / 1000;
        c.x[0].push_back(x);
        c.x[1].push_back(unseen ? 1 : 0);
        c.y.push_back(unseen ? 1.5 * std::exp(1.5 * x) + misfit * std::sin(5 * x)
                             : 0.8 * std::exp(0.32 * x) * x + 1.5 * shared * std::sin(7 * x) +
                                   (shared > 0 ? 0.1 : 0.01) * noise.normal());
      }
      c.p0 = {{"a", 1.5}, {"b", 0.6}};
      c.repeatable = false;
      out.push_back(std::move(c));
    }
  }
  return out;
}

}  // namespace

// 14: the relevant part of the data is 20 rows.
Cases narrow_peak() {
  Cases out;
  for (const std::size_t m : {1000u, 20000u, 600000u}) {
    for (const double off : {0.0, 3.0}) {
      const double width = 4;  // in rows
      const double centre = 0.37 * static_cast<double>(m);
      Problem c = curve(14, fmt::format("a 20-row peak in {} rows, start {} rows off", m, off),
                        "h*exp(-((x-c)/w)^2)+d", spaced(0, static_cast<double>(m - 1), m),
                        [&](double x) { return 5 * std::exp(-std::pow((x - centre) / width, 2)) + 1; }, 0.02,
                        {{"h", 3}, {"c", centre + off}, {"w", 3}, {"d", 0}});
      if (m >= 100000) c.events = {Event::sample_abandoned};
      c.repeatable = false;
      out.push_back(std::move(c));
    }
  }
  for (Problem& c : unseen_rows()) out.push_back(std::move(c));
  return out;
}

// 15: sums of very many equal terms.
Cases identical_rows() {
  Cases out;
  for (const int k : {10, 16, 20}) {
    for (const double level : {0.0, 1e-3}) {
      const std::size_t m = std::size_t{1} << k;
      Problem c = curve(15, fmt::format("2^{} identical x, noise {:.0e}", k, level), "exp(-b*x)",
                        std::vector<double>(m, 0.7123456789), [](double x) { return std::exp(-1.1 * x); },
                        level, {{"b", 1}});
      c.expect = Expect::as_f64;
      c.repeatable = false;
      out.push_back(std::move(c));
    }
  }
  return out;
}

namespace {

Problem from_rows(std::string name, std::string equation, std::vector<std::vector<double>> x,
                  std::vector<double> y, nlsq::NamedValues p0) {
  Problem out;
  out.generator = 16;
  out.name = std::move(name);
  out.equation = std::move(equation);
  out.x = std::move(x);
  if (out.x.size() > 1) {
    out.predictors.clear();
    for (std::size_t k = 1; k <= out.x.size(); ++k) out.predictors.push_back(fmt::format("x{}", k));
  }
  out.y = std::move(y);
  out.p0 = std::move(p0);
  out.expect = Expect::as_f64;
  return out;
}

}  // namespace

namespace {

// Returns the curves among the problems of Moré, Garbow, Hillstrom: Testing unconstrained optimization
// software, ACM TOMS 7 (1981).
Cases more_garbow_hillstrom() {
  Cases out;
  out.push_back(from_rows("Osborne 1", "x1+x2*exp(-x4*t)+x3*exp(-x5*t)", {spaced(0, 320, 33)},
                          {0.844, 0.908, 0.932, 0.936, 0.925, 0.908, 0.881, 0.850, 0.818, 0.784, 0.751,
                           0.718, 0.685, 0.658, 0.628, 0.603, 0.580, 0.558, 0.538, 0.522, 0.506, 0.490,
                           0.478, 0.467, 0.457, 0.448, 0.438, 0.431, 0.424, 0.420, 0.414, 0.411, 0.406},
                          {{"x1", 0.5}, {"x2", 1.5}, {"x3", -1}, {"x4", 0.01}, {"x5", 0.02}}));
  out.back().predictors = {"t"};
  out.push_back(
      from_rows("Bard", "a+u/(v*b+w*c)",
                {spaced(1, 15, 15), spaced(15, 1, 15), {1, 2, 3, 4, 5, 6, 7, 8, 7, 6, 5, 4, 3, 2, 1}},
                {0.14, 0.18, 0.22, 0.25, 0.29, 0.32, 0.35, 0.39, 0.37, 0.58, 0.73, 0.96, 1.34, 2.10, 4.39},
                {{"a", 1}, {"b", 1}, {"c", 1}}));
  out.back().predictors = {"u", "v", "w"};
  out.push_back(
      from_rows("Kowalik and Osborne", "a*(u^2+u*b)/(u^2+u*c+d)",
                {{4, 2, 1, 0.5, 0.25, 0.167, 0.125, 0.1, 0.0833, 0.0714, 0.0625}},
                {0.1957, 0.1947, 0.1735, 0.1600, 0.0844, 0.0627, 0.0456, 0.0342, 0.0323, 0.0235, 0.0246},
                {{"a", 0.25}, {"b", 0.39}, {"c", 0.415}, {"d", 0.39}}));
  out.back().predictors = {"u"};
  for (const double start : {1.0, 10.0}) {
    out.push_back(from_rows(fmt::format("Meyer, start x{}", start), "a*exp(b/(t+c))", {spaced(50, 125, 16)},
                            {34780, 28610, 23650, 19630, 16370, 13720, 11540, 9744, 8261, 7030, 6005, 5147,
                             4427, 3820, 3307, 2872},
                            {{"a", 0.02 * start}, {"b", 4000 * start}, {"c", 250 * start}}));
    out.back().predictors = {"t"};
  }
  std::vector<double> t = spaced(0.1, 1, 10), zero(10, 0.0);
  out.push_back(from_rows("Box three-dimensional", "exp(-t*a)-exp(-t*b)-c*(exp(-t)-exp(-10*t))", {t}, zero,
                          {{"a", 0}, {"b", 10}, {"c", 20}}));
  out.back().predictors = {"t"};
  t = spaced(0.1, 1.3, 13);
  std::vector<double> biggs;
  for (const double v : t) biggs.push_back(std::exp(-v) - 5 * std::exp(-10 * v) + 3 * std::exp(-4 * v));
  out.push_back(from_rows("Biggs EXP6", "c*exp(-t*a)-d*exp(-t*b)+f*exp(-t*e)", {t}, biggs,
                          {{"a", 1}, {"b", 2}, {"c", 1}, {"d", 1}, {"e", 1}, {"f", 1}}));
  out.back().predictors = {"t"};
  std::vector<double> jennrich;
  for (const double v : spaced(1, 10, 10)) jennrich.push_back(2 + 2 * v);
  out.push_back(from_rows("Jennrich and Sampson", "exp(t*a)+exp(t*b)", {spaced(1, 10, 10)}, jennrich,
                          {{"a", 0.3}, {"b", 0.4}}));
  out.back().predictors = {"t"};
  std::vector<double> level, gulf;
  for (int i = 1; i <= 99; ++i) {
    level.push_back(i / 100.0);
    gulf.push_back(25 + std::pow(-50 * std::log(i / 100.0), 2.0 / 3));
  }
  out.push_back(from_rows("Gulf", "exp(-abs(v-b)^c/a)", {gulf}, level, {{"a", 5}, {"b", 2.5}, {"c", 0.15}}));
  out.back().predictors = {"v"};
  t = spaced(0.2, 4, 20);
  out.push_back(from_rows("Brown and Dennis", "(a+t*b-exp(t))^2+(c+d*sin(t)-cos(t))^2", {t},
                          std::vector<double>(20, 0.0), {{"a", 25}, {"b", 5}, {"c", -5}, {"d", -1}}));
  out.back().predictors = {"t"};
  return out;
}

}  // namespace

// 16: classic test problems.
Cases classics() {
  Cases out;
  for (const nist::Set& set : nist::load()) {
    for (const int start : {1, 2}) {
      Problem c = from_rows(fmt::format("{}, start {}", set.name, start), set.equation(), set.x, set.y, {});
      c.predictors = set.predictors;
      const auto& p = start == 1 ? set.start1 : set.start2;
      for (std::size_t j = 0; j < p.size(); ++j) c.p0.emplace_back(set.parameters[j], p[j]);
      c.expect = Expect::certified;
      out.push_back(std::move(c));
    }
  }
  for (Problem& c : more_garbow_hillstrom()) out.push_back(std::move(c));
  return out;
}

// 17: a curved path to the optimum: damping rises and falls many times.
Cases winding() {
  Cases out;
  for (const double start : {1.9, 2.1, 2.3, 2.6}) {
    Problem c =
        curve(17, fmt::format("wave from w={}", start), "a*sin(w*x+p)", spaced(0, 12, 400),
              [](double x) { return 1.5 * std::sin(2 * x + 0.4); }, 0.05, {{"a", 1}, {"w", start}, {"p", 0}});
    c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  for (const double bend : {1.0, 10.0, 100.0, 1000.0}) {
    // Rosenbrock's valley as a curve: the rows depend on b - bend*a^2 and a.
    Problem c = curve(17, fmt::format("valley {}", bend), fmt::format("{:.17g}*(b-a^2)*x+(1-a)*(1-x)", bend),
                      spaced(0, 1, 300), [](double) { return 0.0; }, 0.01, {{"a", -1.2}, {"b", 1}});
    out.push_back(std::move(c));
  }
  for (const double start : {0.3, 3.0, 30.0}) {
    Problem c = curve(17, fmt::format("rational from {}", start), "(a+b*x)/(1+c*x+d*x^2)", spaced(0, 8, 400),
                      [](double x) { return (1 + 2 * x) / (1 - 0.4 * x + 0.2 * x * x); }, 0.02,
                      {{"a", start}, {"b", start}, {"c", 0}, {"d", start}});
    c.expect = Expect::as_f64;
    out.push_back(std::move(c));
  }
  return out;
}

// 18: derivatives by differences need all of f64, so f32 rows are refused.
Cases differences() {
  Cases out;
  for (const int p : {0, 3, 6}) {
    const double offset = std::pow(10.0, p);
    Problem c = curve(18, fmt::format("by differences, y offset 1e{}", p), "c+a*exp(-b*x)", spaced(0, 8, 300),
                      [&](double x) { return offset + 2 * std::exp(-0.7 * x); }, 0.01,
                      {{"a", 1}, {"b", 1}, {"c", offset}});
    c.double_only = true;
    out.push_back(std::move(c));
  }
  Problem c = curve(18, "by differences, logistic", "a/(1+exp(-b*(x-c)))", spaced(0, 8, 300),
                    [](double x) { return 2 / (1 + std::exp(-1.5 * (x - 4))); }, 0.01,
                    {{"a", 1}, {"b", 1}, {"c", 3}});
  c.double_only = true;
  out.push_back(std::move(c));
  return out;
}

}  // namespace problems::adversarial_cases
