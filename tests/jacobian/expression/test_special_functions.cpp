// Compares special functions with values computed with 60 and more digits (mpmath), and with their
// identities.
#include <nlsq/special_functions.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <numbers>

namespace {

constexpr double eps = 0x1p-53;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

constexpr double erfcx_points[][2] = {
    {-25.5, 5.023620838323981e+282},
    {-10.25, 8.493642953183739e+45},
    {-3.0, 16205.988853999586},
    {-1.5, 18.653886256262734},
    {-0.75, 3.003171663627452},
    {-0.1, 1.1236433541992095},
    {-1e-08, 1.0000000112837917},
    {0.0, 1.0},
    {1e-300, 1.0},
    {1e-10, 0.999999999887162},
    {0.03, 0.9670287119698767},
    {0.25, 0.7703465477309968},
    {0.5, 0.6156903441929259},
    {1.1864937835570295, 0.38152834416916376},
    {2.0, 0.25539567631050575},
    {3.7, 0.1474349975371851},
    {5.5, 0.10096221839949909},
    {8.0, 0.06998516620088092},
    {9.999, 0.05614655260396594},
    {10.0, 0.05614099274382259},
    {12.5, 0.04499209900102792},
    {26.0, 0.021683584850562907},
    {100.0, 0.005641613782989433},
    {100000.0, 5.6418958351954685e-06},
    {10000000000.0, 5.641895835477563e-11},
};
constexpr double digamma_points[][2] = {
    {-20.3, 5.317549924239749},   {-14.75, -0.4168341217426539}, {-9.5, 2.3030010342976865},
    {-3.2, 5.635370221172645},    {-1.9, -8.786328039826273},    {-0.5, 0.03648997397857652},
    {-0.01, 99.4062136959444},    {1e-12, -1000000000000.5773},  {1e-05, -100000.57719921567},
    {0.1, -10.423754940411076},   {0.5, -1.9635100260214235},    {0.9, -0.7549269499470513},
    {1.0, -0.5772156649015329},   {1.2, -0.2890398965921884},    {1.4616, -3.110625123034165e-05},
    {1.47, 0.008066489011364869}, {1.6, 0.12604745277347632},    {1.72, 0.2242928871461575},
    {2.0, 0.42278433509846713},   {3.3, 1.0348224890596216},     {5.0, 1.5061176684318005},
    {7.9, 2.002238487563571},     {9.999, 2.2516474172057355},   {10.0, 2.251752589066721},
    {25.0, 3.198742512851974},    {1000.0, 6.907255195648812},   {100000000.0, 18.420680738952367},
    {1e+100, 230.25850929940458},
};
constexpr double trigamma_points[][2] = {
    {-20.3, 15.03134603262623},     {-14.75, 19.67365849327156},
    {-9.5, 9.769687445030232},      {-3.2, 28.298186402194034},
    {-1.9, 102.94487536227646},     {-0.5, 8.934802200544679},
    {-0.01, 10001.669304101071},    {1e-12, 1e+24},
    {1e-05, 10000000001.644909},    {0.1, 101.43329915079275},
    {0.5, 4.934802200544679},       {0.9, 1.9225399594772035},
    {1.0, 1.6449340668482264},      {1.2, 1.2673772054237793},
    {1.4616, 0.9677007114650835},   {1.47, 0.9603162090511507},
    {1.6, 0.8584318931245798},      {1.72, 0.7813264485557689},
    {2.0, 0.6449340668482264},      {3.3, 0.3535015418410618},
    {5.0, 0.22132295573711533},     {7.9, 0.13493078345663442},
    {9.999, 0.10517738667672887},   {10.0, 0.10516633568168575},
    {25.0, 0.04081066325722558},    {1000.0, 0.0010005001666666333},
    {100000000.0, 1.000000005e-08}, {1e+100, 1e-100},
};
constexpr double besj0_points[][2] = {
    {-7.3, 0.2882169476350144},
    {0.0, 1.0},
    {1e-08, 1.0},
    {0.1, 0.99750156206604},
    {1.0, 0.7651976865579666},
    {2.0, 0.22389077914123567},
    {3.5, -0.3801277399872634},
    {5.0, -0.1775967713143383},
    {6.7, 0.285064737710576},
    {8.1, 0.14751745404437766},
    {10.0, -0.24593576445134835},
    {20.5, 0.11509696025367476},
    {50.25, 0.07814483604419163},
    {123.4, -0.07152553671926015},
    {1000.0, 0.024786686152420176},
};
constexpr double besj1_points[][2] = {
    {-7.3, -0.08257043049325784},
    {0.0, 0.0},
    {1e-08, 5e-09},
    {0.1, 0.049937526036242},
    {1.0, 0.4400505857449335},
    {2.0, 0.5767248077568734},
    {3.5, 0.1373775273623272},
    {5.0, -0.32757913759146523},
    {6.7, -0.09534211804138636},
    {8.1, 0.24760776698159287},
    {10.0, 0.04347274616886144},
    {20.5, 0.13625468819339573},
    {50.25, -0.08023151170413845},
    {123.4, -0.006850999885654373},
    {1000.0, 0.004728311907089524},
};
constexpr double wofz_points[][4] = {
    {0.0, 0.0, 1.0, 0.0},
    {1e-09, 0.0, 1.0, 1.1283791670955127e-09},
    {0.25, 0.0, 0.9394130628134758, 0.2706295156179875},
    {0.5, 1e-12, 0.7788007830707554, 0.47892517290026465},
    {1.0, 0.0, 0.36787944117144233, 0.6071577058413937},
    {2.0, 1e-05, 0.01831795613292491, 0.34002548442816827},
    {3.0, 0.0, 0.00012340980408667956, 0.2011573170376004},
    {5.0, 1e-20, 1.3887943865204826e-11, 0.11524596183093659},
    {6.0, 0.0, 2.3195228302435696e-16, 0.09539620896911076},
    {6.5, 5.7e-13, 7.89970978585036e-15, 0.08786442473104566},
    {12.0, 1e-08, 3.9595218729396455e-11, 0.047180778707018846},
    {20.0, 0.001, 1.4157965831846981e-06, 0.02824487402099906},
    {26.0, 0.0, 2.6117417612840555e-294, 0.021715685113052375},
    {0.0, 1e-06, 0.9999988716218329, 0.0},
    {0.0, 1.0, 0.427583576155807, 0.0},
    {0.0, 7.0, 0.07980005432915294, 0.0},
    {0.0, 100.0, 0.005641613782989433, 0.0},
    {0.3834512242610666, 0.0, 0.863263899580469, 0.3926588331607168},
    {0.24579512472436318, 0.001, 0.9403769827988979, 0.2659824130458002},
    {0.4915902494487264, 0.001, 0.7846598482745157, 0.47263537480592355},
    {0.7, 0.7, 0.4189975567483652, 0.23064637612642297},
    {1.5, 2.5, 0.16513581802371013, 0.08922180006361186},
    {3.0, 3.0, 0.09640250558304454, 0.09123632600421876},
    {6.3, 6.3, 0.045053503194397146, 0.044489754525070514},
    {6.4, 6.2, 0.044345075207681765, 0.045202466455094854},
    {7.0, 2.0, 0.02185339668743829, 0.07500963593542481},
    {10.0, 10.0, 0.028279467454232456, 0.028138433276336895},
    {2.0, 15.0, 0.03688101492949091, 0.0048962194589393295},
    {27.0, 0.01, 7.755204250390238e-06, 0.02091026911486436},
    {100.0, 1e-10, 5.642742331498062e-15, 0.005642177972594138},
    {500.0, 400.0, 0.000550429827948806, 0.0006880356067965379},
    {999.0, 0.5, 2.826601828048167e-07, 0.0005647544793570632},
    {1001.0, 0.5, 2.815317985599888e-07, 0.0005636260982152997},
    {100000.0, 1e-05, 5.641895836323848e-16, 5.641895835759658e-06},
    {100000000.0, 1.0, 5.641895835477564e-17, 5.641895835477562e-09},
    {-1.2, 0.4, 0.2834434809551711, -0.386412299308873},
    {-30.0, 3.0, 0.0018650520396339926, -0.01862996968636447},
    {1.0, -1.0, -1.1370378783511974, 2.026813791854195},
    {0.5, -2.0, -35.63530351200189, 77.38014237534543},
    {-2.5, -0.5, -0.06240914560504808, -0.23538736434488003},
    {4.0, -0.001, -3.9137017133617565e-05, 0.145953579755808},
};
constexpr double voigt_points[][4] = {
    {0.0, 1.0, 1.0, 0.2087092805203677},       {0.7, 0.3, 0.2, 0.21135292062481562},
    {5.0, 1.0, 1e-06, 1.5014345943193302e-06}, {-3.0, 0.5, 2.0, 0.05064776362569272},
    {40.0, 1.0, 0.01, 1.99317856564914e-06},   {1.0, 0.001, 0.5, 0.12732417856407707},
    {1.0, 1.0, 1e-12, 0.24197072451905574},
};

double relative_error(double got, double want) {
  if (want == 0) return std::fabs(got);
  return std::fabs(got - want) / std::fabs(want);
}

}  // namespace

TEST_CASE("erfcx is within 8 eps everywhere") {
  for (const auto& [x, want] : erfcx_points) {
    CAPTURE(x);
    CHECK(relative_error(nlsq::erfcx(x), want) < 8 * eps);
  }
  CHECK(nlsq::erfcx(-27) == infinity);
  CHECK(nlsq::erfcx(-infinity) == infinity);
  CHECK(nlsq::erfcx(infinity) == 0);
  CHECK(std::isnan(nlsq::erfcx(nan_value)));
}

TEST_CASE("digamma is within 24 eps of itself or of 1, and keeps its digits at the positive zero") {
  for (const auto& [x, want] : digamma_points) {
    CAPTURE(x);
    const double error = std::fabs(nlsq::digamma(x) - want);
    CHECK(error < 24 * eps * std::fmax(1, std::fabs(want)));
    if (x > 0) CHECK(error < 32 * eps * std::fabs(want));
  }
  for (double pole : {0.0, -1.0, -7.0}) CHECK(std::isnan(nlsq::digamma(pole)));
  CHECK(nlsq::digamma(infinity) == infinity);
  CHECK(std::isnan(nlsq::digamma(nan_value)));
}

TEST_CASE("trigamma is within 8 eps") {
  for (const auto& [x, want] : trigamma_points) {
    CAPTURE(x);
    CHECK(relative_error(nlsq::trigamma(x), want) < 8 * eps);
  }
  for (double pole : {0.0, -1.0, -7.0}) CHECK(nlsq::trigamma(pole) == infinity);
  CHECK(nlsq::trigamma(infinity) == 0);
  CHECK(std::isnan(nlsq::trigamma(nan_value)));
}

TEST_CASE("The recurrences of gamma, digamma and trigamma hold") {
  for (double x = 0.05; x < 30; x *= 1.3) {
    CAPTURE(x);
    CHECK(relative_error(nlsq::digamma(x + 1) - nlsq::digamma(x), 1 / x) <
          1e-13 * (1 + x * std::fabs(nlsq::digamma(x))));
    CHECK(relative_error(nlsq::trigamma(x) - nlsq::trigamma(x + 1), 1 / (x * x)) < 1e-14 * (1 + x * x));
    CHECK(relative_error(nlsq::gamma_function(x + 1), x * nlsq::gamma_function(x)) < 1e-14);
  }
}

TEST_CASE("gamma has no value at its poles, and lgamma is its logarithm") {
  for (double pole : {0.0, -0.0, -1.0, -20.0}) CHECK(std::isnan(nlsq::gamma_function(pole)));
  CHECK(nlsq::gamma_function(5) == doctest::Approx(24).epsilon(1e-15));
  CHECK(nlsq::gamma_function(-0.5) == doctest::Approx(-2 * std::sqrt(std::numbers::pi)).epsilon(1e-15));
  CHECK(nlsq::gamma_function(172) == infinity);
  for (double x : {0.3, 4.5, 20.0, -0.5, -3.7})
    CHECK(nlsq::lgamma_function(x) ==
          doctest::Approx(std::log(std::fabs(nlsq::gamma_function(x)))).epsilon(1e-13));
  CHECK(nlsq::lgamma_function(1e100) == doctest::Approx(2.2925850929940456e+102).epsilon(1e-15));
}

TEST_CASE("Bessel functions J0 and J1 are within 1e-15, absolutely") {
  for (const auto& [x, want] : besj0_points) {
    CAPTURE(x);
    CHECK(std::fabs(nlsq::besj0(x) - want) < 1e-15);
  }
  for (const auto& [x, want] : besj1_points) {
    CAPTURE(x);
    CHECK(std::fabs(nlsq::besj1(x) - want) < 1e-15);
  }
}

TEST_CASE("The Faddeeva function is within 1e-14 in each part of the upper half plane, tiny parts included") {
  for (const auto& [x, y, re, im] : wofz_points) {
    if (y < 0) continue;
    CAPTURE(x);
    CAPTURE(y);
    const auto w = nlsq::wofz({x, y});
    if (std::fabs(re) >= std::numeric_limits<double>::min()) CHECK(relative_error(w.real(), re) < 1e-14);
    CHECK(relative_error(w.imag(), im) < 1e-14);
  }
}

TEST_CASE("The Faddeeva function is within 1e-13 of its size below the real axis") {
  for (const auto& [x, y, re, im] : wofz_points) {
    if (y >= 0) continue;
    CAPTURE(x);
    CAPTURE(y);
    CHECK(std::abs(nlsq::wofz({x, y}) - std::complex(re, im)) < 1e-13 * std::abs(std::complex(re, im)));
  }
}

TEST_CASE("The Faddeeva function is erfcx on the imaginary axis and continuous where its two rules meet") {
  for (double y = 0.01; y < 50; y *= 1.17) {
    CAPTURE(y);
    CHECK(relative_error(nlsq::wofz({0, y}).real(), nlsq::erfcx(y)) < 4e-15);
    CHECK(nlsq::wofz({0, y}).imag() == 0);
  }
  for (int i = 0; i < 20000; ++i) {
    const double x = 0.0007 * i, y = 1e-4 * (i % 7);
    const auto w = nlsq::wofz({x, y}), next = nlsq::wofz({x * (1 + 0x1p-50), y});
    // This follows from |w'| = |2 i / sqrt(pi) - 2 z w| < 2 + 2 |z w|.
    REQUIRE(std::abs(w - next) < 1e-14 * (1 + x));
  }
  const auto w = nlsq::wofz({1.25, 0.5});
  CHECK(nlsq::wofz({-1.25, 0.5}) == std::conj(w));
}

TEST_CASE("The Faddeeva function at the ends of the range") {
  CHECK(std::isnan(nlsq::wofz({nan_value, 1}).real()));
  CHECK(std::isnan(nlsq::wofz({1, nan_value}).imag()));
  CHECK(nlsq::wofz({infinity, 1}) == std::complex(0.0, 0.0));
  CHECK(nlsq::wofz({1, infinity}) == std::complex(0.0, 0.0));
  const double inverse_root_pi = 1 / std::sqrt(std::numbers::pi);
  CHECK(nlsq::wofz({1e200, 0}).imag() == doctest::Approx(1e-200 * inverse_root_pi).epsilon(1e-14).scale(0));
  CHECK(nlsq::wofz({0, 1e300}).real() == doctest::Approx(1e-300 * inverse_root_pi).epsilon(1e-14).scale(0));
  const auto diagonal = nlsq::wofz({1e300, 1e300});
  CHECK(diagonal.real() == doctest::Approx(0.5e-300 * inverse_root_pi).epsilon(1e-14).scale(0));
}

TEST_CASE("The Voigt profile is within 1e-14, and becomes Gaussian or Lorentzian") {
  for (const auto& [x, sigma, gamma, want] : voigt_points) {
    CAPTURE(x);
    CAPTURE(sigma);
    CAPTURE(gamma);
    CHECK(relative_error(nlsq::voigt(x, sigma, gamma), want) < 1e-14);
  }
  CHECK(nlsq::voigt(1, 2, 0) ==
        doctest::Approx(std::exp(-0.125) / (2 * std::sqrt(2 * std::numbers::pi))).epsilon(1e-15));
  CHECK(nlsq::voigt(1, 0, 2) == doctest::Approx(2 / std::numbers::pi / 5).epsilon(1e-15));
  CHECK(nlsq::voigt(0, 0, 0) == infinity);
  CHECK(nlsq::voigt(1, 0, 0) == 0);
  CHECK(nlsq::voigt(-0.3, 1, 1) == nlsq::voigt(0.3, 1, 1));
}
