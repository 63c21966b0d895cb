// Holds the values of the command line. Every accepted option has an effect; everything else is an error.
// fit_command and run use it.
#pragma once

#include "compare/compare_arguments.hpp"
#include "plot/plot_options.hpp"
#include "prediction/prediction_arguments.hpp"
#include "progress.hpp"
#include "table/csv/csv_options.hpp"
#include "table/data_selection.hpp"

#include <nlsq/loss.hpp>
#include <nlsq/options.hpp>
#include <nlsq/precision_objective.hpp>
#include <nlsq/precision_policy.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::cli {

enum class Action { fit, help, version, list_models, describe_model };

// Holds the options of a fit of each pixel of an image.
struct ImageArguments {
  std::string maps, mask;   // file names; without maps there is no image
  std::optional<int> axis;  // of the points of a pixel, counted as in NumPy
};

struct Arguments {
  Action action = Action::fit;
  std::string help_text;  // for Action::help
  std::string described;  // for Action::describe_model

  std::vector<std::string> files;  // one table: their rows in this order
  CsvOptions csv;
  // At most this many bytes of columns are kept in memory. Larger columns are in files of the folder
  // `scratch`. Without a value, it is three quarters of the memory.
  std::optional<std::uint64_t> memory;
  std::string scratch;  // empty: that of TMPDIR, or /tmp
  Selection selection;
  ImageArguments image;

  std::string model;
  CompareArguments compare;  // from --compare
  bool certify = false;
  std::vector<std::pair<std::string, double>> p0;  // from --p0 a=1 and --fix c=0
  std::string p0_file;                             // from --p0 @fit.json
  std::vector<std::string> fixed;
  std::vector<std::string> share;  // parameters that all groups have in common
  struct Interval {
    std::string name;
    double lower, upper;  // infinite if the limit is empty
  };
  std::vector<Interval> bounds;
  bool absolute_sigma = false;
  Loss loss;
  std::vector<std::string> ties;  // "d=2*a"

  PrecisionPolicy precision;                   // from --precision and --rule
  bool precision_given = false;                // true if one of these options is given
  std::optional<PrecisionObjective> optimize;  // chooses the policy instead of `precision`
  bool profile = false;
  std::optional<double> ftol, xtol, gtol, time_limit;
  std::optional<int> max_iterations, starts;
  Algorithm strategy = Algorithm::levenberg_marquardt;
  int nonmonotonic = 0;
  std::optional<std::uint64_t> seed;
  VariableProjection variable_projection = VariableProjection::automatic;
  int threads = 0;         // 0: all cores of the machine
  std::string checkpoint;  // file name; empty: none
  bool resume = false;
  double confidence = 0.95;
  bool confidence_given = false;
  bool profile_intervals = false;  // from --intervals
  PredictionArguments prediction;

  std::string json, residuals;  // file names; "-" for standard output, empty for none
  bool quiet = false, trace = false;
  ProgressChoice progress = ProgressChoice::automatic;
  PlotOptions plot;                // from --plot, --plot-scale and --report
  std::string command;             // the command line, for --report
  std::vector<std::string> words;  // its words without the program's name, for --json
};

// Returns true if one of these values has this name.
bool has_value(const std::vector<std::pair<std::string, double>>& values, std::string_view name);

// Parses the command line. Throws UsageError.
Arguments parse_arguments(int argc, const char* const* argv);

}  // namespace nlsq::cli
