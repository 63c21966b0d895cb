// Parses column expressions: finds column references, rewrites them as plain names, and calls the formula
// parser.
#include "table/column_expression.hpp"

#include "errors.hpp"
#include "nearest.hpp"
#include "table/characters.hpp"
#include "table/formula_words.hpp"
#include "table/source/utf8.hpp"
#include "table/text_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace nlsq::cli {

namespace {

// Returns the columns that have this name in formulas. T [K] and T [C] are both called T.
std::vector<std::size_t> columns_called(const CsvShape& shape, std::string_view name) {
  std::vector<std::size_t> called;
  for (std::size_t i = 0; i < shape.columns(); ++i) {
    if (!name.empty() && name_in_formulas(shape.names[i]) == name) called.push_back(i);
  }
  return called;
}

std::string list_columns(const CsvShape& shape) {
  if (!shape.has_header)
    return shape.columns() == 1 ? "there is 1 column and no header"
                                : fmt::format("there are {} columns and no header", shape.columns());
  std::string list = "the columns are";
  for (std::size_t i = 0; i < shape.columns(); ++i) {
    if (i == 20) return list + fmt::format(" ... ({} in all)", shape.columns());
    list += fmt::format("{} {}", i == 0 ? "" : ",",
                        shape.names[i].empty() ? "(unnamed)" : printable(shape.names[i]));
  }
  return list;
}

class Resolver {
 public:
  Resolver(const CsvShape& shape, const std::string& origin, const std::string& option)
      : shape_(shape), origin_(origin), option_(option) {}

  std::size_t by_number(std::string_view digits, bool dollar = true) const {
    std::size_t n = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
    if (digits.empty()) throw UsageError(option_ + ": write a column number after $, as in $2");
    if (error == std::errc{} && n == 0 && dollar) return kRowNumber;
    if (error != std::errc{} || n == 0 || n > shape_.columns()) missing("column " + std::string(digits));
    return n - 1;
  }

  std::size_t by_name(std::string_view name) const {
    if (const auto column = find_column(shape_, name)) return *column;
    for (const auto& [unusable, why] : shape_.unusable) {
      if (name == unusable)
        throw BadData(fmt::format("{}: {} ({}) cannot be used: {}", origin_, printable(name), option_, why));
    }
    refuse_several(name);
    // A condition may mean a text, which needs quotes.
    const std::string quotes =
        option_ == "--where" ? fmt::format("; if it is a text, quote it: \"{}\"", printable(name)) : "";
    missing(fmt::format("column '{}'", printable(name)), quotes + suggest_nearest(name, shape_.names));
  }

  std::size_t by_reference(std::string_view reference) const {
    if (reference.starts_with('$')) return by_number(reference.substr(1));
    if (reference.starts_with('`')) return by_name(reference.substr(1, reference.size() - 2));
    return by_name(reference);
  }

  [[noreturn]] void missing(const std::string& what, const std::string& advice = "") const {
    // A line of text above a table is taken for the header of a table of one column.
    const char* const preamble = shape_.columns() == 1 && shape_.has_header
                                     ? "; if this is text above the table, skip its lines: --skip LINES"
                                     : "";
    throw BadData(fmt::format("{}: there is no {} ({}); {}{}{}", origin_, what, option_, list_columns(shape_),
                              advice, preamble));
  }

 private:
  // Refuses a name that several columns have in formulas, as T [K] and T [C] are both called T.
  void refuse_several(std::string_view name) const {
    std::vector<std::string> same;
    for (const std::size_t column : columns_called(shape_, name))
      same.push_back('`' + printable(shape_.names[column]) + '`');
    if (same.empty()) return;
    throw BadData(fmt::format("{}: '{}' ({}) may be any of {}: write the one that is meant, as here", origin_,
                              printable(name), option_, fmt::join(same, ", ")));
  }

  const CsvShape& shape_;
  const std::string& origin_;
  const std::string& option_;
};

// Returns a name for the parser with the same length as the reference that it replaces, so that carets in
// messages point to the right place.
std::string stand_in(const CsvShape& shape, const std::vector<std::string>& taken, std::size_t length) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  for (std::size_t k = 0; k < 46656; ++k) {
    std::string name(length, '0');
    std::size_t rest = k;
    for (std::size_t i = length; i-- > 1; rest /= kDigits.size()) name[i] = kDigits[rest % kDigits.size()];
    name[0] = '_';
    if (rest != 0) break;
    if (!find_column(shape, name) && std::find(taken.begin(), taken.end(), name) == taken.end()) return name;
  }
  throw UsageError("too many column references in one expression");
}

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// This is an expression rewritten for the parser, with a plain name for every column reference.
struct Rewritten {
  std::string text;
  std::vector<std::string> names;       // predictors for the parser
  std::vector<std::string> references;  // the same names as the user wrote them
  std::vector<std::size_t> columns;
  std::vector<TextMatch> texts;
};

// Replaces comparisons with texts by names of the same length.
void replace_texts(Rewritten& out, const CsvShape& shape, const Resolver& resolver,
                   const std::string& option) {
  std::size_t at = 0;
  while (const auto found = find_text_comparison(out.text, at, option)) {
    const std::string typed = out.text.substr(found->begin, found->length);
    const std::size_t column = resolver.by_reference(found->reference);
    if (column == kRowNumber) throw UsageError(fmt::format("{}: $0 is a number, not a text", option));
    out.names.push_back(stand_in(shape, out.names, typed.size()));
    out.references.push_back(typed);
    out.columns.push_back(kFirstText + out.texts.size());
    out.texts.push_back({column, found->text, found->negated});
    out.text.replace(found->begin, typed.size(), out.names.back());
    at = found->begin + typed.size();
  }
}

Rewritten rewrite(std::string_view text, const CsvShape& shape, const Resolver& resolver,
                  const std::string& option) {
  Rewritten out;
  out.text = text;
  replace_texts(out, shape, resolver, option);
  const std::string without_texts = out.text;
  text = without_texts;
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end)) {
    const std::string reference(text.substr(word->begin, word->end - word->begin));
    if (word->kind == Word::function) continue;
    if (std::find(out.names.begin(), out.names.begin() + static_cast<std::ptrdiff_t>(out.texts.size()),
                  reference) != out.names.begin() + static_cast<std::ptrdiff_t>(out.texts.size()))
      continue;  // stands for a comparison
    std::size_t column = 0;
    if (word->kind == Word::name) {
      if (reference == "pi") {
        if (!find_column(shape, "pi")) continue;
        throw UsageError(
            fmt::format("{}: 'pi' is both the constant and column {}; write ${} or `pi` for the column",
                        option, *find_column(shape, "pi") + 1, *find_column(shape, "pi") + 1));
      }
      column = resolver.by_name(reference);
    } else if (word->kind == Word::number_reference) {
      column = resolver.by_number(std::string_view(reference).substr(1));
    } else {
      if (reference.size() < 3 || reference.back() != '`') {
        throw UsageError(fmt::format("{}: a backquote is not closed in {}", option, printable(text)));
      }
      column = resolver.by_name(std::string_view(reference).substr(1, reference.size() - 2));
    }
    const auto known = std::find(out.references.begin(), out.references.end(), reference);
    const auto k = static_cast<std::size_t>(known - out.references.begin());
    if (k == out.references.size()) {
      out.names.push_back(word->kind == Word::name ? reference
                                                   : stand_in(shape, out.names, reference.size()));
      out.references.push_back(reference);
      out.columns.push_back(column);
    }
    out.text.replace(word->begin, reference.size(), out.names[k]);
  }
  return out;
}

Formula parse_rewritten(const Rewritten& rewritten, std::string_view original, const std::string& option) {
  FormulaOptions options;
  options.predictors = rewritten.names;
  options.response = "";
  options.parameters_allowed = false;
  try {
    return parse_formula(rewritten.text, options);
  } catch (const FormulaError& e) {
    // Restates the message for the text as typed.
    std::string message = e.what();
    message = message.substr(0, message.rfind(" (column "));
    for (std::size_t i = 0; i < rewritten.names.size(); ++i) {
      message = replace_all(message, rewritten.names[i], rewritten.references[i]);
    }
    throw UsageError(
        fmt::format("{}: {}", option, FormulaError(message, std::string(original), e.column()).what()));
  }
}

ColumnExpression plain_column(std::string_view text, std::size_t column) {
  ColumnExpression expression;
  expression.text = text;
  expression.columns = {column};
  expression.plain = true;
  return expression;
}

// Returns a date, such as 2024-03-01, in the text, or an empty text. The parser would read it as a
// subtraction.
std::string_view date_in(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  for (std::size_t at = 0; at + kForm.size() <= text.size(); ++at) {
    const std::string_view here = text.substr(at, kForm.size());
    const bool begins = at == 0 || !(is_digit(text[at - 1]) || text[at - 1] == '.');
    const auto fits = [](char c, char form) { return form == 'd' ? is_digit(c) : c == form; };
    if (begins && std::equal(here.begin(), here.end(), kForm.begin(), fits)) return here;
  }
  return {};
}

// Refuses two expressions of dates that have no meaning, because dates are seconds since the first date of a
// column: a date that is typed, and two columns that count from different moments.
void check_dates(const Rewritten& rewritten, const CsvShape& shape, const std::string& option) {
  const std::string_view date = date_in(rewritten.text);  // texts and names in quotes are gone from it
  const TimeOrigin* first = nullptr;
  std::string_view first_reference;
  for (std::size_t k = 0; k < rewritten.columns.size(); ++k) {
    const TimeOrigin* const time = shape.time(rewritten.columns[k]);
    if (time == nullptr) continue;
    const std::string& reference = rewritten.references[k];
    if (!date.empty()) {
      throw UsageError(fmt::format(
          "{}: {} would be a subtraction here. In expressions {} is in seconds since {}; compare it with a "
          "number of seconds, or limit x by --range A:B, which takes dates",
          option, date, reference, time->text));
    }
    if (first != nullptr && first->text != time->text) {
      throw UsageError(fmt::format(
          "{}: {} is in seconds since {}, and {} since {}: write numbers into the file to compute "
          "with both",
          option, first_reference, first->text, reference, time->text));
    }
    first = time;
    first_reference = reference;
  }
}

}  // namespace

std::string column_title(const CsvShape& shape, const ColumnExpression& expression) {
  std::string title;
  if (expression.plain) {
    const std::string& name = shape.names[expression.columns[0]];
    title = name.empty() ? fmt::format("column {}", expression.columns[0] + 1) : printable(name, 60);
  } else {
    title = printable(expression.text, 60);
  }
  for (const std::size_t column : expression.columns) {
    const TimeOrigin* const time = shape.time(column);
    if (time == nullptr) continue;
    const std::string which = expression.plain ? "" : column_label(shape, column) + ": ";
    return title + fmt::format(" ({}seconds since {})", which, printable(time->text));
  }
  return title;
}

std::optional<std::size_t> find_column(const CsvShape& shape, std::string_view name) {
  if (name.empty()) return std::nullopt;
  const auto it = std::ranges::find(shape.names, name);
  if (it != shape.names.end()) return static_cast<std::size_t>(it - shape.names.begin());
  const std::vector<std::size_t> called = columns_called(shape, name);
  return called.size() == 1 ? std::optional(called.front()) : std::nullopt;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  char quote = '\0';
  for (const char c : text) {
    if (quote == '\0' ? c == '`' || c == '"' : c == quote) quote = quote == '\0' ? c : '\0';
    if (quote == '\0' && c == '(') ++depth;
    if (quote == '\0' && c == ')') --depth;
    if (c == ',' && depth == 0 && quote == '\0') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  for (std::string& part : parts) part = trim_blanks(std::string(part));
  return parts;
}

ColumnExpression parse_column_expression(std::string_view text, const CsvShape& shape,
                                         const std::string& origin, const std::string& option) {
  text = trim_blanks(text);
  if (text.empty()) throw UsageError(option + ": an empty column expression");
  const Resolver resolver(shape, origin, option);
  const bool number = std::all_of(text.begin(), text.end(), is_digit);
  const auto named = find_column(shape, text);
  if (named && number && std::to_string(*named + 1) != text) {
    throw UsageError(fmt::format("{}: '{}' is the name of column {} and a column number; write `{}` or ${}",
                                 option, text, *named + 1, text, text));
  }
  if (named) return plain_column(text, *named);
  if (number) return plain_column(text, resolver.by_number(text, false));
  if (text.size() > 2 && text.front() == '`' && text.find('`', 1) == text.size() - 1) {
    return plain_column(text, resolver.by_name(text.substr(1, text.size() - 2)));
  }
  const bool row_number = text.find_first_not_of("$0") == std::string_view::npos;
  if (!row_number && text.front() == '$' && std::all_of(text.begin() + 1, text.end(), is_digit)) {
    return plain_column(text, resolver.by_number(text.substr(1)));
  }
  const Rewritten rewritten = rewrite(text, shape, resolver, option);
  check_dates(rewritten, shape, option);
  ColumnExpression expression;
  expression.text = text;
  expression.formula = parse_rewritten(rewritten, text, option);
  expression.columns = rewritten.columns;
  expression.texts = rewritten.texts;
  return expression;
}

}  // namespace nlsq::cli
