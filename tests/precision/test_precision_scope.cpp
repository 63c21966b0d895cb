// Tests the policy for solves that have none of their own.
#include <nlsq/error.hpp>
#include <nlsq/precision_scope.hpp>

#include <doctest/doctest.h>

#include <stdexcept>
#include <thread>

using namespace nlsq;

TEST_CASE("outside any scope the policy is auto; scopes nest and end in reverse") {
  CHECK(current_policy() == PrecisionPolicy{});
  {
    const PrecisionScope outer(PrecisionPolicy::all_f64());
    CHECK(current_policy() == PrecisionPolicy::all_f64());
    {
      const PrecisionScope inner(PrecisionPolicy::parse("bf16; condition > 1e3 -> gram=f64"));
      CHECK(current_policy().to_string() == "bf16; condition > 1000 -> gram=f64");
    }
    CHECK(current_policy() == PrecisionPolicy::all_f64());
  }
  CHECK(current_policy() == PrecisionPolicy{});
}

TEST_CASE("a scope ends with the exception that leaves it") {
  try {
    const PrecisionScope scope(PrecisionPolicy::parse("f32"));
    throw std::runtime_error("out");
  } catch (const std::runtime_error&) {
  }
  CHECK(current_policy() == PrecisionPolicy{});
}

TEST_CASE("a scope is its thread's alone") {
  const PrecisionScope scope(PrecisionPolicy::parse("f32"));
  PrecisionPolicy elsewhere = PrecisionPolicy::all_f64();
  std::thread([&] { elsewhere = current_policy(); }).join();
  CHECK(elsewhere == PrecisionPolicy{});
  CHECK(current_policy() == PrecisionPolicy::parse("f32"));
}

TEST_CASE("a policy that is not sound opens no scope") {
  PrecisionPolicy wrong;
  wrong.gram = Format::bf16;
  CHECK_THROWS_AS(PrecisionScope{wrong}, ValidationError);
  CHECK(current_policy() == PrecisionPolicy{});
}
