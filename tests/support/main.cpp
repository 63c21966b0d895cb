// This is the main program of each test executable, by doctest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN

// doctest's Approx adds `m_scale`, by default 1, to the size of the numbers that it compares. So it would
// take all numbers far below its epsilon for equal. Tests that want a size of 1 write .scale(1). Zeros are
// equal because this default is not 0. tests/precision/test_approx.cpp checks that the default has an effect.
#define m_scale(size) m_scale(1e-300)
#include <doctest/doctest.h>
