// Implements the file of --checkpoint.
#include "report/checkpoint.hpp"

#include "errors.hpp"
#include "processes/processes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace nlsq::cli {

namespace {

using std::string_view_literals::operator""sv;

// Options with which the same fit may be repeated: where results go, how much is computed at once, and when
// the fit ends.
constexpr std::array kFree = {"--checkpoint"sv, "--threads"sv,    "--max-iterations"sv, "--time-limit"sv,
                              "--json"sv,       "--maps"sv,       "--residuals"sv,      "--csv"sv,
                              "--plot"sv,       "--plot-scale"sv, "--report"sv,         "--progress"sv,
                              "--memory"sv,     "--scratch"sv};
constexpr std::array kFreeFlags = {"--resume"sv, "--quiet"sv, "--trace"sv};

bool is_one_of(const auto& list, std::string_view word) {
  return std::ranges::find(list, word) != list.end();
}

// Returns true if an option is left out. If there are many fits, the finished ones are kept, and limits
// decide how they ended.
bool is_free(const Arguments& arguments, std::string_view name) {
  const bool many = !arguments.image.maps.empty() || may_have_groups(arguments.selection);
  if (many && (name == "--max-iterations" || name == "--time-limit")) return false;
  return is_one_of(kFree, name);
}

// Describes the fit: the files with their sizes, and the words of the command line that decide what is
// fitted.
std::string describe_work(const Arguments& arguments) {
  std::string out;
  for (const std::string& file : arguments.files) {
    std::error_code unknown;
    const auto bytes = std::filesystem::file_size(file, unknown);
    out += fmt::format("{} of {} bytes\n", file, unknown ? 0 : bytes);
  }
  const std::vector<std::string>& words = arguments.words;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::string_view word = words[k], name = word.substr(0, word.find('='));
    if (is_one_of(kFreeFlags, word)) continue;
    if (!is_free(arguments, name)) out += fmt::format("{}\n", word);
    else if (name == word) ++k;  // its value is the next word
  }
  return out;
}

}  // namespace

std::shared_ptr<Journal> open_checkpoint(const Arguments& arguments) {
  if (arguments.checkpoint.empty()) return nullptr;
  try {
    return std::make_shared<Journal>(first_process() ? arguments.checkpoint : "", describe_work(arguments),
                                     arguments.resume);
  } catch (const JournalError& e) {
    throw OutputError(e.what());
  }
}

}  // namespace nlsq::cli
