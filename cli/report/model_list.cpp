// Prints the built-in models for --list-models and --describe.
#include "report/model_list.hpp"

#include "errors.hpp"

#include <nlsq/models.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace nlsq::cli {

std::string model_table() {
  std::size_t name_width = 0, formula_width = 0;
  for (const Model& m : models()) {
    name_width = std::max(name_width, m.name.size());
    if (m.formula.size() <= 60) formula_width = std::max(formula_width, m.formula.size());
  }
  std::string out;
  for (const Model& m : models()) {
    out += fmt::format("{:<{}}  {:<{}}  {}\n", m.name, name_width, m.formula, formula_width, m.description);
  }
  return out + "\n--describe NAME tells what each parameter means. A formula works in place of a name.\n";
}

std::string describe_model(const std::string& name) {
  const Model* found = nullptr;
  try {
    found = &model(name);
  } catch (const Error& e) {
    throw UsageError(std::string("--describe: ") + e.what());
  }
  const Model& m = *found;
  std::size_t width = 0;
  for (const std::string& parameter : m.parameters) width = std::max(width, parameter.size());
  std::string out = fmt::format("{}: {}\n\n  y = {}\n\n", m.name, m.description, m.formula);
  for (std::size_t j = 0; j < m.parameters.size(); ++j) {
    out += fmt::format("  {:<{}}  {}\n", m.parameters[j], width, j < m.meaning.size() ? m.meaning[j] : "");
  }
  if (!m.aliases.empty()) out += fmt::format("\nalso called {}\n", fmt::join(m.aliases, ", "));
  return out + "\nA first guess is found from the data; --p0 replaces all or part of it.\n";
}

}  // namespace nlsq::cli
