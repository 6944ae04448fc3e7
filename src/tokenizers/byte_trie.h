// Texts with values, found by walking byte by byte: all that begin a text, in one sweep that ends as soon as none goes
// on.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace hone {

class ByteTrie {
 public:
  static constexpr int32_t kNone = -1;

  ByteTrie();
  void add(std::string_view text, int32_t value);  // of a text that is there already, the later one

  // Calls found(bytes, value) for each text that `text` begins with, the shortest first.
  template <class Found>
  void for_each_prefix(std::string_view text, Found found) const {
    uint32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node == kNoNode) return;
      if (values_[node] != kNone) found(i + 1, values_[node]);
    }
  }

 private:
  static constexpr uint32_t kNoNode = 0xffffffff;
  struct Edge {
    uint64_t from;  // node and byte; kFree: none
    uint32_t to;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};
  uint32_t child(uint32_t node, unsigned char byte) const;
  void grow();

  std::vector<int32_t> values_;  // of each node; the root is 0
  std::vector<Edge> edges_;      // a hash table; a power of two of them
};

}  // namespace hone
