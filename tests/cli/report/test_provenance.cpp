// Tests that --json says where a result came from: the file with its rows and checksum, the options, the
// version.
#include <doctest/doctest.h>

#include <nlsq/version.hpp>

#include <zlib.h>

#include "cli/gzip_support.hpp"
#include "cli/program.hpp"
#include "table/source/checksum.hpp"

using namespace program;

namespace {

std::uint32_t by_zlib(const std::string& bytes, std::uint32_t crc = 0) {
  return static_cast<std::uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::string expected(const std::string& bytes) {
  char text[20];
  std::snprintf(text, sizeof text, "crc32:%08x", by_zlib(bytes));
  return text;
}

std::string line_of(int rows) {
  std::string out = "x,y\n";
  for (int i = 0; i < rows; ++i) out += std::to_string(i) + "," + std::to_string(2 * i + i % 3) + "\n";
  return out;
}

// Checks that the checksum is that of all bytes of the file, for tables of any kind.
void check_file(const std::string& name, const std::string& bytes, const std::string& arguments, int rows) {
  const Scratch scratch;
  const std::string file = scratch.write(name, bytes);
  const nlohmann::json fit = fit_json(file + " " + arguments);
  REQUIRE(fit.is_object());
  REQUIRE(fit["files"].size() == 1);
  CHECK(fit["files"][0]["name"] == file);
  CHECK(fit["files"][0]["rows"] == rows);
  CHECK(fit["files"][0]["checksum"] == expected(bytes));
}

// Returns an array of doubles as NumPy writes it.
std::string npy(int rows) {
  std::string header =
      "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(rows) + ", 2), }\n";
  std::string out = std::string("\x93NUMPY\x01\0", 8);
  out += static_cast<char>(header.size());
  out += '\0';
  out += header;
  for (int i = 0; i < rows; ++i) {
    const double row[2] = {double(i), 2.0 * i + i % 3};
    out.append(reinterpret_cast<const char*>(row), sizeof row);
  }
  return out;
}

}  // namespace

TEST_CASE("the checksum is zlib's, for every length and however the bytes come") {
  std::string bytes;
  for (unsigned i = 0; i < 3000; ++i) bytes += static_cast<char>(i * 2654435761U >> 21);
  for (std::size_t size = 0; size < 400; ++size) {
    for (const std::size_t from : {0U, 1U, 13U}) {
      const std::string part = bytes.substr(from, size);
      CHECK(nlsq::cli::crc32_of(7, part.data(), part.size()) == by_zlib(part, 7));
    }
  }
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 271)
    crc = nlsq::cli::crc32_of(crc, bytes.data() + at, std::min<std::size_t>(271, bytes.size() - at));
  CHECK(crc == by_zlib(bytes));
}

TEST_CASE("the checksum is that of the file, for every kind of table") {
  check_file("small.csv", line_of(9), "--model a*x+b", 9);
  check_file("large.csv", line_of(40000), "--model a*x+b", 40000);
  check_file("marked.csv", "\xEF\xBB\xBF" + line_of(9), "--model a*x+b", 9);
  check_file("packed.csv.gz", csv_support::gzip(line_of(5000)), "--model a*x+b", 5000);
  check_file("array.npy", npy(300), "--model a*x+b", 300);
  check_file("filtered.csv", line_of(50), "--model a*x+b --where 'x>10'", 50);
}

TEST_CASE("the last line of groups says the same of their file") {
  const Scratch scratch;
  std::string text = "g,x,y\n";
  for (int i = 0; i < 12; ++i) {
    text += i % 2 == 0 ? "a," : "b,";
    text += std::to_string(i) + "," + std::to_string(2 * i + i % 3) + "\n";
  }
  const std::string file = scratch.write("groups.csv", text);
  const Outcome outcome =
      run(file + " --x x --y y --model linear --group-by g --where 'x > 1' --quiet --json -");
  const std::string lines = outcome.out.substr(0, outcome.out.find_last_not_of('\n') + 1);
  const nlohmann::json last = nlohmann::json::parse(lines.substr(lines.rfind('\n') + 1));
  CHECK(last["groups"] == 2);
  REQUIRE(last["files"].size() == 1);
  CHECK(last["files"][0]["name"] == file);
  CHECK(last["files"][0]["rows"] == 12);
  CHECK(last["files"][0]["checksum"] == expected(text));
  CHECK(last["options"][0] == file);
  CHECK(last["version"].is_string());
}

TEST_CASE("standard input has a checksum, too") {
  const Scratch scratch;
  const std::string bytes = line_of(5000), file = scratch.write("t.csv", bytes);
  const Outcome outcome = run("- --model a*x+b --quiet --json -", "cat " + file + " |");
  const nlohmann::json fit = nlohmann::json::parse(outcome.out, nullptr, false);
  REQUIRE(fit.is_object());
  CHECK(fit["files"][0]["name"] == "-");
  CHECK(fit["files"][0]["checksum"] == expected(bytes));
}

TEST_CASE("the options are the words of the command line, and the version is the library's") {
  const Scratch scratch;
  const std::string file = scratch.write("t.csv", line_of(20));
  const nlohmann::json fit = fit_json(file + " --model 'a*x + b' --where 'x > 2'");
  const std::vector<std::string> words = fit["options"];
  const std::vector<std::string> given = {file,    "--model", "a*x + b", "--where",
                                          "x > 2", "--quiet", "--json",  "-"};
  CHECK(words == given);
  CHECK(fit["version"] == nlsq::version());
}
