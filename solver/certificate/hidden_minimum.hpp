// Minima that float64 cannot see: the terms of the model cancel, and their rounding is not small beside y. Or
// some rows have so small a sigma that their rounding errors are larger than the residuals of all others.
#pragma once

#include "minimizer/loop.hpp"

#include "rows/row_model.hpp"
#include "support/constants.hpp"

#include <nlsq/curve_fit.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace nlsq::inline v0 {

// What residuals of exact data may be of their terms.
inline constexpr double kRoundingErrors = 16 * kUnitRoundoff;

// The message of such a fit.
inline constexpr const char* kHiddenMinimum =
    "terms of the model are so large that they cancel, and float64 sees their rounding instead of the "
    "minimum";
inline constexpr const char* kOutweighed =
    "some rows weigh so much more than others, by their sigma or within the function, that their rounding "
    "errors hide the rest: give them less weight (a larger sigma), and leave out rows of huge sigma instead "
    "of keeping them; where rows are to hold exactly, fix, tie or eliminate a parameter";

// The norm of numbers without some of the largest: one row of 1e12 says nothing of how the others are
// followed. Of numbers with the same binary exponent any may be left out, so it needs little memory.
class NormOfMost {
 public:
  void add(double size) {
    Alike& alike = by_exponent_[std::ilogb(size)];
    ++alike.count, ++count_;
    alike.squares += size * size;
  }
  double without(std::size_t largest) const;
  double without_a_tenth() const { return without(std::max<std::size_t>(1, count_ / 10)); }

 private:
  struct Alike {
    std::size_t count = 0;
    double squares = 0;
  };
  std::map<int, Alike> by_exponent_;
  std::size_t count_ = 0;
};

// Whether the residuals at x are no more than the last digits of y, without the tenth of the rows with the
// largest y.
bool follows_to_last_digits(const RowModel& rows, std::span<const double> x);
// The same for a function of residuals, of which y is a part. |Jx| of a row stands for y: it is y where the
// model is linear, and it is small beside the terms of the row where they cancel. A row that follows its own
// last digits is not asked further. Beside the others, of the tenth with the largest |Jx| no more rows are
// left out than there are parameters: these may follow so many rows whatever they do with the others, but not
// a whole peak.
bool follows_its_slopes(const RowModel& rows, std::span<const double> x);
// Whether each residual at x is less than 1e-30 of the first-order terms that its row has at the start x0.
// Where derivatives vanish at the minimum, the terms at x are no larger than the residuals, and do not show
// that.
bool vanish_beside_start(const RowModel& rows, std::span<const double> x, std::span<const double> x0);
// What a curve asks for: a function of residuals may come as a curve whose y is 0 everywhere.
bool follows(const RowModel& rows, std::span<const double> x, std::span<const double> x0, const Column& y);

// Whether rounding errors of numbers inside the function hide the minimum at x, as in (p + 1e8) - 1e8. Terms
// of first order do not show these numbers. So x is moved until the residuals should change by their own
// size, or by some rounding errors of their terms. What they change otherwise is rounding, because J is
// straight over so short a distance. `most`: what this may be of the terms. It may also be the last digits of
// y. `limits`: bounds of x. Costs up to two passes over some thousand rows.
bool rounds_inside(const RowModel& rows, std::span<const double> x, const Limits& limits, double most);

// Whether the certificate rests on rounding errors (rests_on_rounding) that are larger than the last digits
// of y. `follows` returns one of the two above. It is called only where it decides.
bool hides_minimum(const Certificate& certificate, EndByTwofold judged, const std::function<bool()>& follows);

// Whether float64 numbers beside this parameter are further apart than this distance, more or less.
bool is_below_spacing(double distance, double parameter);

// The ratio of the largest sigma to the smallest one above which outweighed() decides about a fit. It is
// finite for three kinds of success. The certificate allows for rounding errors that are large beside sigma.
// Or a standard error is so small that float64 has no number within a tenth of it. Or J loses rank, and rows
// of little weight may determine what seems undetermined. It is 1 if the data seem to be exact.
double doubtful_spread(const Certificate& certificate, EndByTwofold judged,
                       std::span<const double> parameters, std::span<const double> standard_errors);
// Whether sigma differs between rows by more than `spread`, and without these weights the residuals at x are
// larger than rounding errors. The certificate compares norms, and rows of tiny sigma dominate these norms.
// It may thus take the residuals of all rows for rounding. `unexplained`: the residuals at the optimum, if
// they are known better than by evaluating the rows at x.
bool outweighed(const RowModel& rows, std::span<const double> x, const Column& sigma, double spread,
                std::span<const double> unexplained = {});

// The same for rows without sigma, whose weight is a part of the function: it shows in the terms of each row.
// It matters only if the end of the fit rests on rounding errors, or on a rank that weights may hide. Then
// it is true if some light row has a residual that is larger than a rounding error of the row's own terms.
// It is false if the heavy rows are many and determine all parameters alone. Such is a peak without noise:
// the rows in its tails are as tiny as rows of little weight, but nothing depends on them.
// `limited_by_rounding` says that the fit ended without success because its residuals seem to be rounding
// errors. It is also false where all residuals vanish_beside_start().
bool outweighed(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                const Certificate& certificate, bool limited_by_rounding);

// Withdraws the certificate of such fits. `is_outweighed` returns outweighed() for a spread. Both functions
// cost a pass over the rows, so they are called only if the verdict depends on them. batch/uncertain_fits.cpp
// does the same for batches.
void withdraw_hidden(FitResult& fit, EndByTwofold judged, const std::function<bool()>& follows,
                     const std::function<bool(double)>& is_outweighed);

// For a fit without success: names predictors that are far from 0 beside their range (Julian dates, seconds
// since 1970), and what to fit in their place. The first `predictors` columns of `data` are x.
std::vector<std::string> advice_on_origin(const RowSource& data, int predictors);

}  // namespace nlsq::inline v0
