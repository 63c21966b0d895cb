// Tests inputs that end early or turn out to be damaged while they are read. The bytes before the fault are
// read. The fault is reported once, at its place, for any division of the bytes and the text.
#include "cli/gzip_support.hpp"
#include "cli/random_tables.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

using namespace csv_support;

namespace {

// Returns its bytes and then fails after it wrote other bytes into the caller's memory, as decoders do.
class Failing final : public ByteSource {
 public:
  Failing(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  std::size_t read(char* out, std::size_t size) override {
    if (at_ == bytes_.size()) {
      std::fill_n(out, size, '1');
      throw BadData("the wire was cut");
    }
    const std::size_t n = std::min({size, step_, bytes_.size() - at_});
    bytes_.copy(out, n, at_);
    at_ += n;
    return n;
  }

 private:
  std::string bytes_;
  std::size_t step_, at_ = 0;
};

// Reads any source a few bytes at a time.
class Slow final : public ByteSource {
 public:
  Slow(std::unique_ptr<ByteSource> inner, std::size_t step) : inner_(std::move(inner)), step_(step) {}
  std::size_t read(char* out, std::size_t size) override { return inner_->read(out, std::min(size, step_)); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::size_t step_;
};

std::string refusal_of(OpenedSource source, std::size_t block, int threads = 1) {
  CsvOptions options;
  options.block = block;
  options.threads = threads;
  try {
    CsvReader reader(std::move(source), options);
    const std::size_t wanted[] = {0, 1};
    reader.read(wanted);
  } catch (const BadData& e) {
    return e.what();
  }
  return "accepted";
}

std::string after_failure(const std::string& bytes, std::size_t step, std::size_t block, int threads = 1) {
  OpenedSource source;
  source.name = "t.csv";
  source.bytes = std::make_unique<Failing>(bytes, step);
  return refusal_of(std::move(source), block, threads);
}

std::string zipped_refusal(const std::string& zipped, std::size_t step, std::size_t block) {
  try {
    OpenedSource source = open_memory(zipped, "t.csv");
    source.bytes = std::make_unique<Slow>(std::move(source.bytes), step);
    return refusal_of(std::move(source), block);
  } catch (const BadData& e) {
    return e.what();
  }
}

std::string rows(int count) {
  Random random(17);
  std::string text = "x,y\n";
  for (int i = 0; i < count; ++i) text += fmt::format("{},{:.17g}\n", i, any_finite(random));
  return text;
}

}  // namespace

TEST_CASE("a source that fails is told of at the end of what it gave, wherever that is") {
  const std::string text = "x,y\n1,2\n3,\"4\"\r\n5,6\n7,8\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const std::string before = text.substr(0, size);
    CAPTURE(before);
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < size; ++i) {
      ++column;
      const bool half = before[i] == '\r' && i + 1 < size && before[i + 1] == '\n';
      if (before[i] == '\n' || (before[i] == '\r' && !half && i + 1 < size)) ++line, column = 1;
    }
    const std::string told = after_failure(before, 1000, 1000);
    CHECK(told.find("the wire was cut") != std::string::npos);
    if (before.empty() || before.back() != '\r')
      CHECK(told.rfind(fmt::format("t.csv:{}:{}: ", line, column), 0) == 0);
    for (const std::size_t step : {1, 2, 7}) {
      for (const std::size_t block : {1, 5, 100}) CHECK(after_failure(before, step, block) == told);
    }
  }
}

TEST_CASE(
    "a source that fails in a late block is told of once what came before is read, on any number of "
    "threads") {
  const std::string text = rows(150000);
  REQUIRE(text.size() > 4 * CsvOptions().block);
  for (const int threads : {1, 2, 0}) {
    CHECK(says(after_failure(text, 100000, CsvOptions().block, threads), "150002:1", {"the wire was cut"}));
    CHECK(says(after_failure(text + "12,\"3", 100000, CsvOptions().block, threads), "150002:6",
               {"the wire was cut"}));
    CHECK(says(after_failure(text + "1,x\n2,3\n", 100000, CsvOptions().block, threads), "150002:3", {"'x'"}));
  }
}

TEST_CASE("gzip cut at any byte is refused, the same however it arrives") {
  const std::string zipped = gzip(rows(40)) + gzip("41,42\n43,44\n");
  REQUIRE(zipped_refusal(zipped, 1000, 1000) == "accepted");
  const std::size_t first = gzip(rows(40)).size();
  for (std::size_t size = 3; size < zipped.size(); ++size) {
    CAPTURE(size);
    const std::string told = zipped_refusal(zipped.substr(0, size), 100000, 100000);
    if (size == first) {  // the input seems to be complete
      CHECK(told == "accepted");
      continue;
    }
    CHECK(told.find(size == first + 1 ? "gzip" : "truncated") != std::string::npos);
    CHECK(zipped_refusal(zipped.substr(0, size), 1, 1) == told);
    CHECK(zipped_refusal(zipped.substr(0, size), 7, 50) == told);
  }
}

TEST_CASE("gzip damaged at any byte is refused or read, the same however it arrives") {
  Random random(19);
  const std::string zipped = gzip(rows(60));
  int refused = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::string damaged = zipped;
    const std::size_t at = 2 + below(random, damaged.size() - 2);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << below(random, 8)));
    if (below(random, 3) == 0) damaged.resize(at + 1);
    CAPTURE(at);
    const std::string told = zipped_refusal(damaged, 100000, 100000);
    refused += told != "accepted";
    REQUIRE(zipped_refusal(damaged, 1 + below(random, 9), 1 + below(random, 200)) == told);
  }
  CHECK(refused > 2000);
}
