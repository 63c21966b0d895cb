// Tests --plot -, which draws the picture in characters.
#include "plot/text_plot.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "cli/program_data.hpp"
#include "plot/text_canvas.hpp"
#include "table/source/utf8.hpp"

using namespace program;
using nlsq::cli::TextCanvas;

namespace {

// This is a line through the points, drawn in plain ASCII.
const std::string kSmall = "x,y\n0,0\n2,2.1\n4,3.8\n6,6.2\n8,7.9\n10,10\n";

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::size_t widest(const std::string& text) {
  std::size_t width = 0;
  for (const std::string& line : lines_of(text)) width = std::max(width, nlsq::cli::count_code_points(line));
  return width;
}

bool is_ascii(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
}

}  // namespace

TEST_CASE("a small picture, character by character") {
  Scratch scratch;
  const std::string fit = scratch.write("s.csv", kSmall) + " --model 'a*x' --fix a=1 --quiet --plot -";
  CHECK(run(fit, "LC_ALL=C COLUMNS=40").out ==
        "a*x\n"
        "y    o data  . fit\n"
        "  10 +                                o\n"
        "     |                              ...\n"
        "     |                            ...\n"
        "     |                          ...\n"
        "   8 +                        ..o\n"
        "     |                      ...\n"
        "     |                    o..\n"
        "   6 +                  ...\n"
        "     |                 ..\n"
        "     |               ...\n"
        "   4 +             ...\n"
        "     |           ..o\n"
        "     |         ...\n"
        "     |       o..\n"
        "   2 +     ...\n"
        "     |   ...\n"
        "     | ...\n"
        "   0 + o\n"
        "residual\n"
        " 0.2 +                    o\n"
        "     |       o\n"
        "     |\n"
        "   0 +-o------------------------------o-\n"
        "     |\n"
        "     |                          o\n"
        "-0.2 +             o\n"
        "     +-+---------------+--------------+-\n"
        "       0               5             10\n"
        "                      x\n");
}

TEST_CASE("the canvas: corners, dots of a Braille cell, points over and under a line") {
  TextCanvas canvas(4, 2, true);
  canvas.add_point(0, 0);
  canvas.add_point(1, 1);
  canvas.add_point(1.01, 0.5);            // this is outside
  canvas.add_line(0, 0.5001, 1, 0.5001);  // these are the lowest dots of the upper row, 7 and 8 of each cell
  CHECK(canvas.rows(false) == std::vector<std::string>{"⣀⣀⣀•", "•   "});
  CHECK(canvas.rows(true) == std::vector<std::string>{"⣀⣀⣀⣀", "▓   "});
  TextCanvas ascii(4, 2, false);
  ascii.add_level(0.2);
  ascii.add_point(0, 0);
  ascii.add_line(0, 0.9, 1, 0.9);
  CHECK(ascii.rows(false) == std::vector<std::string>{"....", "o---"});
  CHECK(ascii.rows(true) == std::vector<std::string>{"****", "#---"});
}

TEST_CASE("a line that leaves the canvas, or is not finite, is drawn as far as it is inside") {
  TextCanvas canvas(4, 1, false);
  canvas.add_line(0.5, 0.5, 1.5, 0.5);
  canvas.add_line(0, std::nan(""), 1, 0.5);
  canvas.add_line(0, 0.5, 1, 1e300);
  CHECK(canvas.rows(false) == std::vector<std::string>{"  .."});
}

TEST_CASE("the picture is as wide as COLUMNS says, 80 otherwise, and never wider than 200") {
  const std::string fit = kDecay + " --model exp --quiet --plot -";
  CHECK(widest(run(fit, "LC_ALL=C.UTF-8 COLUMNS=").out) == 80);
  CHECK(widest(run(fit, "LC_ALL=C.UTF-8 COLUMNS=120").out) == 120);
  CHECK(widest(run(fit, "LC_ALL=C.UTF-8 COLUMNS=1000").out) == 200);
  CHECK(widest(run(fit, "LC_ALL=C.UTF-8 COLUMNS=5").out) == 40);
  CHECK(widest(run(fit, "LC_ALL=C.UTF-8 COLUMNS=wide").out) == 80);
}

TEST_CASE("characters follow the locale: the first of LC_ALL, LC_CTYPE and LANG that is set") {
  const std::string fit = kDecay + " --model exp --quiet --plot -";
  CHECK(contains(run(fit, "LC_ALL=en_GB.UTF-8").out, "•"));
  CHECK(contains(run(fit, "LC_ALL= LC_CTYPE=de_DE.utf8 LANG=C").out, "•"));
  CHECK(contains(run(fit, "LC_ALL= LC_CTYPE= LANG=C.UTF-8").out, "•"));
  CHECK(is_ascii(run(fit, "LC_ALL=C LC_CTYPE=C.UTF-8 LANG=C.UTF-8").out));
  CHECK(is_ascii(run(fit, "LC_ALL= LC_CTYPE= LANG=").out));
  CHECK(is_ascii(run(fit, "env -u LC_ALL -u LC_CTYPE -u LANG").out));
}

TEST_CASE("names beyond ASCII become question marks without UTF-8") {
  Scratch scratch;
  const std::string fit =
      scratch.write("g.csv", "χ,ψ\n1,2\n2,4.1\n3,5.9\n") + " --x 1 --y 2 --model 'a*x' --quiet --plot -";
  const Outcome plain = run(fit, "LC_ALL=C");
  CHECK(is_ascii(plain.out));
  CHECK(contains(plain.out, "?    o data"));
  CHECK(contains(run(fit, "LC_ALL=C.UTF-8").out, "ψ    • data"));
}

TEST_CASE("many points are shaded by their number, under the curve") {
  Scratch scratch;
  const std::string fit = long_table(scratch, 30000) + " --model exp --quiet --plot -";
  const std::string unicode = run(fit, "LC_ALL=C.UTF-8").out;
  CHECK(contains(unicode, "░"));
  CHECK_FALSE(contains(unicode, "•"));
  CHECK(contains(unicode, "(every 4th of 30000 rows is drawn)"));
  CHECK(is_ascii(run(fit, "LC_ALL=C").out));
}

TEST_CASE("the picture follows the report, and every label of the axes stands within the lines") {
  const Outcome outcome = run(kDecay + " --model exp --plot -", "LC_ALL=C.UTF-8");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.find("Result CONVERGED") < outcome.out.find("exp: a*exp(-b*x)+c\nweight"));
  CHECK(contains(outcome.out, "day"));
  CHECK(contains(outcome.out, "residual"));
}
