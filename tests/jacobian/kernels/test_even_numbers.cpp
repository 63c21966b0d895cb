// Tests lists of numbers that take memory only if they are not evenly spaced (kernels/even_numbers.hpp).
#include "kernels/even_numbers.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

using namespace nlsq;

namespace {

EvenNumbers<std::uint32_t> listed(const std::vector<std::uint32_t>& numbers) {
  EvenNumbers<std::uint32_t> list;
  for (const std::uint32_t number : numbers) list.push_back(number);
  return list;
}

void check_same(const EvenNumbers<std::uint32_t>& list, const std::vector<std::uint32_t>& numbers) {
  REQUIRE(list.size() == numbers.size());
  const EvenView<std::uint32_t> view = list.view();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    CHECK(list[i] == numbers[i]);
    CHECK(view[i] == numbers[i]);
  }
  if (!numbers.empty()) CHECK(list.back() == numbers.back());
}

const std::vector<std::vector<std::uint32_t>> kEven{{},          {7}, {0, 26}, {4, 4, 4, 4}, {0, 13, 26, 39},
                                                    {9, 6, 3, 0}};

}  // namespace

TEST_CASE("Evenly spaced numbers take no memory, whichever way they go") {
  for (const std::vector<std::uint32_t>& numbers : kEven) {
    check_same(listed(numbers), numbers);
    CHECK(listed(numbers).bytes() == 0);
  }
}

TEST_CASE("A list goes on in a table from the first number that is out of step") {
  for (std::vector<std::uint32_t> numbers : kEven) {
    for (const std::uint32_t next : {1U, 100U, 39U, 52U}) {
      numbers.push_back(next);
      check_same(listed(numbers), numbers);
    }
    CHECK(listed(numbers).bytes() >= numbers.size() * sizeof(std::uint32_t));
  }
}

TEST_CASE("A number that is set changes alone") {
  for (const std::vector<std::uint32_t>& even : kEven) {
    for (std::size_t i = 0; i < even.size(); ++i) {
      std::vector<std::uint32_t> numbers = even;
      EvenNumbers<std::uint32_t> list = listed(even);
      list.set(i, even[i]);
      CHECK(list.bytes() == 0);
      list.set(i, numbers[i] = 5000);
      check_same(list, numbers);
      list.push_back(1);
      numbers.push_back(1);
      check_same(list, numbers);
    }
  }
}

TEST_CASE("An array is such a list, too") {
  const std::uint64_t numbers[] = {3, 1, 4};
  const EvenView<std::uint64_t> view = numbers;
  for (std::size_t i = 0; i < 3; ++i) CHECK(view[i] == numbers[i]);
}
