// Implements the list of options from what CLI11 knows.
#include "help/option_texts.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>

namespace nlsq::cli {

std::vector<std::string> OptionText::choices() const {
  std::vector<std::string> words(1);
  const bool word_list =
      type.find('|') != std::string::npos && std::all_of(type.begin(), type.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '|';
      });
  if (!word_list) return {};
  for (const char c : type) {
    if (c == '|') words.emplace_back();
    else words.back() += c;
  }
  return words;
}

bool OptionText::takes_file() const { return type.starts_with("FILE") || type.starts_with("FOLDER"); }

std::vector<OptionText> option_texts(const CLI::App& app) {
  std::vector<OptionText> options;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;  // the table is no option
    OptionText text;
    text.group = option->get_group() == "Options" ? "General" : option->get_group();
    for (const std::string& name : option->get_snames()) text.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) text.names.push_back("--" + name);
    const bool flag = option->get_expected_max() == 0;
    if (!flag) text.type = option->get_type_name();
    text.text = option->get_description();
    text.repeated = option->get_expected_max() > 1;
    options.push_back(std::move(text));
  }
  return options;
}

std::vector<std::string> option_groups(const std::vector<OptionText>& options) {
  std::vector<std::string> groups;
  for (const OptionText& option : options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  return groups;
}

}  // namespace nlsq::cli
