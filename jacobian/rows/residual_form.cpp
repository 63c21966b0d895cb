// Builds finished residuals as graph nodes and computes them in double.
#include "rows/residual_form.hpp"

#include <cmath>

namespace nlsq::inline v0 {

namespace {

constexpr double kTiny = 1e-15;  // below it, √(ln(1+u²))/|u| and similar terms are 1 in every format
constexpr double kHuge = 1e15;  // above it, √(1+u²) is |u| in every format; its square is still finite in f32
constexpr double kNearCount = 0.05;  // |f - y| / (f + y) below which a series is used; its next term is 8e-19

// Short names for building nodes.
struct Builder {
  Graph& g;
  NodeId number(double value) const { return g.constant(value); }
  NodeId call(Op op, NodeId a) const { return g.make(op, a); }
  NodeId sqrt(NodeId a) const { return call(Op::sqrt, a); }
  NodeId square(NodeId a) const { return g.mul(a, a); }
  NodeId inverse(NodeId a) const { return g.div(number(1), a); }
  NodeId choose(NodeId condition, NodeId yes, NodeId no) const {
    return g.make(Op::select, condition, yes, no);
  }
  NodeId less(NodeId a, double bound) const { return g.make(Op::less, a, number(bound)); }
};

// Computes r̃ and dr̃/dr, with u = r/C, z = u², ψ = ρ'(z) r. No formula divides 0 by 0, cancels, or overflows
// before r does, except that Cauchy can overflow earlier, which gives a visible infinity.
FinishedNodes robust(Graph& graph, NodeId r, const Loss& loss) {
  const Builder b{graph};
  const NodeId u = graph.mul(r, b.number(1 / loss.scale())), size = b.call(Op::abs, u), z = b.square(u),
               one = b.number(1);
  switch (loss.kind()) {
    case Loss::Kind::soft_l1: {
      const NodeId root = b.choose(b.less(size, kHuge), b.sqrt(graph.add(one, z)), size);
      const NodeId half = b.sqrt(graph.mul(b.number(0.5), graph.add(one, root)));
      return {graph.div(r, half), graph.div(half, root), {}};
    }
    case Loss::Kind::huber: {
      const NodeId beyond = graph.make(Op::max, size, one);
      const NodeId root = b.sqrt(graph.sub(graph.mul(b.number(2), beyond), one));
      return {graph.mul(r, graph.div(root, beyond)), b.inverse(root), {}};
    }
    case Loss::Kind::cauchy:
    case Loss::Kind::arctan: {
      const bool cauchy = loss.kind() == Loss::Kind::cauchy;
      const NodeId rho = b.call(cauchy ? Op::log1p : Op::atan, z);
      const NodeId share = b.choose(b.less(size, kTiny), one, graph.div(b.sqrt(rho), size));
      const NodeId fall = graph.add(one, cauchy ? z : b.square(z));
      return {graph.mul(r, share), b.inverse(graph.mul(fall, share)), {}};
    }
    case Loss::Kind::tukey: {
      const NodeId within = graph.make(Op::min, z, one);
      const NodeId cubic = graph.add(graph.sub(one, within), graph.mul(b.number(1.0 / 3), b.square(within)));
      const NodeId root = b.sqrt(cubic);
      return {graph.mul(r, graph.div(root, graph.make(Op::max, size, one))),
              graph.div(b.square(graph.sub(one, within)), root),
              {}};
    }
    case Loss::Kind::linear:
    case Loss::Kind::poisson:
    case Loss::Kind::own: break;
  }
  return {r, one, {}};
}

// Builds the columns [J, 1, ψ', r, beyond | ψ] (ResidualForm::for_covariance).
FinishedNodes robust_covariance(Graph& graph, NodeId r, const Loss& loss) {
  const Builder b{graph};
  const NodeId u = graph.mul(r, b.number(1 / loss.scale())), size = b.call(Op::abs, u), z = b.square(u),
               one = b.number(1);
  const NodeId beyond = graph.make(Op::less, one, size);
  NodeId weight = one, slope = one;  // ρ' and ψ' = ρ' + 2zρ''
  switch (loss.kind()) {
    case Loss::Kind::soft_l1:
      weight = b.inverse(b.sqrt(graph.add(one, z)));
      slope = graph.mul(weight, b.square(weight));
      break;
    case Loss::Kind::huber:
      weight = b.inverse(graph.make(Op::max, size, one));
      slope = graph.sub(one, beyond);
      break;
    case Loss::Kind::cauchy:
      weight = b.inverse(graph.add(one, z));
      slope = graph.mul(graph.sub(graph.mul(b.number(2), weight), one), weight);  // (1 - z)/(1 + z)²
      break;
    case Loss::Kind::arctan:
      weight = b.inverse(graph.add(one, b.square(z)));
      slope =
          graph.mul(graph.sub(graph.mul(b.number(4), weight), b.number(3)), weight);  // (1 - 3z²)/(1 + z²)²
      break;
    case Loss::Kind::tukey: {
      const NodeId within = graph.make(Op::min, z, one), rest = graph.sub(one, within);
      weight = b.square(rest);
      slope = graph.mul(rest, graph.sub(one, graph.mul(b.number(5), within)));
      break;
    }
    case Loss::Kind::linear:
    case Loss::Kind::poisson:
    case Loss::Kind::own: break;
  }
  return {graph.mul(r, weight), one, {one, slope, r, beyond}};
}

// Builds the signed deviance residual r̃ = sign(f - y) √(2(y ln(y/f) - y + f)) and its slope √y/(f √q). With
// t = (f - y)/y and q = 2(t - ln(f/y))/t², r̃ = (f - y) √q/√y. Near t = 0 a series gives q: with s = t/(2+t),
// ln(1+t) = 2 artanh s, and q = (1 - s) - (1 - s)² (s/3 + s³/5 + s⁵/7 + ...). At y = 0, r̃ = √(2f).
FinishedNodes deviance(Graph& graph, NodeId f, NodeId y) {
  const Builder b{graph};
  const NodeId one = b.number(1), difference = graph.sub(f, y), positive = b.choose(y, y, one);
  const NodeId t = graph.div(difference, positive), s = graph.div(difference, graph.add(f, y)),
               s2 = b.square(s);
  NodeId series = b.number(1.0 / 13);
  for (const double c : {1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3})
    series = graph.add(graph.mul(series, s2), b.number(c));
  const NodeId rest = graph.sub(one, s);
  const NodeId near = graph.sub(rest, graph.mul(b.square(rest), graph.mul(s, series)));
  const NodeId far =
      graph.div(graph.mul(b.number(2), graph.sub(t, b.call(Op::log, graph.div(f, positive)))), b.square(t));
  const NodeId root = b.sqrt(b.choose(b.less(b.call(Op::abs, s), kNearCount), near, far));
  const NodeId root_y = b.sqrt(positive), of_zero = b.sqrt(graph.mul(b.number(2), f));
  return {b.choose(y, graph.mul(graph.div(difference, root_y), root), of_zero),
          b.choose(y, graph.div(root_y, graph.mul(f, root)), b.inverse(of_zero)),
          {}};
}

// Builds the columns J/√f | (f - y)/√f.
FinishedNodes fisher(Graph& graph, NodeId f, NodeId y) {
  const NodeId slope = graph.div(graph.constant(1), graph.make(Op::sqrt, f));
  return {graph.mul(graph.sub(f, y), slope), slope, {}};
}

// Returns (y ln(y/f) - y + f) / y. If terms would cancel, it uses the series of t - ln(1+t).
double excess(double f, double y) {
  const double t = (f - y) / y;
  if (std::fabs(t) > 0.1) return t - std::log(f / y);
  double sum = 0;
  for (int k = 18; k >= 2; --k) sum = sum * -t + 1.0 / k;
  return t * t * sum;
}

FinishedNumber deviance(double f, double y) {
  if (y == 0) return {std::sqrt(2 * f), 1 / std::sqrt(2 * f)};
  const double size = std::sqrt(2 * y * excess(f, y)), residual = std::copysign(size, f - y);
  return {residual, f == y ? 1 / std::sqrt(y) : (f - y) / (f * residual)};
}

FinishedNumber robust(double r, const Loss& loss, bool for_covariance) {
  const auto [rho, slope] = loss(r * r);
  if (for_covariance) {
    return {r * slope,
            1,
            {1, slope + 2 * r * r * loss.curvature(r * r), r, std::fabs(r) > loss.scale() ? 1.0 : 0.0}};
  }
  if (std::fabs(r) < 1e-150 * loss.scale()) return {r, 1};  // the square of r underflows
  const double size = std::sqrt(rho);
  return {std::copysign(size, r), size > 0 ? slope * std::fabs(r) / size : slope};
}

}  // namespace

NodeId effective_variance(Graph& graph, NodeId difference, int predictors, const ResidualForm& form) {
  const int first = predictors + 1 + (form.weighted ? 1 : 0);
  NodeId variance = graph.constant(0);
  if (form.weighted) {
    const NodeId sigma = graph.column(predictors + 1);
    variance = graph.mul(sigma, sigma);
  }
  for (std::size_t k = 0; k < form.x_errors.size(); ++k) {
    const NodeId shift = graph.mul(differentiate_column(graph, difference, form.x_errors[k]),
                                   graph.column(first + static_cast<int>(k)));
    variance = graph.add(variance, graph.mul(shift, shift));
  }
  return variance;
}

NodeId base_residual(Graph& graph, NodeId model, NodeId response, int predictors, const ResidualForm& form) {
  if (form.loss.is_counts()) return model;
  const NodeId difference = graph.sub(model, response);
  if (form.x_errors.empty()) {
    // Multiplies by the reciprocal, so that the derivatives need no division.
    if (!form.weighted) return difference;
    return graph.mul(difference, graph.div(graph.constant(1), graph.column(predictors + 1)));
  }
  return graph.div(difference, graph.make(Op::sqrt, effective_variance(graph, difference, predictors, form)));
}

FinishedNodes finish_residual(Graph& graph, NodeId base, NodeId response, const ResidualForm& form) {
  if (form.loss.is_counts())
    return form.for_covariance ? fisher(graph, base, response) : deviance(graph, base, response);
  if (form.loss.is_robust())
    return form.for_covariance ? robust_covariance(graph, base, form.loss) : robust(graph, base, form.loss);
  return {base, graph.constant(1), {}};
}

FinishedNumber finish_residual(double base, double response, const ResidualForm& form) {
  if (form.loss.is_counts()) {
    if (!form.for_covariance) return deviance(base, response);
    return {(base - response) / std::sqrt(base), 1 / std::sqrt(base)};
  }
  if (form.loss.is_robust()) return robust(base, form.loss, form.for_covariance);
  return {base, 1};
}

}  // namespace nlsq::inline v0
