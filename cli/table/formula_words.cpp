// Implements the search for names in formulas.
#include "table/formula_words.hpp"

#include "table/characters.hpp"
#include "table/numbers/number.hpp"

#include <nlsq/formula.hpp>

#include <algorithm>

namespace nlsq::cli {

namespace {

// Returns true if a name may begin with this byte. Bytes beyond ASCII count; is_sign() finds those that do
// not.
bool may_begin_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
}

// Returns whether the word is an operator of formulas, as && is. A column of that name needs backquotes.
bool is_operator(std::string_view word) { return word == "and" || word == "or" || word == "not"; }

// Returns true if the character at `at` is an operator or a space beyond ASCII: a sign of Latin-1 (not the
// letters µ, ª and º), or one of the blocks of punctuation and mathematics (U+2000 to U+22FF).
bool is_sign(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) return false;
  const auto first = static_cast<unsigned char>(text[at]), second = static_cast<unsigned char>(text[at + 1]);
  if (first == 0xC2) return second != 0xAA && second != 0xB5 && second != 0xBA;
  if (first == 0xC3) return second == 0x97 || second == 0xB7;
  return first == 0xE2 && second < 0x8C;
}

}  // namespace

std::optional<Word> next_word(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    std::size_t end = at + 1;
    if (is_sign(text, at)) {
      while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
      at = end;
      continue;
    }
    if (may_begin_name(c)) {
      while (end < text.size() && (may_begin_name(text[end]) || is_digit(text[end])) && !is_sign(text, end))
        ++end;
      if (is_operator(text.substr(at, end - at))) {
        at = end;
        continue;
      }
      std::size_t after = end;
      while (after < text.size() && (text[after] == ' ' || text[after] == '\t')) ++after;
      const bool call = after < text.size() && text[after] == '(';
      return Word{at, end, call ? Word::function : Word::name};
    }
    if (c == '$') {
      while (end < text.size() && is_digit(text[end])) ++end;
      return Word{at, end, Word::number_reference};
    }
    if (c == '`') {
      end = std::min(text.find('`', end), text.size() - 1) + 1;
      return Word{at, end, Word::quoted};
    }
    if (is_digit(c) || c == '.') {
      const auto goes_on = [&] {
        return is_digit(text[end]) || may_begin_name(text[end]) || text[end] == '.';
      };
      while (end < text.size() && goes_on() && !is_sign(text, end)) ++end;
    }
    at = end;
  }
  return std::nullopt;
}

bool is_identifier(std::string_view text) noexcept {
  const bool ascii = std::all_of(text.begin(), text.end(), [](char c) { return (c & 0x80) == 0; });
  const bool named =
      !text.empty() && may_begin_name(text[0]) && !is_operator(text) &&
      std::all_of(text.begin(), text.end(), [](char c) { return may_begin_name(c) || is_digit(c); });
  if (!named || ascii) return named;
  // Only the formula parser knows which characters beyond ASCII may stand in a name: α may, × and ² may not.
  try {
    FormulaOptions options;
    options.predictors.clear();
    options.response.clear();
    const Formula formula = parse_formula(text, options);
    return formula.parameters.size() == 1 && formula.parameters[0] == text;
  } catch (const std::exception&) {
    return false;
  }
}

std::string_view name_before_unit(std::string_view name) {
  const std::size_t bracket = name.find_first_of("[(");
  const bool unit = bracket != std::string_view::npos && name.back() == (name[bracket] == '[' ? ']' : ')');
  return unit ? trim_blanks(name.substr(0, bracket)) : name;
}

std::string_view name_in_formulas(std::string_view name) {
  const std::string_view short_name = name_before_unit(name);
  return is_identifier(short_name) && short_name != "pi" ? short_name : std::string_view();
}

std::vector<std::string> names_in(std::string_view formula) {
  std::vector<std::string> names;
  for (auto word = next_word(formula, 0); word; word = next_word(formula, word->end)) {
    if (word->kind == Word::name) names.emplace_back(formula.substr(word->begin, word->end - word->begin));
  }
  return names;
}

bool mentions(std::string_view formula, std::string_view name) {
  const std::vector<std::string> names = names_in(formula);
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace nlsq::cli
