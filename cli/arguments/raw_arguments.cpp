// Declares the options of nlsq-fit with CLI11.
#include "arguments/raw_arguments.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace nlsq::cli {

void add_data_options(CLI::App& app, RawArguments& raw, Arguments& arguments) {
  Selection& selection = arguments.selection;
  app.add_option("FILE", raw.files,
                 "table to fit: text, .npy or .npz, or - for standard input; several are one table")
      ->type_name("");
  const std::string data = "Data";
  app.add_option("--x", selection.x, "predictors: columns, or expressions of columns (default 1)")
      ->type_name("EXPR,...")
      ->group(data);
  app.add_option("--y", selection.y, "response (default 2); several are fitted one by one, as groups")
      ->type_name("EXPR,...")
      ->group(data);
  app.add_option("--sigma", selection.sigma, "standard deviations of y")->type_name("EXPR")->group(data);
  app.add_option("--sigma-x", selection.sigma_x, "standard deviations of the predictors, beside --sigma")
      ->type_name("EXPR,...")
      ->group(data);
  app.add_option("--where", selection.where,
                 "condition on columns: 'x>2 && x<5', 'site == \"north\"'; may be repeated")
      ->type_name("CONDITION")
      ->group(data)
      ->allow_extra_args(false);
  app.add_option("--group-by", selection.group_by,
                 "fit the rows of each value of a column, which may hold texts, by themselves")
      ->type_name("COL")
      ->group(data);
  app.add_option("--share", raw.share, "parameters that all groups have in common: one fit of all groups")
      ->type_name("a,b,...")
      ->group(data)
      ->allow_extra_args(false);
  app.add_option("--range", selection.range, "interval of x; either side may be empty")
      ->type_name("A:B")
      ->group(data);
  app.add_option("--axis", raw.axis,
                 "of an image (see --maps): the axis of a pixel's points, such as 0 or -1")
      ->type_name("NUMBER")
      ->group(data);
  app.add_option("--mask", arguments.image.mask, "of an image: a .npy that is true where a pixel is fitted")
      ->type_name("FILE")
      ->group(data);
  app.add_option("--delimiter", raw.delimiter,
                 "comma, semicolon, tab, blanks, or a character (default: found)")
      ->type_name("NAME")
      ->group(data);
  app.add_option("--decimal", raw.decimal, "decimal sign: . or , (default . unless that separates thousands)")
      ->type_name("CHAR")
      ->group(data);
  app.add_option("--thousands", raw.thousands, "thousands separator (default: none)")
      ->type_name("CHAR")
      ->group(data);
  app.add_option("--header", raw.header, "whether the first line names columns (default auto)")
      ->type_name("auto|yes|no")
      ->group(data);
  app.add_option("--comment", raw.comment,
                 "what begins a comment, in a line or behind data (default #; '' for none)")
      ->type_name("TEXT")
      ->group(data);
  app.add_option("--skip", raw.skip, "lines to skip at the top")->type_name("LINES")->group(data);
  app.add_option("--missing", raw.missing, "what to do with empty, NA, NaN, null, ?, - (default error)")
      ->type_name("error|drop")
      ->group(data);
  app.add_option("--memory", raw.memory,
                 "most memory for columns; more lie in --scratch (default: 3/4 of what there is)")
      ->type_name("SIZE")
      ->group(data);
  app.add_option("--scratch", arguments.scratch,
                 "folder for columns beyond --memory (default TMPDIR or /tmp)")
      ->type_name("FOLDER")
      ->group(data);
  app.add_option("--max-line", raw.max_line, "longest line accepted, bytes (default 16777216)")
      ->type_name("BYTES")
      ->group(data);
}

void add_fit_options(CLI::App& app, RawArguments& raw, Arguments& arguments) {
  const std::string fit = "Model and fit", output = "Output";
  app.add_option("--model", arguments.model,
                 "name of a built-in model, a sum of them (2*gaussian + linear), or a formula")
      ->type_name("NAME|SUM|FORMULA")
      ->group(fit);
  app.add_option("--p0", raw.p0, "starting values: a=1,b=2, or @fit.json from an earlier --json")
      ->type_name("a=1,...|@FILE")
      ->group(fit)
      ->allow_extra_args(false);
  app.add_option("--fix", raw.fix, "hold parameters: c=0, or c at its start")
      ->type_name("c=0,...")
      ->group(fit)
      ->allow_extra_args(false);
  app.add_option("--tie", arguments.ties,
                 "a parameter that follows from others, as in 'd=2*a'; may be repeated")
      ->type_name("NAME=EXPR")
      ->group(fit)
      ->allow_extra_args(false);
  app.add_option("--loss", raw.loss, "cost of a residual")
      ->type_name("linear|soft_l1|huber|cauchy|arctan|tukey|poisson")
      ->group(fit);
  app.add_option("--f-scale", raw.f_scale,
                 "residual from which on a robust loss counts less, in units of y or sigma")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--bounds", raw.bounds, "keep parameters between bounds; either side may be left out")
      ->type_name("a=0:10,b=:5")
      ->group(fit)
      ->allow_extra_args(false);
  app.add_option("--starts", raw.starts,
                 "fit from so many starts, within the bounds or about the first (default 1)")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--seed", raw.seed, "seed of the scattered starts and of --bootstrap (default 1)")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--variable-projection", raw.variable_projection,
                 "eliminate parameters that are linear (default auto)")
      ->type_name("auto|on|off")
      ->group(fit);
  app.add_flag("--absolute-sigma", arguments.absolute_sigma,
               "sigma is in units of y: do not scale standard errors")
      ->group(fit);
  app.add_option("--precision", raw.precision, "precision of the arithmetic (default auto)")
      ->type_name("auto|f64|f32|strict")
      ->group(fit);
  app.add_option("--rule", raw.rules, "change the precision at an iteration: 'condition > 1e6 -> gram=f64'")
      ->type_name("RULE")
      ->group(fit)
      ->allow_extra_args(false);
  app.add_option("--optimize", raw.optimize,
                 "measure policies: speed[:2], memory[:0.5], accuracy[:12], balanced[:.4,.3,.3]")
      ->type_name("OBJECTIVE")
      ->group(fit);
  app.add_option("--ftol", raw.ftol,
                 "stop when a step lowers the cost by less than this factor (default 0: off)")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--xtol", raw.xtol, "largest relative undamped step at convergence")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--gtol", raw.gtol, "largest cosine of residual and Jacobian column at convergence")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--strategy,--algorithm", raw.strategy, "steps (default levenberg_marquardt)")
      ->type_name("levenberg_marquardt|gauss_newton|dogleg")
      ->group(fit);
  app.add_option("--nonmonotonic", raw.nonmonotonic, "so many steps in a row may raise the cost (default 0)")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--max-iterations", raw.max_iterations, "iteration budget")->type_name("NUMBER")->group(fit);
  app.add_option("--time-limit", raw.time_limit, "seconds for the fit; then the best so far")
      ->type_name("SECONDS")
      ->group(fit);
  app.add_option("--threads", raw.threads, "at most so many (default: all); the result has the same bits")
      ->type_name("NUMBER")
      ->group(fit);
  app.add_option("--checkpoint", arguments.checkpoint, "keep the state of a long fit in a file")
      ->type_name("FILE")
      ->group(fit);
  app.add_flag("--resume", arguments.resume, "go on from the file of --checkpoint, if it is there")
      ->group(fit);
  app.add_option("--confidence", raw.confidence, "of the intervals (default 0.95)")
      ->type_name("NUMBER")
      ->group(output);
  app.add_option("--intervals", raw.intervals,
                 "from standard errors or by profile likelihood (default standard)")
      ->type_name("standard|profile")
      ->group(output);
  app.add_option("--json", arguments.json, "write the result as JSON to a file, or - for standard output")
      ->type_name("FILE")
      ->group(output);
  app.add_option("--maps", arguments.image.maps,
                 "fit each pixel of a .npy image; write maps (--x: FILE or A:B:N)")
      ->type_name("FILE.npz")
      ->group(output);
  app.add_option("--residuals", arguments.residuals, "write x, y, fit and residual of each row as CSV")
      ->type_name("FILE")
      ->group(output);
  app.add_flag("--trace", arguments.trace, "show every iteration")->group(output);
  app.add_flag("--profile", arguments.profile, "measure every policy on this problem, beside the fit")
      ->group(output);
  app.add_option("--progress", raw.progress,
                 "tell on stderr how far long work is (default auto: on terminals)")
      ->type_name("auto|on|off")
      ->group(output);
  app.add_flag("--quiet", arguments.quiet, "no report")->group(output);
}

}  // namespace nlsq::cli
