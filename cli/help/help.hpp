// Declares the texts that the program prints about itself: --help, --help formulas, --man and --completion.
// arguments.cpp uses it.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace nlsq::cli {

// Adds --man and --completion. The variables must outlive the parsing.
void add_help_options(CLI::App& app, bool& man, std::string& shell);

// Returns the page for --help, or for `--help formulas` among the arguments.
std::string help_text(const CLI::App& app, int argc, const char* const* argv);

// Returns "; did you mean '--model'?" for the first unknown option of a command line that was parsed.
std::string suggest_option(const CLI::App& app);
// Explains CLI11's complaint about an option without its value ("--json: 1 required FILE missing"), or about
// one that is given twice: names the value that the option needs and what it is for, or the values given.
std::string wrong_count(const CLI::App& app, const std::string& complaint);

// Returns the page for --man or --completion.
std::string document(const CLI::App& app, const std::string& shell);

}  // namespace nlsq::cli
