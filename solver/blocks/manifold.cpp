// Defines the built-in manifolds: subset, quaternion, sphere, line and products. Each computes x ⊞ δ and its
// Jacobian.
#include <nlsq/error.hpp>
#include <nlsq/manifold.hpp>

#include <cmath>
#include <string>

namespace nlsq::inline v0 {

Manifold::~Manifold() = default;

namespace {

int checked_size(int size) {
  if (size <= 0) throw ValidationError("a manifold has at least one number, not " + std::to_string(size));
  return size;
}

class Subset final : public Manifold {
 public:
  Subset(int size, const std::vector<int>& held) : size_(checked_size(size)) {
    for (const int place : held) {
      if (place < 0 || place >= size) {
        throw ValidationError("subset_manifold: place " + std::to_string(place) + " is not one of " +
                              std::to_string(size));
      }
    }
    for (int i = 0; i < size; ++i) {
      if (std::ranges::find(held, i) == held.end()) free_.push_back(i);
    }
  }
  int ambient() const override { return size_; }
  int tangent() const override { return static_cast<int>(free_.size()); }
  void plus(const double* x, const double* delta, double* out) const override {
    std::copy_n(x, size_, out);
    for (std::size_t k = 0; k < free_.size(); ++k) out[free_[k]] += delta[k];
  }
  void plus_jacobian(const double*, double* J) const override {
    std::fill_n(J, static_cast<std::size_t>(size_) * free_.size(), 0.0);
    for (std::size_t k = 0; k < free_.size(); ++k)
      J[static_cast<std::size_t>(free_[k]) * free_.size() + k] = 1;
  }

 private:
  int size_;
  std::vector<int> free_;
};

// This is the manifold of unit quaternions. `w` is the index of the real part. The imaginary parts start at
// index `v`.
template <int w, int v>
class Quaternion final : public Manifold {
 public:
  int ambient() const override { return 4; }
  int tangent() const override { return 3; }
  // exp(δ) = (cos|δ|, sin|δ| δ/|δ|).
  void plus(const double* x, const double* delta, double* out) const override {
    const double angle = std::hypot(delta[0], delta[1], delta[2]);
    if (angle == 0) {
      std::copy_n(x, 4, out);
      return;
    }
    const double s = std::sin(angle) / angle, c = std::cos(angle);
    const double a[3] = {s * delta[0], s * delta[1], s * delta[2]};
    const double xw = x[w], x0 = x[v], x1 = x[v + 1], x2 = x[v + 2];
    out[w] = c * xw - a[0] * x0 - a[1] * x1 - a[2] * x2;
    out[v] = c * x0 + a[0] * xw + a[1] * x2 - a[2] * x1;
    out[v + 1] = c * x1 - a[0] * x2 + a[1] * xw + a[2] * x0;
    out[v + 2] = c * x2 + a[0] * x1 - a[1] * x0 + a[2] * xw;
  }
  void plus_jacobian(const double* x, double* J) const override {
    const double xw = x[w], x0 = x[v], x1 = x[v + 1], x2 = x[v + 2];
    const double rows[4][3] = {{-x0, -x1, -x2}, {xw, x2, -x1}, {-x2, xw, x0}, {x1, -x0, xw}};
    for (int k = 0; k < 3; ++k) {
      J[w * 3 + k] = rows[0][k];
      for (int i = 0; i < 3; ++i) J[(v + i) * 3 + k] = rows[1 + i][k];
    }
  }
};

// Writes B, n x (n - 1) by rows: `scale` times an orthonormal basis of the complement of x. B holds columns 0
// ... n-2 of the Householder reflection H that maps x to its last axis: v = x + sign |x| e_last, H = I - 2 v
// vᵀ / vᵀv.
void orthogonal_basis(const double* x, std::size_t n, double scale, double* B) {
  double squared = 0;
  for (std::size_t i = 0; i < n; ++i) squared += x[i] * x[i];
  const double sign = x[n - 1] >= 0 ? 1 : -1, last = x[n - 1] + sign * std::sqrt(squared);
  const double vv = squared - x[n - 1] * x[n - 1] + last * last;
  for (std::size_t i = 0; i < n; ++i) {
    const double vi = i + 1 < n ? x[i] : last;
    for (std::size_t k = 0; k + 1 < n; ++k) {
      const double h = (i == k ? 1.0 : 0.0) - (vv > 0 ? 2 * vi * x[k] / vv : 0);
      B[i * (n - 1) + k] = scale * h;
    }
  }
}

double length_of(const double* x, std::size_t n) {
  double squared = 0;
  for (std::size_t i = 0; i < n; ++i) squared += x[i] * x[i];
  return std::sqrt(squared);
}

// Computes out += B delta.
void add_along(const std::vector<double>& B, std::size_t n, const double* delta, double scale, double* out) {
  for (std::size_t i = 0; i < n; ++i) {
    double along = 0;
    for (std::size_t k = 0; k + 1 < n; ++k) along += B[i * (n - 1) + k] * delta[k];
    out[i] += scale * along;
  }
}

// This is the manifold of a sphere: x ⊞ δ = cos|δ| x + (sin|δ|/|δ|) |x| B δ, where B is an orthonormal basis
// of the complement of x.
class Sphere final : public Manifold {
 public:
  explicit Sphere(int size) : size_(checked_size(size)) {
    if (size < 2) throw ValidationError("sphere_manifold: a sphere takes at least two numbers");
  }
  int ambient() const override { return size_; }
  int tangent() const override { return size_ - 1; }
  void plus(const double* x, const double* delta, double* out) const override {
    const auto n = static_cast<std::size_t>(size_);
    const double angle = length_of(delta, n - 1);
    if (angle == 0) {
      std::copy_n(x, n, out);
      return;
    }
    std::vector<double> basis(n * (n - 1));
    plus_jacobian(x, basis.data());
    for (std::size_t i = 0; i < n; ++i) out[i] = std::cos(angle) * x[i];
    add_along(basis, n, delta, std::sin(angle) / angle, out);
  }
  void plus_jacobian(const double* x, double* J) const override {
    const auto n = static_cast<std::size_t>(size_);
    orthogonal_basis(x, n, length_of(x, n), J);
  }

 private:
  int size_;
};

// This is the manifold of lines: (o, d) ⊞ (a, b) = (o + B a, d ⊞ b on the sphere), where B is an orthonormal
// basis of the complement of d.
class Line final : public Manifold {
 public:
  explicit Line(int size) : size_(checked_size(size)), direction_(size) {
    if (size < 2) throw ValidationError("line_manifold: lines are in a space of at least two dimensions");
  }
  int ambient() const override { return 2 * size_; }
  int tangent() const override { return 2 * (size_ - 1); }
  void plus(const double* x, const double* delta, double* out) const override {
    const auto n = static_cast<std::size_t>(size_);
    std::copy_n(x, n, out);
    if (length_of(delta, n - 1) > 0) {
      std::vector<double> basis(n * (n - 1));
      orthogonal_basis(x + n, n, 1, basis.data());
      add_along(basis, n, delta, 1, out);
    }
    direction_.plus(x + n, delta + n - 1, out + n);
  }
  void plus_jacobian(const double* x, double* J) const override {
    const auto n = static_cast<std::size_t>(size_), t = n - 1;
    std::vector<double> origin(n * t), direction(n * t);
    orthogonal_basis(x + n, n, 1, origin.data());
    direction_.plus_jacobian(x + n, direction.data());
    std::fill_n(J, 2 * n * 2 * t, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      std::copy_n(origin.data() + i * t, t, J + i * 2 * t);
      std::copy_n(direction.data() + i * t, t, J + (n + i) * 2 * t + t);
    }
  }

 private:
  int size_;
  Sphere direction_;
};

class Product final : public Manifold {
 public:
  explicit Product(std::vector<ManifoldPtr> parts) : parts_(std::move(parts)) {
    for (const ManifoldPtr& part : parts_) {
      if (!part) throw ValidationError("product_manifold: a part is missing");
      ambient_ += part->ambient();
      tangent_ += part->tangent();
    }
    checked_size(ambient_);
  }
  int ambient() const override { return ambient_; }
  int tangent() const override { return tangent_; }
  void plus(const double* x, const double* delta, double* out) const override {
    for (const ManifoldPtr& part : parts_) {
      part->plus(x, delta, out);
      x += part->ambient(), out += part->ambient(), delta += part->tangent();
    }
  }
  void plus_jacobian(const double* x, double* J) const override {
    const auto columns = static_cast<std::size_t>(tangent_);
    std::fill_n(J, static_cast<std::size_t>(ambient_) * columns, 0.0);
    std::size_t row = 0, column = 0;
    std::vector<double> own;
    for (const ManifoldPtr& part : parts_) {
      const auto a = static_cast<std::size_t>(part->ambient()), t = static_cast<std::size_t>(part->tangent());
      own.resize(a * t);
      part->plus_jacobian(x + row, own.data());
      for (std::size_t i = 0; i < a; ++i)
        std::copy_n(own.data() + i * t, t, J + (row + i) * columns + column);
      row += a, column += t;
    }
  }

 private:
  std::vector<ManifoldPtr> parts_;
  int ambient_ = 0, tangent_ = 0;
};

}  // namespace

ManifoldPtr subset_manifold(int size, const std::vector<int>& held) {
  return std::make_shared<Subset>(size, held);
}
ManifoldPtr quaternion_manifold() { return std::make_shared<Quaternion<0, 1>>(); }
ManifoldPtr eigen_quaternion_manifold() { return std::make_shared<Quaternion<3, 0>>(); }
ManifoldPtr sphere_manifold(int size) { return std::make_shared<Sphere>(size); }
ManifoldPtr line_manifold(int size) { return std::make_shared<Line>(size); }
ManifoldPtr euclidean_manifold(int size) { return std::make_shared<Subset>(size, std::vector<int>{}); }
ManifoldPtr product_manifold(std::vector<ManifoldPtr> parts) {
  return std::make_shared<Product>(std::move(parts));
}

}  // namespace nlsq::inline v0
