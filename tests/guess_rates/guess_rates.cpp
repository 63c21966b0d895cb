// Measures first guesses: how often a fit from the guess reaches the best minimum known, and the processor
// time of a guess. It is run by hand; docs/accuracy.md shows the command and the table.
// Usage:
//
//   nlsq_guess_rates [--models a,b] [--snr 100,20,5] [--draws 200] [--first 0] [--starts 50]
//                    [--best FILE] [--list] [--negate] [--x LOW:HIGH]
//
// --first is the number of the first draw. Another number gives other data. --best keeps the best costs known
// in FILE, so that a second run need not search for them again. --list names each draw that misses. --negate
// changes the sign of y, which makes dips of peaks. --x replaces the range of x, for curves that the data cut
// off.
#include <nlsq/curve_fit.hpp>
#include <nlsq/models.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "trials.hpp"

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kSame = 1 + 1e-6;  // costs within this factor are one minimum

struct Settings {
  std::vector<std::string> models, snrs = {"100", "20", "5"};
  int draws = 200, first = 0, starts = 50;
  std::string best_file;
  bool list = false, negate = false;
  std::vector<double> x;  // the range, or empty
};

std::vector<std::string> split(const std::string& text, char separator = ',') {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Settings read_settings(int count, char** words) {
  Settings s;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--list" || word == "--negate") {
      (word == "--list" ? s.list : s.negate) = true;
      continue;
    }
    if (i + 1 == count) throw std::invalid_argument(word + ": unknown, or its value is missing");
    const std::string value = words[++i];
    if (word == "--models") s.models = split(value);
    else if (word == "--snr") s.snrs = split(value);
    else if (word == "--draws") s.draws = std::stoi(value);
    else if (word == "--first") s.first = std::stoi(value);
    else if (word == "--starts") s.starts = std::stoi(value);
    else if (word == "--best") s.best_file = value;
    else if (word == "--x")
      for (const std::string& end : split(value, ':')) s.x.push_back(std::stod(end));
    else throw std::invalid_argument(word + ": unknown option");
  }
  if (s.models.empty())
    for (const nlsq::Model& model : nlsq::models()) s.models.push_back(model.name);
  return s;
}

// Holds the best costs known, by model, signal-to-noise ratio, draw and number of random starts.
class BestCosts {
 public:
  using Key = std::tuple<std::string, std::string, int, int>;

  explicit BestCosts(std::string file) : file_(std::move(file)) {
    std::ifstream in(file_);
    std::string name, snr, cost;
    for (int draw = 0, starts = 0; in >> name >> snr >> draw >> starts >> cost;)
      known_[{name, snr, draw, starts}] = std::strtod(cost.c_str(), nullptr);
  }
  double* find(const Key& key) {
    const auto at = known_.find(key);
    return at == known_.end() ? nullptr : &at->second;
  }
  void add(const Key& key, double cost) {
    known_[key] = cost;
    if (file_.empty()) return;
    std::ofstream out(file_, std::ios::app);
    out << fmt::format("{} {} {} {} {:a}\n", std::get<0>(key), std::get<1>(key), std::get<2>(key),
                       std::get<3>(key), cost);
  }

 private:
  std::string file_;
  std::map<Key, double> known_;
};

struct Ended {
  double cost = kInfinity;
  bool certified = false;
};

// Fits from the given parameters, or from the guess if there are none.
Ended fitted(const nlsq::PreparedModel& model, const trials::Data& data, const std::vector<double>& start) {
  const std::vector<nlsq::Column> columns(data.x.begin(), data.x.end());
  nlsq::FitOptions options;
  options.max_iterations = 200;
  options.threads = 1;
  nlsq::NamedValues p0;
  for (std::size_t j = 0; j < start.size(); ++j) p0.emplace_back(model.parameter_names()[j], start[j]);
  const nlsq::FitResult fit = nlsq::curve_fit(model, nlsq::Columns(columns), data.y, p0, options);
  const double cost = fit.summary.final_cost;
  return {std::isfinite(cost) ? cost : kInfinity, fit.success()};
}

// Returns draw number t. Sizes are 30 to 2000, with even and uneven x in turn.
trials::Data draw(nlsq::Model model, int t, double snr, const Settings& s) {
  constexpr std::array<std::size_t, 6> sizes = {30, 50, 100, 250, 700, 2000};
  trials::Random random(20240501 + static_cast<std::uint64_t>(t));
  const std::size_t rows = sizes[static_cast<std::size_t>(t) % sizes.size()];
  if (s.x.size() == 2) model.trial_x = {s.x[0], s.x[1]};
  trials::Data data = trials::draw(model, random, rows, (t / static_cast<int>(sizes.size())) % 2 == 0, snr);
  if (s.negate)
    for (double& value : data.y) value = -value;
  return data;
}

double best_cost(const nlsq::Model& model, const nlsq::PreparedModel& prepared, const trials::Data& data,
                 int t, int starts) {
  trials::Random random(77777 + static_cast<std::uint64_t>(t));
  double best = fitted(prepared, data, data.truth).cost;
  for (int k = 0; k < starts; ++k)
    best = std::min(best, fitted(prepared, data, random.parameters(model)).cost);
  return best;
}

struct Rate {
  int draws = 0, reached = 0, certified_misses = 0;
};

Rate measure(const nlsq::Model& model, const std::string& snr, const Settings& s, BestCosts& known) {
  const nlsq::PreparedModel prepared(model);
  Rate rate;
  for (int t = s.first; t < s.first + s.draws; ++t) {
    const trials::Data data = draw(model, t, std::strtod(snr.c_str(), nullptr), s);
    const Ended ours = fitted(prepared, data, {});
    const BestCosts::Key key{model.name, snr, t, s.starts};
    if (known.find(key) == nullptr) known.add(key, best_cost(model, prepared, data, t, s.starts));
    const double best = *known.find(key);
    const bool reached = ours.cost <= best * kSame;
    rate.draws += 1;
    rate.reached += reached ? 1 : 0;
    rate.certified_misses += !reached && ours.certified ? 1 : 0;
    if (!reached && s.list)
      fmt::print("  {} S/N {} draw {}: {} rows, cost {:.6g} for {:.6g} (+{:.2g}), {}\n", model.name, snr, t,
                 data.y.size(), ours.cost, best, ours.cost / best - 1,
                 ours.certified ? "certified" : "not certified");
  }
  return rate;
}

// Returns the processor time of one guess in microseconds, the least of several repetitions.
double guess_time(const nlsq::Model& model, std::size_t rows) {
  trials::Random random(31);
  const trials::Data data = trials::draw(model, random, rows, true, 20);
  double least = kInfinity;
  for (int repeat = 0; repeat < 7; ++repeat) {
    const int calls = rows > 500 ? 2 : 20;
    const std::clock_t start = std::clock();
    for (int k = 0; k < calls; ++k) static_cast<void>(model.guess(data.columns(), data.y));
    least = std::min(least, 1e6 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / calls);
  }
  return least;
}

void run(const Settings& s) {
  BestCosts known(s.best_file);
  std::map<std::string, Rate> all;
  std::string head = "| model |";
  for (const std::string& snr : s.snrs) head += fmt::format(" S/N {} |", snr);
  fmt::print("{} certified misses | µs, 50 rows | µs, 200 rows | µs, 2000 rows |\n", head);
  for (const std::string& name : s.models) {
    const nlsq::Model& model = nlsq::model(name);
    std::string line = fmt::format("| {} |", name);
    int certified = 0;
    for (const std::string& snr : s.snrs) {
      const Rate rate = measure(model, snr, s, known);
      line += fmt::format(" {:.1f} |", 100.0 * rate.reached / rate.draws);
      certified += rate.certified_misses;
      Rate& sum = all[snr];
      sum.draws += rate.draws, sum.reached += rate.reached, sum.certified_misses += rate.certified_misses;
    }
    line += fmt::format(" {} |", certified);
    for (const std::size_t rows : {50, 200, 2000}) line += fmt::format(" {:.0f} |", guess_time(model, rows));
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }
  for (const auto& [snr, rate] : all)
    fmt::print("S/N {}: {} of {} draws reach the best ({:.2f} %), {} miss it with a certificate\n", snr,
               rate.reached, rate.draws, 100.0 * rate.reached / rate.draws, rate.certified_misses);
}

}  // namespace

int main(int count, char** words) {
  try {
    run(read_settings(count, words));
  } catch (const std::exception& e) {
    fmt::print(stderr, "nlsq_guess_rates: {}\n", e.what());
    return 2;
  }
}
