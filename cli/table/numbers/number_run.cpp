// Implements NumberRun with SSE4.1: parses consecutive numbers of a record, sixteen characters at a time.
#include "table/numbers/number_run.hpp"

#include "table/numbers/decimal_number.hpp"

#include <array>
#include <bit>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace nlsq::cli {

#if defined(__x86_64__) && defined(__GNUC__)

namespace {

constexpr std::uint8_t kNothing = 0x80;  // a shuffle writes 0 for it

using Shuffle = std::array<std::uint8_t, 16>;

// Returns for each `place` the shuffle that removes this byte, the decimal sign; for 16 it removes none.
constexpr std::array<Shuffle, 17> without_byte() {
  std::array<Shuffle, 17> table{};
  for (std::size_t place = 0; place <= 16; ++place) {
    for (std::size_t i = 0; i < 16; ++i) {
      const std::size_t from = i + (i >= place ? 1 : 0);
      table[place][i] = from < 16 ? static_cast<std::uint8_t>(from) : kNothing;
    }
  }
  return table;
}

// Shuffles that move the digits after an optional sign to the end and fill with zeros: the entry for s signs
// and d digits.
constexpr std::array<std::array<Shuffle, 17>, 2> to_the_end() {
  std::array<std::array<Shuffle, 17>, 2> table{};
  for (std::size_t sign = 0; sign < 2; ++sign) {
    for (std::size_t digits = 0; digits <= 16; ++digits) {
      for (std::size_t i = 0; i < 16; ++i) {
        const std::size_t from = i + digits - 16 + sign;
        table[sign][digits][i] = i + digits < 16 || from > 15 ? kNothing : static_cast<std::uint8_t>(from);
      }
    }
  }
  return table;
}

alignas(64) constexpr auto kWithoutByte = without_byte();
alignas(64) constexpr auto kToTheEnd = to_the_end();
constexpr double kPowersOfTen[16] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

#define NLSQ_SSE41 __attribute__((target("sse4.1")))

NLSQ_SSE41 inline __m128i load(const Shuffle& shuffle) {
  return _mm_load_si128(reinterpret_cast<const __m128i*>(shuffle.data()));
}

NLSQ_SSE41 inline std::uint32_t equal(__m128i bytes, __m128i value) {
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, value)));
}

// Returns the value of sixteen digits, the first in the lowest byte. Multiply-adds combine pairs, fours and
// eights.
NLSQ_SSE41 inline std::uint64_t sixteen_digits(__m128i digits) {
  const __m128i pairs = _mm_maddubs_epi16(digits, _mm_set1_epi16(1 << 8 | 10));
  const __m128i fours = _mm_madd_epi16(pairs, _mm_set1_epi32(1 << 16 | 100));
  const __m128i eights = _mm_madd_epi16(_mm_packus_epi32(fours, fours), _mm_set1_epi32(1 << 16 | 10000));
  const auto both = static_cast<std::uint64_t>(_mm_cvtsi128_si64(eights));
  return (both & 0xFFFFFFFFu) * 100000000u + (both >> 32);
}

// Holds the masks of sixteen characters: where the number ends and where its decimal sign is.
struct Outline {
  std::uint32_t sign, dots, length;
  // Avoids a branch, because it would often be mispredicted.
  std::uint32_t has_dot() const { return (dots | -dots) >> 31; }
  std::uint32_t digits() const { return length - sign - has_dot(); }
  bool one_dot_at_most() const { return (dots & (dots - 1)) == 0; }
  std::uint32_t place() const { return static_cast<std::uint32_t>(std::countr_zero(dots | 1u << length)); }
};

NLSQ_SSE41 inline Outline outline(__m128i text, __m128i values, __m128i decimal) {
  const std::uint32_t digit = equal(_mm_min_epu8(values, _mm_set1_epi8(9)), values),
                      dot = equal(text, decimal);
  const std::uint32_t sign = equal(text, _mm_set1_epi8('-')) & 1;
  const std::uint32_t stops = ~(digit | dot | sign);  // bit 16 is always set
  return {sign, dot & ((stops & -stops) - 1), static_cast<std::uint32_t>(std::countr_zero(stops))};
}

NLSQ_SSE41 inline std::uint64_t mantissa_of(__m128i values, const Outline& is) {
  const __m128i closed = _mm_shuffle_epi8(values, load(kWithoutByte[is.place()]));
  return sixteen_digits(_mm_shuffle_epi8(closed, load(kToTheEnd[is.sign][is.digits()])));
}

inline double with_sign(double magnitude, std::uint32_t sign) {
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(magnitude) | std::uint64_t{sign} << 63);
}

// Parses up to 19 digits that continue after the first sixteen characters, which contain the decimal sign (as
// %.17g writes). Returns the length if `end` follows, or 0.
NLSQ_SSE41 inline std::uint32_t long_number(const char* p, __m128i values, const Outline& is, char end,
                                            double& value) {
  constexpr std::uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000};
  const std::uint64_t rest = swar::load(p + 16);
  const auto more =
      static_cast<std::uint32_t>(std::countr_zero(swar::not_digits(rest) | std::uint64_t{1} << 63)) / 8;
  if (is.digits() + more > 19 || more > 5 || is.dots == 0 || !is.one_dot_at_most() || p[16 + more] != end)
    return 0;
  const std::uint64_t mantissa =
      mantissa_of(values, is) * kTens[more] + swar::eight_digits((rest << 8) << (56 - 8 * more));
  const std::uint32_t decimals = 16 + more - is.place() - 1;
  value = with_sign(mantissa == 0 ? 0.0 : scale_by_ten(mantissa, -static_cast<int>(decimals)), is.sign);
  return 16 + more;
}

// Only the length of a number determines where the next begins, and it comes from masks alone. The CPU can
// therefore start the next number while it still combines the digits of this one.
NLSQ_SSE41 std::size_t read_run(const char*& begin, const NumberRun& run, std::size_t column) {
  const __m128i decimal = _mm_set1_epi8(run.decimal);
  const char* p = begin;
  for (; column < run.columns; ++column) {
    const int slot = run.slot_of[column];
    if (slot < 0) break;
    const char end = column + 1 == run.columns ? '\n' : run.delimiter;
    double& value = run.out[static_cast<std::size_t>(slot) * run.stride];
    const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i values = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    const Outline is = outline(text, values, decimal);
    if (p[is.length] == end && is.digits() - 1 < 15 && is.one_dot_at_most()) {  // one to fifteen digits
      // Both numbers are exact, the digits below 2^53 and the power of ten below 10^22, so the quotient is
      // rounded once (Clinger, PLDI 1990).
      const auto mantissa = static_cast<std::int64_t>(mantissa_of(values, is));
      value = with_sign(static_cast<double>(mantissa) / kPowersOfTen[is.length - is.place() - is.has_dot()],
                        is.sign);
      p += is.length + 1;
      continue;
    }
    double other = 0;
    const char* stop = p;
    if (is.length == 16) stop += long_number(p, values, is, end, other);
    if (stop == p) stop = parse_decimal(p, run.decimal, other);
    if (stop == nullptr || *stop != end) break;
    value = other;
    p = stop + 1;
  }
  begin = p;
  return column;
}

#undef NLSQ_SSE41

}  // namespace

ReadNumberRun number_run_reader() noexcept {
  __builtin_cpu_init();
  return __builtin_cpu_supports("sse4.1") ? read_run : nullptr;
}

#else

ReadNumberRun number_run_reader() noexcept { return nullptr; }

#endif

}  // namespace nlsq::cli
