// Implements choose_among_equals().
#include "models/guesses/equal_guesses.hpp"

#include "models/guesses/sample.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numbers>
#include <span>
#include <string>
#include <utility>

namespace nlsq::inline v0::guessing {
namespace {

constexpr double kLower = 1 - 1e-6;  // a ratio of sums of squares above this is rounding

using Term = std::vector<std::size_t>;  // the numbers of its parameters among the model's
using Pair = std::pair<Term, Term>;

std::size_t place_of(const Model& model, const std::string& name) {
  return static_cast<std::size_t>(std::ranges::find(model.parameters, name) - model.parameters.begin());
}

// Returns the parameters of a term of a sum. The constant that the terms share is none of them.
Term term_of_sum(const Model& model, const ModelTerm& term) {
  Term out;
  const std::string label = term.label + "_";
  for (std::size_t j = 0; j < model.parameters.size(); ++j)
    if (model.parameters[j].starts_with(label)) out.push_back(j);
  return out;
}

// Returns the pairs of terms of a sum that are of one model, or the two terms of a built-in model whose
// parameters end in 1 and 2, such as those of biexp.
std::vector<Pair> pairs_of(const Model& model) {
  std::vector<Pair> out;
  for (std::size_t a = 0; a < model.terms.size(); ++a) {
    for (std::size_t b = a + 1; b < model.terms.size(); ++b) {
      if (model.terms[a].model == model.terms[b].model)
        out.emplace_back(term_of_sum(model, model.terms[a]), term_of_sum(model, model.terms[b]));
    }
  }
  if (!model.terms.empty()) return out;
  Pair pair;
  for (std::size_t j = 0; j < model.parameters.size(); ++j) {
    std::string name = model.parameters[j];
    if (name.back() != '1') continue;
    name.back() = '2';
    const std::size_t other = place_of(model, name);
    if (other == model.parameters.size()) continue;
    pair.first.push_back(j);
    pair.second.push_back(other);
  }
  if (!pair.first.empty()) out.push_back(std::move(pair));
  return out;
}

// Changes the values of a model's parameters in such a way that the curve stays the same.
using Move = std::function<void(std::vector<double>&)>;

void add_exchange(Pair pair, std::vector<Move>& moves) {
  moves.push_back([pair = std::move(pair)](std::vector<double>& values) {
    for (std::size_t i = 0; i < pair.first.size(); ++i)
      std::swap(values[pair.first[i]], values[pair.second[i]]);
  });
}

// Adds the move that changes the sign of a wave, if the names with this prefix are those of one.
void add_half_period(const Model& model, const std::string& prefix, std::vector<Move>& moves) {
  const std::size_t a = place_of(model, prefix + "a"), phi = place_of(model, prefix + "phi");
  if (std::max(a, phi) == model.parameters.size()) return;
  moves.push_back([a, phi](std::vector<double>& values) {
    values[a] = -values[a];
    values[phi] += values[phi] > 0 ? -std::numbers::pi : std::numbers::pi;
  });
}

std::vector<Move> moves_of(const Model& model) {
  std::vector<Move> out;
  for (Pair& pair : pairs_of(model)) add_exchange(std::move(pair), out);
  for (const ModelTerm& term : model.terms) add_half_period(model, term.label + "_", out);
  if (model.terms.empty()) add_half_period(model, "", out);
  return out;
}

// Returns the weighted sum of squares of the formula on the sample.
double squares(const Formula& formula, const Sample& sample, const std::vector<double>& parameters) {
  const std::vector<const double*> x = {sample.x.data(), sample.x2.data()};
  std::vector<double> curve(sample.rows());
  formula.evaluate_rows(std::span(x).first(formula.predictors.size()), parameters, sample.rows(),
                        curve.data());
  double sum = 0;
  for (std::size_t i = 0; i < sample.rows(); ++i) {
    const double r = sample.weight_of(i) * (sample.y[i] - curve[i]);
    sum += r * r;
  }
  return std::isfinite(sum) ? sum : std::numeric_limits<double>::infinity();
}

}  // namespace

void choose_among_equals(const Model& model, const StartRule& rule, const Columns& x, const Column& y,
                         const GuessHints& hints, std::vector<double>& values) {
  std::vector<Move> moves = moves_of(model);
  const std::vector<double> guess = rule.converted(values);
  if (moves.empty() || rule.impose(guess) == guess) return;
  std::size_t outside = 0, unusable = 0;
  const Sample sample = Source(x, y, hints, Domain::all, kSharp).spread(outside, unusable);
  const auto moved = [](std::vector<double> from, const Move& move) {
    move(from);
    return from;
  };
  const double free = squares(*rule.formula, sample, guess);
  std::erase_if(moves, [&](const Move& move) {  // keeps those that leave the curve as it is
    return !(kLower * squares(*rule.formula, sample, rule.converted(moved(values, move))) <= free);
  });
  const auto imposed = [&](const std::vector<double>& of_model) {
    return squares(*rule.formula, sample, rule.impose(rule.converted(of_model)));
  };
  double least = imposed(values);
  bool lower = true;
  for (std::size_t round = 0; round < model.parameters.size() && lower; ++round) {
    lower = false;
    for (const Move& move : moves) {
      std::vector<double> tried = moved(values, move);
      const double now = imposed(tried);
      if (!(now < kLower * least)) continue;
      values = std::move(tried);
      least = now;
      lower = true;
    }
  }
}

}  // namespace nlsq::inline v0::guessing
