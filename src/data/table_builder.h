// From rows of cells to a data set: which column is what, and what its cells mean.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/class_table.h"
#include "data/data_options.h"
#include "data/dataset.h"

namespace hone {

// Columns by what they are for, as places in a row.
struct ColumnRoles {
  std::optional<size_t> text, text2, tokens, label, labels, target, tags, group, split;
};

// By the names that the options give, else by usual names: a text is "text", "sentence", "review", …; the whole list is
// in docs/data.md. When one kind of answer is named, no other is looked for; when `text` is, no second text is. Throws
// Error that lists the columns: one that is not there, no text, two kinds of answers.
ColumnRoles find_roles(const std::string& source, std::span<const std::string> columns, const DataOptions& options);

// What a reader hands over: a text, or the parts of one where the format has lists.
struct Cell {
  std::string_view text;
  std::vector<std::string> parts;
  bool is_list = false;
};

inline constexpr const char* kTableOptions[] = {"text", "text2",        "label",        "labels",    "target", "tokens",
                                                "tags", "group-column", "split-column", "separator", "classes"};

class TableBuilder {
 public:
  // Throws Error for columns of the same name, and as find_roles.
  TableBuilder(const std::string& source, std::vector<std::string> columns, const DataOptions& options);

  std::span<const std::string> columns() const { return columns_; }
  bool uses(size_t column) const { return is_used_[column]; }  // others' cells may be left empty

  // Throws Error naming the line: another number of cells than columns, a number that is none, a list in place of a
  // text, not as many tags as words, an empty split.
  void add(std::span<const Cell> cells, int64_t line);

  Dataset finish();

 private:
  [[noreturn]] void wrong(int64_t line, size_t column, const std::string& what) const;
  std::string text(const Cell& cell, size_t column, int64_t line) const;
  std::vector<std::string> parts(const Cell& cell) const;
  int64_t class_id(std::string_view name);
  void add_label(std::span<const Cell> cells, int64_t line);
  void add_target(const Cell& cell, int64_t line);
  void add_split(std::string_view name, int64_t line);

  std::string source_;
  std::vector<std::string> columns_;
  DataOptions options_;
  ColumnRoles roles_;
  std::vector<bool> is_used_;
  ClassTable classes_, groups_;
  Dataset data_;
};

}  // namespace hone
