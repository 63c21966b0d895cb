// Tests that comparisons in tests can fail: doctest's Approx compares small numbers by their own size
// (tests/support/main.cpp).
#include <doctest/doctest.h>

TEST_CASE("Approx tells small numbers apart, and takes zeros for equal") {
  CHECK_FALSE(1e-20 == doctest::Approx(2e-20));
  CHECK(1e-20 == doctest::Approx(1.0000001e-20).epsilon(1e-6));
  CHECK(0 == doctest::Approx(0));
  CHECK(1e-20 == doctest::Approx(0).epsilon(1e-6).scale(1));
}
