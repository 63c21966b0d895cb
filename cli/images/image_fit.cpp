// Implements fit_image(): pixels in chunks, from their own guesses or from neighbours' answers.
#include "images/image_fit.hpp"

#include "arguments/arguments.hpp"
#include "images/neighbours.hpp"
#include "progress.hpp"
#include "report/row_places.hpp"

#include <nlsq/curve_fit_batch.hpp>
#include <nlsq/evaluate.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

namespace nlsq::cli {

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t kChunk = 8192;  // pixels that are copied and fitted together
constexpr double kExplains = 0.5;     // largest share of the scatter that a neighbour's curve may leave
constexpr double kUnusual = 3;        // standard deviations of a cost
constexpr double kPattern = 2;        // standard deviations of a correlation of residuals
constexpr double kRounding = 1e-20;   // share of the scatter; a cost below it consists of rounding errors

using Pixels = std::vector<std::uint32_t>;

// Returns half the sum of squares about the mean, weighted by sigma.
double scatter_of(const double* y, const double* sigma, std::size_t points) {
  double weights = 0, mean = 0, sum = 0;
  const auto weight = [&](std::size_t i) { return sigma == nullptr ? 1 : 1 / (sigma[i] * sigma[i]); };
  for (std::size_t i = 0; i < points; ++i) weights += weight(i), mean += weight(i) * y[i];
  mean /= weights;
  for (std::size_t i = 0; i < points; ++i) sum += weight(i) * (y[i] - mean) * (y[i] - mean);
  return sum / 2;
}

// Returns the correlation of residuals that follow one another in x, in standard deviations of that of pure
// noise. If a curve misses a feature of the data, residuals beside each other have the same sign.
double residual_pattern(std::span<const std::size_t> order, const double* y, const double* sigma,
                        std::span<const double> curve) {
  double products = 0, squares = 0, last = 0;
  for (const std::size_t i : order) {
    const double r = (y[i] - curve[i]) / (sigma == nullptr ? 1 : sigma[i]);
    products += r * last;
    squares += r * r;
    last = r;
  }
  return squares > 0 ? products / squares * std::sqrt(static_cast<double>(order.size())) : 0;
}

class ImageFit {
 public:
  ImageFit(const Image& image, const ModelChoice& choice, const NamedValues& p0, const GroupOptions& options)
      : image_(image), choice_(choice), p0_(p0), options_(options), model_(choice.prepared()),
        neighbours_(image) {
    const std::size_t pixels = image.pixels(), n = model_.parameter_names().size();
    out_.parameter_names = model_.parameter_names();
    out_.parameters = Matrix(pixels, n, kNaN);
    out_.standard_errors = Matrix(pixels, n, kNaN);
    for (std::size_t j = 0; j < n && !options.bounds.empty(); ++j) {
      if (std::isfinite(options.bounds.lower[j]) || std::isfinite(options.bounds.upper[j]))
        out_.at_bound[out_.parameter_names[j]].assign(pixels, 0);
    }
    out_.cost.assign(pixels, kNaN);
    out_.status.assign(pixels, kMasked);
    out_.from_neighbour.assign(pixels, 0);
    order_.resize(image.points);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {}, [&](std::size_t i) { return image.x[0][i]; });
    const double free = static_cast<double>(n - std::min(n, options.fixed.size()));
    const double dof = std::max(1.0, static_cast<double>(image.points) - free);
    stands_out_ = 1 + kUnusual * std::sqrt(2 / dof);
  }

  ImageFits run() {
    Pixels all;
    for (std::size_t p = 0; p < image_.pixels(); ++p)
      if (image_.is_fitted(p)) all.push_back(static_cast<std::uint32_t>(p));
    std::optional<ProgressPart> part(std::in_place, "fitting pixels", all.size());
    if (!neighbours_serve()) {
      from_own_guess(all);
      return std::move(out_);
    }
    const Pixels& chosen = neighbours_.chosen();
    from_own_guess(chosen);
    for (const std::uint32_t p : chosen) {
      if (certain(out_.status[p]))
        neighbours_.add(model_, p, {&out_.parameters(p, 0), out_.parameter_names.size()}, out_.cost[p]);
    }
    Pixels others, uncertain;
    std::ranges::set_difference(all, chosen, std::back_inserter(others));
    from_neighbours(others, kExplains);
    std::ranges::copy_if(others, std::back_inserter(uncertain), [&](std::uint32_t p) {
      return !certain(out_.status[p]) || stands_out(p) || patterned_[p] != 0;
    });
    part.emplace("fitting pixels again", uncertain.size());
    from_own_guess(uncertain);
    uncertain.clear();
    std::ranges::copy_if(all, std::back_inserter(uncertain),
                         [&](std::uint32_t p) { return !is_success(out_.status[p]) || stands_out(p); });
    part.emplace("fitting pixels from neighbours", uncertain.size());
    from_neighbours(uncertain, std::numeric_limits<double>::infinity());
    return std::move(out_);
  }

 private:
  // Returns true if answers of neighbours can be starts. They cannot if a parameter is held at its guess,
  // which differs from pixel to pixel, because curve_fit_batch has one start. They cannot for a formula with
  // a left side either, because it has no curve that could be compared with y.
  bool neighbours_serve() const {
    const bool own_values =
        std::ranges::any_of(options_.fixed, [&](const std::string& name) { return !has_value(p0_, name); });
    return options_.starts == 1 && !own_values && !choice_.formula.has_left_side;
  }

  // Returns true if the result needs no further fit. RANK_DEFICIENT counts only after a fit from the pixel's
  // own guess.
  static bool certain(PixelStatus status) {
    return status == status_of(Verdict::converged) || status == status_of(Verdict::noise_floor);
  }
  bool is_rounding(std::uint32_t p) const { return !(out_.cost[p] > kRounding * scatter_[p]); }
  bool stands_out(std::uint32_t p) const {
    return out_.cost[p] > stands_out_ * neighbours_.usual_cost(p) && !is_rounding(p);
  }

  // Calls fit(part) for parts of about kChunk pixels. The parts have nearly equal sizes, so that none has too
  // few pixels for lanes.
  template <class Fit>
  void in_chunks(const Pixels& pixels, Fit fit) {
    const std::size_t chunks = std::max<std::size_t>(1, pixels.size() / kChunk);
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t first = pixels.size() * c / chunks, last = pixels.size() * (c + 1) / chunks;
      if (last > first) fit(std::span(pixels).subspan(first, last - first));
    }
  }

  // Copies y and sigma of these pixels.
  void read(std::span<const std::uint32_t> part) {
    y_.resize(part.size() * image_.points);
    image_.read(*image_.data, part, y_.data());
    if (!image_.has_sigma()) return;
    sigma_.resize(y_.size());
    if (image_.sigmas) return image_.read(*image_.sigmas, part, sigma_.data());
    for (std::size_t i = 0; i < part.size(); ++i)
      std::ranges::copy(image_.sigma, sigma_.begin() + static_cast<std::ptrdiff_t>(i * image_.points));
  }
  const double* y_of(std::size_t i) const { return &y_[i * image_.points]; }
  const double* sigma_of(std::size_t i) const {
    return image_.has_sigma() ? &sigma_[i * image_.points] : nullptr;
  }

  void from_own_guess(const Pixels& pixels) {
    in_chunks(pixels, [&](std::span<const std::uint32_t> part) {
      read(part);
      std::vector<std::vector<double>> x;
      for (const std::vector<double>& column : image_.x) {
        std::vector<double>& all = x.emplace_back();
        for (std::size_t i = 0; i < part.size(); ++i) all.insert(all.end(), column.begin(), column.end());
      }
      std::vector<double> group;
      for (std::size_t i = 0; i < part.size(); ++i)
        group.insert(group.end(), image_.points, static_cast<double>(i));
      GroupOptions options = options_;
      if (image_.has_sigma()) options.sigma = Column(sigma_);
      options.progress = [](std::size_t more, std::size_t) { progress_done(more); };
      GroupsResult fits = curve_fit_groups(model_, Columns({x.begin(), x.end()}), y_, group, p0_, options);
      for (std::size_t i = 0; i < part.size(); ++i)
        if (take(fits, i, part[i], fits.message[i], fits.warnings[i])) out_.from_neighbour[part[i]] = 0;
    });
  }

  // Fits from the closest neighbour if its curve leaves less than `most` of the pixel's scatter.
  void from_neighbours(const Pixels& pixels, double most) {
    if (scatter_.empty()) scatter_.assign(image_.pixels(), 0);
    patterned_.resize(image_.pixels());
    in_chunks(pixels, [&](std::span<const std::uint32_t> part) {
      read(part);
      progress_done(part.size());
      Pixels chosen;
      std::vector<std::size_t> places;  // of the chosen pixels in the part
      std::vector<double> starts;
      std::vector<Column> y, sigma;
      for (std::size_t i = 0; i < part.size(); ++i) {
        double cost = 0;
        const double scatter = scatter_[part[i]] = scatter_of(y_of(i), sigma_of(i), image_.points);
        const Neighbour* const from = neighbours_.closest(part[i], y_of(i), sigma_of(i), cost);
        if (from == nullptr || !(cost <= most * scatter)) continue;
        chosen.push_back(part[i]);
        places.push_back(i);
        starts.insert(starts.end(), from->parameters.begin(), from->parameters.end());
        y.emplace_back(y_of(i), image_.points);
        if (image_.has_sigma()) sigma.emplace_back(sigma_of(i), image_.points);
      }
      if (chosen.empty()) return;
      fit_batch(chosen, starts, std::move(y), std::move(sigma));
      for (const std::size_t i : places) look_for_pattern(part[i], y_of(i), sigma_of(i));
    });
  }

  void look_for_pattern(std::uint32_t p, const double* y, const double* sigma) {
    if (out_.from_neighbour[p] == 0 || is_rounding(p)) return;
    EvaluateOptions one_thread;
    one_thread.threads = 1;
    const std::vector<double> parameters(&out_.parameters(p, 0),
                                         &out_.parameters(p, 0) + out_.parameter_names.size());
    const Evaluation at =
        evaluate(model_, image_.predictors(), parameters, PrecisionPolicy::all_f64(), one_thread);
    patterned_[p] = !at.finite || residual_pattern(order_, y, sigma, at.values) > kPattern;
  }

  void fit_batch(const Pixels& pixels, const std::vector<double>& starts, std::vector<Column> y,
                 std::vector<Column> sigma) {
    Matrix start(pixels.size(), out_.parameter_names.size());
    std::ranges::copy(starts, start.data());
    std::vector<ColumnPerFit> x;
    for (const std::vector<double>& column : image_.x) x.emplace_back(column);
    BatchOptions options(options_);
    if (!sigma.empty()) options.sigma_per_fit = ColumnPerFit(std::move(sigma));
    const BatchResult fits = curve_fit_batch(model_, x, ColumnPerFit(std::move(y)), start, options);
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const auto found = fits.warnings.find(i);
      const std::string warnings = found == fits.warnings.end() ? "" : found->second;
      if (certain(status_of(fits.verdict[i])) && take(fits, i, pixels[i], "", warnings))
        out_.from_neighbour[pixels[i]] = 1;
    }
  }

  // Takes fit i for a pixel, unless the pixel already has a better one.
  template <class Fits>
  bool take(const Fits& fits, std::size_t i, std::size_t pixel, const std::string& message,
            const std::string& warnings) {
    const bool success = nlsq::is_success(fits.verdict[i]);
    if (is_success(out_.status[pixel]) && !(success && fits.cost[i] < out_.cost[pixel])) return false;
    out_.status[pixel] = status_of(fits.verdict[i]);
    out_.cost[pixel] = fits.cost[i];
    const bool fitted = fits.verdict[i] != Verdict::failed;
    note_bounds(fits, i, pixel, fitted);
    for (std::size_t j = 0; j < out_.parameter_names.size(); ++j) {
      out_.parameters(pixel, j) = fitted ? fits.parameters(i, j) : kNaN;
      out_.standard_errors(pixel, j) = fitted ? fits.standard_errors(i, j) : kNaN;
    }
    out_.warnings.erase(pixel);
    if (success) {
      out_.message.erase(pixel);
      if (!warnings.empty()) out_.warnings[pixel] = warnings;
    } else {
      out_.message[pixel] = with_places(message, image_.points,
                                        [](std::size_t point) { return fmt::format("point {}", point); });
    }
    return true;
  }

  // A parameter on a bound has no standard error. One that only happens to be there has one.
  template <class Fits>
  void note_bounds(const Fits& fits, std::size_t i, std::size_t pixel, bool fitted) {
    for (std::size_t j = 0; j < out_.parameter_names.size(); ++j) {
      const auto bounded = out_.at_bound.find(out_.parameter_names[j]);
      if (bounded == out_.at_bound.end()) continue;
      const double value = fits.parameters(i, j);
      const bool there = value == options_.bounds.lower[j] || value == options_.bounds.upper[j];
      bounded->second[pixel] = fitted && there && std::isnan(fits.standard_errors(i, j));
    }
  }

  const Image& image_;
  const ModelChoice& choice_;
  const NamedValues& p0_;
  const GroupOptions& options_;
  PreparedModel model_;
  Neighbours neighbours_;
  std::vector<double> y_, sigma_;   // values of the pixels of a chunk
  std::vector<std::size_t> order_;  // order of the points by x
  double stands_out_ = 0;           // multiple of the usual cost from which noise does not explain a cost
  std::vector<double> scatter_;     // of each pixel that was compared with its neighbours
  std::vector<char> patterned_;     // pixels whose residuals from a neighbour's start are correlated
  ImageFits out_;
};

}  // namespace

std::string status_name(PixelStatus status) {
  return status == kMasked ? "masked" : name(static_cast<Verdict>(status - 1));
}

bool is_success(PixelStatus status) {
  return status != kMasked && nlsq::is_success(static_cast<Verdict>(status - 1));
}

ImageFits fit_image(const Image& image, const ModelChoice& model, const NamedValues& p0,
                    const GroupOptions& options) {
  return ImageFit(image, model, p0, options).run();
}

}  // namespace nlsq::cli
