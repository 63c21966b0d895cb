// Declares the options of nlsq-fit with CLI11.
#include "arguments/raw_arguments.hpp"

#include "errors.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <type_traits>

namespace nlsq::cli {

namespace {

// Declares the options of one group of the help.
class OptionGroup {
 public:
  OptionGroup(CLI::App& app, const char* title) : app_(app), title_(title) {}

  // Declares an option with a value. If `into` is a vector, the option may be given several times. `value`
  // names the kind of value, for the help.
  template <class T>
  void add(const char* name, T& into, const char* value, const char* text) {
    CLI::Option* const option = app_.add_option(name, into, text)->type_name(value)->group(title_);
    if constexpr (std::is_same_v<T, std::vector<std::string>>) option->allow_extra_args(false);
  }
  void add_flag(const char* name, bool& into, const char* text) {
    app_.add_flag(name, into, text)->group(title_);
  }

 private:
  CLI::App& app_;
  const char* title_;
};

void add_table_options(OptionGroup& data, RawArguments& raw, Arguments& arguments) {
  data.add("--axis", raw.axis, "NUMBER",
           "of an image (see --maps): the axis of a pixel's points, such as 0 or -1");
  data.add("--mask", arguments.image.mask, "FILE",
           "of an image: a .npy that is true where a pixel is fitted");
  data.add("--delimiter", raw.delimiter, "NAME",
           "comma, semicolon, tab, blanks, or a character (default: found)");
  data.add("--decimal", raw.decimal, "CHAR",
           "decimal sign: . or , (default . unless that separates thousands)");
  data.add("--thousands", raw.thousands, "CHAR", "thousands separator (default: none)");
  data.add("--header", raw.header, "auto|yes|no", "whether the first line names columns (default auto)");
  data.add("--comment", raw.comment, "TEXT",
           "what begins a comment, in a line or behind data (default #; '' for none)");
  data.add("--skip", raw.skip, "LINES", "lines to skip at the top");
  data.add("--missing", raw.missing, "error|drop",
           "what to do with empty, NA, NaN, null, ?, - (default error)");
  data.add("--memory", raw.memory, "SIZE",
           "most memory for columns; more lie in --scratch (default: 3/4 of what there is)");
  data.add("--scratch", arguments.scratch, "FOLDER",
           "folder for columns beyond --memory (default TMPDIR or /tmp)");
  data.add("--max-line", raw.max_line, "BYTES", "longest line accepted, bytes (default 16777216)");
}

void add_model_options(OptionGroup& fit, RawArguments& raw, Arguments& arguments) {
  fit.add("--model", arguments.model, "NAME|SUM|FORMULA",
          "name of a built-in model, a sum of them (2*gaussian + linear), or a formula");
  fit.add("--p0", raw.p0, "a=1,...|@FILE", "starting values: a=1,b=2, or @fit.json from an earlier --json");
  fit.add("--fix", raw.fix, "c=0,...", "hold parameters: c=0, or c at its start");
  fit.add("--tie", arguments.ties, "NAME=EXPR",
          "a parameter that follows from others, as in 'd=2*a'; may be repeated");
  fit.add("--loss", raw.loss, "linear|soft_l1|huber|cauchy|arctan|tukey|poisson", "cost of a residual");
  fit.add("--f-scale", raw.f_scale, "NUMBER",
          "residual from which on a robust loss counts less, in units of y or sigma");
  fit.add("--bounds", raw.bounds, "a=0:10,b=:5",
          "keep parameters between bounds; either side may be left out");
  fit.add("--starts", raw.starts, "NUMBER",
          "fit from so many starts, within the bounds or about the first (default 1)");
  fit.add("--seed", raw.seed, "NUMBER", "seed of the scattered starts and of --bootstrap (default 1)");
  fit.add("--variable-projection", raw.variable_projection, "auto|on|off",
          "eliminate parameters that are linear (default auto)");
  fit.add_flag("--absolute-sigma", arguments.absolute_sigma,
               "sigma is in units of y: do not scale standard errors");
}

void add_search_options(OptionGroup& fit, RawArguments& raw, Arguments& arguments) {
  fit.add("--precision", raw.precision, "auto|f64|f32|strict", "precision of the arithmetic (default auto)");
  fit.add("--rule", raw.rules, "RULE", "change the precision at an iteration: 'condition > 1e6 -> gram=f64'");
  fit.add("--optimize", raw.optimize, "OBJECTIVE",
          "measure policies: speed[:2], memory[:0.5], accuracy[:12], balanced[:.4,.3,.3]");
  fit.add("--ftol", raw.ftol, "NUMBER",
          "stop when a step lowers the cost by less than this factor (default 0: off)");
  fit.add("--xtol", raw.xtol, "NUMBER", "largest relative undamped step at convergence (default 1e-10)");
  fit.add("--gtol", raw.gtol, "NUMBER",
          "largest cosine of residual and Jacobian column at convergence (1e-10)");
  fit.add("--strategy,--algorithm", raw.strategy, "levenberg_marquardt|gauss_newton|dogleg",
          "steps (default levenberg_marquardt)");
  fit.add("--nonmonotonic", raw.nonmonotonic, "NUMBER",
          "so many steps in a row may raise the cost (default 0)");
  fit.add("--max-iterations", raw.max_iterations, "NUMBER", "limit on steps (default 1000)");
  fit.add("--time-limit", raw.time_limit, "SECONDS", "seconds for the fit; then the best so far");
  fit.add("--threads", raw.threads, "NUMBER", "most threads (default: all); any number gives the same bits");
  fit.add("--checkpoint", arguments.checkpoint, "FILE", "keep the state of a long fit in a file");
  fit.add_flag("--resume", arguments.resume, "go on from the file of --checkpoint, if it is there");
}

void add_output_options(OptionGroup& output, RawArguments& raw, Arguments& arguments) {
  output.add("--confidence", raw.confidence, "NUMBER", "level of the intervals (default 0.95)");
  output.add("--intervals", raw.intervals, "standard|profile",
             "from standard errors or by profile likelihood (default standard)");
  output.add("--json", arguments.json, "FILE",
             "write the result as JSON to a file, or - for standard output");
  output.add("--maps", arguments.image.maps, "FILE.npz",
             "fit each pixel of a .npy image; write maps (--x: FILE or A:B:N)");
  output.add("--residuals", arguments.residuals, "FILE", "write x, y, fit and residual of each row as CSV");
  output.add_flag("--trace", arguments.trace, "show every iteration");
  output.add_flag("--profile", arguments.profile, "measure every policy on this problem, beside the fit");
  output.add("--progress", raw.progress, "auto|on|off",
             "tell on stderr how far long work is (default auto: on terminals)");
  output.add_flag("--quiet", arguments.quiet, "no report");
}

}  // namespace

void add_data_options(CLI::App& app, RawArguments& raw, Arguments& arguments) {
  Selection& selection = arguments.selection;
  app.add_option("FILE", raw.files,
                 "table to fit: text, .npy or .npz, or - for standard input; several are one table")
      ->type_name("");
  OptionGroup data(app, "Data");
  data.add("--x", selection.x, "EXPR,...", "predictors: columns, or expressions of columns (default 1)");
  data.add("--y", selection.y, "EXPR,...", "response (default 2); several are fitted one by one, as groups");
  data.add("--sigma", selection.sigma, "EXPR", "standard deviations of y");
  data.add("--sigma-x", selection.sigma_x, "EXPR,...",
           "standard deviations of the predictors, beside --sigma");
  data.add("--where", selection.where, "CONDITION",
           "condition on columns: 'x>2 && x<5', 'site == \"north\"'; may be repeated");
  data.add("--group-by", selection.group_by, "COL",
           "fit the rows of each value of a column, which may hold texts, by themselves");
  data.add("--share", raw.share, "a,b,...",
           "parameters that all groups have in common: one fit of all groups");
  data.add("--range", selection.range, "A:B", "interval of x; either side may be empty");
  add_table_options(data, raw, arguments);
}

void add_fit_options(CLI::App& app, RawArguments& raw, Arguments& arguments) {
  OptionGroup fit(app, "Model and fit"), output(app, "Output");
  add_model_options(fit, raw, arguments);
  add_search_options(fit, raw, arguments);
  add_output_options(output, raw, arguments);
}

void refuse_empty_values(const CLI::App& app) {
  for (const CLI::Option* const option : app.get_options()) {
    if (option->get_expected_max() == 0 || option->check_lname("comment")) continue;
    for (const std::string& value : option->results()) {
      if (value.find_first_not_of(" \t") != std::string::npos) continue;
      throw UsageError(fmt::format("{}: the value is empty; give {}, or leave it out", option->get_name(),
                                   option->get_positional() ? "a file" : option->get_type_name()));
    }
  }
}

}  // namespace nlsq::cli
