// Declares the data of many fits by one model, and their starting values.
#pragma once

#include "c/caller_model.hpp"
#include "fit/fit_setup.hpp"

#include <nlsq/curve_fit_batch.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace nlsq::inline v0::c {

// Holds the columns of all fits.
struct BatchData {
  std::vector<ColumnPerFit> x;
  ColumnPerFit y, sigma;
  std::size_t fits = 0;

  Columns predictors(std::size_t f) const {
    std::vector<Column> of_fit;
    for (const ColumnPerFit& column : x) of_fit.push_back(column[f]);
    return Columns(std::move(of_fit));
  }
  // Returns an empty column if there is no sigma.
  Column sigma_of(std::size_t f) const { return sigma.empty() ? Column() : sigma[f]; }
};

// Holds the starting values: a row for each fit, or one for all. `unstarted` is that of BatchOptions.
struct BatchStarts {
  Matrix P0;
  std::vector<bool> unstarted;
  std::map<std::size_t, std::string> warnings;  // of the first guesses, by fit
};

// Returns the starting values. Values that are not given are guessed, or are those where curve_fit starts
// without a value.
BatchStarts batch_starts(const CallerModel& model, const BatchData& data, const double* p0,
                         std::size_t p0_fits, const FitOptions& options, const Limits& limits,
                         const Ties& ties, const NamedValues& fixed, std::size_t free);

// Makes some fits of a batch again, from starts that were found in their data: those that had parameters
// without any start, and are no minima or explain less than 95 % of y. A fit of one of these by itself, as by
// curve_fit, looks for its start. If it ends better, all of them are fitted from its end, and keep what is
// better. This is repeated up to four times, until two repetitions have each helped less than a tenth of the
// poor fits. `batch` holds the options of the fits, and `result` their ends. Nothing is done once `stopped`
// returns true.
void improve_poor_fits(const CallerModel& model, const BatchData& data, const BatchStarts& starts,
                       const BatchOptions& batch, const std::function<bool()>& stopped, BatchResult& result);

}  // namespace nlsq::inline v0::c
