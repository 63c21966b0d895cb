// Implements the checksum: by carry-less multiplication where the CPU has it, and by zlib otherwise.
#include "table/source/checksum.hpp"

#include "errors.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace nlsq::cli {

namespace {

std::uint32_t by_zlib(std::uint32_t crc, const char* bytes, std::size_t size) {
  return static_cast<std::uint32_t>(::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes), size));
}

#if defined(__x86_64__)

// Returns x^n modulo the polynomial of CRC-32, in the order of bits of the data, shifted as the product of
// two such numbers is.
constexpr std::uint64_t power(std::size_t n) {
  std::uint32_t r = 0x80000000U;
  for (std::size_t i = 0; i < n; ++i) r = (r >> 1) ^ ((r & 1U) != 0 ? 0xEDB88320U : 0U);
  return static_cast<std::uint64_t>(r) << 1;
}

constexpr std::size_t kLanes = 4, kWidth = 16, kStride = kLanes * kWidth;

// Moves 128 bits of the message forward by a distance and adds the bits there. The result is a shorter
// message with the same remainder (Gopal et al., Fast CRC Computation Using PCLMULQDQ, Intel, 2009).
__attribute__((target("pclmul,sse4.1"))) inline __m128i fold(__m128i bits, __m128i powers, __m128i there) {
  const __m128i low = _mm_clmulepi64_si128(bits, powers, 0x00);
  const __m128i high = _mm_clmulepi64_si128(bits, powers, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), there);
}

// `size` is a multiple of kStride and not 0.
__attribute__((target("pclmul,sse4.1"))) std::uint32_t by_products(std::uint32_t crc, const char* bytes,
                                                                   std::size_t size) {
  const auto load = [&](std::size_t at) __attribute__((target("pclmul,sse4.1"))) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + at));
  };
  constexpr std::uint64_t kStrideLow = power(8 * kStride + 32), kStrideHigh = power(8 * kStride - 32);
  constexpr std::uint64_t kWidthLow = power(8 * kWidth + 32), kWidthHigh = power(8 * kWidth - 32);
  const __m128i by_stride =
      _mm_set_epi64x(static_cast<long long>(kStrideHigh), static_cast<long long>(kStrideLow));
  const __m128i by_width =
      _mm_set_epi64x(static_cast<long long>(kWidthHigh), static_cast<long long>(kWidthLow));
  __m128i lane[kLanes];
  for (std::size_t k = 0; k < kLanes; ++k) lane[k] = load(k * kWidth);
  lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128(static_cast<int>(~crc)));
  for (std::size_t at = kStride; at < size; at += kStride) {
    for (std::size_t k = 0; k < kLanes; ++k) lane[k] = fold(lane[k], by_stride, load(at + k * kWidth));
  }
  __m128i rest = lane[0];
  for (std::size_t k = 1; k < kLanes; ++k) rest = fold(rest, by_width, lane[k]);
  char left[kWidth];
  _mm_storeu_si128(reinterpret_cast<__m128i*>(left), rest);
  return by_zlib(0xFFFFFFFFU, left, kWidth);  // which stands for a remainder of 0 so far
}

bool has_products() {
  static const bool has = __builtin_cpu_supports("pclmul") != 0 && __builtin_cpu_supports("sse4.1") != 0;
  return has;
}

#endif

}  // namespace

std::uint32_t crc32_of(std::uint32_t crc, const char* bytes, std::size_t size) {
#if defined(__x86_64__)
  const std::size_t whole = size - size % kStride;
  if (whole > 0 && has_products()) {
    crc = by_products(crc, bytes, whole);
    bytes += whole;
    size -= whole;
  }
#endif
  return size > 0 ? by_zlib(crc, bytes, size) : crc;
}

InputChecksum::InputChecksum(int fd) : rest_(fd < 0 ? -1 : ::dup(fd)) {
  // Without the descriptor the checksum would leave out what the table does not read.
  if (fd >= 0 && rest_ < 0)
    throw BadData(std::string("cannot compute the checksum of an input: ") + std::strerror(errno));
}

InputChecksum::~InputChecksum() {
  if (rest_ >= 0) ::close(rest_);
}

std::string InputChecksum::finish() {
  std::vector<char> buffer(std::size_t{1} << 17);
  while (rest_ >= 0) {
    const ssize_t n = ::read(rest_, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    add(buffer.data(), static_cast<std::size_t>(n));
  }
  if (rest_ >= 0) ::close(rest_);
  rest_ = -1;
  return fmt::format("crc32:{:08x}", crc_);
}

}  // namespace nlsq::cli
