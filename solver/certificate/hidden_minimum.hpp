// Recognises minima that cannot be located in float64. Either the terms of the model cancel, and their
// rounding errors are not small beside y. Or some rows have so small a sigma that their rounding errors are
// larger than the residuals of all others.
#pragma once

#include "certificate/doubtful_end.hpp"
#include "minimizer/minimizer_request.hpp"

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

// Residuals of exact data are at most this share of their terms.
inline constexpr double kRoundingErrors = 16 * kUnitRoundoff;
// Residuals of this share of y leave half of its digits.
inline constexpr double kHalfOfDigits = 0x1p-26;

// Returns true if J has no more rows than its rank, and the residuals leave half of the digits of y. There is
// no noise then that rounding errors could hide: the minimum is 0 whatever the data are, and the parameters
// are as exact as float64 allows. So a line through two points may have terms that cancel. The norms are
// those of all rows.
bool goes_through_all_rows(std::size_t rows, int rank, double residual_norm, double data_norm);

// The messages of such fits.
inline constexpr const char* kHiddenMinimum =
    "terms of the model are so large that they cancel, and float64 sees their rounding instead of the "
    "minimum";
inline constexpr const char* kOutweighed =
    "some rows weigh so much more than others, by their sigma or within the function, that their rounding "
    "errors hide the rest: give them less weight (a larger sigma), and leave out rows of huge sigma instead "
    "of keeping them; where rows are to hold exactly, fix, tie or eliminate a parameter";

// Computes the norm of numbers without some of the largest, because with one row of 1e12 the norm would not
// show how well the others are fitted. Among numbers with the same binary exponent it does not matter which
// are left out, so it needs little memory.
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

// Returns true if the residuals at x are no more than the last digits of y. The norm of y leaves out the
// tenth of the rows with the largest y. Also returns true if the curve goes_through_all_rows(). `rank` is
// that of J.
bool follows_to_last_digits(const RowModel& rows, std::span<const double> x, int rank);
// Tests the same for a function of residuals, where y is not given separately. Here |Jx| of a row stands for
// y: it equals y where the model is linear, and it is small beside the terms of the row where these cancel. A
// residual within the last digits of its own row counts as 0. The norm of |Jx| leaves out the tenth of the
// rows with the largest |Jx|, but at most as many rows as there are parameters. So many rows can be fitted
// exactly whatever happens to the others; but a whole peak must not be left out. A parameter that is a
// rounding error of its start x0 counts as large as the start.
bool follows_its_slopes(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                        int rank);
// Returns true if each residual at x is less than this share, 1e-30, of the first-order terms that its row
// has at x or at the start x0. The terms at x do not show this where derivatives vanish at the minimum,
// because there they are no larger than the residuals.
bool vanish_beside_start(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                         double share = kVanished);
// Returns true if one of these functions does. The last two are called only if y is 0 everywhere, because a
// function of residuals may be given as a curve with y = 0.
bool follows(const RowModel& rows, std::span<const double> x, std::span<const double> x0, const Column& y,
             int rank);

// Returns true if rounding errors of numbers inside the function hide the minimum at x, as in (p + 1e8) -
// 1e8. The first-order terms J_ij x_j do not contain these numbers. So x is moved until the residuals should
// change by their own size, or by some rounding errors of their terms. Any other change is a rounding error,
// because J is constant over so short a distance. Such an error may be as large as `most` times the terms, or
// as the last digits of y, before it counts. The terms of a parameter that is a rounding error of its start
// x0 are those of the start. `limits` are the bounds of x. Takes up to two passes over some thousand rows.
bool rounds_inside(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                   const Limits& limits, double most);

// Returns true if the certificate rests on rounding errors (rests_on_rounding) that are larger than the last
// digits of y. `follows` returns the result of follows() above. It is called only if the result depends on
// it.
bool hides_minimum(const Certificate& certificate, EndByTwofold judged, const std::function<bool()>& follows);

// Returns true if the gaps between float64 numbers near this parameter are about as large as this distance,
// or larger.
bool is_below_spacing(double distance, double parameter);

// Returns the ratio of the largest sigma to the smallest one above which outweighed() decides about a fit. It
// is finite for three kinds of success. In the first, the certificate allows for rounding errors that are
// large beside sigma. In the second, a standard error is so small that float64 has no number within a tenth
// of it. In the third, J loses rank, and rows of little weight may determine what seems undetermined. It is 1
// if the data seem to be exact.
double doubtful_spread(const Certificate& certificate, EndByTwofold judged,
                       std::span<const double> parameters, std::span<const double> standard_errors);
// Returns true if sigma differs between rows by more than `spread`, and if without these weights the
// residuals at x are larger than rounding errors. The certificate compares norms, and rows of tiny sigma
// dominate these norms. So it may take the residuals of all rows for rounding errors. `unexplained` holds the
// residuals at the optimum if they are known better than by evaluating the rows at x.
bool outweighed(const RowModel& rows, std::span<const double> x, const Column& sigma, double spread,
                std::span<const double> unexplained = {});

// Does the same for rows without sigma, whose weight is a part of the function. The size of each row's terms
// then shows its weight. It matters only if the end of the fit rests on rounding errors, or on a rank that
// weights may hide. Then it is true if some light row has a residual that is larger than a rounding error of
// the row's own terms. It is false if the heavy rows are many and determine all parameters alone. Such is a
// peak without noise: the rows in its tails are as tiny as rows of little weight, but nothing depends on
// them. `limited_by_rounding` says that the fit ended without success because its residuals seem to be
// rounding errors. It is also false where all residuals vanish_beside_start(). If J has no more rows than its
// rank, it is false where they are rounding errors of terms at the start: a line through the origin has a row
// whose only term is an offset of 0.
bool outweighed(const RowModel& rows, std::span<const double> x, std::span<const double> x0,
                const Certificate& certificate, bool limited_by_rounding);

// Takes the certificate back if the fit is of one of these kinds. `is_outweighed` returns outweighed() for a
// spread. Both functions take a pass over the rows, so they are called only if the verdict depends on them.
// batch/uncertain_fits.cpp does the same for batches.
void withdraw_hidden(FitResult& fit, EndByTwofold judged, const std::function<bool()>& follows,
                     const std::function<bool(double)>& is_outweighed);

// Returns advice for a fit without success: it names predictors that are far from 0 beside their range
// (Julian dates, seconds since 1970), and what to fit in their place. The first `predictors` columns of
// `data` are x.
std::vector<std::string> advice_on_origin(const RowSource& data, int predictors);

}  // namespace nlsq::inline v0
