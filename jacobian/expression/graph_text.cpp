// Prints expressions. parse_formula can read the text if the formula language has all of its operations.
#include <nlsq/graph.hpp>

#include <fmt/format.h>

namespace nlsq::inline v0 {

namespace {

constexpr std::size_t kLongest = 1 << 16;  // limit in bytes; shared parts are written out each time, so the
                                           // text could grow exponentially

struct Infix {
  const char* text;
  int binding;  // precedence; higher binds tighter
};

constexpr int kNot = 3, kCompare = 4, kSum = 5, kProduct = 6, kSign = 7, kAtom = 9;

Infix infix(Op op) {
  switch (op) {
    case Op::logical_or: return {" || ", 1};
    case Op::logical_and: return {" && ", 2};
    case Op::less: return {" < ", kCompare};
    case Op::less_equal: return {" <= ", kCompare};
    case Op::equal: return {" == ", kCompare};
    case Op::not_equal: return {" != ", kCompare};
    case Op::add: return {" + ", kSum};
    case Op::sub: return {" - ", kSum};
    case Op::mul: return {"*", kProduct};
    case Op::div: return {"/", kProduct};
    case Op::neg: return {"-", kSign};
    case Op::logical_not: return {"!", kNot};
    default: return {nullptr, kAtom};
  }
}

// This is a piece of the text that is still to be written: a literal, or a node, in parentheses if its
// precedence is too low.
struct Task {
  const char* piece = nullptr;
  NodeId node = 0;
  int at_least = 0;
};

class Writer {
 public:
  Writer(const Graph& graph, std::span<const std::string> parameters, std::span<const std::string> columns)
      : g_(graph), parameters_(parameters), columns_(columns) {}

  std::string run(NodeId root) {
    tasks_.push_back({.node = root});
    while (!tasks_.empty()) {
      const Task task = tasks_.back();
      tasks_.pop_back();
      if (task.piece) out_ += task.piece;
      else write(task.node, task.at_least);
      if (out_.size() > kLongest) return out_ + "...";
    }
    return std::move(out_);
  }

 private:
  std::string named(std::span<const std::string> names, char letter, std::uint32_t index) const {
    return index < names.size() ? names[index] : fmt::format("{}{}", letter, index);
  }

  void write(NodeId id, int at_least) {
    const Node& node = g_[id];
    switch (node.op) {
      case Op::constant: out_ += fmt::format("{}", node.value); return;
      case Op::parameter: out_ += named(parameters_, 'p', node.index); return;
      case Op::column: out_ += named(columns_, 'x', node.index); return;
      case Op::unexplored: out_ += "unexplored"; return;
      default: break;
    }
    const Infix form = infix(node.op);
    if (!form.text) return write_call(node);
    const bool parentheses = form.binding < at_least;
    if (parentheses) out_ += '(';
    if (parentheses) tasks_.push_back({.piece = ")"});
    if (arity(node.op) == 1) {
      out_ += form.text;
      tasks_.push_back({.node = node.a, .at_least = form.binding});
      return;
    }
    // Comparisons do not chain; all other operators are left-associative.
    const bool compares = form.binding == kCompare;
    tasks_.push_back({.node = node.b, .at_least = form.binding + 1});
    tasks_.push_back({.piece = form.text});
    tasks_.push_back({.node = node.a, .at_least = form.binding + (compares ? 1 : 0)});
  }

  void write_call(const Node& node) {
    const NodeId operands[] = {node.a, node.b, node.c};
    const int count = arity(node.op);
    out_ += node.op == Op::select ? "if" : name(node.op);
    out_ += '(';
    tasks_.push_back({.piece = ")"});
    for (int i = count; i-- > 0;) {
      tasks_.push_back({.node = operands[i]});
      if (i > 0) tasks_.push_back({.piece = ", "});
    }
  }

  const Graph& g_;
  std::span<const std::string> parameters_, columns_;
  std::vector<Task> tasks_;
  std::string out_;
};

}  // namespace

std::string to_string(const Graph& graph, NodeId root, std::span<const std::string> parameters,
                      std::span<const std::string> columns) {
  return Writer(graph, parameters, columns).run(root);
}

}  // namespace nlsq::inline v0
