// Takes any bytes as calls of the C interface (tests/support/c_bytes.hpp).
#include "support/c_bytes.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  nlsq_test::drive_c_interface(data, size);
  return 0;
}
