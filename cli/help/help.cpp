// Chooses the text for --help, --man and --completion.
#include "help/help.hpp"

#include "errors.hpp"
#include "help/completion.hpp"
#include "help/formula_help.hpp"
#include "help/help_page.hpp"
#include "help/man_page.hpp"
#include "nearest.hpp"
#include "table/source/utf8.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <algorithm>
#include <string_view>

namespace nlsq::cli {

void add_help_options(CLI::App& app, bool& man, std::string& shell) {
  app.set_help_flag("-h,--help", "this page; --help formulas: functions and operators of formulas");
  app.add_flag("--man", man, "the manual page with all options, for man -l -");
  app.add_option("--completion", shell, "a script that completes options in this shell")
      ->type_name("bash|zsh|fish");
}

std::string help_text(const CLI::App& app, int argc, const char* const* argv) {
  for (int i = 1; i + 1 < argc; ++i) {
    const std::string_view option = argv[i], page = argv[i + 1];
    if ((option != "--help" && option != "-h") || page.starts_with('-')) continue;
    if (page == "formulas") return formula_page();
    throw UsageError(
        fmt::format("{} {}: there is no such page; --help has all options, --help formulas the "
                    "functions of formulas, and --describe NAME a built-in model",
                    option, printable(page, 60)));
  }
  return help_page(option_texts(app));
}

std::string suggest_option(const CLI::App& app) {
  std::vector<std::string> names;
  for (const OptionText& option : option_texts(app))
    names.insert(names.end(), option.names.begin(), option.names.end());
  for (const std::string& extra : app.remaining()) {
    const std::string given = extra.substr(0, extra.find('='));
    if (extra.starts_with("--")) return suggest_nearest(given, names);
    const bool known = std::find(names.begin(), names.end(), "-" + given) != names.end();
    if (known) return fmt::format("; did you mean '-{}'?", given);  // -x for --x, -model for --model
  }
  return "";
}

std::string wrong_count(const CLI::App& app, const std::string& complaint) {
  const std::string name = complaint.substr(0, complaint.find(':'));
  const CLI::Option* option = app.get_option_no_throw(name);
  if (option == nullptr) return complaint;
  if (const auto given = option->results(); given.size() > 1) {
    return fmt::format("{} is given {}: {}; give it once", name,
                       given.size() == 2 ? "twice" : fmt::format("{} times", given.size()),
                       printable(fmt::format("{}", fmt::join(given, " and ")), 200));
  }
  return fmt::format("{} needs a value: {} {} ({})", name, name, option->get_type_name(),
                     option->get_description());
}

std::string document(const CLI::App& app, const std::string& shell) {
  const std::vector<OptionText> options = option_texts(app);
  return shell.empty() ? man_page(options) : completion_script(shell, options);
}

}  // namespace nlsq::cli
