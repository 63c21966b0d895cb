// Implements the page of --help.
#include "help/help_page.hpp"

#include "table/source/utf8.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace nlsq::cli {

namespace {

constexpr std::size_t kNameWidth = 32, kWidth = 110;

// Returns true for options that few users need. The help page is short enough to be read, and the manual has
// all options.
bool only_in_manual(const OptionText& option) {
  return option.names.front() == "--max-line" || option.names.front() == "--nonmonotonic";
}

// Returns "--loss NAME". A long list of words is left to the explanation.
std::string usage_of(const OptionText& option) {
  std::string usage = fmt::format("  {}", fmt::join(option.names, ", "));
  if (option.is_flag()) return usage;
  const bool fits = usage.size() + 1 + option.type.size() < kNameWidth;
  return usage + " " + (fits || option.choices().empty() ? option.type : "NAME");
}

std::string text_of(const OptionText& option, const std::string& usage) {
  if (option.choices().empty() || usage.ends_with(option.type)) return option.text;
  return fmt::format("{}: {}", option.text, fmt::join(option.choices(), ", "));
}

// Appends `text` from column kNameWidth on, broken at blanks.
void append_wrapped(std::string& out, std::string line, const std::string& text) {
  if (count_code_points(line) + 1 > kNameWidth) {
    out += line + "\n";
    line.clear();
  }
  line.resize(line.size() + kNameWidth - count_code_points(line), ' ');
  bool empty = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && count_code_points(line) + 1 + count_code_points(word) > kWidth) {
      out += line + "\n";
      line = std::string(kNameWidth, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  out += line + "\n";
}

}  // namespace

std::string help_page(const std::vector<OptionText>& options) {
  std::string out =
      "nlsq-fit FILE... [--model] NAME|FORMULA [OPTIONS]\n"
      "Fits a model to a table, certified in float64. FILE: text, .npy, .npz, gzip too, or - (standard "
      "input).\n";
  for (const std::string& group : option_groups(options)) {
    out += fmt::format("{}:\n", group);
    for (const OptionText& option : options) {
      if (option.group != group || only_in_manual(option)) continue;
      const std::string usage = usage_of(option);
      append_wrapped(out, usage, text_of(option, usage));
    }
  }
  return out +
         "Exit status: 0 certified minimum, 1 none (best so far printed), 2 usage or model, 3 data, 130 "
         "interrupted.\n";
}

}  // namespace nlsq::cli
