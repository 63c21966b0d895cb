// Implements the options of pictures.
#include "plot/plot_options.hpp"

#include "arguments/one_of.hpp"
#include "errors.hpp"
#include "plot/gnuplot.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <set>

namespace nlsq::cli {

namespace {

bool ends_with_any(const std::string& file, std::initializer_list<const char*> endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const char* e) { return file.ends_with(e); });
}

PlotScale plot_scale(const std::string& text) {
  return one_of<PlotScale>("--plot-scale", text,
                           {{"auto", PlotScale::automatic},
                            {"linear", PlotScale::linear},
                            {"log-x", PlotScale::log_x},
                            {"log-y", PlotScale::log_y},
                            {"log-log", PlotScale::log_log}});
}

}  // namespace

bool PlotOptions::to_stdout() const { return std::find(files.begin(), files.end(), "-") != files.end(); }

void add_plot_options(CLI::App& app, PlotOptions& options) {
  const std::string output = "Output";
  app.add_option("--plot", options.files,
                 "picture: .svg, .png, .pdf, .gp (script), .vl.json, - (terminal); repeatable")
      ->type_name("FILE")
      ->group(output)
      ->allow_extra_args(false);
  app.add_option("--plot-scale", options.scale_text,
                 "axes of pictures: auto (default), linear, log-x, log-y, log-log")
      ->type_name("SCALE")
      ->group(output);
  app.add_option("--report", options.html, "write a page with tables and pictures")
      ->type_name("FILE.html")
      ->group(output);
}

PlotFormat plot_format(const std::string& file) {
  if (file == "-") return PlotFormat::terminal;
  if (ends_with_any(file, {".svg", ".SVG"})) return PlotFormat::svg;
  if (ends_with_any(file, {".png", ".PNG"})) return PlotFormat::png;
  if (ends_with_any(file, {".pdf", ".PDF"})) return PlotFormat::pdf;
  if (ends_with_any(file, {".gp", ".gnuplot", ".plt"})) return PlotFormat::script;
  if (ends_with_any(file, {".vl.json", ".VL.JSON"})) return PlotFormat::vega_lite;
  throw UsageError(
      fmt::format("--plot {}: give the file the ending .svg, .png or .pdf, or .gp for the gnuplot script, "
                  ".vl.json for Vega-Lite, or "
                  "write - for a picture on the terminal",
                  printable(file, 200)));
}

std::string shell_command(int argc, const char* const* argv) {
  std::string out = "nlsq-fit";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
    out += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      out += word;
      continue;
    }
    out += '\'';
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    out += '\'';
  }
  return out;
}

void check_plot_options(PlotOptions& options) {
  options.scale = plot_scale(options.scale_text);
  std::set<std::string> names;
  bool needs_gnuplot = false;
  for (const std::string& file : options.files) {
    const PlotFormat format = plot_format(file);
    needs_gnuplot |= format == PlotFormat::svg || format == PlotFormat::png || format == PlotFormat::pdf;
    if (!names.insert(file).second)
      throw UsageError(fmt::format("--plot {} is given twice", printable(file, 200)));
  }
  if (options.html == "-") throw UsageError("--report: give a file; the page cannot go to standard output");
  if (!options.html.empty() && !ends_with_any(options.html, {".html", ".htm"})) {
    throw UsageError(fmt::format("--report {}: the report is a page; give the file the ending .html",
                                 printable(options.html, 200)));
  }
  if (options.scale != PlotScale::automatic && options.files.empty() && options.html.empty())
    throw UsageError("--plot-scale needs --plot or --report: there is no picture without them");
  if (needs_gnuplot) find_gnuplot();
}

}  // namespace nlsq::cli
