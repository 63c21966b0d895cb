// Tests nlsq::evaluate: one evaluation under a policy, in the formats it names, with single tiles redone in
// f64.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

PrecisionPolicy policy(const char* text) { return PrecisionPolicy::parse(text); }

const auto decay = [](const auto& x, const auto& p) {
  using std::exp;
  return p[0] * exp(-p[1] * x) + p[2];
};

std::vector<double> grid(std::size_t m, double from, double to) {
  std::vector<double> x;
  for (std::size_t i = 0; i < m; ++i)
    x.push_back(from + (to - from) * static_cast<double>(i) / static_cast<double>(m));
  return x;
}

const std::vector<double> kP{2.5, 0.7, 0.3};

double truth(double x) { return 2.5 * std::exp(-0.7 * x) + 0.3; }

// Returns the largest error relative to the values in long double.
double worst(const std::vector<double>& x, const std::vector<double>& values) {
  double error = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    error = std::max(error, std::fabs(values[i] - truth(x[i])) / std::fabs(truth(x[i])));
  return error;
}

}  // namespace

TEST_CASE("values have the digits of the policy's residual format, and the kernels say so") {
  const auto x = grid(5000, 0, 5);
  const Evaluation f64 = evaluate("a*exp(-b*x)+c", x, kP, policy("f64")),
                   f32 = evaluate("a*exp(-b*x)+c", x, kP, policy("f32"));
  CHECK(worst(x, f64.values) < 1e-15);
  CHECK(worst(x, f32.values) < 1e-6);
  CHECK(worst(x, f32.values) > 1e-9);
  for (const double v : f32.values) REQUIRE(v == static_cast<double>(static_cast<float>(v)));
  CHECK(f64.counters.rows_f64 == 5000);
  CHECK(f64.counters.rows_f32 == 0);
  CHECK(f32.counters.rows_f32 == 5000);
  CHECK(f32.counters.rows_f64 == 0);
  CHECK(f64.formats.residual == Format::f64);
  CHECK(f32.formats.residual == Format::f32);
  CHECK(f32.policy == "f32");
  CHECK(f32.evaluator == "graph");
  CHECK((f32.redone.empty() && f32.issues.empty() && f32.finite));
  CHECK(f32.jacobian.empty());
}

TEST_CASE("the entry gate counts as in a fit: few rows are evaluated in f64 under auto, many in f32") {
  const auto few = grid(100, 0, 5), many = grid(400000, 0, 5);
  CHECK(evaluate(model("exp"), few, kP).formats.residual == Format::f64);
  const Evaluation all = evaluate(model("exp"), many, kP);
  CHECK(all.formats.residual == Format::f32);
  CHECK(all.counters.rows_f32 == many.size());
  const PrecisionScope scope(policy("f64"));  // the thread's policy is the default
  CHECK(evaluate(model("exp"), many, kP).counters.rows_f64 == many.size());
}

TEST_CASE("every form of a model gives the same values and derivatives") {
  const auto x = grid(700, 0, 5);
  EvaluateOptions options;
  options.jacobian = true;
  for (const char* text : {"f64", "f32", "bf16"}) {
    CAPTURE(text);
    const PrecisionPolicy p = policy(text);
    const Evaluation by_text = evaluate("a*exp(-b*x)+c", x, kP, p, options);
    const Formula formula = parse_formula("a*exp(-b*x)+c");
    const ModelFunction erased = make_model_function(decay);
    const PreparedModel prepared("a*exp(-b*x)+c");
    const auto by_columns = [](const auto& at, const auto& q) {
      using std::exp;
      return q[0] * exp(-q[1] * at[0]) + q[2];
    };
    const std::vector<Evaluation> others{
        evaluate(formula, x, kP, p, options),
        evaluate(model("exp"), x, kP, p, options),
        evaluate(decay, x, kP, p, options),
        evaluate(erased, x, kP, p, options),
        evaluate(prepared, x, kP, p, options),
        evaluate(by_columns, std::vector<Column>{x}, kP, p, options),
        evaluate("a*exp(-b*x)+c", x, {{"b", 0.7}, {"c", 0.3}, {"a", 2.5}}, p, options),
        evaluate(model("exp"), x, {{"b", 0.7}, {"c", 0.3}, {"a", 2.5}}, p, options)};
    for (const Evaluation& other : others) {
      CHECK(other.values == by_text.values);
      CHECK(other.jacobian == by_text.jacobian);
      CHECK(other.evaluator == "graph");
    }
  }
}

TEST_CASE("derivatives are rounded to the Jacobian's format, values are not") {
  const auto x = grid(1000, 0, 5);
  EvaluateOptions options;
  options.jacobian = true;
  const auto error = [&](const char* text) {
    const Evaluation at = evaluate("a*exp(-b*x)+c", x, kP, policy(text), options);
    REQUIRE(at.jacobian.rows() == 1000);
    REQUIRE(at.jacobian.columns() == 3);
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double e = std::exp(-0.7 * x[i]);
      largest = std::max({largest, std::fabs(at.jacobian(i, 0) / e - 1), std::fabs(at.jacobian(i, 2) - 1)});
      if (x[i] > 0) largest = std::max(largest, std::fabs(at.jacobian(i, 1) / (-2.5 * x[i] * e) - 1));
    }
    return largest;
  };
  CHECK(error("f64") < 4e-15);
  CHECK((error("f32") > 1e-9 && error("f32") < 2e-6));
  CHECK((error("always_f16") > 1e-5 && error("always_f16") < 1.01 * 0x1p-11));
  CHECK((error("bf16") > 1e-3 && error("bf16") < 1.01 * 0x1p-8));
  CHECK((error("residual=f64,jacobian=bf16,gate=off") > 1e-3));
  const Evaluation mixed =
      evaluate("a*exp(-b*x)+c", x, kP, policy("residual=f64,jacobian=f32,gate=off"), options);
  CHECK(worst(x, mixed.values) < 1e-15);
  CHECK(error("residual=f64,jacobian=f32,gate=off") > 1e-9);
  // Each of these numbers has eight significant bits, and so is a number of bf16.
  const Evaluation half = evaluate("a*exp(-b*x)+c", x, kP, policy("bf16"), options);
  for (std::size_t i = 0; i < x.size(); ++i) {
    int exponent = 0;
    const double fraction = std::ldexp(std::frexp(half.jacobian(i, 1), &exponent), 8);
    REQUIRE(fraction == std::nearbyint(fraction));
  }
}

TEST_CASE("only the tile that f32 cannot hold is evaluated in f64, and the issues count what was wrong") {
  std::vector<double> x = grid(20000, 0, 1);
  x[7000] = -100;  // exp(100) is beyond the range of f32, but not of f64
  const Evaluation at = evaluate("a*exp(-x)", x, {3.0}, policy("f32"));
  CHECK(at.finite);
  REQUIRE(at.redone.size() == 1);
  CHECK(at.redone[0].first <= 7000);
  CHECK(at.redone[0].first + at.redone[0].count > 7000);
  CHECK(at.counters.rows_f32 == x.size());
  CHECK(at.counters.rows_f64 == at.redone[0].count);
  REQUIRE(at.issues.size() == 1);
  const PrecisionIssue issue{0, Operation::evaluate, Format::f32, 0, 1, 0, 1};
  CHECK(at.issues[0] == issue);
  CHECK(at.values[7000] == doctest::Approx(3 * std::exp(100.0)).epsilon(1e-14));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool redone = i >= at.redone[0].first && i < at.redone[0].first + at.redone[0].count;
    const double exact = 3 * std::exp(-x[i]);
    REQUIRE(std::fabs(at.values[i] - exact) <= (redone ? 1e-15 : 1e-6) * exact);
    if (!redone) REQUIRE(at.values[i] == static_cast<double>(static_cast<float>(at.values[i])));
  }
}

TEST_CASE("values near the format's limit are counted although nothing overflows") {
  std::vector<double> x = grid(3000, 0, 1);
  x[10] = x[2000] = -87.5;  // exp(87.5) is 1.0e38; f32's largest is 3.4e38
  const Evaluation at = evaluate("a*exp(-x)", x, {1.0}, policy("f32"));
  CHECK(at.redone.empty());
  REQUIRE(at.issues.size() == 1);
  const PrecisionIssue issue{0, Operation::evaluate, Format::f32, 0, 0, 2, 2};
  CHECK(at.issues[0] == issue);
}

TEST_CASE("a row that f64 cannot hold, either, is named") {
  std::vector<double> x = grid(3000, 1, 2);
  x[1234] = -1;
  const Evaluation at = evaluate("log(x)*a", x, {1.0}, policy("f32"));
  CHECK_FALSE(at.finite);
  CHECK(at.nonfinite_row == 1234);
  CHECK(std::isnan(at.values[1234]));
  CHECK(at.values[1233] == doctest::Approx(std::log(x[1233])).epsilon(1e-6));
  CHECK(evaluate("log(x)*a", x, {1.0}, policy("f64")).nonfinite_row == 1234);
}

TEST_CASE("with y the values are weighted residuals; a left side belongs to them alone") {
  const auto x = grid(500, 0, 5);
  std::vector<double> y, sigma;
  for (const double v : x) y.push_back(truth(v) + 0.25), sigma.push_back(0.5 + v);
  EvaluateOptions options;
  options.y = y;
  Evaluation at = evaluate("a*exp(-b*x)+c", x, kP, policy("f64"), options);
  for (const double r : at.values) REQUIRE(r == doctest::Approx(-0.25).epsilon(1e-12));
  options.sigma = sigma;
  at = evaluate(decay, x, kP, policy("f64"), options);
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE(at.values[i] == doctest::Approx(-0.25 / sigma[i]).epsilon(1e-12));
  const Evaluation right = evaluate("log(y) = a - b*x", x, {{"a", 1}, {"b", 2}}, policy("f64"));
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE(right.values[i] == doctest::Approx(1 - 2 * x[i]).epsilon(1e-14));
  options = {};
  options.y = y;
  const Evaluation both = evaluate("log(y) = a - b*x", x, {{"a", 1}, {"b", 2}}, policy("f64"), options);
  for (std::size_t i = 0; i < x.size(); ++i)
    REQUIRE(both.values[i] == doctest::Approx(1 - 2 * x[i] - std::log(y[i])).epsilon(1e-13));
}

TEST_CASE("a callable in double alone is evaluated in f64, whatever the policy, and says why") {
  const auto x = grid(300, 0, 5);
  EvaluateOptions options;
  options.jacobian = true;
  const auto plain = [](double at, const std::vector<double>& p) {
    return p[0] * std::exp(-p[1] * at) + p[2];
  };
  const Evaluation at = evaluate(plain, x, kP, policy("bf16"), options);
  CHECK(at.formats.residual == Format::f64);
  CHECK(at.evaluator == "finite differences");
  CHECK(at.evaluator_note == "the callable takes double alone");
  CHECK(worst(x, at.values) < 1e-15);
  CHECK(at.jacobian(100, 2) == doctest::Approx(1).epsilon(1e-7));
  const Evaluation dual = evaluate(untraced(decay), x, kP, policy("bf16"), options);
  CHECK(dual.evaluator == "dual");
  CHECK(dual.jacobian(100, 2) == 1);
}

TEST_CASE("branches that the recording has not seen are found, in f32 too") {
  auto x = grid(3000, 0, 1);
  x[1717] = 40;  // this is the only row in the other branch
  const auto kink = [](const auto& at, const auto& p) { return at > 20.0 ? p[0] * at : p[0] + at; };
  for (const char* text : {"f32", "f64"}) {
    const Evaluation at = evaluate(kink, x, {2.0}, policy(text));
    CHECK(at.finite);
    CHECK(at.values[1717] == 80);
    CHECK(at.values[0] == 2);
    CHECK(at.redone.empty());
  }
}

TEST_CASE("the same bits on any number of threads") {
  const auto x = grid(300001, 0, 5);
  EvaluateOptions one, two;
  one.jacobian = two.jacobian = true;
  one.threads = 1;
  two.threads = 2;
  const Evaluation a = evaluate(decay, x, kP, policy("bf16"), one),
                   b = evaluate(decay, x, kP, policy("bf16"), two);
  CHECK(a.values == b.values);
  CHECK(a.jacobian == b.jacobian);
  CHECK(a.counters.rows_f32 == b.counters.rows_f32);
}

TEST_CASE("all mistakes are reported at once") {
  const auto x = grid(10, 0, 5);
  const auto message = [](auto&& call) -> std::string {
    try {
      call();
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string names = message([&] { evaluate("a*exp(-b*x)+c", x, {{"a", 1}, {"z", 2}}); });
  CHECK(has(names, "no parameter 'z'"));
  CHECK(has(names, "b has no value"));
  CHECK(has(names, "c has no value"));
  CHECK(has(message([&] {
              evaluate("a*exp(-b*x)+c", x, {{"a", 1}, {"b", 1}, {"c", 1}, {"a", 2}});
            }),
            "named twice"));
  CHECK(has(message([&] { evaluate("a*x", x, {1.0, 2.0}); }), "p has 2 values, the model 1 parameters (a)"));
  CHECK(has(message([&] { evaluate("a*x", x, {std::nan("")}); }), "a = nan is not finite"));
  EvaluateOptions sigma_alone;
  sigma_alone.sigma = x;
  CHECK(has(message([&] { evaluate("a*x", x, {1.0}, policy("f64"), sigma_alone); }), "give y, too"));
  PrecisionPolicy unsound = policy("imu.residual=f64");
  unsound.gram = Format::bf16;
  const std::string policies = message([&] { evaluate("a*x", x, {1.0}, unsound); });
  CHECK(has(policies, "gram=bf16"));
  CHECK(has(policies, "imu"));
  EvaluateOptions short_y;
  const std::vector<double> three(3, 1.0);
  short_y.y = three;
  CHECK(has(message([&] { evaluate("a*x", x, {1.0}, policy("f64"), short_y); }), "y has 3"));
}
