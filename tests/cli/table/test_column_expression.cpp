// Tests --x, --y, --sigma and --where with names, numbers and expressions over columns.
#include "table/column_expression.hpp"
#include "table/formula_words.hpp"

#include "errors.hpp"
#include "table/block_evaluator.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

using namespace nlsq::cli;

namespace {

CsvShape shape_of(std::vector<std::string> names) {
  CsvShape shape;
  shape.has_header = true;
  shape.names = std::move(names);
  return shape;
}

const CsvShape kShape = shape_of({"time", "my count", "e1", "pi", "_0", "température"});

ColumnExpression parse(const std::string& text, const CsvShape& shape = kShape) {
  return parse_column_expression(text, shape, "t.csv:1:1", "--x");
}

// Evaluates an expression where column k is k + 1 in every row.
double value(const std::string& text, const CsvShape& shape = kShape) {
  const ColumnExpression e = parse(text, shape);
  std::vector<std::vector<double>> columns;
  for (const std::size_t c : e.columns) columns.push_back({static_cast<double>(c + 1)});
  if (e.plain) return columns[0][0];
  const std::vector<nlsq::Column> views(columns.begin(), columns.end());
  double out = 0;
  evaluate_rows(e.formula, views, {}, {&out, 1});
  return out;
}

std::string complaint(const std::string& text, const CsvShape& shape = kShape) {
  try {
    parse(text, shape);
  } catch (const std::runtime_error& e) {
    return e.what();
  } catch (const std::exception& e) {
    return std::string("another kind of error: ") + e.what();
  }
  return "accepted";
}

bool holds(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a column is chosen by name, number, $number or backquoted name, without any arithmetic") {
  for (const char* text : {"time", "1", "$1", "`time`", " time "}) CHECK(parse(text).plain);
  CHECK(value("2") == 2);
  CHECK(value("my count") == 2);
  CHECK(value("`my count`") == 2);
  CHECK(value("température") == 6);
  CHECK(value("pi") == 4);
}

TEST_CASE("expressions mix names, numbers of columns and functions") {
  CHECK(value("time + 10") == 11);
  CHECK(value("$2*$2 + `my count`") == 6);
  CHECK(value("log(`my count`) / 1e1") == doctest::Approx(std::log(2.0) / 10).epsilon(1e-15));
  CHECK(value("e1*1e1") == 30);
  CHECK(value("hypot($3, `pi`)") == 5);
  CHECK(value("`température` - $6") == 0);
  CHECK(value("time < $2 && !(time >= 2)") == 1);
  CHECK(value("time < $2 and not (time >= 2)") == 1);
  CHECK(value("mod(5, $2)") == 1);
  CHECK(value("_0 + $1") == 6);  // a stand-in for $1 never hides a column's own name
  CHECK(value("-time") == -1);
}

TEST_CASE("the constant pi is the constant unless a column has that name") {
  CHECK(holds(complaint("2*pi"), "'pi' is both the constant and column 4"));
  CHECK(value("2*pi*$1", shape_of({"a"})) == doctest::Approx(6.283185307179586).epsilon(1e-15));
}

TEST_CASE("errors name the option, the column, and point at the text as typed") {
  CHECK(holds(complaint("speed"),
              "t.csv:1:1: there is no column 'speed' (--x); the columns are time, my count"));
  CHECK(holds(complaint("2*speed"), "there is no column 'speed'"));
  CHECK(holds(complaint("$7"), "there is no column 7"));
  CHECK(holds(complaint("0"), "there is no column 0"));
  CHECK(holds(complaint("2*$"), "column number after $"));
  CHECK(holds(complaint("2*`my"), "backquote is not closed"));
  CHECK(holds(complaint(""), "empty"));
  const std::string caret = complaint("$1 + `my count` )");
  CHECK(holds(caret, "--x: "));
  CHECK(holds(caret, "$1 + `my count` )"));
  CHECK(holds(caret, "(column 17)"));
}

TEST_CASE("a name that is also a number of another column is not guessed at") {
  const CsvShape shape = shape_of({"2", "1", "3"});
  CHECK(holds(complaint("2", shape), "is the name of column 1 and a column number"));
  CHECK(value("$2", shape) == 2);
  CHECK(value("`2`", shape) == 1);
  CHECK(value("3", shape) == 3);
}

TEST_CASE("lists split at commas outside parentheses and backquotes") {
  CHECK(split_list("a, b") == std::vector<std::string>{"a", "b"});
  CHECK(split_list("hypot(a,b),`c,d`,$1") == std::vector<std::string>{"hypot(a,b)", "`c,d`", "$1"});
}

TEST_CASE("mentions finds names, not functions, numbers or parts of names") {
  CHECK(mentions("a*exp(-b*x)", "x"));
  CHECK_FALSE(mentions("a*exp(-b*x1)", "x"));
  CHECK_FALSE(mentions("x(3)", "x"));
  CHECK_FALSE(mentions("1e5", "e5"));
  CHECK_FALSE(mentions("`x`", "x"));
}

TEST_CASE("blocks of rows give what one row at a time gives") {
  nlsq::FormulaOptions options;
  options.predictors = {"x", "y"};
  options.response = "r";
  for (const char* text : {"a*exp(-b*x)+y", "if(x>1,sin(x),y^2)", "mod(x,y)+a", "x", "a", "voigt(x,1,b)*y",
                           "atan2(x,y)-min(x,y)"}) {
    CAPTURE(text);
    const nlsq::Formula formula = nlsq::parse_formula(text, options);
    const std::vector<double> p(formula.parameters.size(), 0.75);
    std::vector<double> x, y, out(1000);
    for (int i = 0; i < 1000; ++i) x.push_back(0.01 * i - 3), y.push_back(1.5 + 0.001 * i);
    const nlsq::Column columns[] = {x, y};
    evaluate_rows(formula, columns, p, out);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double row[] = {x[i], y[i]};
      REQUIRE(out[i] == formula.evaluate(row, p));
    }
  }
}

TEST_CASE("$0 is the number of the row, in expressions only by its sign") {
  const ColumnExpression e = parse("$0");
  CHECK(!e.plain);
  CHECK(e.columns == std::vector<std::size_t>{kRowNumber});
  CHECK(parse("$0*time").columns == std::vector<std::size_t>{kRowNumber, 0});
}

TEST_CASE("a comparison with a text becomes one value, with the column as the user wrote it") {
  const auto check = [](const std::string& text, const TextMatch& match) {
    CAPTURE(text);
    const ColumnExpression e = parse(text);
    CHECK(!e.plain);
    REQUIRE(e.texts.size() == 1);
    CHECK(e.texts[0] == match);
    CHECK(e.columns.back() == kFirstText);
  };
  check("time == \"north\"", {0, "north", false});
  check("time=='a, (b'", {0, "a, (b", false});
  check("$2 != \"\"", {1, "", true});
  check("`my count`!=\"x\"", {1, "x", true});
  check("\"x\" == time", {0, "x", false});
  check("!('x' != température)", {5, "x", true});
  const ColumnExpression both = parse("(time==\"a\" || time == \"b\") && time > 2");
  CHECK(both.texts.size() == 2);
  CHECK(both.columns == std::vector<std::size_t>{kFirstText, kFirstText + 1, 0});
  CHECK(split_list("time==\"a,b\",2") == std::vector<std::string>{"time==\"a,b\"", "2"});
}

TEST_CASE("a text that is not compared with a column is refused") {
  CHECK(holds(complaint("time > \"a\""), "must be compared with a column"));
  CHECK(holds(complaint("\"a\""), "must be compared with a column"));
  CHECK(holds(complaint("\"a\" == \"b\""), "must be compared with a column"));
  CHECK(holds(complaint("time == \"a"), "quote is not closed"));
  CHECK(holds(complaint("$0 == \"a\""), "$0 is a number"));
  CHECK(holds(complaint("nowhere == \"a\""), "no column 'nowhere'"));
  CHECK(holds(complaint("time == \"a\" + log("), "^"));  // the caret is below the text as typed
}

TEST_CASE("an unknown column suggests the nearest name") {
  CHECK(holds(complaint("tiem"), "did you mean 'time'?"));
  CHECK(holds(complaint("log(Time)"), "did you mean 'time'?"));
  CHECK(holds(complaint("temperature"), "did you mean 'température'?"));
  CHECK(!holds(complaint("pressure"), "did you mean"));
}

TEST_CASE("names of letters beyond ASCII need no backquotes") {
  for (const char* name : {"α", "température", "χ2", "µ"}) CHECK(is_identifier(name));
  for (const char* name : {"a×b", "x²", "π", "2α", "a b", "−a"}) CHECK(!is_identifier(name));
  CHECK(value("2*température") == 12);
  CHECK(mentions("a*β + c", "β"));
  CHECK(holds(complaint("time×2"), "type *"));
}
