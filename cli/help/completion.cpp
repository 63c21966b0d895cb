// Implements the completion scripts.
#include "help/completion.hpp"

#include "errors.hpp"

#include <nlsq/models.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace nlsq::cli {

namespace {

// Returns the words that the value of an option may have. The result is empty if they are too many to list.
std::vector<std::string> words_of(const OptionText& option) {
  const auto is = [&](const char* name) {
    return std::ranges::find(option.names, name) != option.names.end();
  };
  if (!is("--model") && !is("--describe")) return option.choices();
  std::vector<std::string> names;
  for (const Model& model : models()) names.push_back(model.name);
  return names;
}

std::string replaced(std::string text, const std::string& characters, const std::string& before) {
  for (std::size_t at = 0; (at = text.find_first_of(characters, at)) != std::string::npos;
       at += before.size() + 1)
    text.insert(at, before);
  return text;
}

std::string bash_script(const std::vector<OptionText>& options) {
  std::string out =
      "# Completion of nlsq-fit for bash.\n"
      "_nlsq_fit() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
      "  COMPREPLY=()\n"
      "  case $previous in\n";
  std::vector<std::string> all, files, free;
  for (const OptionText& option : options) {
    all.insert(all.end(), option.names.begin(), option.names.end());
    if (option.is_flag()) continue;
    const std::vector<std::string> words = words_of(option);
    if (!words.empty()) {
      out += fmt::format("    {}) COMPREPLY=($(compgen -W \"{}\" -- \"$current\")); return ;;\n",
                         fmt::join(option.names, "|"), fmt::join(words, " "));
    } else {
      auto& kind = option.takes_file() ? files : free;
      kind.insert(kind.end(), option.names.begin(), option.names.end());
    }
  }
  if (!files.empty())
    out +=
        fmt::format("    {}) COMPREPLY=($(compgen -f -- \"$current\")); return ;;\n", fmt::join(files, "|"));
  if (!free.empty()) out += fmt::format("    {}) return ;;\n", fmt::join(free, "|"));
  return out + fmt::format(
                   "  esac\n"
                   "  if [[ $current == -* ]]; then\n"
                   "    COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))\n"
                   "  else\n"
                   "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
                   "  fi\n"
                   "}}\n"
                   "complete -o filenames -F _nlsq_fit nlsq-fit\n",
                   fmt::join(all, " "));
}

std::string zsh_script(const std::vector<OptionText>& options) {
  std::string out = "#compdef nlsq-fit\n# Completion of nlsq-fit for zsh.\n_arguments -s";
  for (const OptionText& option : options) {
    std::string text = replaced(option.text, "[]\\:", "\\");
    std::string value;
    if (!option.is_flag()) {
      const std::vector<std::string> words = words_of(option);
      value = ":" + replaced(option.type, ":\\", "\\") + ":";
      if (!words.empty()) value += fmt::format("({})", fmt::join(words, " "));
      else if (option.takes_file()) value += "_files";
    }
    for (const std::string& name : option.names) {
      std::string entry = (option.repeated ? "*" : "") + name + "[" + text + "]" + value;
      for (std::size_t at = 0; (at = entry.find('\'', at)) != std::string::npos; at += 4)
        entry.replace(at, 1, "'\\''");
      out += fmt::format(" \\\n  '{}'", entry);
    }
  }
  return out + " \\\n  '*:table:_files'\n";
}

std::string fish_script(const std::vector<OptionText>& options) {
  std::string out = "# Completion of nlsq-fit for fish.\n";
  for (const OptionText& option : options) {
    out += "complete -c nlsq-fit";
    for (const std::string& name : option.names)
      out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.is_flag()) {
      const std::vector<std::string> words = words_of(option);
      if (!words.empty()) out += fmt::format(" -x -a '{}'", fmt::join(words, " "));
      else out += option.takes_file() ? " -r -F" : " -x";
    }
    out += fmt::format(" -d '{}'\n", replaced(option.text, "'\\", "\\"));
  }
  return out;
}

}  // namespace

std::string completion_script(const std::string& shell, const std::vector<OptionText>& options) {
  if (shell == "bash") return bash_script(options);
  if (shell == "zsh") return zsh_script(options);
  if (shell == "fish") return fish_script(options);
  throw UsageError(fmt::format("--completion {}: must be bash, zsh or fish", shell));
}

}  // namespace nlsq::cli
