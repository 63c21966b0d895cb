// Generates random fits from models, scales, noise and numbers of rows.
#include "random_problems.hpp"

#include "noise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <regex>

namespace problems {

namespace {

// Describes a model with known parameters, before scaling, rows and noise.
struct Draw {
  std::string name, formula;
  std::vector<std::string> predictors;
  std::vector<double> low, high;  // range of each predictor
  nlsq::NamedValues truth;
};

double in(Noise& noise, const nlsq::TrialRange& range) {
  const double u = noise.uniform();
  return range.logarithmic ? range.low * std::pow(range.high / range.low, u)
                           : range.low + (range.high - range.low) * u;
}

double decade(Noise& noise, double low, double high) { return std::pow(10.0, noise.uniform(low, high)); }

Draw built_in(Noise& noise) {
  const auto models = nlsq::models();
  const nlsq::Model& model = models[noise.below(models.size())];
  Draw out{model.name, model.formula, {"x"}, {}, {}, {}};
  if (model.predictors > 1) out.predictors.clear();
  for (int k = 1; k <= model.predictors; ++k) {
    if (model.predictors > 1) out.predictors.push_back(fmt::format("x{}", k));
    out.low.push_back(model.trial_x.low);
    out.high.push_back(model.trial_x.high);
  }
  for (std::size_t j = 0; j < model.parameters.size(); ++j)
    out.truth.emplace_back(model.parameters[j], in(noise, model.trials[j]));
  return out;
}

// Powers of x on [0, 1] have κ from 1e6 to 1e16.
Draw polynomial(Noise& noise) {
  const int degree = 5 + static_cast<int>(noise.below(6));
  Draw out{fmt::format("degree {}", degree), "p0", {"x"}, {0}, {1}, {{"p0", noise.normal()}}};
  for (int k = 1; k <= degree; ++k) {
    out.formula += fmt::format("+p{0}*x^{0}", k);
    out.truth.emplace_back(fmt::format("p{}", k), noise.normal());
  }
  return out;
}

// Draws a sum of two or three exponentials. Each rate is 1.1 to 4 times the one before.
Draw exponentials(Noise& noise) {
  const int terms = 2 + static_cast<int>(noise.below(2));
  Draw out{fmt::format("{} exponentials", terms), "", {"x"}, {0}, {8}, {}};
  double rate = noise.uniform(0.2, 0.6);
  for (int k = 1; k <= terms; ++k) {
    out.formula += fmt::format("{1}a{0}*exp(-b{0}*x)", k, k == 1 ? "" : "+");
    out.truth.emplace_back(fmt::format("a{}", k), noise.uniform(0.5, 3));
    out.truth.emplace_back(fmt::format("b{}", k), rate);
    rate *= 1 + decade(noise, -1, 0.5);
  }
  return out;
}

// Draws a decay far from the origin of x. The data hardly separate its amplitude and rate.
Draw far_decay(Noise& noise) {
  const double start = decade(noise, 1, 4);
  return {"far decay", "a*exp(-b*x)+c",
          {"x"},       {start},
          {start + 8}, {{"a", std::exp(0.01 * std::min(start, 3000.0))}, {"b", 0.01}, {"c", noise.normal()}}};
}

// Draws a rational function with steep and flat parts.
Draw rational(Noise& noise) {
  return {"rational",
          "(a+b*x+c*x^2)/(1+d*x+f*x^2+g*x^3)",
          {"x"},
          {0},
          {8},
          {{"a", noise.normal()},
           {"b", noise.normal()},
           {"c", noise.normal()},
           {"d", noise.uniform(-0.1, 1)},
           {"f", noise.uniform(0, 1)},
           {"g", noise.uniform(0, 0.5)}}};
}

// Draws a wave on a parabola with a large offset.
Draw wave(Noise& noise) {
  return {"wave on parabola",
          "a*sin(w*x+p)+b0+b1*x+b2*x^2",
          {"x"},
          {0},
          {10},
          {{"a", noise.uniform(0.5, 3)},
           {"w", noise.uniform(0.5, 4)},
           {"p", noise.uniform(-1, 1)},
           {"b0", decade(noise, 0, 6)},
           {"b1", noise.normal()},
           {"b2", 0.1 * noise.normal()}}};
}

// Draws two peaks whose distance is less than their widths.
Draw peaks(Noise& noise) {
  const double gap = decade(noise, -1, 0.5);
  return {"two peaks",
          "h1*exp(-((x-c1)/w1)^2)+h2*exp(-((x-c2)/w2)^2)+d",
          {"x"},
          {-5},
          {5},
          {{"h1", noise.uniform(1, 3)},
           {"c1", -gap / 2},
           {"w1", noise.uniform(0.8, 1.5)},
           {"h2", noise.uniform(1, 3)},
           {"c2", gap / 2},
           {"w2", noise.uniform(0.8, 1.5)},
           {"d", noise.normal()}}};
}

// With 18 to 30 parameters, products of columns cost more than the rows.
Draw many_peaks(Noise& noise) {
  const int count = 6 + static_cast<int>(noise.below(5));
  Draw out{fmt::format("{} peaks", count), "", {"x"}, {0}, {static_cast<double>(count)}, {}};
  for (int k = 0; k < count; ++k) {
    out.formula += fmt::format("{1}h{0}*exp(-((x-c{0})/w{0})^2)", k, k == 0 ? "" : "+");
    out.truth.emplace_back(fmt::format("h{}", k), noise.uniform(0.5, 2));
    out.truth.emplace_back(fmt::format("c{}", k), k + 0.5 + noise.uniform(-0.2, 0.2));
    out.truth.emplace_back(fmt::format("w{}", k), noise.uniform(0.2, 0.8));
  }
  return out;
}

Draw draw(Noise& noise) {
  switch (noise.below(13)) {
    case 0:
    case 1:
    case 2: return polynomial(noise);
    case 3:
    case 4: return exponentials(noise);
    case 5: return far_decay(noise);
    case 6: return rational(noise);
    case 7: return wave(noise);
    case 8: return peaks(noise);
    case 9: return many_peaks(noise);
    default: return built_in(noise);
  }
}

// Changes the units of x: the data shrink, and the formula multiplies.
void scale_predictors(Noise& noise, Draw& d) {
  for (std::size_t k = 0; k < d.predictors.size(); ++k) {
    const double scale = std::pow(2.0, std::floor(noise.uniform(-30, 30)));
    d.formula = std::regex_replace(d.formula, std::regex("\\b" + d.predictors[k] + "\\b"),
                                   fmt::format("({:.17g}*{})", scale, d.predictors[k]));
    d.low[k] /= scale;
    d.high[k] /= scale;
  }
}

std::size_t rows_of(Noise& noise, std::size_t parameters) {
  const double kind = noise.uniform();
  if (kind < 0.15) return static_cast<std::size_t>(decade(noise, 5.0, 5.2));
  if (kind < 0.22) return parameters + noise.below(4);
  return parameters + 5 + static_cast<std::size_t>(decade(noise, 0.8, 3.3));
}

}  // namespace

Problem random_problem(std::uint64_t seed, std::uint64_t index) {
  Noise noise(seed * 1000003 + index);
  Draw d = draw(noise);
  if (noise.uniform() < 0.3) scale_predictors(noise, d);
  const double scale = noise.uniform() < 0.3 ? decade(noise, -12, 12) : 1;
  if (scale != 1) d.formula = fmt::format("{:.17g}*({})", scale, d.formula);

  Problem out;
  out.name = fmt::format("{}/{} {}", seed, index, d.name);
  out.equation = d.formula;
  out.predictors = d.predictors;
  std::size_t m = rows_of(noise, d.truth.size());
  if (d.name == "3 exponentials" || d.name == "far decay")
    m = std::min<std::size_t>(m, 2000);  // such fits take a thousand steps
  const bool near = noise.uniform()<0.5, many = d.truth.size()> 16;
  if (many) m = std::min<std::size_t>(m, near ? 10000 : 1000);
  const std::size_t distinct = std::min<std::size_t>(m, 2000);
  out.x.resize(d.predictors.size());
  const bool even = d.predictors.size() == 1 && noise.uniform() < 0.7;
  for (std::size_t k = 0; k < out.x.size(); ++k) {
    out.x[k].reserve(m);
    for (std::size_t i = 0; i < distinct; ++i) {
      const double u = !even          ? noise.uniform()
                       : distinct > 1 ? static_cast<double>(i) / static_cast<double>(distinct - 1)
                                      : 0.5;
      out.x[k].push_back(d.low[k] + (d.high[k] - d.low[k]) * u);
    }
    for (std::size_t i = distinct; i < m; ++i) out.x[k].push_back(out.x[k][i - distinct]);
  }
  const nlsq::Formula formula = parsed(out);
  std::vector<double> truth(formula.parameters.size()), row(out.x.size()), curve(distinct);
  for (const auto& [name, value] : d.truth) {
    truth[static_cast<std::size_t>(std::find(formula.parameters.begin(), formula.parameters.end(), name) -
                                   formula.parameters.begin())] = value;
  }
  for (std::size_t i = 0; i < distinct; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = out.x[k][i];
    curve[i] = formula.evaluate(row, truth);
    if (!std::isfinite(curve[i])) curve[i] = 0;
  }
  const auto [lowest, highest] = std::minmax_element(curve.begin(), curve.end());
  const double range = *highest > *lowest ? *highest - *lowest : std::max(std::fabs(*highest), 1e-300);
  const double level = noise.uniform() < 0.06 ? 0 : range / decade(noise, 0.3, 7);
  const bool weighted = noise.uniform() < 0.16;
  out.y.reserve(m);
  for (std::size_t i = 0; i < m; ++i) {
    const double sigma = weighted ? std::max(level, 1e-8 * range) * decade(noise, -1, 1) : level;
    if (weighted) out.sigma.push_back(sigma);
    out.y.push_back(curve[i % distinct] + (level > 0 ? sigma : 0) * noise.normal());
  }
  // Half of the starts are near. Some are so far that many fits end elsewhere.
  const double off = near ? 0.02 : decade(noise, -1.3, m < 100000 ? 0 : -0.7);
  for (const auto& [name, value] : d.truth) out.p0.emplace_back(name, value * (1 + off * noise.normal()));
  return out;
}

}  // namespace problems
