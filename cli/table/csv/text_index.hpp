// Numbers the distinct texts of a column in the order of their first appearance. CsvRows has one for its
// piece of the file, and CsvCollector one for the whole.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nlsq::cli {

class TextIndex {
 public:
  static constexpr std::size_t npos = static_cast<std::size_t>(-1);

  // Returns the number of a text, or npos if it was not added.
  std::size_t find(std::string_view text) {
    if (is_last(text)) return last_;
    if (texts_.empty()) return npos;
    const std::size_t known = table_[place(text, hash(text))].number;
    return known == npos ? npos : remember(known);
  }
  std::size_t add(std::string_view text) {
    if (is_last(text)) return last_;
    if (2 * texts_.size() >= table_.size()) grow();
    const std::size_t code = hash(text);
    Entry& entry = table_[place(text, code)];
    if (entry.number == npos) {
      entry = {code, texts_.size()};
      texts_.emplace_back(text);
    }
    return remember(entry.number);
  }

  std::size_t size() const { return texts_.size(); }
  const std::string& text(std::size_t number) const { return texts_[number]; }
  void clear() { take(); }
  std::vector<std::string> take() {
    table_.clear();
    return std::exchange(texts_, {});
  }

 private:
  // An entry of the hash table. The entries of equal codes follow each other, up to the first free one.
  struct Entry {
    std::size_t code = 0, number = npos;
  };

  static std::size_t hash(std::string_view text) { return std::hash<std::string_view>()(text); }
  // Rows of one group mostly follow each other.
  bool is_last(std::string_view text) const { return last_ < texts_.size() && texts_[last_] == text; }
  std::size_t remember(std::size_t number) { return last_ = number; }

  // Returns where the text is in the table, or the free entry that it can take.
  std::size_t place(std::string_view text, std::size_t code) const {
    std::size_t at = code & (table_.size() - 1);
    while (table_[at].number != npos && (table_[at].code != code || texts_[table_[at].number] != text))
      at = (at + 1) & (table_.size() - 1);
    return at;
  }

  void grow() {
    constexpr std::size_t kFewest = 64;
    const std::vector<Entry> before =
        std::exchange(table_, std::vector<Entry>(table_.empty() ? kFewest : 4 * table_.size()));
    for (const Entry& entry : before) {
      if (entry.number == npos) continue;
      std::size_t at = entry.code & (table_.size() - 1);
      while (table_[at].number != npos) at = (at + 1) & (table_.size() - 1);
      table_[at] = entry;
    }
  }

  std::vector<std::string> texts_;
  std::vector<Entry> table_;  // its size is a power of two
  std::size_t last_ = 0;
};

}  // namespace nlsq::cli
