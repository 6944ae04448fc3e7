#include "tokenizers/byte_trie.h"

namespace hone {
namespace {

uint64_t key_of(uint32_t node, unsigned char byte) { return static_cast<uint64_t>(node) << 8 | byte; }

size_t place_of(uint64_t key, size_t slots) {
  const uint64_t hash = key * 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  return (hash ^ hash >> 32) & (slots - 1);
}

}  // namespace

ByteTrie::ByteTrie() : values_{kNone}, edges_(1024, {kFree, 0}) {}

uint32_t ByteTrie::child(uint32_t node, unsigned char byte) const {
  const uint64_t key = key_of(node, byte);
  for (size_t place = place_of(key, edges_.size());; place = (place + 1) & (edges_.size() - 1)) {
    if (edges_[place].from == key) return edges_[place].to;
    if (edges_[place].from == kFree) return kNoNode;
  }
}

void ByteTrie::grow() {
  std::vector<Edge> before(edges_.size() * 2, {kFree, 0});
  before.swap(edges_);
  for (const Edge& edge : before) {
    if (edge.from == kFree) continue;
    size_t place = place_of(edge.from, edges_.size());
    while (edges_[place].from != kFree) place = (place + 1) & (edges_.size() - 1);
    edges_[place] = edge;
  }
}

void ByteTrie::add(std::string_view text, int32_t value) {
  uint32_t node = 0;
  for (const char c : text) {
    const uint64_t key = key_of(node, static_cast<unsigned char>(c));
    size_t place = place_of(key, edges_.size());
    while (edges_[place].from != key && edges_[place].from != kFree) place = (place + 1) & (edges_.size() - 1);
    if (edges_[place].from == key) {
      node = edges_[place].to;
      continue;
    }
    node = static_cast<uint32_t>(values_.size());
    edges_[place] = {key, node};
    values_.push_back(kNone);
    if (values_.size() * 2 > edges_.size()) grow();
  }
  values_[node] = value;
}

}  // namespace hone
