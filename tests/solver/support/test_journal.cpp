// Tests that a fit that is repeated with its journal takes the sums of its passes from there, and ends with
// the same bits.
#include "same_fit.hpp"

#include <doctest/doctest.h>

#include <nlsq/curve_fit.hpp>
#include <nlsq/groups.hpp>
#include <nlsq/journal.hpp>

#include <unistd.h>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

namespace fs = std::filesystem;

// This is a file name of this process that is removed at the end.
struct TemporaryFile {
  explicit TemporaryFile(const char* name)
      : path((fs::temp_directory_path() / ("nlsq_journal_" + std::to_string(::getpid()) + name)).string()) {
    fs::remove(path);
  }
  ~TemporaryFile() { fs::remove(path); }
  std::string path;
};

struct Data {
  Data() {
    for (int i = 0; i < 400; ++i) {
      x.push_back(0.01 * i);
      y.push_back(2.5 * std::exp(-1.3 * x.back()) + 0.1 * std::sin(12.9898 * i));
    }
  }
  std::vector<double> x, y;
  std::atomic<long> calls = 0;
};

// Fits a function that is called for every row, so that its calls can be counted.
FitResult fit(Data& data, const std::shared_ptr<Journal>& journal, int stop_after = -1, int starts = 1) {
  FitOptions options;
  options.threads = 1;
  options.starts = starts;
  options.journal = journal;
  if (stop_after >= 0)
    options.callback = [=](const IterationSummary& s) { return s.iteration >= stop_after ? Stop : Continue; };
  const auto model = [&](double x, const auto& p) {
    ++data.calls;
    return p[0] * std::exp(-p[1] * x);
  };
  return curve_fit(model, data.x, data.y, {0.5, 4.0}, options);
}

void check_same(const FitResult& a, const FitResult& b) {
  check_same_numbers(a, b);
  CHECK(a.summary.accepted == b.summary.accepted);
  CHECK(a.summary.rejected == b.summary.rejected);
  CHECK(a.summary.precision.counters.rows_f64 == b.summary.precision.counters.rows_f64);
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("a fit that was stopped goes on to the same bits, and evaluates fewer rows") {
  Data data;
  const FitResult whole = fit(data, nullptr);
  const long calls_of_whole = data.calls;
  REQUIRE(whole.success());
  for (const int stop_after : {0, 1, 3}) {
    CAPTURE(stop_after);
    const TemporaryFile file("stopped");
    {
      const FitResult part = fit(data, std::make_shared<Journal>(file.path, "decay", false), stop_after);
      CHECK(part.summary.termination == Termination::user_stop);
    }
    data.calls = 0;
    const auto journal = std::make_shared<Journal>(file.path, "decay", true);
    CHECK(journal->found() > 0);
    check_same(fit(data, journal), whole);
    CHECK(journal->reused() > 0);
    if (stop_after > 0) CHECK(data.calls < calls_of_whole);
  }
}

TEST_CASE("a journal that was cut anywhere gives the same bits") {
  Data data;
  const TemporaryFile file("cut");
  const FitResult whole = fit(data, std::make_shared<Journal>(file.path, "decay", false), -1, 3);
  const std::string text = read(file.path);
  std::size_t most = 0;
  for (std::size_t size = 0; size <= text.size(); size += 1 + text.size() / 60) {
    CAPTURE(size);
    write(file.path, text.substr(0, size));
    const bool begun = size == 0 || size >= 15;
    if (!begun) {
      CHECK_THROWS_WITH_AS(Journal(file.path, "decay", true), doctest::Contains("another kind of file"),
                           Error);
      continue;
    }
    const auto journal = std::make_shared<Journal>(file.path, "decay", true);
    check_same(fit(data, journal, -1, 3), whole);
    CHECK(journal->reused() >= most);
    most = journal->reused();
  }
  CHECK(read(file.path) == text);
}

TEST_CASE("a damaged byte ends the journal before its record") {
  Data data;
  const TemporaryFile file("damaged");
  const FitResult whole = fit(data, std::make_shared<Journal>(file.path, "decay", false));
  const std::string text = read(file.path);
  const std::size_t all = Journal(file.path, "decay", true).found();
  std::string damaged = text;
  damaged[text.size() / 2] ^= 1;
  write(file.path, damaged);
  const auto journal = std::make_shared<Journal>(file.path, "decay", true);
  CHECK(journal->found() < all);
  check_same(fit(data, journal), whole);
  CHECK(read(file.path) == text);
}

TEST_CASE("other data, other work, another file and a second process are refused") {
  Data data;
  const TemporaryFile file("refused");
  fit(data, std::make_shared<Journal>(file.path, "model decay\nrows 400", false));
  CHECK_THROWS_WITH_AS(Journal(file.path, "model decay\nrows 300", true),
                       doctest::Contains("it was written for 'rows 400', and this is 'rows 300'"), Error);
  {
    const Journal open(file.path, "model decay\nrows 400", true);
    CHECK_THROWS_WITH_AS(Journal(file.path, "model decay\nrows 400", true),
                         doctest::Contains("another process writes it"), Error);
  }
  data.y[17] += 1e-9;
  CHECK_THROWS_WITH_AS(fit(data, std::make_shared<Journal>(file.path, "model decay\nrows 400", true)),
                       doctest::Contains("the data have changed since"), Error);
  const TemporaryFile other("other");
  write(other.path, "x,y\n1,2\n");
  for (const bool resume : {false, true})
    CHECK_THROWS_WITH_AS(Journal(other.path, "decay", resume), doctest::Contains("another kind of file"),
                         Error);
  CHECK(read(other.path) == "x,y\n1,2\n");
  CHECK_THROWS_AS(Journal("/nonexistent/folder/journal", "decay", false), Error);
}

TEST_CASE("sums of another model or loss are never used, whatever the description says") {
  Data data;
  const auto fit_with = [&](const char* model, const Loss& loss, const std::string& file) {
    FitOptions options;
    options.loss = loss;
    options.solve_linear_start = false;
    if (!file.empty()) options.journal = std::make_shared<Journal>(file, "a decay", true);
    return curve_fit(model, data.x, data.y, {{"a", 0.5}, {"b", 4.0}}, options);
  };
  const std::string before = "a*exp(-b*x)";
  for (const auto& [model, loss] :
       {std::pair("a*exp(-b*x)", Loss::huber(0.05)), std::pair("a*exp(-b*x)*1.001", Loss()),
        std::pair("a*exp(-b*x)+0.01", Loss())}) {
    CAPTURE(model);
    const TemporaryFile file("model");
    CHECK(fit_with(before.c_str(), Loss(), file.path).success());
    CHECK(fit_with(before.c_str(), Loss(), file.path).success());
    CHECK_THROWS_WITH_AS(fit_with(model, loss, file.path), doctest::Contains("gives other sums than it did"),
                         JournalError);
    fs::remove(file.path);
    CHECK(fit_with(model, loss, file.path).parameters == fit_with(model, loss, "").parameters);
  }
}

TEST_CASE("more iterations than before may be asked for") {
  Data data;
  const TemporaryFile file("more");
  const FitResult whole = fit(data, nullptr);
  for (int stop_after = 0; stop_after < 4; ++stop_after)
    fit(data, std::make_shared<Journal>(file.path, "decay", true), stop_after);
  check_same(fit(data, std::make_shared<Journal>(file.path, "decay", true)), whole);
}

TEST_CASE("joint fits of other shared parameters begin with other fits of the groups") {
  std::vector<double> x, y, group;
  for (int k = 0; k < 12; ++k) {
    for (int i = 0; i < 25; ++i) {
      const double t = 0.1 + 0.25 * i;
      x.push_back(t);
      y.push_back((2 + 0.1 * k) * std::exp(-0.55 * t) + 0.2 + 0.02 * std::sin(12.9898 * (25 * k + i)));
      group.push_back(k);
    }
  }
  const TemporaryFile file("share");
  const PreparedModel model("a*exp(-b*x)+c");
  const auto joint = [&](const char* share, bool resume, bool journal = true) {
    GroupOptions options;
    options.share = {share};
    if (journal) options.journal = std::make_shared<Journal>(file.path, "joint", resume);
    const NamedValues start{{"a", 1}, {"b", 1}, {"c", 0}};
    return curve_fit_groups(model, Columns(Column(x)), Column(y), Column(group), start, options);
  };
  const auto check_equal = [](const GroupsResult& a, const GroupsResult& b) {
    CHECK(a.iterations == b.iterations);
    for (std::size_t k = 0; k < a.size(); ++k)
      for (std::size_t j = 0; j < 3; ++j) CHECK(a.parameters(k, j) == b.parameters(k, j));
  };
  joint("b", false);
  check_equal(joint("c", true), joint("c", false, false));  // fits with fixed b are not those with fixed c
}
