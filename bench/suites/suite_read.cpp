// Suite read times how tables are read from a file into columns, and compares this with the number parser
// alone on the same bytes in memory. The difference is the cost of finding records, checking UTF-8 and
// structure, and storing.
#include "suites/suites.hpp"

#if NLSQ_BENCH_CLI

#include "table/csv/csv_reader.hpp"

#include <fast_float/fast_float.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace bench {

namespace {

namespace cli = nlsq::cli;

struct Table {
  std::string name;
  std::string text;
  std::size_t columns = 0, fields = 0;
};

using Writer = std::string (*)(std::mt19937_64&);

Table write_table(std::string name, std::size_t columns, std::size_t bytes, Writer writer) {
  Table table{std::move(name), "", columns, 0};
  std::mt19937_64 random(20260101);
  while (table.text.size() < bytes) {
    for (std::size_t k = 0; k < columns; ++k) {
      table.text += writer(random);
      table.text += k + 1 < columns ? ',' : '\n';
    }
    table.fields += columns;
  }
  return table;
}

double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

// Returns two or three digits, some with a decimal point or a sign: "12", "3.5", "-0.71", "208".
std::string short_field(std::mt19937_64& random) {
  const auto n = static_cast<int>(random() % 1000);
  const char* const sign = random() % 4 == 0 ? "-" : "";
  switch (random() % 3) {
    case 0: return fmt::format("{}{}", sign, n);
    case 1: return fmt::format("{}{:.1f}", sign, n / 10.0);
    default: return fmt::format("{}{:.2f}", sign, n / 100.0);
  }
}

// Owns a temporary file. The destructor removes it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes)
      : path_(std::filesystem::temp_directory_path() / fmt::format("nlsq-bench-{}.csv", ::getpid())) {
    std::ofstream file(path_, std::ios::binary);
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush()) {
      throw std::runtime_error("cannot write " + path_.string());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

std::vector<double> sums(const cli::CsvColumns& table) {
  std::vector<double> out;
  for (const cli::RowVector<double>& column : table.values) {
    double sum = 0;
    for (const double value : column) sum += value;
    out.push_back(sum);
  }
  return out;
}

// Reads the whole file, and sums the first and the last column as a check.
std::vector<double> read_table(const std::string& path, const Table& table, int threads) {
  cli::CsvOptions options;
  options.threads = threads;
  options.header = cli::HeaderChoice::no;
  cli::CsvReader reader(cli::open_source(path), options);
  std::vector<std::size_t> wanted(table.columns);
  for (std::size_t k = 0; k < wanted.size(); ++k) wanted[k] = k;
  return sums(reader.read(wanted));
}

// Parses with fast_float only: consecutive numbers with one byte between them.
std::vector<double> numbers_alone(const Table& table) {
  const char* p = table.text.data();
  const char* const end = p + table.text.size();
  std::vector<double> out(table.columns);
  for (std::size_t k = 0; p != end; k = k + 1 == table.columns ? 0 : k + 1) {
    double value = 0;
    p = fast_float::from_chars(p, end, value).ptr + 1;
    out[k] += value;
  }
  return out;
}

void compare(const Table& table, const Settings& settings) {
  const TemporaryFile file(table.text);
  std::vector<int> threads = {1};
  if (settings.clock == Clock::wall && std::thread::hardware_concurrency() > 1) threads.push_back(0);
  for (const int count : threads) {
    const std::vector<Contender> contenders = {
        {"ours", [&] { return read_table(file.path(), table, count); }},
        {"fast_float alone, one core", [&] { return numbers_alone(table); }}};
    const std::vector<Measured> measured = measure(contenders, settings);
    const double seconds = measured[0].seconds;
    const double cores = count == 1 ? 1 : static_cast<double>(std::thread::hardware_concurrency());
    Row row;
    row.suite = "read";
    row.name = table.name + (count == 1 ? ", 1 thread" : ", all cores");
    row.over_floor = seconds * cores / measured[1].seconds;
    row.sound = measured[0].result == measured[1].result;
    row.note = fmt::format("{:.0f} MB/s (alone {:.0f}), {:.1f} ns a field a core (alone {:.1f})",
                           1e-6 * static_cast<double>(table.text.size()) / seconds,
                           1e-6 * static_cast<double>(table.text.size()) / measured[1].seconds,
                           1e9 * seconds * cores / static_cast<double>(table.fields),
                           1e9 * measured[1].seconds / static_cast<double>(table.fields));
    report_against_peers(contenders, measured, row, settings);
    if (table.columns == 2 && table.name.starts_with("%.17g") && count != 1) {
      settings.report->goal({"read", row.name, 1e-9 * static_cast<double>(table.text.size()) / seconds,
                             Asked::at_least, 1, " GB/s"});
    }
    if (table.columns == 4) {
      settings.report->goal({"read", row.name + ": a field a core",
                             1e9 * seconds * cores / static_cast<double>(table.fields), Asked::at_most, 20,
                             " ns"});
    }
  }
}

}  // namespace

void run_read(const Settings& settings) {
  const std::size_t bytes = settings.quick ? 4'000'000 : 40'000'000;
  settings.report->begin_suite(
      "read",
      fmt::format("CSV of {:.0f} MB from the page cache, sums compared; /floor: over fast_float alone on as "
                  "many cores; goals: 1 GB/s at 17 digits on two cores, 20 ns a short field a core",
                  1e-6 * static_cast<double>(bytes)));
  compare(write_table("%.17g, 2 columns", 2, bytes,
                      [](std::mt19937_64& random) { return fmt::format("{:.17g}", uniform(random)); }),
          settings);
  compare(write_table("%.6g, 2 columns", 2, bytes,
                      [](std::mt19937_64& random) { return fmt::format("{:.6g}", 100 * uniform(random)); }),
          settings);
  compare(write_table("2-3 digits, 4 columns", 4, bytes, short_field), settings);
}

}  // namespace bench

#else

namespace bench {

void run_read(const Settings& settings) {
  settings.report->begin_suite("read", "left out: built without nlsq-fit (NLSQ_BUILD_CLI=OFF)");
}

}  // namespace bench

#endif
