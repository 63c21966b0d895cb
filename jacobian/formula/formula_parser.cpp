// Parses formulas by Dijkstra's shunting-yard algorithm.
#include "formula/formula_parser.hpp"

#include "formula/formula_functions.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <numbers>

namespace nlsq::inline v0 {

namespace {

// Orders the operators by precedence, lowest first. Comparisons do not chain; ^ is right-associative.
enum Binding : int { kOr = 1, kAnd, kNot, kCompare, kSum, kProduct, kSign, kPower };

struct Operator {
  Symbol symbol;
  Binding binding;
  Op op;
  CompoundFunction compound = CompoundFunction::none;
};

constexpr Operator kBinary[] = {
    {Symbol::logical_or, kOr, Op::logical_or},
    {Symbol::logical_and, kAnd, Op::logical_and},
    {Symbol::less, kCompare, Op::less},
    {Symbol::less_equal, kCompare, Op::less_equal},
    {Symbol::greater, kCompare, Op::copy, CompoundFunction::greater},
    {Symbol::greater_equal, kCompare, Op::copy, CompoundFunction::greater_equal},
    {Symbol::equal, kCompare, Op::equal},
    {Symbol::not_equal, kCompare, Op::not_equal},
    {Symbol::plus, kSum, Op::add},
    {Symbol::minus, kSum, Op::sub},
    {Symbol::times, kProduct, Op::mul},
    {Symbol::divide, kProduct, Op::div},
    {Symbol::power, kPower, Op::pow},
};

constexpr Operator kPrefix[] = {
    {Symbol::minus, kSign, Op::neg},
    {Symbol::plus, kSign, Op::copy},
    {Symbol::logical_not, kNot, Op::logical_not},
};

template <std::size_t n>
const Operator* find(const Operator (&table)[n], Symbol symbol) {
  const auto found = std::ranges::find(table, symbol, &Operator::symbol);
  return found == std::end(table) ? nullptr : &*found;
}

// This is an operator or call that waits for its right operand or its closing parenthesis.
struct Pending {
  enum Kind : std::uint8_t { binary, prefix, parenthesis, call } kind;
  Token token;
  const Operator* op = nullptr;
  const FormulaFunction* function = nullptr;
  int arguments = 0;  // commas seen so far
};

class Parser {
 public:
  Parser(std::string_view text, std::span<const Token> tokens, const FormulaNames& names)
      : text_(text), tokens_(tokens), names_(names), options_(*names.options) {
    for (std::size_t i = 0; i < options_.predictors.size(); ++i)
      predictors_.emplace(options_.predictors[i], i);
    for (std::size_t i = 0; i < names_.parameters->size(); ++i)
      parameters_.emplace((*names_.parameters)[i], i);
  }

  std::vector<FormulaStep> run() {
    bool operand_next = true;
    for (; at_ < tokens_.size(); ++at_) {
      operand_next = operand_next ? read_operand() : read_operator();
    }
    return std::move(steps_);
  }

 private:
  [[noreturn]] void fail(const std::string& message, const Token& token) const {
    throw FormulaError(message, std::string(text_), token.column);
  }

  const Token& token() const { return tokens_[at_]; }
  bool top_is(Pending::Kind kind) const { return !pending_.empty() && pending_.back().kind == kind; }

  // --- where an operand is expected; these return true if one is still expected afterwards ---

  bool read_operand() {
    switch (token().symbol) {
      case Symbol::number: emit({.op = Op::constant, .value = token().value}); return false;
      case Symbol::name: return read_name();
      case Symbol::open: push({.kind = Pending::parenthesis, .token = token()}); return true;
      case Symbol::close:
        if (at_ > 0 && tokens_[at_ - 1].symbol == Symbol::open) return close_empty();
        break;
      default: break;
    }
    if (const Operator* op = find(kPrefix, token().symbol)) {
      read_prefix(*op);
      return true;
    }
    fail_missing_operand();
  }

  void read_prefix(const Operator& op) {
    const bool inside_tighter = (top_is(Pending::binary) || top_is(Pending::prefix)) &&
                                pending_.back().op->binding > op.binding && op.binding == kNot;
    if (inside_tighter) fail("'!' binds more loosely than what stands before it: write (!...)", token());
    push({.kind = Pending::prefix, .token = token(), .op = &op});
  }

  [[noreturn]] void fail_missing_operand() const {
    const Token& here = token();
    if (here.symbol == Symbol::end) {
      if (at_ == 0) fail("the formula is empty", here);
      fail(fmt::format("the formula ends after '{}', where a number or a name is expected",
                       tokens_[at_ - 1].text),
           here);
    }
    if (here.symbol == Symbol::assign) fail("nothing stands before '='", here);
    if (at_ == 0) fail(fmt::format("a number or a name is expected before '{}'", here.text), here);
    fail(
        fmt::format("a number or a name is expected between '{}' and '{}'", tokens_[at_ - 1].text, here.text),
        here);
  }

  bool read_name() {
    const Token& name = token();
    if (tokens_.size() > at_ + 1 && tokens_[at_ + 1].symbol == Symbol::open) {
      push({.kind = Pending::call, .token = name, .function = &function(name)});
      ++at_;
      return true;
    }
    read_variable(name);
    return false;
  }

  const FormulaFunction& function(const Token& name) const {
    if (const FormulaFunction* found = find_function(name.text)) return *found;
    const std::string text(name.text);
    const std::string product = fmt::format("; for a product write {}*( )", text);
    const std::string_view kind = predictors_.contains(text)   ? "predictor"
                                  : parameters_.contains(text) ? "parameter"
                                  : text == options_.response  ? "response"
                                  : text == "pi"               ? "number"
                                                               : "";
    if (!kind.empty()) fail(fmt::format("'{}' is a {}, not a function{}", text, kind, product), name);
    const std::string suggestion = suggest_function(text);
    fail(fmt::format("there is no function '{}'{}", text, suggestion.empty() ? product : suggestion), name);
  }

  void read_variable(const Token& name) {
    const std::string text(name.text);
    if (const auto found = predictors_.find(text); found != predictors_.end()) {
      return emit({.op = Op::column, .index = static_cast<std::uint32_t>(found->second)});
    }
    if (text == "pi") return emit({.op = Op::constant, .value = std::numbers::pi});
    if (text == "if") fail("'if' is a function: write if(condition, a, b)", name);
    if (!text.empty() && text == options_.response) {
      if (!names_.left_side) {
        fail(fmt::format("'{}' is the response: it may stand on the left of '=' only", text), name);
      }
      return emit({.op = Op::column, .index = static_cast<std::uint32_t>(options_.predictors.size())});
    }
    read_parameter(name, text);
  }

  void read_parameter(const Token& name, const std::string& text) {
    if (names_.left_side) {
      fail(fmt::format("'{}' on the left of '=': only the response '{}' and predictors may stand there", text,
                       options_.response),
           name);
    }
    if (!options_.parameters_allowed || text[0] == '$') {
      if (find_function(text)) fail(fmt::format("'{0}' is a function: write {0}( )", text), name);
      fail(fmt::format("unknown name '{}'; known: {}", text, known_names()), name);
    }
    const auto [place, added] = parameters_.try_emplace(text, names_.parameters->size());
    if (added) names_.parameters->push_back(text);
    emit({.op = Op::parameter, .index = static_cast<std::uint32_t>(place->second)});
  }

  std::string known_names() const {
    constexpr std::size_t kShown = 20;
    const std::span<const std::string> all(options_.predictors);
    return fmt::format("{}{}{}", fmt::join(all.first(std::min(all.size(), kShown)), ", "),
                       all.empty() ? "" : ", ", all.size() > kShown ? "..., pi" : "pi");
  }

  bool close_empty() {
    if (!top_is(Pending::call)) fail("nothing stands between the parentheses", token());
    const FormulaFunction& f = *pending_.back().function;
    fail(fmt::format("{} takes {}, not 0", f.name, expected_arguments(f)), pending_.back().token);
  }

  // --- where an operator is expected ---

  bool read_operator() {
    const Token& here = token();
    if (const Operator* op = find(kBinary, here.symbol)) {
      read_binary(*op);
      return true;
    }
    switch (here.symbol) {
      case Symbol::close: close(); return false;
      case Symbol::comma: separate(); return true;
      case Symbol::end: finish(); return false;
      case Symbol::assign:  // the '=' between the two sides was removed before
        fail("a formula has one '=' at most: to compare write ==", here);
      default: fail_missing_operator();
    }
  }

  void read_binary(const Operator& op) {
    const bool from_right = op.binding == kPower;
    reduce_while([&](const Operator& waiting) {
      return waiting.binding > op.binding ||
             (waiting.binding == op.binding && !from_right && op.binding != kCompare);
    });
    if (op.binding == kCompare && top_is(Pending::binary) && pending_.back().op->binding == kCompare) {
      fail(fmt::format("comparisons do not chain: write (a {} b) && (b {} c)", pending_.back().token.text,
                       token().text),
           token());
    }
    push({.kind = Pending::binary, .token = token(), .op = &op});
  }

  [[noreturn]] void fail_missing_operator() const {
    const Token& before = tokens_[at_ - 1];
    const Token& here = token();
    if (before.symbol == Symbol::name && find_function(before.text)) {
      fail(fmt::format("'{0}' is a function: write {0}( )", before.text), before);
    }
    if (here.symbol == Symbol::logical_not)
      fail(fmt::format("'{}' needs an operator before it; for 'not equal' write !=", here.text), here);
    if (here.text == "if") fail("for a choice write if(condition, a, b)", here);
    const bool short_enough = before.text.size() + here.text.size() < 40 && before.symbol != Symbol::close;
    fail(fmt::format("an operator is missing before '{}'{}", here.text,
                     short_enough ? fmt::format(": write {}*{}", before.text, here.text) : ""),
         here);
  }

  void close() {
    reduce_while([](const Operator&) { return true; });
    if (pending_.empty()) fail("this ')' has no '('", token());
    const Pending opened = pending_.back();
    pop();
    if (opened.kind == Pending::call) call(opened);
  }

  void call(const Pending& opened) {
    const FormulaFunction& f = *opened.function;
    const int given = opened.arguments + 1;
    if (given < f.arguments || (given > f.arguments && !f.more_allowed)) {
      fail(fmt::format("{} takes {}, not {}", f.name, expected_arguments(f), given), opened.token);
    }
    const int repeats = f.more_allowed ? given - 1 : 1;
    for (int i = 0; i < repeats; ++i) emit({.op = f.op, .compound = f.compound});
  }

  void separate() {
    reduce_while([](const Operator&) { return true; });
    if (!top_is(Pending::call)) {
      fail("a ',' only separates the arguments of a function; the decimal mark is '.'", token());
    }
    ++pending_.back().arguments;
  }

  void finish() {
    reduce_while([](const Operator&) { return true; });
    if (!pending_.empty()) {
      const Pending& open = pending_.back();
      fail(open.kind == Pending::call ? fmt::format("a ')' is missing for this call of {}", open.token.text)
                                      : "a ')' is missing for this '('",
           open.token);
    }
  }

  // --- stacks ---

  template <class Condition>
  void reduce_while(Condition condition) {
    while ((top_is(Pending::binary) || top_is(Pending::prefix)) && condition(*pending_.back().op)) {
      const Operator& op = *pending_.back().op;
      pop();
      const bool does_nothing = op.symbol == Symbol::plus && op.binding == kSign;
      if (!does_nothing) emit({.op = op.op, .compound = op.compound});
    }
  }

  void push(Pending entry) {
    if (nests(entry) && ++depth_ > options_.limits.max_depth) {
      fail(fmt::format("the formula is nested deeper than {} levels", options_.limits.max_depth),
           entry.token);
    }
    pending_.push_back(entry);
  }

  void pop() {
    if (nests(pending_.back())) --depth_;
    pending_.pop_back();
  }

  // Only these can accumulate on the stack: a binary operator first reduces operators of its own precedence.
  static bool nests(const Pending& entry) {
    return entry.kind != Pending::binary || entry.op->binding == kPower;
  }

  void emit(const FormulaStep& step) {
    if (steps_.size() >= options_.limits.max_nodes) {
      fail(fmt::format("the formula has more than {} operations", options_.limits.max_nodes), token());
    }
    steps_.push_back(step);
  }

  std::string_view text_;
  std::span<const Token> tokens_;
  FormulaNames names_;
  const FormulaOptions& options_;
  std::unordered_map<std::string, std::size_t> predictors_, parameters_;
  std::vector<Pending> pending_;
  std::vector<FormulaStep> steps_;
  std::size_t depth_ = 0;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<FormulaStep> parse_expression(std::string_view text, std::span<const Token> tokens,
                                          const FormulaNames& names) {
  return Parser(text, tokens, names).run();
}

}  // namespace nlsq::inline v0
