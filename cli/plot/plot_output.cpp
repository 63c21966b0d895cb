// Implements --plot and --report.
#include "plot/plot_output.hpp"

#include "plot/gnuplot.hpp"
#include "plot/gnuplot_script.hpp"
#include "plot/plot_data.hpp"
#include "plot/plot_options.hpp"
#include "plot/text_plot.hpp"
#include "plot/vega_lite.hpp"
#include "report/html/html_report.hpp"
#include "report/output_file.hpp"

namespace nlsq::cli {

namespace {

// More points would cover each other, and files would be slow to show.
constexpr std::size_t kMostPoints = 8000;

void write_file(const std::string& path, const std::string& content) {
  OutputFile file(path);
  file.write(content);
  file.commit();
}

void write_plot(const FitReport& report, const PlotData& plot, const std::string& file) {
  const PlotFormat format = plot_format(file);
  if (format == PlotFormat::terminal) {
    const std::string before = report.arguments.quiet ? "" : "\n";  // a line between report and picture
    return write_stdout(before + text_plot(plot, terminal_style()));
  }
  if (format == PlotFormat::vega_lite) return write_file(file, vega_lite(report, plot));
  const std::string script = gnuplot_script(report, plot, format);
  write_file(file, format == PlotFormat::script ? script : run_gnuplot(script, file));
}

}  // namespace

void write_pictures(const FitReport& report, const FitOptions& options) {
  const PlotOptions& wanted = report.arguments.plot;
  if (!wanted.files.empty()) {
    const PlotData plot = plot_data(report, options, kMostPoints);
    for (const std::string& file : wanted.files) write_plot(report, plot, file);
  }
  if (!wanted.html.empty())
    write_file(wanted.html, html_report(report, plot_data(report, options, kMostHtmlPoints)));
}

}  // namespace nlsq::cli
