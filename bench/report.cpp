// Prints the rows of a report and writes them as JSON.
#include "report.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace bench {

namespace {

std::string seconds(double s) {
  if (std::isnan(s)) return "-";
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  if (s < 1) return fmt::format("{:.3g} ms", s * 1e3);
  return fmt::format("{:.3g} s", s);
}

std::string number(double v, const char* format) {
  return std::isnan(v) ? "-" : fmt::format(fmt::runtime(format), v);
}

std::string digits(const Row& row) {
  if (std::isnan(row.digits)) return "-";
  if (std::isnan(row.peer_digits)) return fmt::format("{:.1f}", row.digits);
  return fmt::format("{:.1f}/{:.1f}", row.digits, row.peer_digits);
}

nlohmann::json or_null(double v) { return std::isfinite(v) ? nlohmann::json(v) : nlohmann::json(nullptr); }

void print_line(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void write(const std::string& file, const nlohmann::json& content) {
  std::ofstream stream(file);
  stream << content.dump(1) << '\n';
  if (!stream.flush()) throw std::runtime_error("cannot write " + file);
}

constexpr const char* kLayout = "{:<8} {:<29} {:>9}  {:<30} {:>9} {:>8} {:>9} {:>10} {:>7}  {}{}";

}  // namespace

void Report::begin_suite(std::string_view suite, std::string_view goal) {
  print_line(fmt::format("\n{}: {}", suite, goal));
  print_line(fmt::format(fmt::runtime(kLayout), "suite", "case", "ours", "peer", "peer's", "ratio",
                         "max diff", "digits", "/floor", "note", ""));
}

void Report::add(Row row) {
  print_line(fmt::format(fmt::runtime(kLayout), row.suite, row.name, seconds(row.ours_s),
                         row.peer.empty() ? "-" : row.peer, seconds(row.peer_s),
                         number(row.ratio(), "{:.2f}x"), number(row.max_rel_diff, "{:.1e}"), digits(row),
                         number(row.over_floor, "{:.2f}"), row.note, row.sound ? "" : "  WRONG"));
  rows_.push_back(std::move(row));
}

void Report::text(std::string_view line) const { print_line(line); }

bool Report::sound() const {
  return std::all_of(rows_.begin(), rows_.end(), [](const Row& row) { return row.sound; });
}

void Report::write_json(const std::string& file) const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : rows_) {
    rows.push_back({{"suite", row.suite},
                    {"case", row.name},
                    {"ours_s", or_null(row.ours_s)},
                    {"peer", row.peer.empty() ? nlohmann::json(nullptr) : nlohmann::json(row.peer)},
                    {"peer_s", or_null(row.peer_s)},
                    {"ratio", or_null(row.ratio())},
                    {"max_rel_diff", or_null(row.max_rel_diff)},
                    {"digits", or_null(row.digits)},
                    {"peer_digits", or_null(row.peer_digits)},
                    {"over_floor", or_null(row.over_floor)},
                    {"clock", clock_},
                    {"note", row.note},
                    {"sound", row.sound}});
  }
  write(file, rows);
}

void Report::write_goals(const std::string& file) const {
  nlohmann::json goals = nlohmann::json::array();
  for (const Goal& goal : goals_) {
    goals.push_back({{"suite", goal.suite},
                     {"figure", goal.figure},
                     {goal.asked == Asked::at_least ? "at_least" : "at_most", goal.limit},
                     {"unit", goal.unit},
                     {"measured", or_null(goal.measured)},
                     {"met", goal.met()},
                     {"clock", clock_}});
  }
  write(file, goals);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    const double difference = std::abs(a[j] - b[j]) / (b[j] == 0 ? 1.0 : std::abs(b[j]));
    if (!std::isfinite(difference)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, difference);
  }
  return largest;
}

}  // namespace bench
