// Suite cli times the way from a file of 10^6 rows to a certified report, as at a prompt. nlsq-fit, a SciPy
// script and gnuplot each run as a process, timed from start to end.
#include "peers/peer_programs.hpp"
#include "suites/suites.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

namespace {

void write_csv(const std::string& path, const Data& data, int digits) {
  std::ofstream file(path, std::ios::binary);
  fmt::memory_buffer text;
  fmt::format_to(fmt::appender(text), "x,y\n");
  for (std::size_t i = 0; i < data.rows(); ++i) {
    fmt::format_to(fmt::appender(text), "{:.{}g},{:.{}g}\n", data.x[0][i], digits, data.y[i], digits);
  }
  if (!file.write(text.data(), static_cast<std::streamsize>(text.size())).flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

std::string program() { return program_directory() / "nlsq-fit"; }

// Holds the result that nlsq-fit reported for its last fit.
struct Told {
  bool certified = false;
  std::string times;
};

// Runs nlsq-fit. The report goes to a pipe, and the JSON to check goes to a file. The time includes both.
Contender nlsq_fit(const CurveCase& c, const std::string& csv, const std::string& json, Told& told) {
  const nlsq::Formula formula = curve_formula(c);
  std::vector<std::string> start;
  for (const auto& [name, value] : named_start(c)) start.push_back(fmt::format("{}={:.17g}", name, value));
  const auto result = [json, &told](const std::string& report) {
    if (report.find("CONVERGED") == std::string::npos) throw std::runtime_error("nlsq-fit printed no report");
    const nlohmann::json fit = nlohmann::json::parse(std::ifstream(json));
    std::vector<double> values;
    for (const auto& parameter : fit.at("parameters")) values.push_back(parameter.at("value").get<double>());
    told.certified = fit.at("certificate").at("passed").get<bool>();
    const auto& time = fit.at("time");
    told.times = fmt::format("certified; read {:.1f} ms, in all {:.1f} ms",
                             1e3 * time.at("read").get<double>(), 1e3 * time.at("total").get<double>());
    return values;
  };
  return program_contender("nlsq-fit",
                           {program(), csv, "--model", nlsq::model(c.model).formula, "--p0",
                            fmt::format("{}", fmt::join(start, ",")), "--json", json},
                           result);
}

// Replaces starting values of 0, because gnuplot cannot change a parameter that starts at 0.
CurveCase without_zeros(CurveCase c) {
  for (double& start : c.start) start = start == 0 ? 0.1 : start;
  return c;
}

void compare(const char* model, std::size_t rows, int digits, bool with_gnuplot, const Settings& settings) {
  const CurveCase c = without_zeros(curve_case(model));
  const TemporaryDirectory directory;
  const std::string csv = directory.file("data.csv");
  write_csv(csv, curve_data(c, rows), digits);

  Told told;
  std::vector<Contender> contenders{nlsq_fit(c, csv, directory.file("fit.json"), told)};
  if (auto peer = scipy_script(c, csv)) contenders.push_back(std::move(*peer));
  if (auto peer = with_gnuplot ? gnuplot_script(c, csv) : std::nullopt)
    contenders.push_back(std::move(*peer));
  const std::vector<Measured> measured = measure(contenders, settings);

  Row row;
  row.suite = "cli";
  row.name = fmt::format("{}, {} rows, %.{}g", c.model, count_name(rows), digits);
  row.note = told.times;
  row.sound = told.certified;
  for (std::size_t k = 1; k < contenders.size(); ++k) {
    // Peers stop at tolerances near 1e-8 (SciPy) and 1e-5 of the sum of squares (gnuplot).
    const double close = contenders[k].name == "gnuplot fit" ? 1e-3 : 1e-5;
    row.sound = row.sound && largest_difference(measured[k].result, measured[0].result) < close;
    settings.report->goal({"cli", row.name + ": over " + contenders[k].name,
                           measured[k].seconds / measured[0].seconds, Asked::at_least,
                           contenders[k].name == "gnuplot fit" ? 300.0 : 15.0, "x"});
  }
  if (contenders.size() == 1) {
    row.ours_s = measured[0].seconds;
    settings.report->add(row);
  }
  report_against_peers(contenders, measured, row, settings);
}

}  // namespace

void run_cli(const Settings& settings) {
  if (!std::filesystem::exists(program())) {
    return settings.report->begin_suite("cli", "left out: there is no nlsq-fit beside this program");
  }
  settings.report->begin_suite(
      "cli",
      "a CSV in the page cache to the report, each a process of its own from its start to its end, as many "
      "threads as\n"
      "each takes by itself; goals: 15x SciPy (numpy.loadtxt, curve_fit), 300x gnuplot fit");
  const std::size_t rows = settings.quick ? 10'000 : 1'000'000;
  compare("exp", rows, 6, true, settings);
  compare("exp", rows, 17, false, settings);
  compare("gaussian", rows, 6, false, settings);
}

}  // namespace bench
