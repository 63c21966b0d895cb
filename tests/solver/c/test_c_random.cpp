// Runs random bytes as calls of the C interface, as the fuzzer does, but only briefly.
#include <doctest/doctest.h>

#include "c_bytes.hpp"

#include <random>

TEST_CASE("random options, starting values and tapes give documented statuses") {
  std::mt19937 random(20);
  const std::size_t handles = nlsq_live_handles();
  for (int k = 0; k < 400; ++k) {
    std::vector<std::uint8_t> bytes(20 + random() % 300);
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() >> 16);
    CAPTURE(k);
    nlsq_test::drive_c_interface(bytes.data(), bytes.size());
  }
  CHECK(nlsq_live_handles() == handles);
}
