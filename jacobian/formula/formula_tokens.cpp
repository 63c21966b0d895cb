// Splits the text of a formula into tokens.
#include "formula/formula_tokens.hpp"

#include "expression/names.hpp"

#include <nlsq/error.hpp>

// The namespace is renamed so that the linker does not merge these functions with another version that the
// user's program contains.
#define fast_float nlsq_fast_float
#include <fast_float/fast_float.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

namespace nlsq::inline v0 {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool begins_name(char c) { return is_letter(c) || static_cast<unsigned char>(c) >= 0x80; }

struct Spelling {
  std::string_view text;
  Symbol symbol;
};

// Longer spellings come first.
constexpr Spelling kSymbols[] = {
    {"**", Symbol::power},      {"&&", Symbol::logical_and},   {"||", Symbol::logical_or},
    {"<=", Symbol::less_equal}, {">=", Symbol::greater_equal}, {"==", Symbol::equal},
    {"!=", Symbol::not_equal},  {"<", Symbol::less},           {">", Symbol::greater},
    {"=", Symbol::assign},      {"!", Symbol::logical_not},    {"+", Symbol::plus},
    {"-", Symbol::minus},       {"*", Symbol::times},          {"/", Symbol::divide},
    {"^", Symbol::power},       {"(", Symbol::open},           {")", Symbol::close},
    {",", Symbol::comma},
};

// Operators that are words, as in Python.
constexpr Spelling kWords[] = {
    {"and", Symbol::logical_and}, {"or", Symbol::logical_or}, {"not", Symbol::logical_not}};

struct Hint {
  std::string_view text, advice;
};

// Characters that editors, web pages and other languages use in place of an operator.
constexpr Hint kHints[] = {
    {"\u2212", "this is a typographic minus (U+2212): type -"},
    {"\u2013", "this is a dash (U+2013): type -"},
    {"\u2014", "this is a dash (U+2014): type -"},
    {"\u00d7", "this is a multiplication sign (U+00D7): type *"},
    {"\u00b7", "this is a multiplication dot (U+00B7): type *"},
    {"\u22c5", "this is a multiplication dot (U+22C5): type *"},
    {"\u00f7", "this is a division sign (U+00F7): type /"},
    {"\u00b2", "this is a superscript two: type ^2"},
    {"\u00b3", "this is a superscript three: type ^3"},
    {"\u2264", "type <="},
    {"\u2265", "type >="},
    {"\u2260", "type !="},
    {"\u221a", "type sqrt( )"},
    {"\u03c0", "type pi"},
    {"\u00a0", "this is a no-break space (U+00A0): type a plain space"},
    {"\u2019", "this is a typographic quotation mark"},
    {"&", "for 'and' write &&"},
    {"|", "for 'or' write ||; for |x| write abs(x)"},
    {"%", "for a remainder write mod(a, b)"},
    {"?", "for a choice write if(condition, a, b)"},
    {":", "for a choice write if(condition, a, b)"},
    {"[", "brackets are not used: only ( ), and parameters are names"},
    {"]", "brackets are not used: only ( ), and parameters are names"},
    {"{", "braces are not used: only ( )"},
    {"}", "braces are not used: only ( )"},
    {";", "one expression is expected"},
    {"~", "for 'not' write !; of a model as R writes it give what follows the ~"},
    {"'", "names are written without quotes"},
    {"\"", "names are written without quotes"},
    {".", "a '.' only belongs in numbers: write exp(x), not np.exp(x)"},
    {"$", "a column by number is $1, $2 ..."},
};

class Tokenizer {
 public:
  explicit Tokenizer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    while (true) {
      while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
      if (at_ == text_.size()) break;
      tokens.push_back(next());
    }
    tokens.push_back({Symbol::end, {}, text_.size(), 0});
    return tokens;
  }

 private:
  [[noreturn]] void fail(const std::string& message, std::size_t column) const {
    throw FormulaError(message, std::string(text_), column);
  }

  bool digit_at(std::size_t place) const { return place < text_.size() && is_digit(text_[place]); }

  Token next() {
    const char c = text_[at_];
    if (is_digit(c) || (c == '.' && digit_at(at_ + 1))) return number();
    if (c == '$' && digit_at(at_ + 1)) return name();
    for (const Hint& hint : kHints) {
      if (text_.substr(at_).starts_with(hint.text) && !spells_symbol()) {
        fail(fmt::format("unexpected '{}': {}", hint.text, hint.advice), at_);
      }
    }
    if (begins_name(c)) return name();
    for (const Spelling& spelling : kSymbols) {
      if (text_.substr(at_).starts_with(spelling.text)) return take(spelling.symbol, spelling.text.size());
    }
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) fail(fmt::format("unexpected byte 0x{:02x}", byte), at_);
    fail(fmt::format("unexpected character '{}'", c), at_);
  }

  bool spells_symbol() const {
    const std::string_view two = text_.substr(at_, 2);
    return two == "&&" || two == "||";
  }

  Token take(Symbol symbol, std::size_t length) {
    const Token token{symbol, text_.substr(at_, length), at_, 0};
    at_ += length;
    return token;
  }

  Token name() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (begins_name(text_[end]) || is_digit(text_[end])) && !starts_hint(end))
      ++end;
    const Spelling* const word = std::ranges::find(kWords, text_.substr(at_, end - at_), &Spelling::text);
    return take(word == std::end(kWords) ? Symbol::name : word->symbol, end - at_);
  }

  // Detects a lookalike operator inside what would be a name: a\u00d7b.
  bool starts_hint(std::size_t place) const {
    if (static_cast<unsigned char>(text_[place]) < 0x80) return false;
    for (const Hint& hint : kHints) {
      if (text_.substr(place).starts_with(hint.text)) return true;
    }
    return false;
  }

  Token number() {
    const char* const first = text_.data() + at_;
    double value = 0;
    const auto [end, status] = fast_float::from_chars(first, text_.data() + text_.size(), value);
    const auto length = static_cast<std::size_t>(end - first);
    const std::string_view digits = text_.substr(at_, length);
    if (digits == "0" && length + at_ < text_.size() && (first[1] == 'x' || first[1] == 'X') &&
        digit_at(at_ + 2)) {
      fail("hexadecimal numbers are not read", at_);
    }
    if (std::isinf(value))
      fail(fmt::format("number out of range: {} is larger than a double can be", digits), at_);
    const bool nonzero =
        digits.substr(0, digits.find_first_of("eE")).find_first_of("123456789") != digits.npos;
    if (value == 0 && nonzero) {
      fail(fmt::format("number out of range: {} is smaller than a double can be", digits), at_);
    }
    if (status == std::errc::invalid_argument) fail("this number cannot be read", at_);
    Token token = take(Symbol::number, length);
    token.value = value;
    return token;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> tokenize(std::string_view formula) { return Tokenizer(formula).run(); }

}  // namespace nlsq::inline v0
