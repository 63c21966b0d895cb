// A camera moves along a row of points and is estimated in a sliding window: ten poses at a time, where each
// frame adds new points and removes old ones. An estimator on a robot repeatedly solves such problems.
//
//  Only this file uses the true poses and points. The estimator sees measurements: pixels, and motions
//  between frames.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace sliding_window {

inline constexpr int kWindow = 10;     // poses
inline constexpr int kNewPoints = 15;  // for each frame
inline constexpr int kTrack = 7;       // number of frames that see a point

// Rotates v by the rotation vector w (Rodrigues' formula).
template <class T>
void rotate(const T* w, const T* v, T* out) {
  using std::cos, std::sin, std::sqrt;
  const T cross[3] = {w[1] * v[2] - w[2] * v[1], w[2] * v[0] - w[0] * v[2], w[0] * v[1] - w[1] * v[0]};
  const T squared = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
  if (squared > 1e-20) {
    const T angle = sqrt(squared), c = cos(angle), s = sin(angle) / angle;
    const T along = (w[0] * v[0] + w[1] * v[1] + w[2] * v[2]) * (1.0 - c) / squared;
    for (int i = 0; i < 3; ++i) out[i] = c * v[i] + s * cross[i] + along * w[i];
  } else {
    for (int i = 0; i < 3; ++i) out[i] = v[i] + cross[i];
  }
}

// Measures the pixel at which a pose (rotation vector, translation; world to camera) sees a point. The focal
// length is 400.
struct Sight {
  static constexpr int residuals = 2;
  double u, v;
  template <class T>
  bool operator()(const T* pose, const T* point, T* r) const {
    T p[3];
    rotate(pose, point, p);
    for (int i = 0; i < 3; ++i) p[i] += pose[3 + i];
    r[0] = 400.0 * p[0] / p[2] - u;
    r[1] = 400.0 * p[1] / p[2] - v;
    return true;
  }
};

// Measures the motion between two frames: differences of rotation vectors and translations (small rotations).
struct Motion {
  static constexpr int residuals = 6;
  std::array<double, 6> moved;
  template <class T>
  bool operator()(const T* a, const T* b, T* r) const {
    for (std::size_t i = 0; i < 3; ++i) r[i] = 500.0 * (b[i] - a[i] - moved[i]);
    for (std::size_t i = 3; i < 6; ++i) r[i] = 50.0 * (b[i] - a[i] - moved[i]);
    return true;
  }
};

struct Drive {
  int frames = 0;
  std::array<double, 6> first{};           // the first pose
  std::vector<Motion> motions;             // from frame f to f + 1
  std::vector<std::vector<Sight>> sights;  // for each point: one for each frame that sees it, in order
  std::vector<double> depths;              // for each point: rough depth in the second frame that sees it
  static int first_frame(std::size_t point) { return static_cast<int>(point) / kNewPoints; }
};

// Simulates `frames` frames; `noise` is in pixels.
inline Drive drive(int frames, unsigned seed, double noise = 0.5) {
  std::mt19937 random(seed);
  const auto uniform = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random()) / 4294967296.0;
  };
  const auto normal = [&](double size) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    return size * sum;
  };
  Drive out;
  out.frames = frames;
  std::vector<std::array<double, 6>> truth;
  for (int f = 0; f < frames; ++f) {
    truth.push_back({0.02 * std::sin(0.3 * f) + 0.001, 0.05 * std::cos(0.2 * f), 0.01 * std::sin(0.5 * f),
                     -0.4 * f, 0.05 * std::sin(0.7 * f), 0});
  }
  out.first = truth[0];
  for (std::size_t f = 0; f + 1 < truth.size(); ++f) {
    Motion m{};
    for (std::size_t i = 0; i < 6; ++i)
      m.moved[i] = truth[f + 1][i] - truth[f][i] + normal(i < 3 ? 0.002 : 0.02);
    out.motions.push_back(m);
  }
  for (int f = 0; f < frames; ++f) {
    for (int k = 0; k < kNewPoints; ++k) {
      const double at[3] = {0.4 * (f + kTrack / 2) + uniform(-3, 3), uniform(-2, 2), uniform(4, 12)};
      std::vector<Sight> seen;
      for (int g = f; g < std::min(frames, f + kTrack); ++g) {
        double r[2];
        Sight{0, 0}(truth[static_cast<std::size_t>(g)].data(), at, r);
        seen.push_back({r[0] + normal(noise), r[1] + normal(noise)});
      }
      out.sights.push_back(std::move(seen));
      out.depths.push_back(at[2] + normal(0.3));
    }
  }
  return out;
}

// Moves the window along a drive, one frame at a time. `Estimator` has
//    add_pose(double*), add_point(double*), add(const Sight&, double* pose, double* point), add(const
//    Motion&, double* a, double* b), remove(double*) (of a pose or a point, with all that use it),
//    hold(double* pose), and double solve(): the cost.
//  A point is added when two frames of the window see it and removed when only one does. Returns the costs.
template <class Estimator>
class Window {
 public:
  Window(const Drive& drive, Estimator& estimator)
      : drive_(drive), estimator_(estimator), poses_(static_cast<std::size_t>(drive.frames)),
        points_(drive.sights.size()) {}

  std::vector<double> slide() {
    std::vector<double> costs;
    for (int f = 0; f < std::min(kWindow, drive_.frames); ++f) enter(f);
    for (int last = kWindow - 1; last < drive_.frames; ++last) {
      if (last >= kWindow) {
        leave(last - kWindow);
        enter(last);
      }
      estimator_.hold(pose(last - kWindow + 1));
      costs.push_back(estimator_.solve());
    }
    return costs;
  }

 private:
  double* pose(int f) { return poses_[static_cast<std::size_t>(f)].data(); }
  const Sight& sight(std::size_t p, int f) const {
    return drive_.sights[p][static_cast<std::size_t>(f - Drive::first_frame(p))];
  }

  void enter(int f) {
    poses_[static_cast<std::size_t>(f)] = drive_.first;
    for (std::size_t i = 0; f > 0 && i < 6; ++i)
      pose(f)[i] = pose(f - 1)[i] + drive_.motions[static_cast<std::size_t>(f) - 1].moved[i];
    estimator_.add_pose(pose(f));
    if (f > 0) estimator_.add(drive_.motions[static_cast<std::size_t>(f) - 1], pose(f - 1), pose(f));
    for (int g = std::max(0, f - kTrack + 1); g < f; ++g) {
      for (int k = 0; k < kNewPoints; ++k) {
        const auto p = static_cast<std::size_t>(g * kNewPoints + k);
        if (g == f - 1) begin_point(p, f);
        estimator_.add(sight(p, f), pose(f), points_[p].data());
      }
    }
  }

  // Places the point on the ray of the frame's pixel, at its rough depth.
  void begin_point(std::size_t p, int f) {
    const double d = drive_.depths[p], w[3] = {-pose(f)[0], -pose(f)[1], -pose(f)[2]};
    const double at[3] = {sight(p, f).u / 400 * d - pose(f)[3], sight(p, f).v / 400 * d - pose(f)[4],
                          d - pose(f)[5]};
    rotate(w, at, points_[p].data());
    estimator_.add_point(points_[p].data());
    estimator_.add(sight(p, f - 1), pose(f - 1), points_[p].data());
  }

  // Removes a pose, and the points that only the next pose still sees.
  void leave(int f) {
    const int first = f - kTrack + 2;
    for (int k = 0; first >= 0 && k < kNewPoints; ++k)
      estimator_.remove(points_[static_cast<std::size_t>(first * kNewPoints + k)].data());
    estimator_.remove(pose(f));
  }

  const Drive& drive_;
  Estimator& estimator_;
  std::vector<std::array<double, 6>> poses_;
  std::vector<std::array<double, 3>> points_;
};

template <class Estimator>
std::vector<double> slide(const Drive& drive, Estimator& estimator) {
  return Window<Estimator>(drive, estimator).slide();
}

}  // namespace sliding_window
