// Tests what --plot draws, by the gnuplot script: data, curve, band, residuals, axes and texts.
#include <doctest/doctest.h>

#include "plot/gnuplot_script.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "script.hpp"

using namespace program;
using script::block;

namespace {

// These are ten points near a line.
const std::string kLine =
    "time,length\n1,2.1\n2,3.9\n3,6.2\n4,7.8\n5,10.1\n6,12.2\n7,13.8\n8,16.1\n9,18.0\n10,19.9\n";

}  // namespace

TEST_CASE("the points are the rows of the table, with their fitted values and residuals") {
  Scratch scratch;
  const std::string table = scratch.write("line.csv", kLine);
  const std::string text = script::of(scratch, table + " --model 'a+b*x' --fix a=0,b=2");
  const script::Rows data = block(text, "data");
  REQUIRE(data.size() == 10);
  CHECK(data[0][0] == 1);
  CHECK(data[0][1] == 2.1);
  for (const std::vector<double>& row : data) {
    CHECK(row[2] == 2 * row[0]);
    CHECK(row[3] == doctest::Approx(row[1] - 2 * row[0]));
    CHECK(std::isnan(row[4]));
    CHECK(std::isnan(row[5]));
  }
}

TEST_CASE("the band is that of linear regression") {
  Scratch scratch;
  const std::string text =
      script::of(scratch, scratch.write("line.csv", kLine) + " --model 'a+b*x' --p0 a=1,b=1");
  double sx = 0, sy = 0, sxx = 0, sxy = 0, rss = 0;
  const script::Rows data = block(text, "data");
  const double n = 10, t = 2.306004135;  // for 8 degrees of freedom and 95 %
  for (const auto& row : data) sx += row[0], sy += row[1], sxx += row[0] * row[0], sxy += row[0] * row[1];
  const double slope = (n * sxy - sx * sy) / (n * sxx - sx * sx), start = (sy - slope * sx) / n;
  for (const auto& row : data) rss += std::pow(row[1] - start - slope * row[0], 2);
  const script::Rows curve = block(text, "curve");
  CHECK(curve.size() >= 200);
  CHECK(curve.front()[0] == 1);
  CHECK(curve.back()[0] == 10);
  for (const auto& row : curve) {
    const double fit = start + slope * row[0];
    const double half = t * std::sqrt(rss / 8 * (1 / n + std::pow(row[0] - sx / n, 2) / (sxx - sx * sx / n)));
    CHECK(row[1] == doctest::Approx(fit).epsilon(1e-9));
    CHECK(row[2] == doctest::Approx(fit - half).epsilon(1e-7));
    CHECK(row[3] == doctest::Approx(fit + half).epsilon(1e-7));
  }
  CHECK(contains(text, "95 % confidence band"));
  CHECK(contains(script::of(scratch, scratch.path("line.csv") + " --model 'a+b*x' --confidence 0.9"),
                 "90 % confidence band"));
}

TEST_CASE("residuals are in units of sigma if there is one, and error bars are drawn") {
  Scratch scratch;
  const std::string table = scratch.write("s.csv", "x,y,s,t\n1,2.2,0.1,0.3\n2,3.8,0.2,0.3\n3,6.4,0.4,0.4\n");
  const std::string with_sigma =
      script::of(scratch, table + " --sigma s --absolute-sigma --model 'b*x' --fix b=2");
  const std::vector<double> expected = {2, -1, 1};
  script::Rows data = block(with_sigma, "data");
  for (std::size_t i = 0; i < 3; ++i) CHECK(data[i][3] == doctest::Approx(expected[i]));
  CHECK(data[1][5] == 0.2);
  CHECK(contains(with_sigma, "with yerrorbars"));
  CHECK(contains(with_sigma, "'residual / sigma'"));
  // With errors in x, the effective variance is sigma² + (slope sigma_x)²: 0.1² + 0.6², 0.2² + 0.6² ...
  const std::string both =
      script::of(scratch, table + " --sigma s --sigma-x t --absolute-sigma --model 'b*x' --fix b=2");
  data = block(both, "data");
  CHECK(data[0][3] == doctest::Approx(0.2 / std::sqrt(0.01 + 0.36)));
  CHECK(data[2][3] == doctest::Approx(0.4 / std::sqrt(0.16 + 0.64)));
  CHECK(data[2][4] == 0.4);
  CHECK(contains(both, "with xyerrorbars"));
}

TEST_CASE("residuals of counts are in units of the root of the fit") {
  Scratch scratch;
  const std::string table = scratch.write("n.csv", "x,n\n1,5\n2,3\n3,6\n4,2\n");
  const std::string text = script::of(scratch, table + " --loss poisson --model 'm+0*x' --p0 m=3");
  CHECK(block(text, "data")[0][3] == doctest::Approx((5 - 4) / 2.0));
  CHECK(contains(text, "'residual / √fit'"));
}

TEST_CASE("only every k-th of many rows is drawn, and the picture says so; the axes contain all rows") {
  Scratch scratch;
  std::string text = "x,y\n";
  for (int i = 0; i < 24001; ++i)
    text += std::to_string(i) + "," + (i == 7 ? "500" : std::to_string(i % 10)) + "\n";
  const std::string drawn =
      script::of(scratch, scratch.write("many.csv", text) + " --model 'a+0*x' --p0 a=1");
  const script::Rows data = block(drawn, "data");
  CHECK(data.size() == 6001);  // these are rows 0, 4, 8 ...
  CHECK(data[1][0] == 4);
  CHECK(contains(drawn, "'every 4th of 24001 rows is drawn'"));
  const std::size_t range = drawn.find("set yrange [");
  CHECK(std::stod(drawn.substr(drawn.find(':', range) + 1)) > 500);
  CHECK(block(drawn, "quantiles").back()[1] > 50);  // these are of all rows, including row 7
}

TEST_CASE("error bars are left out where they would cover the points") {
  Scratch scratch;
  std::string text = "x,y\n";
  for (int i = 0; i < 1001; ++i) text += std::to_string(i) + "," + std::to_string(i % 7) + "\n";
  const std::string drawn =
      script::of(scratch, scratch.write("many.csv", text) + " --sigma 0.5+0*x --model 'a+0*x' --p0 a=1");
  CHECK_FALSE(contains(drawn, "errorbars"));
  CHECK(contains(drawn, "'no error bars above 1000 rows'"));
}

TEST_CASE("axes are logarithmic where the data ask for it, or where the user does") {
  Scratch scratch;
  std::string dose = "dose,response\n", decay = "t,n\n";
  for (int i = 0; i < 30; ++i) {
    const double x = std::pow(10, i / 8.0 - 2);
    dose += std::to_string(x) + "," + std::to_string(10 * x / (1 + x)) + "\n";
    decay += std::to_string(i) + "," + std::to_string(5e4 * std::exp(-0.4 * i)) + "\n";
  }
  const std::string dose_fit = scratch.write("dose.csv", dose) + " --model 'a*x/(k+x)' --p0 a=9,k=2";
  const std::string decay_fit = scratch.write("decay.csv", decay) + " --model 'a*exp(-b*x)' --p0 a=4e4,b=.5";
  const auto has = [&](const std::string& arguments, const char* part) {
    return contains(script::of(scratch, arguments), part);
  };
  CHECK(has(dose_fit, "\nset logscale x"));
  CHECK_FALSE(has(dose_fit, "\nset logscale y"));
  CHECK(has(decay_fit, "\nset logscale y"));
  CHECK_FALSE(has(decay_fit, "\nset logscale x"));
  CHECK_FALSE(has(dose_fit + " --plot-scale linear", "\nset logscale"));
  CHECK(has(dose_fit + " --plot-scale log-log", "\nset logscale y"));
  CHECK(has(kDecay + " --model exp --plot-scale log-y", "\nset logscale y"));
  CHECK(has(kDecay + " --model exp --plot-scale log-x", "\nset logscale x"));
}

TEST_CASE("rows that a logarithmic axis cannot show are counted, and without any that it can it is linear") {
  Scratch scratch;
  const std::string some = scratch.write("some.csv", "x,y\n-1,2\n0,3\n1,4.1\n2,5\n4,7.2\n");
  const std::string text = script::of(scratch, some + " --model 'a+b*x' --plot-scale log-x");
  CHECK(contains(text, "'2 rows with x <= 0 are not shown'"));
  CHECK(block(text, "curve").front()[0] == 1);
  const std::string none = scratch.write("none.csv", "x,y\n1,-2\n2,-3\n3,-4.1\n4,-5\n");
  const std::string linear = script::of(scratch, none + " --model 'a+b*x' --plot-scale log-y");
  CHECK(contains(linear, "'y is linear: no value is positive'"));
  CHECK_FALSE(contains(linear, "\nset logscale"));
}

TEST_CASE("with several predictors, observed values are drawn against fitted ones") {
  Scratch scratch;
  const std::string table =
      scratch.write("two.csv", "u,v,w\n1,1,3\n2,1,5.1\n1,3,5\n4,2,9.9\n3,5,11\n6,1,13.1\n");
  const std::string text = script::of(scratch, table + " --x u,v --y w --model 'a*u+b*v' --p0 a=1,b=1");
  for (const auto& row : block(text, "data")) CHECK(row[0] == row[2]);
  const script::Rows line = block(text, "curve");
  REQUIRE(line.size() == 2);
  CHECK(line[0][0] == line[0][1]);
  CHECK(contains(text, "'fitted w'"));
  CHECK(contains(text, "observed = fitted"));
}

TEST_CASE("with a left side, the picture shows that side") {
  Scratch scratch;
  const std::string text = script::of(
      scratch, kData +
                   "mercury_pressure.csv --x 'celsius+273.15' --y mmhg --model 'log(y) = a - b/x' --p0 "
                   "a=10,b=5000");
  CHECK(contains(text, "'log(y)'"));
  CHECK(contains(text, "'celsius+273.15'"));
  for (const auto& row : block(text, "data")) CHECK(row[1] < 8);  // the logarithm of at most 800 mm
}

TEST_CASE("a fit without a minimum says so, and its curve does not hide the data") {
  Scratch scratch;
  const std::string text =
      script::of(scratch, kDecay + " --model 'a*exp(-b*x)+c' --p0 a=1,b=-50,c=3 --max-iterations 2", 1);
  CHECK(contains(text, "this is not a minimum"));
  const std::size_t range = text.find("set yrange [");
  CHECK(std::stod(text.substr(text.find(':', range) + 1)) < 300);  // the data end at 185
}

TEST_CASE("a peak without noise and constant data get axes and curves") {
  Scratch scratch;
  const std::string table = scratch.write("c.csv", "x,y\n1,5\n2,5\n3,5\n4,5\n");
  const std::string text = script::of(scratch, table + " --model 'a+b*x'");
  CHECK(contains(text, "set yrange [4.5:5.5]"));
  CHECK(contains(text, "no quantiles: residuals do not scatter"));
  CHECK_FALSE(contains(text, "$quantiles using"));
}

TEST_CASE("numbers that differ only behind the sixth digit are written in full") {
  Scratch scratch;
  const std::string table =
      scratch.write("offset.csv", "x,y\n1,1000000.01\n2,1000000.02\n3,1000000.03\n4,1000000.05\n");
  CHECK(contains(script::of(scratch, table + " --model 'a+b*x'"), "\nset format y '%.10g'\n"));
  CHECK(contains(script::of(scratch, kDecay + " --model exp"), "\nset format y '% h'\n"));
}

TEST_CASE("texts of the picture: model, parameters with errors, verdict") {
  Scratch scratch;
  const std::string text = script::of(scratch, kDecay + " --model exp");
  for (const char* const part : {"'exp: a*exp(-b*x)+c'", "'a = 102.684 ± 2.08'", "'b = 0.0048844 ± 0.000182'",
                                 "'CONVERGED'", "'52 rows, R² 0.998272'", "'day'", "'weight'"}) {
    CAPTURE(part);
    CHECK(contains(text, part));
  }
  const std::string fixed = script::of(scratch, kDecay + " --model exp --fix c=80 --bounds a=:100");
  CHECK(contains(fixed, "'c = 80 (fixed)'"));
  CHECK(contains(fixed, "'a = 100 (at bound)'"));
}

TEST_CASE("the same fit makes the same script, on any number of threads") {
  Scratch scratch;
  const std::string table = long_table(scratch, 30000);
  const std::string one = script::of(scratch, table + " --model exp --threads 1");
  CHECK(one == script::of(scratch, table + " --model exp --threads 4"));
}

TEST_CASE("a string of gnuplot holds quotes, and nothing that gnuplot expands leaves it") {
  using nlsq::cli::gnuplot_quoted;
  CHECK(gnuplot_quoted("plain") == "'plain'");
  CHECK(gnuplot_quoted("it's") == "\"it\\047s\"");
  CHECK(gnuplot_quoted("';`id`\\") == "\"\\047\\073\\140id\\140\\134\"");
  CHECK(gnuplot_quoted("a\nb") == "'a\\x0Ab'");
  CHECK(gnuplot_quoted("a\\") == "'a\\'");
  CHECK(gnuplot_quoted("`id` @m %s {/Bold x}") == "'`id` @m %s {/Bold x}'");
}

TEST_CASE("options of pictures that make no sense are refused before anything is read") {
  Scratch scratch;
  const auto refused = [&](const std::string& arguments, const char* part) {
    CAPTURE(arguments);
    const Outcome outcome = run("/nowhere/data.csv --model exp " + arguments);
    CAPTURE(outcome.out);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, part));
  };
  refused("--plot fit.jpg", "--plot fit.jpg: give the file the ending .svg, .png or .pdf, or .gp");
  refused("--plot fit", ".svg, .png or .pdf");
  refused("--plot-scale loglog --plot -", "must be one of auto, linear, log-x, log-y, log-log");
  refused("--plot-scale log-x", "--plot-scale needs --plot or --report");
  refused("--plot a.gp --plot a.gp", "--plot a.gp is given twice");
  refused("--plot - --json -", "cannot share standard output");
  refused("--plot - --residuals -", "cannot share standard output");
  refused("--plot - --predict 1:2:3 --csv -", "cannot share standard output");
  refused("--report page.pdf", "give the file the ending .html");
  refused("--report -", "cannot go to standard output");
}
