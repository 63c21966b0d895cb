// Declares the steps by which a sum of models is guessed. Terms are guessed one by one from the data minus
// the other terms ("peeling"), and improved together by short fits. sum_guess.cpp chooses the steps.
#pragma once

#include "models/guesses/sum_guess.hpp"

#include <nlsq/formula.hpp>
#include <nlsq/prepared_model.hpp>

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace nlsq::inline v0::guessing {

// Holds the present guess: the sum's parameters, the values of each part on the sample, and the constant.
struct Peeled {
  std::vector<double> parameters;
  std::vector<std::vector<double>> values;
  double constant = 0, rss = std::numeric_limits<double>::infinity();

  // Returns the sum in row `i`.
  double fitted(std::size_t i) const {
    double sum = constant;
    for (const auto& of_part : values) sum += of_part[i];
    return sum;
  }
};

class Peeling {
 public:
  // `constant` is the index of the shared constant among the sum's parameters, or npos.
  Peeling(std::vector<Part> parts, Formula formula, std::size_t constant);

  const std::vector<Part>& parts() const { return parts_; }
  std::size_t parameters() const { return sum_.parameter_names().size(); }
  bool has_constant() const { return constant_ != Part::npos; }
  // peaks() returns the parts that are peaks, which vanish on both sides of their place; background() returns
  // the others.
  const std::vector<std::size_t>& peaks() const { return peaks_; }
  const std::vector<std::size_t>& background() const { return background_; }

  // Return the indices of the parameters of part `k` for its place and its width among the sum's parameters,
  // or nothing if the model has no such parameter. A peak has both.
  std::optional<std::size_t> place_of(std::size_t k) const;
  std::optional<std::size_t> width_of(std::size_t k) const;
  // Return the index of the height parameter, which is no area, and that of the rate of a step.
  std::optional<std::size_t> height_of(std::size_t k) const;
  std::optional<std::size_t> steepness_of(std::size_t k) const;

  // Returns a guess in which every part is 0.
  Peeled empty(const Sample& sample) const;
  // Computes the values of part `k` from the parameters.
  void update(const Sample& sample, std::size_t k, Peeled& now) const;
  // Guesses part `k`, and the constant if it has one, from the data minus the other parts.
  void guess_part(const Sample& sample, std::size_t k, Peeled& now) const;
  // Guesses peak `k` at the highest (side 1) or lowest (-1) place of the data minus the other parts.
  void guess_summit(const Sample& sample, std::size_t k, double side, Peeled& now) const;
  // Sets peak `k` to this place, width and height. The height is that above the rest of the sum.
  void set_peak(std::size_t k, double place, double width, double height, Peeled& now) const;
  // Fits the whole sum to the sample in a few steps. If `without` is given, that part becomes 0 and the
  // others are fitted. The `held` parameters do not change; such a fit may take more steps.
  void improve(const Sample& sample, Peeled& now, std::size_t without = Part::npos,
               const std::vector<std::string>& held = {}) const;
  // Fits the whole sum with sigma held next to 0 in Voigt peaks that are nearly Lorentzian. The derivative by
  // sigma vanishes with sigma, so steps in sigma become long, and a fit with sigma free stops making progress
  // before the other parameters reach their best values.
  Peeled with_lorentzians(const Sample& sample, Peeled now) const;
  // Puts peaks of one model that follow each other in the sum in the order of their places.
  void sort_peaks(std::vector<double>& all) const;

 private:
  std::vector<Part> parts_;
  PreparedModel sum_;
  std::vector<std::size_t> peaks_, background_;
  std::vector<PreparedModel> without_;  // the sum without each of its terms
  std::size_t constant_;
};

}  // namespace nlsq::inline v0::guessing
