// Checks that HTML or SVG is well-formed XML. It has its own reader, so that the tests need no package.
#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

namespace markup {

// Finds the first fault, and the text there; the result is empty if there is none. It understands elements,
// attributes, entities, comments, CDATA, declarations and processing instructions.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::string fault() {
    while (at_ < text_.size()) {
      const std::string problem = text_[at_] == '<' ? tag() : character();
      if (!problem.empty()) return problem + " at: " + std::string(text_.substr(at_, 60));
    }
    return open_.empty() ? "" : "not closed: " + open_.back();
  }

 private:
  bool skip(std::string_view start, std::string_view end) {
    if (!text_.substr(at_).starts_with(start)) return false;
    const std::size_t stop = text_.find(end, at_ + start.size());
    at_ = stop == std::string_view::npos ? text_.size() : stop + end.size();
    return true;
  }

  std::string character() {
    const char c = text_[at_];
    if (c == '&') {
      std::size_t end = at_ + 1;
      while (end < text_.size() &&
             (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '#'))
        ++end;
      if (end == at_ + 1 || end >= text_.size() || text_[end] != ';') return "a bare &";
    } else if (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') {
      return "a control character";
    }
    ++at_;
    return "";
  }

  std::string name() {
    const std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                  std::string_view("-_:.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    return std::string(text_.substr(start, at_ - start));
  }

  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string attribute() {
    if (name().empty()) return "no attribute";
    blanks();
    if (at_ + 1 >= text_.size() || text_[at_] != '=') return "an attribute without a value";
    ++at_;
    blanks();
    const char quote = at_ < text_.size() ? text_[at_] : ' ';
    if (quote != '"' && quote != '\'') return "a value without quotes";
    for (++at_; at_ < text_.size() && text_[at_] != quote;) {
      if (text_[at_] == '<') return "< in a value";
      if (const std::string problem = character(); !problem.empty()) return problem;
    }
    ++at_;
    return "";
  }

  std::string tag() {
    if (skip("<!--", "-->") || skip("<![CDATA[", "]]>") || skip("<!", ">") || skip("<?", "?>")) return "";
    ++at_;
    const bool closes = at_ < text_.size() && text_[at_] == '/';
    if (closes) ++at_;
    const std::string element = name();
    if (element.empty()) return "a bare <";
    for (blanks(); at_ < text_.size() && text_[at_] != '>' && text_[at_] != '/'; blanks())
      if (const std::string problem = attribute(); !problem.empty()) return problem;
    const bool empty = at_ < text_.size() && text_[at_] == '/';
    if (empty) ++at_;
    if (at_ >= text_.size() || text_[at_] != '>') return "a tag that does not end";
    ++at_;
    if (!closes && !empty) open_.push_back(element);
    if (!closes) return "";
    if (open_.empty() || open_.back() != element) return "</" + element + "> closes nothing";
    open_.pop_back();
    return "";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<std::string> open_;
};

inline std::string fault_of(std::string_view text) {
  return text.empty() ? "there is nothing" : Reader(text).fault();
}

}  // namespace markup
