// Tests callables that are not functions of only their arguments, which must be detected and never certified.
// Callables that cannot be recorded must be fitted by dual numbers, with a note that says why.
#include <nlsq/nlsq.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using namespace nlsq;

namespace {

struct Data {
  std::vector<double> x, y;
};
Data line() {
  Data d;
  for (int i = 0; i < 100; ++i) {
    d.x.push_back(0.05 * i);
    d.y.push_back(1 + 2 * d.x.back() + 0.05 * std::sin(12.9898 * i));
  }
  return d;
}
struct Drifting {
  int* calls;
  template <class T>
  T operator()(const T& x, std::span<const T> p) const {
    return p[0] + p[1] * x + 1e-4 * ++*calls;
  }
};

// In double this is another function than when it is recorded, but dual numbers agree with the recording.
struct TwoFaced {
  double operator()(double x, std::span<const double> p) const { return p[0] + p[1] * x + 0.3 * x * x; }
  template <class T>
  T operator()(const T& x, std::span<const T> p) const {
    return p[0] + p[1] * x;
  }
};

struct Switched {
  double* slope;
  template <class T>
  T operator()(const T& x, std::span<const T> p) const {
    using std::exp;
    return *slope * x + p[0] * exp(-p[1] * x);
  }
};

bool contains(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

void check_not_certified(const FitResult& fit) {
  CHECK_FALSE(fit.success());
  CHECK_FALSE(fit.summary.certificate.passed);
  CHECK_FALSE(fit.summary.certificate.recheck_passed);
  CHECK(fit.summary.verdict == Verdict::failed);
  CHECK(contains(fit.summary.message, "change between calls"));
}

}  // namespace

TEST_CASE("a functor whose result drifts from call to call is caught") {
  const Data d = line();
  int calls = 0;
  check_not_certified(curve_fit(Drifting{&calls}, d.x, d.y, {1, 1}));
}

TEST_CASE("a hidden static counter is caught") {
  const auto f = [](const auto& x, const auto& p) {
    static int calls = 0;  // one for each scalar type
    ++calls;
    return p[0] + p[1] * x * (calls % 2 ? 1.0 : 1.001);
  };
  const Data d = line();
  check_not_certified(curve_fit(f, d.x, d.y, {1, 1}));
}

TEST_CASE("a functor that changes once recorded is caught by the calls in double") {
  const Data d = line();
  const FitResult fit = curve_fit(TwoFaced{}, d.x, d.y, {1, 1});
  CHECK_FALSE(fit.success());
  CHECK_FALSE(fit.summary.certificate.recheck_passed);
  CHECK(fit.summary.certificate.recheck_discrepancy > 1e-9);
}

TEST_CASE("a functor changed by the user's callback in the middle of the fit is caught") {
  const Data d = line();
  double slope = 1;
  FitOptions options;
  options.callback = [&slope](const IterationSummary& it) {
    if (it.iteration == 1) slope = 1.5;
    return Continue;
  };
  const FitResult fit = curve_fit(Switched{&slope}, d.x, d.y, {1, 0.5}, options);
  // The recording is discarded. The rest of the fit uses only the changed function, and may certify that.
  if (fit.success()) {
    CHECK(fit.summary.evaluator == "dual");
    CHECK(contains(fit.summary.evaluator_note, "discarded"));
    double rss = 0;
    for (std::size_t i = 0; i < d.x.size(); ++i) {
      rss += std::pow(1.5 * d.x[i] + fit.parameters[0] * std::exp(-fit.parameters[1] * d.x[i]) - d.y[i], 2);
    }
    CHECK(fit.rss == doctest::Approx(rss).epsilon(1e-10));
  } else {
    CHECK_FALSE(fit.summary.certificate.passed);
  }
}

TEST_CASE("a callable in double that remembers is caught, too") {
  const Data d = line();
  int calls = 0;
  const auto f = [&calls](double x, const std::vector<double>& p) {
    return p[0] + p[1] * x + 1e-3 * (calls++ % 7);
  };
  check_not_certified(curve_fit(f, d.x, d.y, {1, 1}));
}

TEST_CASE("a vector function that changes between calls is caught") {
  const Data d = line();
  int calls = 0;
  const auto f = [&](const auto& p) {
    using T = std::decay_t<decltype(p[0])>;
    std::vector<T> r;
    ++calls;
    for (std::size_t i = 0; i < d.x.size(); ++i) r.push_back(p[0] + p[1] * d.x[i] - d.y[i] + 1e-3 * calls);
    return r;
  };
  const LeastSquaresResult r = least_squares(f, {1.0, 1.0});
  CHECK_FALSE(r.success());
  CHECK_FALSE(r.summary.certificate.passed);
}

TEST_CASE("a callable with more branches than are recorded is fitted by dual numbers, with a note") {
  const auto steps = [](const auto& x, const auto& p) {
    int k = 0;
    while (x > 0.25 * k) ++k;  // there is a new branch for each twentieth of the data
    return p[0] + p[1] * (0.25 * k);
  };
  const Data d = line();
  const FitResult fit = curve_fit(steps, d.x, d.y, {1, 1});
  CHECK(fit.success());
  CHECK(fit.summary.evaluator == "dual");
  CHECK(contains(fit.summary.evaluator_note, "could not be recorded"));
  CHECK(fit.summary.evaluator_note.size() > 40);  // and why
  CHECK(fit.parameters[1] == doctest::Approx(2).epsilon(0.02));
}

TEST_CASE("a callable that looks at its numbers is fitted by dual numbers") {
  const auto peeking = [](const auto& x, const auto& p) {
    const double seen = value_of(p[0]);
    return p[0] + p[1] * x + 0.0 * seen;
  };
  const Data d = line();
  const FitResult fit = curve_fit(peeking, d.x, d.y, {1, 1});
  CHECK(fit.success());
  CHECK(fit.summary.evaluator == "dual");
  CHECK_FALSE(fit.summary.evaluator_note.empty());
}

TEST_CASE("branches that rows take only later in the fit are recorded then") {
  // All rows start left of the knee, which then moves into the data.
  const auto knee = [](const auto& x, const auto& p) {
    return x < p[0] ? p[1] * x : p[1] * p[0] + p[2] * (x - p[0]);
  };
  Data d;
  for (int i = 0; i < 200; ++i) {
    d.x.push_back(0.05 * i);
    d.y.push_back((d.x.back() < 4 ? 2 * d.x.back() : 8 + 0.5 * (d.x.back() - 4)) +
                  0.02 * std::sin(12.9898 * i));
  }
  for (const double start : {12.0, 9.0, 2.0}) {
    CAPTURE(start);
    const FitResult fit = curve_fit(knee, d.x, d.y, {start, 1, 1});
    CHECK(fit.summary.evaluator == "graph");
    CHECK(fit.summary.certificate.recheck_passed);
    if (start < 10) {
      CHECK(fit.success());
      CHECK(fit.parameters[0] == doctest::Approx(4).epsilon(0.05));
    }
  }
}
