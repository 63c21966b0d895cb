// Tests that random tables are read back bit for bit, and that random damage leads at most to a refusal.
#include "cli/random_tables.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

using namespace csv_support;

TEST_CASE("tables that arrive a few bytes at a time are read the same") {
  Random random(99);
  for (int trial = 0; trial < 1000; ++trial) {
    Written w = random_table(random);
    CAPTURE(w.text);
    w.options.max_line = 1000;  // the first look is not longer, so that most is read in pieces
    OpenedSource source;
    source.bytes = std::make_unique<Dribble>(w.text, random);
    source.name = "t.csv";
    CsvReader reader(std::move(source), w.options);
    REQUIRE(reader.read(w.numeric).values == values(w.text, w.options, w.numeric));
  }
}

TEST_CASE("random tables are read back to the same bits") {
  Random random(20240117);
  for (int trial = 0; trial < 10000; ++trial) {
    const Written w = random_table(random);
    CAPTURE(trial);
    CAPTURE(w.text);
    const auto read_back = values(w.text, w.options, w.numeric);
    REQUIRE(read_back.size() == w.numbers.size());
    for (std::size_t k = 0; k < w.numbers.size(); ++k) {
      REQUIRE(read_back[k].size() == w.numbers[k].size());
      for (std::size_t i = 0; i < w.numbers[k].size(); ++i) {
        REQUIRE(std::bit_cast<std::uint64_t>(read_back[k][i]) ==
                std::bit_cast<std::uint64_t>(w.numbers[k][i]));
      }
    }
  }
}

TEST_CASE("damaged tables are read or refused, never anything else") {
  Random random(7);
  int refused = 0;
  for (int trial = 0; trial < 20000; ++trial) {
    Written w = random_table(random);
    damage(w, random);
    if (below(random, 2)) w.options.delimiter.reset();
    if (below(random, 2)) w.options.header = HeaderChoice::automatic;
    CAPTURE(w.text);
    std::string message;
    REQUIRE_NOTHROW(message = refusal(w.text, w.options, {0}));
    refused += message != "accepted";
    if (message != "accepted") REQUIRE(message.rfind("t.csv:", 0) == 0);
  }
  CHECK(refused > 1000);
}
