// The classes of a data set while it is read: texts as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hone {

class ClassTable {
 public:
  // The classes in order, where they are known; then no others are added.
  explicit ClassTable(std::span<const std::string> known = {});

  int64_t id(std::string_view name);  // kIgnoredLabel for what is none of the known ones

  // The names as they are to stay: those known in their order, others sorted, by value where all are whole numbers.
  // `renumber` turns ids given so far into places in that list.
  std::vector<std::string> names() const;
  std::vector<int64_t> renumber() const;

 private:
  std::vector<size_t> order() const;

  bool is_closed_;
  std::vector<std::string> names_;  // by id
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> ids_;
};

}  // namespace hone
