// Tests that the encoder gives the bytes that GNU as gives for the same instruction (with {vex3}, {load} or
// {disp32} if that has a shorter form).
#include <doctest/doctest.h>

#include "machine_code/encoder.hpp"

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <vector>

using namespace nlsq;

namespace {

VectorOperand vec(int number) { return VectorOperand::in_vector(number); }
VectorOperand at(Register base, std::int32_t displacement) { return VectorOperand::at(base, displacement); }
VectorOperand indexed(Register base, Register index, std::uint8_t scale, std::int32_t displacement) {
  return {.kind = VectorOperand::Kind::indexed,
          .base = base,
          .index = index,
          .scale = scale,
          .displacement = displacement};
}
VectorOperand repeated(VectorOperand from, std::uint8_t bytes) {
  from.each = bytes;
  return from;
}

std::string text_of(std::span<const std::uint8_t> code) {
  std::string text;
  char two[4];
  for (const std::uint8_t byte : code) {
    std::snprintf(two, sizeof two, "%02x", byte);
    text += (text.empty() ? "" : " ") + std::string(two);
  }
  return text;
}

// Compares the bytes that were written since the last call with one instruction.
class Written {
 public:
  explicit Written(const Encoder& encoder) : encoder_(encoder) {}
  void is(const char* instruction, const char* bytes) {
    const std::size_t end = encoder_.here();
    expected_.push_back({instruction, bytes, end_, end});
    end_ = end;
  }
  void check(std::span<const std::uint8_t> code) const {
    CHECK(code.size() % 64 == 0);
    for (const Expected& one : expected_) {
      CAPTURE(std::string(one.instruction));
      CHECK(text_of(code.subspan(one.begin, one.end - one.begin)) == std::string(one.bytes));
    }
  }

 private:
  struct Expected {
    const char* instruction;
    const char* bytes;
    std::size_t begin, end;
  };
  const Encoder& encoder_;
  std::vector<Expected> expected_;
  std::size_t end_ = 0;
};

}  // namespace

TEST_CASE("instructions of AVX2, and of general registers") {
  using enum Register;
  Encoder e(vectors_avx2);
  Written written(e);
  e.vector({1, 1, 0x58}, 9, 1, vec(14));
  written.is("vaddpd ymm9, ymm1, ymm14", "c4 41 75 58 ce");
  e.vector({0, 1, 0x59}, 2, 12, at(r12, 8));
  written.is("vmulps ymm2, ymm12, [r12 + 8]", "c4 c1 1c 59 54 24 08");
  e.vector({1, 2, 0xb8, true}, 3, 4, at(rsp, 64));
  written.is("vfmadd231pd ymm3, ymm4, [rsp + 64]", "c4 e2 dd b8 5c 24 40");
  e.vector({1, 2, 0xac}, 15, 8, indexed(r13, rdx, 0, 4096));
  written.is("vfnmadd213ps ymm15, ymm8, [r13 + rdx*1 + 4096]", "c4 42 3d ac bc 15 00 10 00 00");
  e.vector({1, 1, 0xc2}, 5, 6, vec(7));
  e.immediate(17);
  written.is("vcmplt_oqpd ymm5, ymm6, ymm7", "c4 e1 4d c2 ef 11");
  e.vector({1, 3, 0x4b}, 1, 2, vec(3));
  e.immediate(4 << 4);
  written.is("vblendvpd ymm1, ymm2, ymm3, ymm4", "c4 e3 6d 4b cb 40");
  e.vector({1, 1, 0x73}, 6, 10, vec(11));
  e.immediate(52);
  written.is("vpsllq ymm10, ymm11, 52", "c4 c1 2d 73 f3 34");
  e.vector({1, 3, 0x08}, 1, 0, vec(9));
  e.immediate(9);
  written.is("vroundps ymm1, ymm9, 9", "c4 c3 7d 08 c9 09");
  e.load(13, indexed(rdi, rdx, 1, 32));
  written.is("vmovups ymm13, [rdi + rdx*2 + 32]", "c4 61 7c 10 6c 57 20");
  e.store(8, at(rbp, -32));
  written.is("vmovups [rbp - 32], ymm8", "c4 61 7c 11 45 e0");
  e.move(0, 10);
  written.is("vmovaps ymm0, ymm10", "c4 c1 7c 28 c2");
  e.extract(rax, 9, 1);
  written.is("vpextrq rax, xmm9, 1", "c4 63 f9 16 c8 01");
  e.vector({1, 3, 0x19}, 11, 0, vec(2));
  e.immediate(1);
  written.is("vextractf128 xmm2, ymm11, 1", "c4 63 7d 19 da 01");
  e.load_pointer(r12, rdi, 24);
  written.is("mov r12, [rdi + 24]", "4c 8b a7 18 00 00 00");
  e.set_pointer(r15, 0x123456789abcdef0);
  written.is("movabs r15, 0x123456789abcdef0", "49 bf f0 de bc 9a 78 56 34 12");
  written.check(e.finish());
}

TEST_CASE("instructions of AVX-512") {
  using enum Register;
  Encoder e(vectors_avx512);
  Written written(e);
  e.vector({1, 1, 0x58, true}, 9, 17, vec(30));
  written.is("vaddpd zmm9, zmm17, zmm30", "62 11 f5 40 58 ce");
  e.vector({0, 1, 0x5c}, 24, 8, vec(7));
  written.is("vsubps zmm24, zmm8, zmm7", "62 61 3c 48 5c c7");
  e.vector({1, 1, 0x59, true}, 2, 15, at(r12, 64));
  written.is("vmulpd zmm2, zmm15, [r12 + 64]", "62 d1 85 48 59 54 24 01");
  e.vector({0, 1, 0x5e}, 20, 21, at(rsp, 8128));
  written.is("vdivps zmm20, zmm21, [rsp + 8128]", "62 e1 54 40 5e 64 24 7f");
  e.vector({0, 1, 0x5e}, 20, 21, at(rsp, 8192));
  written.is("vdivps zmm20, zmm21, [rsp + 8192]", "62 e1 54 40 5e a4 24 00 20 00 00");
  e.vector({1, 1, 0x5d, true}, 3, 4, at(rbx, 32));
  written.is("vminpd zmm3, zmm4, [rbx + 32]", "62 f1 dd 48 5d 9b 20 00 00 00");
  e.vector({1, 1, 0x5f, true}, 3, 4, repeated(at(rsi, 24), 8));
  written.is("vmaxpd zmm3, zmm4, [rsi + 24]{1to8}", "62 f1 dd 58 5f 5e 03");
  e.vector({0, 1, 0x54}, 31, 4, repeated(at(rsi, 508), 4));
  written.is("vandps zmm31, zmm4, [rsi + 508]{1to16}", "62 61 5c 58 54 7e 7f");
  e.vector({1, 2, 0xb8, true}, 18, 29, vec(5));
  written.is("vfmadd231pd zmm18, zmm29, zmm5", "62 e2 95 40 b8 d5");
  e.vector({1, 2, 0xac}, 6, 16, indexed(r13, rdx, 0, 128));
  written.is("vfnmadd213ps zmm6, zmm16, [r13 + rdx*1 + 128]", "62 d2 7d 40 ac 74 15 02");
  e.vector({1, 1, 0x5a, true}, 19, 0, indexed(r9, rdx, 1, -64));
  written.is("vcvtpd2ps ymm19, [r9 + rdx*2 - 64]", "62 c1 fd 48 5a 5c 51 ff");
  e.vector({0, 1, 0x5a}, 1, 0, vec(28));
  written.is("vcvtps2pd zmm1, ymm28", "62 91 7c 48 5a cc");
  e.vector({1, 2, 0x2c, true}, 17, 2, vec(13));
  written.is("vscalefpd zmm17, zmm2, zmm13", "62 c2 ed 48 2c cd");
  e.vector({0, 1, 0x51}, 23, 0, vec(12));
  written.is("vsqrtps zmm23, zmm12", "62 c1 7c 48 51 fc");
  e.vector({1, 3, 0x09, true}, 4, 0, vec(26));
  e.immediate(9);
  written.is("vrndscalepd zmm4, zmm26, 9", "62 93 fd 48 09 e2 09");
  e.vector({1, 1, 0xd4, true}, 11, 19, vec(3));
  written.is("vpaddq zmm11, zmm19, zmm3", "62 71 e5 40 d4 db");
  e.vector({1, 1, 0xfa}, 11, 1, vec(20));
  written.is("vpsubd zmm11, zmm1, zmm20", "62 31 75 48 fa dc");
  e.vector({1, 1, 0x73, true}, 6, 25, vec(14));
  e.immediate(63);
  written.is("vpsllq zmm25, zmm14, 63", "62 d1 b5 40 73 f6 3f");
  e.vector({1, 1, 0x72}, 2, 5, vec(30));
  e.immediate(23);
  written.is("vpsrld zmm5, zmm30, 23", "62 91 55 48 72 d6 17");
  e.vector({1, 1, 0xc2, true}, 3, 22, vec(9));
  e.immediate(17);
  written.is("vcmplt_oqpd k3, zmm22, zmm9", "62 d1 cd 40 c2 d9 11");
  e.vector({0, 1, 0xc2}, 7, 2, repeated(at(rsi, 4), 4));
  e.immediate(18);
  written.is("vcmple_oqps k7, zmm2, [rsi + 4]{1to16}", "62 f1 6c 58 c2 7e 01 12");
  e.evex({1, 2, 0x65, true}, 16, 1, vec(31), 5);
  written.is("vblendmpd zmm16{k5}, zmm1, zmm31", "62 82 f5 4d 65 c7");
  e.evex({2, 2, 0x39, true}, 2, 0, vec(24));
  written.is("vpmovq2m k2, zmm24", "62 92 fe 48 39 d0");
  e.evex({1, 2, 0x77, true}, 7, 29, at(r15, 64));
  written.is("vpermi2pd zmm7, zmm29, [r15 + 64]", "62 d2 95 40 77 7f 01");
  e.vector({1, 3, 0x1a, true}, 21, 21, vec(8));
  e.immediate(1);
  written.is("vinsertf64x4 zmm21, zmm21, ymm8, 1", "62 c3 d5 40 1a e8 01");
  e.vector({1, 3, 0x1b, true}, 5, 0, vec(18));
  e.immediate(1);
  written.is("vextractf64x4 ymm18, zmm5, 1", "62 b3 fd 48 1b ea 01");
  e.load(27, indexed(rdi, rdx, 0, 64));
  written.is("vmovups zmm27, [rdi + rdx*1 + 64]", "62 61 7c 48 10 5c 17 01");
  e.load(19, repeated(at(rsi, 16), 8));
  written.is("vbroadcastsd zmm19, QWORD PTR [rsi + 16]", "62 e2 fd 48 19 5e 02");
  e.load(3, repeated(at(rsi, 6), 4));
  written.is("vbroadcastss zmm3, DWORD PTR [rsi + 6]", "62 f2 7d 48 18 9e 06 00 00 00");
  e.store(31, at(rsp, 192));
  written.is("vmovups [rsp + 192], zmm31", "62 61 7c 48 11 7c 24 03");
  e.move(16, 9);
  written.is("vmovaps zmm16, zmm9", "62 c1 7c 48 28 c1");
  e.load_mask(5, at(rsp, 128));
  written.is("kmovw k5, [rsp + 128]", "c4 e1 78 90 ac 24 80 00 00 00");
  e.store_mask(1, at(rsp, 64));
  written.is("kmovw [rsp + 64], k1", "c4 e1 78 91 4c 24 40");
  e.vex({0, 1, 0x41}, 1, 2, vec(3));
  written.is("kandw k1, k2, k3", "c4 e1 6c 41 cb");
  e.vex({0, 1, 0x45}, 4, 5, vec(6));
  written.is("korw k4, k5, k6", "c4 e1 54 45 e6");
  e.vex({0, 1, 0x44, false, true}, 7, 0, vec(1));
  written.is("knotw k7, k1", "c4 e1 78 44 f9");
  e.vex({1, 1, 0x98, false, true}, 2, 0, vec(2));
  written.is("kortestb k2, k2", "c4 e1 79 98 d2");
  e.vex({0, 1, 0x98, false, true}, 6, 0, vec(6));
  written.is("kortestw k6, k6", "c4 e1 78 98 f6");
  e.prefetch(indexed(r14, rdx, 1, 2048));
  written.is("prefetcht0 [r14 + rdx*2 + 2048]", "41 0f 18 8c 56 00 08 00 00");
  e.prefetch(indexed(r8, rdx, 0, 64));
  written.is("prefetcht0 [r8 + rdx*1 + 64]", "41 0f 18 4c 10 40");
  written.check(e.finish());
}

TEST_CASE("constants are behind the code, and instructions find them") {
  // A displacement counts from the end of the instruction, which includes a byte that follows it.
  const auto place_of = [](std::span<const std::uint8_t> code, std::size_t end, std::size_t displacement) {
    std::size_t distance = 0;
    for (std::size_t k = 0; k < 4; ++k) distance |= std::size_t(code[displacement + k]) << 8 * k;
    return end + distance;
  };
  for (const VectorSet& set : {vectors_avx2, vectors_avx512}) {
    CAPTURE(set.bytes);
    Encoder e(set);
    VectorOperand first{.kind = VectorOperand::Kind::constant, .constant = e.constant(11)};
    if (set.avx512) first.each = 8;
    VectorOperand second = first;
    second.constant = e.constant(22);
    CHECK(e.constant(11) == first.constant);
    e.vector({1, 1, 0x58, true}, 1, 2, second);  // vaddpd
    const std::size_t middle = e.here();
    e.vector({1, 1, 0xc2, true}, 1, 2, first);  // vcmppd
    e.immediate(17);
    const std::size_t end = e.here();
    const std::vector<std::uint8_t> code = e.finish();
    const std::size_t step = set.avx512 ? 8 : 32, pool = 64;
    CHECK(place_of(code, middle, middle - 4) == pool + step);
    CHECK(place_of(code, end, end - 5) == pool);
    for (std::size_t at = 0; at < 2 * step; at += 8) CHECK(code[pool + at] == (at < step ? 11 : 22));
  }
}
