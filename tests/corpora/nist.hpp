// Loads NIST's certified regressions (data/nist): data, models, certified values, and the measure of
// agreement.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace nist {

struct Set {
  std::string name, file, difficulty;
  std::string response;  // "y", or "log(y)"
  std::string formula;   // the right side, in the syntax of nlsq
  std::vector<std::string> parameters;
  std::vector<double> start1, start2, certified, certified_std_error;
  double rss = 0;                       // certified residual sum of squares
  double residual_std_dev = 0;          // certified
  int dof = 0;                          // rows - parameters (NIST prints 9 for Rat43 and means 11)
  std::vector<std::string> predictors;  // names of the columns of x: {"x"}, or {"x1", "x2"}
  std::vector<std::vector<double>> x;   // one vector for each predictor
  std::vector<double> y;                // as observed; if the response is a log, it is not taken here

  std::size_t rows() const { return y.size(); }
  // Returns the model in the syntax of nlsq: "formula", or "log(y) = formula".
  std::string equation() const { return response == "y" ? formula : response + " = " + formula; }
};

// Returns the number of correct significant digits: -log10(|q-c|/|c|), absolute if c is 0, at most 11 and at
// least 0. It is 0 for a value that is not finite.
inline double lre(double value, double certified) {
  if (!std::isfinite(value)) return 0;
  const double difference = std::abs(value - certified);
  const double error = certified == 0 ? difference : difference / std::abs(certified);
  return error == 0 ? 11 : std::clamp(-std::log10(error), 0.0, 11.0);
}

inline std::string folder() { return std::string(NLSQ_SOURCE_DIR) + "/data/nist/"; }

namespace detail {

inline std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> result;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, ',');) {
    while (!field.empty() && (field.back() == '\r' || field.back() == ' ')) field.pop_back();
    result.push_back(field);
  }
  return result;
}

inline double number(const std::string& text, const std::string& file) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::runtime_error(file + ": not a number: '" + text + "'");
  return value;
}

inline void read_columns(Set& set) {
  std::ifstream stream(folder() + set.file);
  if (!stream) throw std::runtime_error("cannot open " + folder() + set.file);
  std::string line;
  std::getline(stream, line);
  const std::vector<std::string> header = fields(line);
  if (header.size() < 2 || header.back() != "y")
    throw std::runtime_error(set.file + ": y is not the last column");
  set.predictors.assign(header.begin(), header.end() - 1);
  set.x.resize(set.predictors.size());
  while (std::getline(stream, line)) {
    const std::vector<std::string> row = fields(line);
    if (row.size() != header.size()) throw std::runtime_error(set.file + ": a row of the wrong length");
    for (std::size_t i = 0; i < set.x.size(); ++i) set.x[i].push_back(number(row[i], set.file));
    set.y.push_back(number(row.back(), set.file));
  }
}

}  // namespace detail

// Loads all 27 sets with their data.
inline std::vector<Set> load() {
  std::ifstream stream(folder() + "certified.json");
  if (!stream) throw std::runtime_error("cannot open " + folder() + "certified.json");
  std::vector<Set> sets;
  for (const auto& entry : nlohmann::json::parse(stream)) {
    Set set;
    set.name = entry.at("name");
    set.file = entry.at("file");
    set.difficulty = entry.at("difficulty");
    set.response = entry.at("response");
    set.formula = entry.at("formula");
    set.parameters = entry.at("parameters").get<std::vector<std::string>>();
    set.start1 = entry.at("start1").get<std::vector<double>>();
    set.start2 = entry.at("start2").get<std::vector<double>>();
    set.certified = entry.at("certified").get<std::vector<double>>();
    set.certified_std_error = entry.at("certified_std_error").get<std::vector<double>>();
    set.rss = entry.at("residual_sum_of_squares");
    set.residual_std_dev = entry.at("residual_std_dev");
    detail::read_columns(set);
    set.dof = static_cast<int>(set.rows()) - static_cast<int>(set.parameters.size());
    if (set.rows() != entry.at("observations").get<std::size_t>())
      throw std::runtime_error(set.file + ": rows disagree with certified.json");
    sets.push_back(std::move(set));
  }
  return sets;
}

inline const Set& find(const std::vector<Set>& sets, std::string_view name) {
  for (const Set& set : sets)
    if (set.name == name) return set;
  throw std::runtime_error("no NIST set " + std::string(name));
}

}  // namespace nist
