// Implements the comparison of output files.
#include "report/output_check.hpp"

#include "errors.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <system_error>

namespace nlsq::cli {

namespace {

namespace fs = std::filesystem;

// Returns true if both names are one file, which need not exist yet.
bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error))
    return fs::is_regular_file(a, error) && fs::equivalent(a, b, error);
  // A bare name of a file that does not exist would stay relative.
  return fs::weakly_canonical(fs::absolute(a), error) == fs::weakly_canonical(fs::absolute(b), error);
}

// Refuses a file in a folder that does not exist, before the fit takes its time.
void check_folder(const std::string& option, const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error) || error) return;
  throw OutputError(fmt::format("{} {}: cannot write: there is no folder {}", option, file, folder.string()));
}

}  // namespace

void check_inputs(const std::vector<std::string>& inputs) {
  std::map<std::string, std::string> seen;  // by the path without links, which need not exist
  for (const std::string& input : inputs) {
    std::error_code error;
    const std::string path = input == "-" ? input : fs::weakly_canonical(input, error).string();
    const auto [first, fresh] = seen.emplace(error ? input : path, input);
    if (fresh) continue;
    throw UsageError(input == "-" ? "standard input (-) is given twice: it can be read once"
                                  : fmt::format("{}: this file is also given as {}: its rows would count "
                                                "twice; name it once",
                                                input, first->second));
  }
}

void check_outputs(const std::vector<std::string>& inputs,
                   const std::vector<std::pair<std::string, std::string>>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto& [option, file] = outputs[i];
    if (file.empty() || file == "-") continue;
    check_folder(option, file);
    for (const std::string& input : inputs) {
      if (input != "-" && same_file(file, input))
        throw UsageError(
            fmt::format("{} {}: this would overwrite the input; name another file", option, file));
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (outputs[k].second.empty() || outputs[k].second == "-" || !same_file(file, outputs[k].second))
        continue;
      throw UsageError(
          fmt::format("{} {}: {} writes that file too; name another one", option, file, outputs[k].first));
    }
  }
}

}  // namespace nlsq::cli
