// Implements the manual page.
#include "help/man_page.hpp"

#include "help/formula_help.hpp"

#include <nlsq/version.hpp>

#include <fmt/format.h>

namespace nlsq::cli {

namespace {

// Returns the text so escaped that troff finds no commands in it.
std::string escaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool line_begin = i == 0 || text[i - 1] == '\n';
    if (line_begin && (text[i] == '.' || text[i] == '\'')) out += "\\&";
    switch (text[i]) {
      case '\\': out += "\\e"; break;
      case '-': out += "\\-"; break;
      case '\'': out += "\\(aq"; break;
      case '`': out += "\\(ga"; break;
      case '^': out += "\\(ha"; break;
      case '~': out += "\\(ti"; break;
      default: out += text[i];
    }
  }
  return out;
}

std::string option_entry(const OptionText& option) {
  std::string names;
  for (const std::string& name : option.names)
    names += fmt::format("{}\\fB{}\\fR", names.empty() ? "" : ", ", escaped(name));
  if (!option.is_flag()) names += fmt::format(" \\fI{}\\fR", escaped(option.type));
  return fmt::format(".TP\n{}\n{}{}.\n", names, escaped(option.text),
                     option.repeated ? " (may be repeated)" : "");
}

constexpr const char* kBegin = R"(.SH NAME
nlsq\-fit \- fit models to data by nonlinear least squares
.SH SYNOPSIS
.B nlsq\-fit
.I FILE ...
.B \-\-model
.I NAME|FORMULA
.RI [ OPTIONS ]
.SH DESCRIPTION
Reads a table, fits the model to it and prints the parameters with their standard errors. The minimum is
checked in double precision before it is reported.
.PP
.I FILE
is delimited text (also compressed by gzip), a NumPy array (.npy) or archive (.npz), or \- for standard input.
Several files with the same columns make one table, with the rows of one file after those of the other.
Columns are chosen by name, by number, or as expressions of both.
)";

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
0
The result is a certified minimum.
.TP
1
The fit ended without one. The best parameters are printed all the same.
.TP
2
There is a mistake in the options or the model.
.TP
3
The data are bad, memory ran out, or an output cannot be written.
.TP
130
The program was interrupted by SIGINT, SIGTERM or SIGHUP.
.SH ENVIRONMENT
.TP
.B NLSQ_ISA
baseline, avx2, avx512, amx or neon forces a set of instructions.
.TP
.B NLSQ_JIT
off generates no machine code for the model. Results are the same.
.SH EXAMPLES
.nf
nlsq\-fit data.csv \-\-model exp
nlsq\-fit data.csv \-\-x time \-\-y counts \-\-model \(aqa*exp(\-b*x)+c\(aq \-\-p0 b=0.01
nlsq\-fit data.csv \-\-x 1 \-\-y 3 \-\-where \(aqsite == "north"\(aq \-\-model linear \-\-json fit.json
.fi
)";

}  // namespace

std::string man_page(const std::vector<OptionText>& options) {
  std::string out = fmt::format(".TH NLSQ\\-FIT 1 \"\" \"nlsq {}\" \"User Commands\"\n", version()) + kBegin;
  for (const std::string& group : option_groups(options)) {
    out += fmt::format(".SH {} OPTIONS\n", escaped(group));
    for (const OptionText& option : options) {
      if (option.group == group) out += option_entry(option);
    }
  }
  return out + ".SH FORMULAS\n.nf\n" + escaped(formula_page()) + ".fi\n" + kEnd;
}

}  // namespace nlsq::cli
