// Parts of tables in the HTML report. html_tables.cpp and html_results.cpp use them.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace nlsq::cli {

std::string html_cell(std::string_view text);
// Returns a row with a name and its text.
std::string html_named_row(std::string_view name, std::string_view text);
// Headings of columns of numbers, and of a last column of words, which is left-aligned.
std::string html_header(std::initializer_list<std::string> names, std::string_view words = "");
// `style` is a class of the page: facts, numbers or matrix.
std::string html_table(std::string_view style, const std::string& rows);

}  // namespace nlsq::cli
