// Tests --report, which must write a page that browsers can read, with everything in it and nothing from
// elsewhere.
#include <doctest/doctest.h>

#include "report/html/html_text.hpp"
#include "report/html/svg_chart.hpp"

#include <cmath>
#include <vector>

#include "cli/markup.hpp"
#include "cli/program_data.hpp"

using namespace program;

namespace {

std::string page_of(const Scratch& scratch, const std::string& arguments, int status = 0) {
  const Outcome outcome = run(arguments + " --quiet --report " + scratch.path("page.html"));
  CAPTURE(outcome.out);
  CHECK(outcome.status == status);
  return scratch.read("page.html");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("the checker of markup finds what is wrong") {
  CHECK(markup::fault_of("<!DOCTYPE html><a b=\"c\"><d/>&amp;</a>") == "");
  for (const char* const bad :
       {"", "<a>", "<a></b>", "</a>", "<a b=c/>", "<a b/>", "a & b", "<a b=\"<\"/>", "1 < 2", "<a", "\x01"}) {
    CAPTURE(bad);
    CHECK(markup::fault_of(bad) != "");
  }
}

TEST_CASE("the page is well-formed for many kinds of fits") {
  Scratch scratch;
  const std::string two = scratch.write("t.csv", "u,v,w\n1,1,3\n2,1,5\n1,3,5\n4,2,9.9\n");
  const std::string constant = scratch.write("c.csv", "x,y\n1,5\n2,5\n3,5\n4,5\n");
  const std::string counts = scratch.write("n.csv", "x,n\n1,9\n2,5\n3,4\n4,2\n5,2\n");
  struct Fit {
    std::string arguments;
    int status;
  };
  for (const Fit& fit :
       std::vector<Fit>{{kDecay + " --model exp", 0},
                        {kDecay + " --model exp --fix c=80 --bounds a=:100", 0},
                        {kDecay + " --model exp --intervals profile --tie 'c=0.8*a'", 0},
                        {kDecay + " --model exp --loss huber --f-scale 0.5", 0},
                        {kDecay + " --model exp --sigma 0.5+0*weight --absolute-sigma", 0},
                        {kDecay + " --model 'a*exp(-b*x)+c' --p0 a=1,b=-50,c=3 --max-iterations 2", 1},
                        {kDecay + " --model exp --max-iterations 0", 1},
                        {two + " --x u,v --y w --model 'a*u+b*v'", 0},
                        {constant + " --model 'a+b*x'", 0},
                        {counts + " --model exp --loss poisson", 0}}) {
    CAPTURE(fit.arguments);
    CHECK(markup::fault_of(page_of(scratch, fit.arguments, fit.status)) == "");
  }
}

TEST_CASE("the page holds the model, the data, every parameter, the statistics and the command") {
  Scratch scratch;
  const std::string page = page_of(scratch, kDecay + " --model exp");
  for (const char* const part :
       {"<h1>exp</h1>", "<code>a*exp(-b*x)+c</code>", "52 rows, 2 columns", ">102.684<", ">± 2.08<",
        ">[98.4986, 106.87]<", ">0.998272<", ">0.800912<", "95 % confidence band", "standardized residual",
        "cost per row", "<strong>CONVERGED</strong>", "standard errors away", "condition number",
        "Trace of all iterations", "--model exp"}) {
    CAPTURE(part);
    CHECK(contains(page, part));
  }
  CHECK(contains(page, ">-0.989<"));  // the correlation of a and c, as in --json
  CHECK(count(page, "<svg viewBox=\"0 0 720") == 2);
  CHECK(count(page, "<svg viewBox=\"0 0 420") == 2);
}

TEST_CASE("derived quantities and the bootstrap have tables, where they are asked for") {
  Scratch scratch;
  const std::string page = page_of(
      scratch, kDecay + " --model exp --derive 'half_life=log(2)/b' --bootstrap 20 --bootstrap-method case");
  CHECK(markup::fault_of(page) == "");
  CHECK(contains(page, ">half_life = log(2)/b<"));
  CHECK(contains(page, "20 samples, method case, seed 1."));
  CHECK(contains(page, "95 % percentile interval"));
  CHECK_FALSE(contains(page_of(scratch, kDecay + " --model exp"), "Bootstrap"));
}

TEST_CASE("the page needs nothing else: no script, no other file, and both colour schemes") {
  Scratch scratch;
  const std::string page = page_of(scratch, kDecay + " --model exp");
  for (const char* const part : {"<script", "href=", "src=", "url(", "@import", "http"}) {
    CAPTURE(part);
    CHECK_FALSE(contains(page, part));
  }
  CHECK(contains(page, "prefers-color-scheme: dark"));
  CHECK(contains(page, "@media print"));
  CHECK(page.starts_with("<!DOCTYPE html>"));
}

TEST_CASE("text of the user cannot become markup") {
  Scratch scratch;
  const std::string name = "<script>alert(1)</script>&\"'";
  const std::string table =
      scratch.write("<b>&.csv", "\"<i>x\",\"<script>alert(1)</script>&\"\"'\"\n1,2\n2,4.1\n3,5.8\n");
  const std::string page = page_of(scratch, "'" + table + "' --x 1 --y 2 --model 'if(x<2,a,b)'");
  CHECK(markup::fault_of(page) == "");
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "<i>x"));
  CHECK(contains(page, "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#39;"));
  CHECK(contains(page, "if(x&lt;2,a,b)"));
  CHECK(nlsq::cli::escaped("a\x01\xFFz") == "a\\x01\\xFFz");
}

TEST_CASE("the command can be given to a shell again") {
  Scratch scratch;
  const std::string page = page_of(scratch, kDecay + " --model 'a*exp(-b*x)+c' --p0 b=0.01");
  CHECK(contains(page, "--model &#39;a*exp(-b*x)+c&#39; --p0 b=0.01"));
}

TEST_CASE("the page of a large table is small, and says what it leaves out") {
  Scratch scratch;
  const std::string page = page_of(scratch, long_table(scratch, 100000) + " --model exp");
  CHECK(page.size() < 300000);
  CHECK(contains(page, "every 25th of 100000 rows is drawn"));
}

TEST_CASE("a fit without a minimum says so at the top") {
  Scratch scratch;
  const std::string page = page_of(scratch, kDecay + " --model exp --max-iterations 0", 1);
  CHECK(contains(page, "class=\"verdict bad\""));
  CHECK(page.find("before a minimum was certified") < page.find("<h2>Parameters</h2>"));
}

TEST_CASE("the same fit makes the same page, on any number of threads") {
  Scratch scratch;
  const std::string fit = long_table(scratch, 30000) + " --model exp --threads ";
  std::string one = page_of(scratch, fit + "1"), four = page_of(scratch, fit + "4");
  const auto without_command = [](const std::string& page) {
    return page.substr(0, page.find("<h2>Command"));
  };
  CHECK(without_command(one) == without_command(four));
}

TEST_CASE("a page that cannot be written leaves nothing behind") {
  Scratch scratch;
  const Outcome outcome = run(kDecay + " --model exp --quiet --report " + scratch.path("no/page.html"));
  CHECK(outcome.status == 3);
  CHECK(contains(outcome.out, "no/page.html"));
  CHECK(scratch.files() == 0);
}

TEST_CASE("many parameters: the largest correlations replace the matrix") {
  Scratch scratch;
  std::string table = "x,y\n", model = "p0";
  for (int i = 0; i < 60; ++i) table += std::to_string(i / 60.0) + "," + std::to_string(i * 7 % 11) + "\n";
  for (int k = 1; k < 18; ++k) model += "+p" + std::to_string(k) + "*cos(" + std::to_string(k) + "*x*3)";
  const Outcome outcome = run(scratch.write("m.csv", table) + " --model '" + model + "' --quiet --report " +
                              scratch.path("m.html"));
  CAPTURE(outcome.out);
  const std::string page = scratch.read("m.html");
  CHECK(markup::fault_of(page) == "");
  CHECK(contains(page, ">pair<"));
}

TEST_CASE("charts: points, gaps of a line, and bands clipped to the axis") {
  using namespace nlsq::cli;
  const std::vector<double> x = {0, 1, 2, 3}, y = {0, 1, std::nan(""), 1}, low(4, -9), high(4, 0.5);
  SvgChart chart({0, 3, false}, {0, 1, false}, {});
  chart.add_points(x, y, "data");
  chart.add_line(x, y, "curve");
  chart.add_band(x, low, high, "band");
  const std::string svg = chart.svg();
  CHECK(markup::fault_of(svg) == "");
  CHECK(contains(svg, "<path class=\"data\" d=\"M74.0 314.0h0M284.7 12.0h0M706.0 12.0h0\"/>"));
  CHECK(contains(svg, "<path class=\"curve\" d=\"M74.0 314.0L284.7 12.0M706.0 12.0\"/>"));
  CHECK(contains(svg, "M74.0 163.0L284.7 163.0L495.3 163.0L706.0 163.0L706.0 314.0L495.3 314.0"));
}

TEST_CASE("the page names the scale of a robust loss, what was checked again, and why a picture is missing") {
  const Scratch scratch;
  const auto page = [&](const std::string& arguments) {
    run(arguments + " --quiet --report " + scratch.path("r.html"));
    return scratch.read("r.html");
  };
  const std::string robust = page(kDecay + " --model exp --loss huber --f-scale 0.5");
  CHECK(contains(robust, "huber with the scale 0.5; "));
  CHECK(contains(robust, "residuals are beyond it"));
  CHECK(contains(robust, "row evaluations were made again by the formula as it was typed, at the start"));
  const std::string three = scratch.write("three.csv", "x,y\n1,3\n2,2\n3,1.5\n");
  const std::string exact = page(three + " --model exp");
  CHECK(contains(exact, "Are the residuals normal?"));
  CHECK(contains(exact, "There is no picture: no degrees of freedom."));
  const std::string counts = scratch.write("c.csv", "x,y\n0,9\n1,7\n2,4\n3,3\n4,1\n5,2\n");
  run(counts + " --model 'a*exp(-b*x)' --loss poisson --quiet --plot " + scratch.path("c.gp"));
  const std::string script = scratch.read("c.gp");
  CHECK(contains(script, "reduced deviance"));
  CHECK(!contains(script, "reduced χ²"));
}
