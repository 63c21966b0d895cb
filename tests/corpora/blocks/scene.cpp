// Makes losses, derivatives and problems from scenes.
#include "scene.hpp"

#include <cmath>

namespace blocks {

std::array<Real, 3> LossSpec::operator()(Real s) const {
  const Real a2 = Real(a) * a;
  switch (kind) {
    case Kind::none: return {s, 1, 0};
    case Kind::huber: {
      if (s <= a2) return {s, 1, 0};
      const Real r = std::sqrt(s);
      return {2 * a * r - a2, a / r, -a / (2 * s * r)};
    }
    case Kind::soft_l1: {
      const Real t = 1 + s / a2, root = std::sqrt(t);
      // This is √t - 1 without cancellation, for residuals that are nearly zero.
      return {2 * s / (root + 1), 1 / root, -1 / (2 * a2 * t * root)};
    }
    case Kind::cauchy: {
      const Real t = 1 + s / a2;
      return {a2 * std::log1p(s / a2), 1 / t, -1 / (a2 * t * t)};
    }
    case Kind::arctan: {  // a² atan(s / a²)
      const Real z = s / a2, t = 1 + z * z;
      return {a2 * std::atan(z), 1 / t, -2 * z / (a2 * t * t)};
    }
    case Kind::tukey: {
      if (s > a2) return {a2 / 3, 0, 0};
      const Real t = 1 - s / a2;
      return {s * (1 + t + t * t) / 3, t * t, -2 * t / a2};  // a²/3 (1 - t³)
    }
    case Kind::tolerant: {
      const Real x = (s - a) / b, c = b * std::log1p(std::exp(-Real(a) / b));
      const Real soft = x > 40 ? s - a : b * std::log1p(std::exp(x)), e = 1 / (1 + std::exp(-x));
      return {soft - c, e, e * (1 - e) / b};
    }
  }
  return {s, 1, 0};
}

nlsq::Loss LossSpec::ours() const {
  switch (kind) {
    case Kind::none: return {};
    case Kind::huber: return nlsq::Loss::huber(a);
    case Kind::soft_l1: return nlsq::Loss::soft_l1(a);
    case Kind::cauchy: return nlsq::Loss::cauchy(a);
    case Kind::arctan: return nlsq::Loss::arctan(a);
    case Kind::tukey: return nlsq::Loss::tukey(a);
    case Kind::tolerant: break;
  }
  return nlsq::Loss::own([theirs = std::make_shared<ceres::TolerantLoss>(a, b)](double s) {
    double rho[3];
    theirs->Evaluate(s, rho);
    return nlsq::Loss::Value{rho[0], rho[1]};
  });
}

ceres::LossFunction* LossSpec::theirs() const {
  switch (kind) {
    case Kind::none: return nullptr;
    case Kind::huber: return new ceres::HuberLoss(a);
    case Kind::soft_l1: return new ceres::SoftLOneLoss(a);
    case Kind::cauchy: return new ceres::CauchyLoss(a);
    case Kind::arctan: return new ceres::ArctanLoss(a * a);  // Ceres's form is a atan(s / a)
    case Kind::tukey: return new ceres::TukeyLoss(a);
    case Kind::tolerant: return new ceres::TolerantLoss(a, b);
  }
  return nullptr;
}

const char* name(LossSpec::Kind kind) {
  constexpr const char* names[] = {"none", "huber", "soft_l1", "cauchy", "arctan", "tukey", "tolerant"};
  return names[static_cast<std::size_t>(kind)];
}

bool detail::faulty_derivatives(const Term& inner, std::span<const int> sizes, const Lie& lie,
                                const double* const* x, double* r, double* const* J) {
  std::vector<std::vector<Real>> wide;
  std::vector<const Real*> at;
  int inputs = 0;
  for (std::size_t k = 0; k < sizes.size(); inputs += sizes[k++]) wide.emplace_back(x[k], x[k] + sizes[k]);
  for (const auto& w : wide) at.push_back(w.data());
  std::vector<Real> values(static_cast<std::size_t>(inner.residuals)),
      D(values.size() * static_cast<std::size_t>(inputs));
  if (!inner.value(x, r) || !inner.derivatives(at.data(), values.data(), D.data())) return false;
  for (int i = 0; i < inner.residuals; ++i) {
    for (int k = 0, j = 0; k < static_cast<int>(sizes.size()); ++k) {
      const int size = sizes[static_cast<std::size_t>(k)];
      for (int l = 0; l < size; ++l, ++j) {
        if (J[k] == nullptr) continue;
        const double slope = static_cast<double>(D[static_cast<std::size_t>(i * inputs + j)]);
        J[k][i * size + l] = j == lie.number ? lie.factor * slope : slope;
      }
    }
  }
  return true;
}

int Scene::block(const std::vector<double>& start, Shape shape) {
  blocks_.push_back({.first = start_.size(),
                     .size = static_cast<int>(start.size()),
                     .shape = shape,
                     .held = {},
                     .lower = {},
                     .upper = {}});
  start_.insert(start_.end(), start.begin(), start.end());
  return static_cast<int>(blocks_.size()) - 1;
}

void Scene::bound(int id, int number, double lower, double upper) {
  Block& block = blocks_[static_cast<std::size_t>(id)];
  if (block.lower.empty()) {
    block.lower.assign(static_cast<std::size_t>(block.size), -kNone);
    block.upper.assign(static_cast<std::size_t>(block.size), kNone);
  }
  block.lower[static_cast<std::size_t>(number)] = lower;
  block.upper[static_cast<std::size_t>(number)] = upper;
}

int Scene::residuals() const {
  int count = 0;
  for (const auto& term : terms_) count += term->residuals;
  return count;
}

double Scene::cost(const std::vector<double>& x) const {
  double sum = 0;
  std::vector<double> r;
  std::vector<const double*> at;
  for (const auto& term : terms_) {
    at.clear();
    for (const int id : term->blocks) at.push_back(x.data() + blocks_[static_cast<std::size_t>(id)].first);
    r.assign(static_cast<std::size_t>(term->residuals), 0);
    if (!term->value(at.data(), r.data())) return kNone;
    double squares = 0;
    for (const double v : r) squares += v * v;
    sum += 0.5 * static_cast<double>(term->loss(squares)[0]);
  }
  return sum;
}

nlsq::Problem Scene::ours(double* x) const {
  nlsq::Problem problem;
  for (const Block& b : blocks_) {
    double* const at = x + b.first;
    nlsq::ManifoldPtr manifold;
    if (b.shape == Shape::quaternion) manifold = nlsq::quaternion_manifold();
    if (b.shape == Shape::eigen_quaternion) manifold = nlsq::eigen_quaternion_manifold();
    if (b.shape == Shape::sphere) manifold = nlsq::sphere_manifold(b.size);
    if (!b.held.empty()) manifold = nlsq::subset_manifold(b.size, b.held);
    problem.add_parameter_block(at, b.size, manifold);
    if (b.constant) problem.set_constant(at);
    for (int i = 0; i < static_cast<int>(b.lower.size()); ++i) {
      problem.set_lower_bound(at, i, b.lower[static_cast<std::size_t>(i)]);
      problem.set_upper_bound(at, i, b.upper[static_cast<std::size_t>(i)]);
    }
  }
  for (const auto& term : terms_) {
    std::vector<nlsq::BlockRef> refs;
    for (const int id : term->blocks) refs.emplace_back(x + blocks_[static_cast<std::size_t>(id)].first);
    problem.add_residual_block(term->ours(), term->loss.ours(), refs);
  }
  return problem;
}

std::unique_ptr<ceres::Problem> Scene::theirs(double* x, bool recordable) const {
  auto problem = std::make_unique<ceres::Problem>();
  for (const Block& b : blocks_) {
    double* const at = x + b.first;
    problem->AddParameterBlock(at, b.size);
    if (b.shape == Shape::quaternion) problem->SetManifold(at, new ceres::QuaternionManifold);
    if (b.shape == Shape::eigen_quaternion) problem->SetManifold(at, new ceres::EigenQuaternionManifold);
    if (b.shape == Shape::sphere) problem->SetManifold(at, new ceres::SphereManifold<3>);
    if (!b.held.empty()) problem->SetManifold(at, new ceres::SubsetManifold(b.size, b.held));
    if (b.constant) problem->SetParameterBlockConstant(at);
    for (int i = 0; i < static_cast<int>(b.lower.size()); ++i) {
      const double lower = b.lower[static_cast<std::size_t>(i)], upper = b.upper[static_cast<std::size_t>(i)];
      if (lower > -kNone) problem->SetParameterLowerBound(at, i, lower);
      if (upper < kNone) problem->SetParameterUpperBound(at, i, upper);
    }
  }
  for (const auto& term : terms_) {
    std::vector<double*> at;
    for (const int id : term->blocks) at.push_back(x + blocks_[static_cast<std::size_t>(id)].first);
    problem->AddResidualBlock(term->theirs(recordable), term->loss.theirs(), at);
  }
  return problem;
}

}  // namespace blocks
