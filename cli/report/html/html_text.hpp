// Escapes text for HTML and SVG. The files of this folder use it.
#pragma once

#include <string>
#include <string_view>

namespace nlsq::cli {

// Escapes & < > " and ', so that text from a file or the command line cannot become markup. Control bytes and
// invalid UTF-8 become \xNN.
std::string escaped(std::string_view text);

// Returns "<tag>text</tag>" with the text escaped. `attributes` begin with a blank, if there are any.
std::string element(const char* tag, std::string_view text, std::string_view attributes = "");

}  // namespace nlsq::cli
