// Parses ties between parameters and substitutes them into models.
#include "expression/ties.hpp"

#include "expression/graph_walk.hpp"

#include <nlsq/error.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::inline v0 {

namespace {

int index_of(const std::vector<std::string>& names, const std::string& name, const std::string& tie) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    throw ValidationError(fmt::format("tie '{}': the model has no parameter '{}'; its parameters are {}", tie,
                                      name, fmt::join(names, ", ")));
  }
  return static_cast<int>(found - names.begin());
}

}  // namespace

std::vector<double> Ties::Tie::values(std::span<const double> p) const {
  std::vector<double> out;
  for (const int j : arguments) out.push_back(p[static_cast<std::size_t>(j)]);
  return out;
}

Ties::Ties(const std::vector<std::string>& names, const std::vector<std::string>& texts,
           const std::vector<std::string>& fixed) {
  std::vector<Tie> given;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos)
      throw ValidationError(fmt::format("tie '{}': write parameter = expression, as in d = 2*a", text));
    Tie tie;
    const std::string name(tied_name(text));
    tie.parameter = index_of(names, name, text);
    if (std::ranges::find(fixed, name) != fixed.end())
      throw ValidationError(fmt::format("tie '{}': '{}' is fixed, too: do one or the other", text, name));
    if (std::ranges::find(given, tie.parameter, &Tie::parameter) != given.end())
      throw ValidationError(fmt::format("tie '{}': '{}' is tied twice", text, name));
    tie.expression =
        parameter_expression(std::string_view(text).substr(equals + 1), fmt::format("tie '{}'", text));
    for (const std::string& argument : tie.expression.formula.parameters)
      tie.arguments.push_back(index_of(names, argument, text));
    given.push_back(std::move(tie));
  }
  // Repeatedly adds a tie whose arguments are all available.
  while (!given.empty()) {
    const auto ready = std::ranges::find_if(given, [&](const Tie& tie) {
      return std::ranges::none_of(
          tie.arguments, [&](int j) { return std::ranges::find(given, j, &Tie::parameter) != given.end(); });
    });
    if (ready == given.end()) {
      const Tie& tie = given.front();
      const auto name = [&](int j) { return names[static_cast<std::size_t>(j)]; };
      throw ValidationError(
          fmt::format("ties: '{}' depends on itself, directly or through other ties ({} = {})",
                      name(tie.parameter), name(tie.parameter), tie.expression.formula.text));
    }
    ties_.push_back(std::move(*ready));
    given.erase(ready);
  }
}

const Ties::Tie* Ties::find(int parameter) const {
  const auto found = std::ranges::find(ties_, parameter, &Tie::parameter);
  return found == ties_.end() ? nullptr : &*found;
}

std::string Ties::expression(int parameter) const {
  const Tie* tie = find(parameter);
  return tie ? tie->expression.formula.text : std::string();
}

void Ties::apply(std::span<double> p) const {
  for (const Tie& tie : ties_)
    p[static_cast<std::size_t>(tie.parameter)] = tie.expression.formula.evaluate({}, tie.values(p));
}

std::vector<double> Ties::slopes(std::span<const double> p, std::span<const int> free) const {
  const std::size_t n = free.size();
  std::vector<double> out(p.size() * n, 0.0);
  for (std::size_t k = 0; k < n; ++k) out[static_cast<std::size_t>(free[k]) * n + k] = 1;
  for (const Tie& tie : ties_) {
    const std::vector<double> values = tie.values(p);
    for (std::size_t a = 0; a < values.size(); ++a) {
      const double slope = evaluate(tie.expression.formula.graph, tie.expression.derivatives[a], {}, values);
      for (std::size_t k = 0; k < n; ++k) {
        out[static_cast<std::size_t>(tie.parameter) * n + k] +=
            slope * out[static_cast<std::size_t>(tie.arguments[a]) * n + k];
      }
    }
  }
  return out;
}

// Replaces each tied parameter by the steps of its expression. The graph is then built from the steps as if
// the formula had been typed that way.
Formula Ties::put_into(Formula model) const {
  if (empty()) return model;
  std::vector<std::vector<FormulaStep>> expressions;
  const auto steps_of = [&](std::size_t j) {
    const Tie* tie = find(static_cast<int>(j));
    return tie ? expressions[static_cast<std::size_t>(tie - ties_.data())] : std::vector{parameter_step(j)};
  };
  for (const Tie& tie : ties_) {
    expressions.push_back(with_replaced_parameters(tie.expression.formula.steps, [&](std::size_t k) {
      return steps_of(static_cast<std::size_t>(tie.arguments[k]));
    }));
  }
  model.replace_model(with_replaced_parameters(model.steps, steps_of));
  return model;
}

ModelFunction Ties::put_into(ModelFunction model) const {
  if (empty()) return model;
  ModelFunction out = model;
  out.value = [ties = *this, f = model.value](const double* x, std::span<const double> p) {
    std::vector<double> all(p.begin(), p.end());
    ties.apply(all);
    return f(x, all);
  };
  if (model.trace) {
    out.trace = [ties = *this, f = model.trace](const Traced* x, std::span<const Traced> p) {
      std::vector<Traced> all(p.begin(), p.end());
      for (const Tie& tie : ties.ties_) {
        std::vector<Traced> arguments;
        for (const int j : tie.arguments) arguments.push_back(all[static_cast<std::size_t>(j)]);
        all[static_cast<std::size_t>(tie.parameter)] = walk_graph<Traced>(
            tie.expression.formula.graph, tie.expression.formula.model,
            [&](const Node& leaf) { return arguments[leaf.index]; }, record_op);
      }
      return f(x, all);
    };
  }
  if (model.dual) {
    out.dual = [ties = *this, f = model.dual](const double* x, std::span<const Dual8> p) {
      std::vector<Dual8> all(p.begin(), p.end());
      std::vector<double> values;
      for (const Dual8& d : all) values.push_back(d.value());
      for (const Tie& tie : ties.ties_) {  // the chain rule
        const std::vector<double> arguments = tie.values(values);
        const double value = tie.expression.formula.evaluate({}, arguments);
        Dual8::Derivatives derivatives{};
        for (std::size_t a = 0; a < arguments.size(); ++a) {
          const double slope =
              evaluate(tie.expression.formula.graph, tie.expression.derivatives[a], {}, arguments);
          for (int k = 0; k < kDualWidth; ++k) {
            derivatives[static_cast<std::size_t>(k)] +=
                slope * all[static_cast<std::size_t>(tie.arguments[a])].derivative(k);
          }
        }
        values[static_cast<std::size_t>(tie.parameter)] = value;
        all[static_cast<std::size_t>(tie.parameter)] = Dual8(value, derivatives);
      }
      return f(x, all);
    };
  }
  return out;
}

}  // namespace nlsq::inline v0
