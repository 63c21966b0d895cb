// Gives the options of the command line as texts, for the help page, the manual page and the completions of
// shells.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace nlsq::cli {

struct OptionText {
  std::string group;               // "Data"
  std::vector<std::string> names;  // "--strategy", "--algorithm"; "-h" for short ones
  std::string type;                // "NUMBER", "auto|yes|no"; empty for flags
  std::string text;                // what it does
  bool repeated = false;           // may be given several times

  // Returns the words of a type such as "auto|yes|no". The result is empty if the value is free.
  std::vector<std::string> choices() const;
  // Returns true if the value is the name of a file.
  bool takes_file() const;
  bool is_flag() const { return type.empty(); }
};

// Returns all options of the application in order, without positional arguments. Options without a group come
// first, in the group "General".
std::vector<OptionText> option_texts(const CLI::App& app);

// Returns the groups in the order of their first option.
std::vector<std::string> option_groups(const std::vector<OptionText>& options);

}  // namespace nlsq::cli
