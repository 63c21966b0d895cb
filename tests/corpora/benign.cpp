// Generates the benign fits.
#include "benign.hpp"

#include "noise.hpp"

#include <fmt/format.h>

#include <cmath>

namespace problems {

namespace {

struct Curve {
  const char* name;
  const char* equation;
  double low, high;  // range of x
  nlsq::NamedValues truth, start;
  double noise;
};

const Curve kCurves[] = {
    {"exp",
     "a*exp(-b*x)+c",
     0,
     4,
     {{"a", 2.5}, {"b", 1.3}, {"c", 0.5}},
     {{"a", 1}, {"b", 0.5}, {"c", 0}},
     0.05},
    {"gaussian",
     "h*exp(-((x-c)/w)^2)+d",
     -4,
     4,
     {{"h", 3}, {"c", 1.2}, {"w", 0.8}, {"d", 0.5}},
     {{"h", 2}, {"c", 0.5}, {"w", 1.3}, {"d", 0}},
     0.05},
    {"biexp",
     "a1*exp(-b1*x)+a2*exp(-b2*x)+c",
     0,
     8,
     {{"a1", 3}, {"b1", 2.5}, {"a2", 2}, {"b2", 0.4}, {"c", 0.5}},
     {{"a1", 1}, {"b1", 4}, {"a2", 1}, {"b2", 0.2}, {"c", 0}},
     0.02},
    {"logistic",
     "a/(1+exp(-b*(x-c)))+d",
     -5,
     5,
     {{"a", 3}, {"b", 1.5}, {"c", 0.7}, {"d", 0.2}},
     {{"a", 1}, {"b", 0.7}, {"c", -1}, {"d", 0}},
     0.05},
    {"sine",
     "a*sin(w*x+p)+d",
     0,
     10,
     {{"a", 2}, {"w", 2.1}, {"p", 0.4}, {"d", 1}},
     {{"a", 1}, {"w", 2}, {"p", 0}, {"d", 0}},
     0.1},
    {"power", "a*x^b", 0.1, 5, {{"a", 2}, {"b", 1.4}}, {{"a", 1}, {"b", 0.5}}, 0.05},
    {"rational",
     "(a+b*x+c*x^2)/(1+d*x+f*x^2)",
     -3,
     3,
     {{"a", 1}, {"b", 2}, {"c", -0.5}, {"d", 0.3}, {"f", 0.4}},
     {{"a", 1}, {"b", 1}, {"c", 0}, {"d", 0.1}, {"f", 0.1}},
     0.05},
};

Problem generated(std::string name, std::string equation, std::vector<std::vector<double>> x,
                  const nlsq::NamedValues& truth, nlsq::NamedValues start, double level, std::uint64_t seed) {
  Problem out;
  out.name = std::move(name);
  out.equation = std::move(equation);
  out.x = std::move(x);
  out.p0 = std::move(start);
  if (out.x.size() > 1) {
    out.predictors.clear();
    for (std::size_t k = 1; k <= out.x.size(); ++k) out.predictors.push_back(fmt::format("x{}", k));
  }
  const nlsq::Formula formula = parsed(out);
  std::vector<double> p, row(out.x.size());
  for (const std::string& parameter : formula.parameters) {
    for (const auto& [known, value] : truth) {
      if (known == parameter) p.push_back(value);
    }
  }
  Noise noise(seed);
  for (std::size_t i = 0; i < out.x[0].size(); ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = out.x[k][i];
    out.y.push_back(formula.evaluate(row, p) + level * noise.normal());
  }
  return out;
}

std::vector<double> drawn(Noise& noise, double low, double high, std::size_t rows) {
  std::vector<double> x(rows);
  for (double& v : x) v = noise.uniform(low, high);
  return x;
}

}  // namespace

Problem gaussian_peaks(int peaks, std::size_t rows, std::uint64_t seed, double pedestal) {
  Noise noise(seed);
  std::string equation;
  nlsq::NamedValues truth, start;
  for (int k = 0; k < peaks; ++k) {
    equation += fmt::format("{1}h{0}*exp(-((x-c{0})/w{0})^2)", k, k == 0 ? "" : "+");
    const double height = noise.uniform(0.5, 2), centre = k + 0.5 + noise.uniform(-0.1, 0.1),
                 width = noise.uniform(0.25, 0.45);
    for (const auto& [letter, value, off] :
         {std::tuple{'h', height, 0.2}, {'c', centre, 0.1 * width / centre}, {'w', width, 0.1}}) {
      truth.emplace_back(fmt::format("{}{}", letter, k), value);
      start.emplace_back(fmt::format("{}{}", letter, k), value * (1 + off * noise.uniform(-1, 1)));
    }
  }
  if (pedestal != 0) {
    equation += "+d";
    truth.emplace_back("d", pedestal);
    start.emplace_back("d", pedestal);
  }
  std::vector<double> x(rows);
  for (std::size_t i = 0; i < rows; ++i) x[i] = peaks * static_cast<double>(i) / static_cast<double>(rows);
  return generated(fmt::format("{} peaks", peaks), std::move(equation), {std::move(x)}, truth,
                   std::move(start), 0.02, seed);
}

std::vector<Problem> benign(std::size_t rows) {
  std::vector<Problem> out;
  Noise noise(11);
  for (const Curve& c : kCurves) {
    out.push_back(generated(c.name, c.equation, {drawn(noise, c.low, c.high, rows)}, c.truth, c.start,
                            c.noise, noise.bits()));
  }
  const nlsq::NamedValues spot{{"h", 2}, {"c1", 0.3}, {"c2", -0.2}, {"w", 0.9}, {"d", 0.5}},
      from{{"h", 1}, {"c1", 0}, {"c2", 0}, {"w", 1.3}, {"d", 0}};
  out.push_back(generated("spot", "h*exp(-((x1-c1)^2+(x2-c2)^2)/w^2)+d",
                          {drawn(noise, -3, 3, rows), drawn(noise, -3, 3, rows)}, spot, from, 0.1,
                          noise.bits()));
  for (const int peaks : {6, 12, 20})
    out.push_back(gaussian_peaks(peaks, rows, static_cast<std::uint64_t>(peaks)));
  return out;
}

}  // namespace problems
