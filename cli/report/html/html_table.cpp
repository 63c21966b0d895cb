// Implements the parts of tables.
#include "report/html/html_table.hpp"

#include "report/html/html_text.hpp"

#include <fmt/format.h>

namespace nlsq::cli {

std::string html_cell(std::string_view text) { return element("td", text); }

std::string html_named_row(std::string_view name, std::string_view text) {
  return "<tr>" + element("th", name, " scope=\"row\"") + html_cell(text) + "</tr>\n";
}

std::string html_header(std::initializer_list<std::string> names, std::string_view words) {
  std::string out = "<tr>";
  for (const std::string& name : names) out += element("th", name, " scope=\"col\"");
  if (!words.empty()) out += element("th", words, " scope=\"col\" class=\"words\"");
  return out + "</tr>\n";
}

std::string html_table(std::string_view style, const std::string& rows) {
  return fmt::format("<div class=\"scroll\"><table class=\"{}\">\n{}</table></div>\n", style, rows);
}

}  // namespace nlsq::cli
