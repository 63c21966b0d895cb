// Implements escaping.
#include "report/html/html_text.hpp"

#include "table/source/utf8.hpp"

#include <limits>

namespace nlsq::cli {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text, std::numeric_limits<std::size_t>::max())) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string element(const char* tag, std::string_view text, std::string_view attributes) {
  std::string out = "<";
  out.append(tag).append(attributes).append(">").append(escaped(text));
  return out.append("</").append(tag).append(">");
}

}  // namespace nlsq::cli
