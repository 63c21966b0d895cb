// Implements sum_guess(). It guesses one term after another from the data minus the other terms, in several
// orders. Then it moves terms that were confused with other terms.
#include "models/guesses/sum_guess.hpp"

#include "models/guesses/peak_fit.hpp"
#include "models/guesses/peeling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

namespace nlsq::inline v0::guessing {
namespace {

template <class Wanted>
Sample rows_where(const Sample& sample, Wanted wanted) {
  Sample out;
  for (std::size_t i = 0; i < sample.rows(); ++i) {
    if (!wanted(i)) continue;
    out.x.push_back(sample.x[i]);
    out.y.push_back(sample.y[i]);
    if (!sample.x2.empty()) out.x2.push_back(sample.x2[i]);
    if (!sample.weight.empty()) out.weight.push_back(sample.weight[i]);
  }
  out.measure();
  return out;
}

// Returns the sample minus the straight line from the mean of its first rows to that of its last rows.
Sample above_chord(const Sample& sample) {
  Sample out = sample;
  out.source = nullptr;
  const std::size_t n = sample.rows(), few = (n + 9) / 10;
  double left = 0, right = 0;
  for (std::size_t i = 0; i < few; ++i) {
    left += sample.y[i] / static_cast<double>(few);
    right += sample.y[n - 1 - i] / static_cast<double>(few);
  }
  const std::vector<double> u = sample.unit_x();
  for (std::size_t i = 0; i < n; ++i) out.y[i] -= left + (right - left) * u[i];
  out.measure();
  return out;
}

// Replaces `best` by `now` if that has a lower sum of squares. Returns true if it has.
bool take_lower(Peeled now, Peeled& best) {
  constexpr double kLower = 1 - 1e-6;
  const bool lower = best.parameters.empty() || now.rss < kLower * best.rss;
  if (lower) best = std::move(now);
  return lower;
}

// Returns the row at this x, or the next row.
std::size_t row_at(const Sample& sample, double x) {
  const auto at = static_cast<std::size_t>(std::ranges::lower_bound(sample.x, x) - sample.x.begin());
  return std::min(at, sample.rows() - 1);
}

class SumGuess {
 public:
  explicit SumGuess(Peeling peeling) : peeling_(std::move(peeling)) {}

  // Guesses the terms in several ways, and takes the best. The order matters: if the slope is guessed first,
  // it may absorb a broad peak, and if the peak is guessed first, it may absorb the slope. So several orders
  // are tried, and backgrounds that do not depend on peaks. Then each term is guessed anew beside the others,
  // and moved where it may have been taken for another, as long as that leads to a lower sum of squares.
  std::vector<double> operator()(const Sample& sample) const {
    constexpr int kSweeps = 3;
    Peeled best;
    for (const std::vector<std::size_t>& order : orders()) take_lower(peel(sample, order), best);
    if (!peeling_.peaks().empty()) peel_above(sample, best);
    bool lower = parts().size() > 1;
    for (int sweep = 0; sweep < kSweeps && lower; ++sweep) {
      lower = guess_anew(sample, best);
      lower = split_pairs(sample, best) || lower;
      lower = exchange_peaks(sample, best) || lower;
      lower = move_steps(sample, best) || lower;
      lower = relocate_weakest(sample, best) || lower;
    }
    take_lower(peeling_.with_lorentzians(sample, best), best);
    peeling_.sort_peaks(best.parameters);
    return best.parameters;
  }

 private:
  const std::vector<Part>& parts() const { return peeling_.parts(); }

  // Returns orders of the terms: one of several terms is first, and the others follow forward and backward.
  // An order that differs from another only by terms of one model is left out.
  std::vector<std::vector<std::size_t>> orders() const {
    constexpr std::size_t kMostFirst = 4;
    std::vector<std::vector<std::size_t>> out;
    std::vector<std::vector<const Model*>> seen;
    std::vector<std::size_t> order(parts().size());
    for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (int way = 0; way < 2; ++way) {
      for (std::size_t first = 0; first < std::min(order.size(), kMostFirst); ++first) {
        std::vector<const Model*> models;
        for (const std::size_t k : order) models.push_back(parts()[k].model);
        if (std::ranges::find(seen, models) == seen.end()) {
          seen.push_back(std::move(models));
          out.push_back(order);
        }
        std::ranges::rotate(order, order.begin() + 1);
      }
      std::ranges::reverse(order);
    }
    return out;
  }

  // Guesses each term from the data minus the other terms, twice, and then improves all together.
  Peeled peel(const Sample& sample, const std::vector<std::size_t>& order) const {
    Peeled now = peeling_.empty(sample);
    guess_parts(sample, order, now);
    peeling_.improve(sample, now);
    return now;
  }

  void guess_parts(const Sample& sample, const std::vector<std::size_t>& order, Peeled& now) const {
    for (int round = 0; round < 2; ++round)
      for (const std::size_t k : order) peeling_.guess_part(sample, k, now);
  }

  // Finds the peaks above a background (side 1) or below it (-1) that was found without them, so that two
  // peaks on a slope are not taken for a dip between them. The best single peak may cover several, so the
  // peaks are also placed on the highest points, the highest first.
  void peel_above(const Sample& sample, Peeled& best) const {
    const bool slope = !peeling_.background().empty();
    if (!slope && !peeling_.has_constant()) return;
    for (const double side : {1.0, -1.0}) {
      Peeled guessed = background_along_edge(sample, side), summits = guessed;
      guess_parts(sample, peeling_.peaks(), guessed);
      peeling_.improve(sample, guessed);
      take_lower(std::move(guessed), best);
      guess_summits(sample, side, summits);
      peeling_.improve(sample, summits);
      take_lower(std::move(summits), best);
      if (slope) take_lower(peel_from_chord(sample, side), best);
    }
  }

  // Finds the background from the rows that lie below it (side 1) or above it (-1), in a few rounds.
  Peeled background_along_edge(const Sample& sample, double side) const {
    constexpr int kRounds = 3;
    const std::size_t fewest = 4 * peeling_.parameters();
    Peeled now = peeling_.empty(sample);
    Sample edge = sample;
    edge.source = nullptr;
    for (int round = 0; round < kRounds && edge.rows() >= fewest; ++round) {
      Peeled along = peeling_.empty(edge);
      if (peeling_.background().empty()) along.constant = edge.y_mean;
      guess_parts(edge, peeling_.background(), along);
      now.parameters = along.parameters;
      now.constant = along.constant;
      for (const std::size_t k : peeling_.background()) peeling_.update(sample, k, now);
      edge = rows_where(sample, [&](std::size_t i) { return side * (sample.y[i] - now.fitted(i)) <= 0; });
    }
    return now;
  }

  void guess_summits(const Sample& sample, double side, Peeled& now) const {
    for (const std::size_t k : peeling_.peaks()) peeling_.guess_summit(sample, k, side, now);
  }

  // Finds the peaks first, above the chord of the data or below it, and then the background.
  Peeled peel_from_chord(const Sample& sample, double side) const {
    Peeled now = peeling_.empty(sample);
    guess_summits(above_chord(sample), side, now);
    guess_parts(sample, peeling_.background(), now);
    peeling_.improve(sample, now);
    return now;
  }

  // Guesses each term anew beside the others: a peak that was guessed on the flank of another one may then
  // find a peak that was missed.
  bool guess_anew(const Sample& sample, Peeled& best) const {
    bool lower = false;
    for (std::size_t k = 0; k < parts().size(); ++k) {
      Peeled now = best;
      peeling_.improve(sample, now, k);
      peeling_.guess_part(sample, k, now);
      peeling_.improve(sample, now);
      lower = take_lower(std::move(now), best) || lower;
    }
    return lower;
  }

  // Two neighbouring peaks are often found as a broad peak with a dip in it, or as the difference of two high
  // ones. Replaces such pairs by two peaks beside each other, where that lowers the sum of squares.
  bool split_pairs(const Sample& sample, Peeled& best) const {
    const std::vector<std::size_t>& peaks = peeling_.peaks();
    bool lower = false;
    for (std::size_t a = 0; a < peaks.size(); ++a) {
      for (std::size_t b = a + 1; b < peaks.size(); ++b) {
        const double centre = best.parameters[*peeling_.place_of(peaks[a])];
        const double centre2 = best.parameters[*peeling_.place_of(peaks[b])];
        const double width = std::fabs(best.parameters[*peeling_.width_of(peaks[a])]);
        const double width2 = std::fabs(best.parameters[*peeling_.width_of(peaks[b])]);
        if (std::fabs(centre - centre2) > std::max(width, width2)) continue;
        const double middle = 0.5 * (centre + centre2), mean = 0.5 * (width + width2);
        const bool alike = parts()[peaks[a]].model == parts()[peaks[b]].model;
        Peeled ordered = split(sample, best, {peaks[a], peaks[b]}, middle, mean);
        if (!alike) take_lower(split(sample, best, {peaks[b], peaks[a]}, middle, mean), ordered);
        lower = take_lower(std::move(ordered), best) || lower;
      }
    }
    return lower;
  }

  // Replaces the pair by two peaks. The difference of two high Gaussians is close to the derivative of a
  // Gaussian by its width, which is highest at sqrt(2) widths from its middle.
  Peeled split(const Sample& sample, Peeled now, std::pair<std::size_t, std::size_t> pair, double middle,
               double width) const {
    constexpr double kApart = 1.4, kNarrower = 0.6;
    const auto both_at = [&](double x) {
      const std::size_t i = row_at(sample, x);
      return now.values[pair.first][i] + now.values[pair.second][i];
    };
    const double left = middle - kApart * width, right = middle + kApart * width;
    const double height = both_at(left), height2 = both_at(right);
    peeling_.set_peak(pair.first, left, kNarrower * width, height, now);
    peeling_.set_peak(pair.second, right, kNarrower * width, height2, now);
    peeling_.improve(sample, now);
    return now;
  }

  // Peaks of different models are found one after the other, each by the next model in the order. So a
  // Gaussian may be placed on a Lorentzian peak, which no short fit can correct. Exchanges the places, widths
  // and heights of such pairs, and keeps the exchange if the sum of squares is lower.
  bool exchange_peaks(const Sample& sample, Peeled& best) const {
    const std::vector<std::size_t>& peaks = peeling_.peaks();
    bool lower = false;
    for (std::size_t a = 0; a < peaks.size(); ++a) {
      for (std::size_t b = a + 1; b < peaks.size(); ++b) {
        if (parts()[peaks[a]].model == parts()[peaks[b]].model) continue;
        lower = take_lower(exchanged(sample, best, peaks[a], peaks[b]), best) || lower;
      }
    }
    return lower;
  }

  Peeled exchanged(const Sample& sample, Peeled now, std::size_t a, std::size_t b) const {
    const auto place = *peeling_.place_of(a), place2 = *peeling_.place_of(b);
    const auto width = *peeling_.width_of(a), width2 = *peeling_.width_of(b);
    const std::optional<std::size_t> h = peeling_.height_of(a), h2 = peeling_.height_of(b);
    std::swap(now.parameters[place], now.parameters[place2]);
    std::swap(now.parameters[width], now.parameters[width2]);
    if (h && h2) std::swap(now.parameters[*h], now.parameters[*h2]);
    peeling_.improve(sample, now);
    return now;
  }

  // The guess often puts a step on the wrong side of a peak, and mistakes the peak for a dip or for a smaller
  // peak. No short fit crosses from one side to the other. This moves the step to the peak or across it, as
  // steep as it is or steeper, and guesses the peak anew. The move is kept if the sum of squares is lower.
  bool move_steps(const Sample& sample, Peeled& best) const {
    bool lower = false;
    for (const std::size_t step : peeling_.background()) {
      if (!peeling_.place_of(step)) continue;
      for (const std::size_t peak : peeling_.peaks()) {
        for (const double across : {1.0, 2.0}) {  // times the way to the peak
          for (const double steeper : {1.0, 3.0})
            lower = take_lower(moved(sample, best, step, peak, across, steeper), best) || lower;
        }
      }
    }
    return lower;
  }

  Peeled moved(const Sample& sample, Peeled now, std::size_t step, std::size_t peak, double across,
               double steeper) const {
    double& at = now.parameters[*peeling_.place_of(step)];
    at += across * (now.parameters[*peeling_.place_of(peak)] - at);
    if (const auto steepness = peeling_.steepness_of(step)) now.parameters[*steepness] *= steeper;
    else if (const auto width = peeling_.width_of(step)) now.parameters[*width] /= steeper;
    peeling_.update(sample, step, now);
    peeling_.guess_part(sample, peak, now);
    peeling_.improve(sample, now);
    return now;
  }

  // Two overlapping peaks are often found as one, and the peak left over then fits noise or the background.
  // Takes out the peak without which the sum of squares rises least. Places it beside each of the others,
  // inside each of them, and where the remaining data are largest, and keeps the result with the lowest sum
  // of squares.
  bool relocate_weakest(const Sample& sample, Peeled& best) const {
    const std::vector<std::size_t>& peaks = peeling_.peaks();
    if (peaks.size() < 2) return false;
    Peeled without;
    std::size_t weakest = 0;
    for (const std::size_t k : peaks) {
      Peeled now = best;
      peeling_.improve(sample, now, k);
      if (take_lower(std::move(now), without)) weakest = k;
    }
    bool lower = false;
    for (const std::size_t k : peaks) {
      if (k == weakest) continue;
      const double place = without.parameters[*peeling_.place_of(k)];
      const double width = std::fabs(without.parameters[*peeling_.width_of(k)]);
      lower = take_relocated(sample, split(sample, without, {k, weakest}, place, width), best) || lower;
      lower = take_relocated(sample, nested(sample, without, {k, weakest}, place, width), best) || lower;
    }
    return relocate_to_rest(sample, without, weakest, best) || lower;
  }

  // Puts a narrower peak inside a wider one.
  Peeled nested(const Sample& sample, Peeled now, std::pair<std::size_t, std::size_t> pair, double place,
                double width) const {
    constexpr double kWider = 1.4, kNarrower = 0.6, kShare = 0.6;
    const double height = kShare * now.values[pair.first][row_at(sample, place)];
    peeling_.set_peak(pair.first, place, kWider * width, height, now);
    peeling_.set_peak(pair.second, place, kNarrower * width, height, now);
    peeling_.improve(sample, now);
    return now;
  }

  // Places peak `k`, which `without` lacks, at the highest and lowest points of the remaining data.
  bool relocate_to_rest(const Sample& sample, const Peeled& without, std::size_t k, Peeled& best) const {
    constexpr std::size_t kMost = 4;
    constexpr double kWidthPerBox = 0.6;
    std::vector<double> rest(sample.rows());
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = sample.y[i] - without.fitted(i);
    std::vector<Bump> tried;
    bool lower = false;
    for (const Bump& bump : find_bumps(sample.unit_x(), rest, sample.weight)) {
      const bool near = std::ranges::any_of(tried, [&](const Bump& other) {
        return std::fabs(other.centre - bump.centre) < 0.5 * std::max(other.half_width, bump.half_width);
      });
      if (near || tried.size() == kMost) continue;
      tried.push_back(bump);
      Peeled now = without;
      const double place = sample.x_min + bump.centre * sample.span;
      const double width = kWidthPerBox * bump.half_width * sample.span;
      peeling_.set_peak(k, place, width, rest[row_at(sample, place)], now);
      peeling_.improve(sample, now);
      lower = take_relocated(sample, std::move(now), best) || lower;
    }
    return lower;
  }

  // Where the data have peaks of another shape than the model, the difference of two high peaks at one place
  // has a lower sum of squares than two peaks beside each other. A fit would raise both heights without
  // limit. Such a guess is not taken.
  bool take_relocated(const Sample& sample, Peeled now, Peeled& best) const {
    return !has_difference(sample, now) && take_lower(std::move(now), best);
  }

  // Returns true if two peaks of opposite signs are closer to each other than the width of the wider one.
  bool has_difference(const Sample& sample, const Peeled& now) const {
    const auto place = [&](std::size_t k) { return now.parameters[*peeling_.place_of(k)]; };
    const auto width = [&](std::size_t k) { return std::fabs(now.parameters[*peeling_.width_of(k)]); };
    const auto height = [&](std::size_t k) { return now.values[k][row_at(sample, place(k))]; };
    const std::vector<std::size_t>& peaks = peeling_.peaks();
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      for (std::size_t j = i + 1; j < peaks.size(); ++j) {
        const std::size_t a = peaks[i], b = peaks[j];
        const bool near = std::fabs(place(a) - place(b)) < std::max(width(a), width(b));
        if (near && height(a) * height(b) < 0) return true;
      }
    }
    return false;
  }

  Peeling peeling_;
};

}  // namespace

std::string join(std::span<const Part* const> parts) {
  std::string out;
  bool constant = false;
  for (const Part* part : parts) {
    constant = constant || part->constant != Part::npos;
    const std::string& term = part->term.formula;
    if (!term.empty()) out += (out.empty() || term.front() == '-' ? "" : "+") + term;
  }
  if (constant && !out.empty()) out += '+';
  if (constant) out += kSharedConstant;
  return out;
}

GuessRule sum_guess(std::vector<Part> parts, Formula formula, std::size_t constant) {
  return SumGuess(Peeling(std::move(parts), std::move(formula), constant));
}

}  // namespace nlsq::inline v0::guessing
