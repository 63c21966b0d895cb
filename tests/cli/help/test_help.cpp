// Tests the help pages, the manual page and the completions. All come from one list of options.
#include "help/formula_help.hpp"

#include "cli/program.hpp"
#include "formula/formula_functions.hpp"
#include "table/source/utf8.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <sstream>
#include <vector>

using namespace program;

namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Returns the options in the left column of --help.
std::vector<std::string> options() {
  std::vector<std::string> names;
  for (const std::string& line : lines_of(run("--help").out)) {
    if (!line.starts_with("  -")) continue;
    const std::string left = line.substr(0, 32);
    const std::regex name("--?[a-z0-9-]+");
    for (std::sregex_iterator it(left.begin(), left.end(), name), end; it != end; ++it)
      names.push_back(it->str());
  }
  return names;
}

// Returns what bash's completion offers for a command line whose last word is being typed.
std::string completed(const std::string& words) {
  Scratch scratch;
  scratch.write("script",
                run("--completion bash").out + "COMP_WORDS=(" + words +
                    ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_nlsq_fit\necho \"${COMPREPLY[*]}\"\n");
  return run("--version > /dev/null; bash " + scratch.path("script")).out;
}

}  // namespace

TEST_CASE("--help fits a screen and a half") {
  const Outcome help = run("--help");
  CHECK(help.status == 0);
  const std::vector<std::string> lines = lines_of(help.out);
  CHECK(lines.size() <= 75);
  for (const std::string& line : lines) {
    CAPTURE(line);
    CHECK(nlsq::cli::count_code_points(line) <= 110);
  }
  CHECK(run("-h").out == help.out);
}

TEST_CASE("every option of the program is on the help page") {
  const std::vector<std::string> listed = options();
  CHECK(listed.size() > 40);
  for (const char* name : {"-h", "--help", "--x", "--model", "--algorithm", "--residuals", "--man"})
    CHECK(std::find(listed.begin(), listed.end(), name) != listed.end());
}

TEST_CASE("every option is on the manual page and in the completion of each shell") {
  const std::string man = run("--man").out, bash = run("--completion bash").out,
                    zsh = run("--completion zsh").out, fish = run("--completion fish").out;
  for (const std::string& name : options()) {
    CAPTURE(name);
    CHECK(contains(man, "\\fB" + std::regex_replace(name, std::regex("-"), "\\-") + "\\fR"));
    CHECK(std::regex_search(bash, std::regex("[ \"|]" + name + "[ \"|)]")));
    CHECK(contains(zsh, name + "["));
    CHECK(contains(fish, (name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1)) + " "));
  }
}

TEST_CASE("the manual page has only requests that troff knows") {
  const std::set<std::string> known = {".TH", ".SH", ".TP", ".B", ".I", ".RI", ".PP", ".nf", ".fi"};
  for (const std::string& line : lines_of(run("--man").out)) {
    CAPTURE(line);
    CHECK(!line.starts_with("'"));
    if (line.starts_with(".")) CHECK(known.contains(line.substr(0, line.find(' '))));
  }
}

TEST_CASE("bash reads the completion, and completes options, words, models and files") {
  Scratch scratch;
  scratch.write("script", run("--completion bash").out);
  CHECK(run("--version > /dev/null; bash -n " + scratch.path("script")).out.empty());
  CHECK(contains(completed("nlsq-fit --mod"), "--model"));
  CHECK(completed("nlsq-fit t.csv --loss hu") == "huber\n");
  CHECK(contains(completed("nlsq-fit t.csv --model gau"), "gaussian"));
  CHECK(completed("nlsq-fit t.csv --model exp --fix ''") == "\n");  // any value is allowed
  CHECK(completed("nlsq-fit " NLSQ_SOURCE_DIR "/data/deca") == NLSQ_SOURCE_DIR "/data/decay.csv\n");
  CHECK(completed("nlsq-fit --json " NLSQ_SOURCE_DIR "/data/deca") == NLSQ_SOURCE_DIR "/data/decay.csv\n");
  CHECK(run("--completion csh").status == 2);
}

TEST_CASE("--help formulas lists the functions of the parser, each with its arguments, and no others") {
  const std::string page = run("--help formulas").out;
  CHECK(page == nlsq::cli::formula_page());
  CHECK(lines_of(page).size() <= 50);
  for (const std::string& line : lines_of(page)) CHECK(nlsq::cli::count_code_points(line) <= 110);
  std::set<std::string_view> described;
  for (const auto& text : nlsq::cli::function_texts()) {
    CAPTURE(text.usage);
    const nlsq::FormulaFunction* const function = nlsq::find_function(text.name());
    REQUIRE(function != nullptr);
    CHECK(std::count(text.usage.begin(), text.usage.end(), ',') + 1 ==
          function->arguments + (function->more_allowed ? 1 : 0));
    CHECK(contains(page, std::string(text.usage) + " "));
    described.insert(text.name());
  }
  for (const nlsq::FormulaFunction& function : nlsq::formula_functions()) {
    CAPTURE(function.name);
    CHECK(described.contains(function.name));
  }
}

TEST_CASE("the operators of --help formulas are those of the parser, in its order") {
  const std::string page = run("--help formulas").out;
  const auto value = [](const char* formula) {
    nlsq::FormulaOptions options;
    options.predictors = {};
    return nlsq::parse_formula(formula, options).evaluate({}, {});
  };
  for (const char* sign : {"^", "**", "*", "/", "<=", ">=", "==", "!=", "!", "&&", "||"})
    CHECK(contains(page, sign));
  CHECK(value("-2^2") == -4);
  CHECK(value("2^3^2") == 512);
  CHECK(value("2^-1") == 0.5);
  CHECK(value("-2*3+4") == -2);
  CHECK(value("1+2*3 < 8 && !(1 > 2)") == 1);
  CHECK(value("!2 > 3") == 1);
  CHECK(value("1 || 0 && 0") == 1);
  CHECK(value("8/4/2") == 1);
}
