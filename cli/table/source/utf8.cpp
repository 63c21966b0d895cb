// Validates UTF-8 and formats byte strings for messages.
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

namespace nlsq::cli {

namespace {

using Byte = unsigned char;

// Says how many continuation bytes follow a lead byte, and gives the range of the first of them.
struct Lead {
  int more;
  Byte low, high;
};

Lead classify(Byte b) noexcept {
  if (b >= 0xC2 && b <= 0xDF) return {1, 0x80, 0xBF};
  if (b == 0xE0) return {2, 0xA0, 0xBF};
  if (b == 0xED) return {2, 0x80, 0x9F};  // no surrogates
  if (b >= 0xE1 && b <= 0xEF) return {2, 0x80, 0xBF};
  if (b == 0xF0) return {3, 0x90, 0xBF};
  if (b >= 0xF1 && b <= 0xF3) return {3, 0x80, 0xBF};
  if (b == 0xF4) return {3, 0x80, 0x8F};
  return {0, 1, 0};  // never a lead byte
}

// Returns the number of valid bytes of the sequence at p. `complete` is set if the whole sequence is valid.
std::size_t sequence(const Byte* p, const Byte* end, bool& complete) noexcept {
  const Lead lead = classify(*p);
  complete = false;
  if (lead.more == 0) return 0;
  std::size_t n = 1;
  for (int i = 0; i < lead.more; ++i, ++n) {
    if (p + n == end) return n;
    const Byte low = i == 0 ? lead.low : Byte{0x80}, high = i == 0 ? lead.high : Byte{0xBF};
    if (p[n] < low || p[n] > high) return 0;
  }
  complete = true;
  return n;
}

// Returns the first byte that is not ASCII, or is NUL. Checks 32 bytes per step.
const Byte* skip_ascii(const Byte* p, const Byte* end) noexcept {
  constexpr std::uint64_t kHigh = 0x8080808080808080u, kOnes = 0x0101010101010101u;
  while (end - p >= 32) {
    std::uint64_t w[4];
    std::memcpy(w, p, 32);
    std::uint64_t bad = 0;
    // (w - 1) & ~w sets the high bit of every zero byte. False positives only cost the slow path.
    for (const std::uint64_t v : w) bad |= v | ((v - kOnes) & ~v);
    if (bad & kHigh) break;
    p += 32;
  }
  while (p != end && *p != 0 && *p < 0x80) ++p;
  return p;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) noexcept {
  const Byte* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  const Byte* p = begin;
  for (;;) {
    p = skip_ascii(p, end);
    if (p == end || *p == 0) break;
    bool complete = false;
    const std::size_t n = sequence(p, end, complete);
    if (!complete) break;
    p += n;
  }
  return static_cast<std::size_t>(p - begin);
}

std::size_t unfinished_utf8_suffix(std::string_view text) noexcept {
  const Byte* const begin = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = begin + text.size();
  for (std::size_t n = 1; n <= 3 && n <= text.size(); ++n) {
    if ((end[-static_cast<std::ptrdiff_t>(n)] & 0xC0) == 0x80) continue;
    bool complete = false;
    const std::size_t valid = sequence(end - n, end, complete);
    return !complete && valid == n ? n : 0;
  }
  return 0;
}

std::size_t count_code_points(std::string_view text) noexcept {
  std::size_t n = 0;
  for (const char c : text) n += (static_cast<Byte>(c) & 0xC0) != 0x80;
  return n;
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  const Byte* p = reinterpret_cast<const Byte*>(text.data());
  const Byte* const end = p + text.size();
  while (p != end) {
    if (out.size() >= limit) return out + "...";
    bool complete = false;
    const std::size_t n = *p < 0x80 ? 1 : sequence(p, end, complete);
    if (*p < 0x80 && *p >= 0x20 && *p != 0x7F) {
      out += static_cast<char>(*p++);
    } else if (complete) {
      out.append(reinterpret_cast<const char*>(p), n);
      p += n;
    } else {
      out += fmt::format("\\x{:02X}", *p++);
    }
  }
  return out;
}

}  // namespace nlsq::cli
