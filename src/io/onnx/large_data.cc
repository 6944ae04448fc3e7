// A message is a sequence of fields, each a tag (number << 3 | wire type) and a value whose length follows from the
// type (https://protobuf.dev/programming-guides/encoding). Three messages are taken apart: the model, its graph and the
// graph's initializers. All other fields are copied as they are, in their order.
#include "io/onnx/large_data.h"

#include <cstdint>

namespace hone::onnx {
namespace {

constexpr size_t kLarge = size_t{16} << 10;  // four pages: smaller weights are cheaper to copy than to map
constexpr uint64_t kGraphOfModel = 7, kInitializerOfGraph = 5, kRawDataOfTensor = 9;
constexpr int kDelimited = 2;

struct Field {
  uint64_t number = 0;
  int wire_type = 0;
  std::string_view whole, value;  // with the tag and, where it is delimited, the length; and without
};

// The fields of one message, until one is malformed.
class Fields {
 public:
  explicit Fields(std::string_view message) : rest_(message) {}

  std::optional<Field> next() {
    if (rest_.empty()) return std::nullopt;
    std::optional<Field> field = read();
    if (!field) malformed_ = true, rest_ = {};
    return field;
  }
  bool malformed() const { return malformed_; }

 private:
  std::optional<Field> read() {
    constexpr int kSize = 5;  // bytes that a tag or a length may have: both are numbers of 32 bits
    const std::string_view start = rest_;
    Field field;
    const std::optional<uint64_t> tag = varint(kSize);
    if (!tag) return std::nullopt;
    field.number = *tag >> 3, field.wire_type = static_cast<int>(*tag & 7);
    std::optional<uint64_t> length;
    if (field.wire_type == 0 && varint(10)) length = 0;
    if (field.wire_type == 1) length = 8;
    if (field.wire_type == kDelimited) length = varint(kSize);
    if (field.wire_type == 5) length = 4;
    if (!length || *length > rest_.size()) return std::nullopt;
    field.value = rest_.substr(0, *length);
    rest_.remove_prefix(*length);
    field.whole = start.substr(0, start.size() - rest_.size());
    return field;
  }

  std::optional<uint64_t> varint(int most_bytes) {
    uint64_t value = 0;
    for (int shift = 0; shift < 7 * most_bytes && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }

  std::string_view rest_;
  bool malformed_ = false;
};

void append_delimited(std::string& out, uint64_t number, std::string_view value) {
  for (uint64_t rest : {(number << 3) | kDelimited, uint64_t{value.size()}}) {
    for (; rest >= 128; rest >>= 7) out += static_cast<char>((rest & 127) | 128);
    out += static_cast<char>(rest);
  }
  out += value;
}

// The one raw_data of a tensor; none where there are several, of which the last counts, or it is small.
std::optional<std::string_view> large_data_of(std::string_view tensor) {
  std::optional<std::string_view> found;
  Fields fields(tensor);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number != kRawDataOfTensor || field->wire_type != kDelimited) continue;
    if (found) return std::nullopt;
    found = field->value;
  }
  return !fields.malformed() && found && found->size() >= kLarge ? found : std::nullopt;
}

std::string without_raw_data(std::string_view tensor) {
  std::string rest;
  Fields fields(tensor);
  while (const std::optional<Field> field = fields.next())
    if (field->number != kRawDataOfTensor || field->wire_type != kDelimited) rest += field->whole;
  return rest;
}

// False for what is no message.
bool cut_graph(std::string_view graph, int& initializers, std::vector<LargeData>& data, std::string& out) {
  Fields fields(graph);
  while (const std::optional<Field> field = fields.next()) {
    const bool is_tensor = field->number == kInitializerOfGraph && field->wire_type == kDelimited;
    const auto large = is_tensor ? large_data_of(field->value) : std::nullopt;
    if (large) {
      data.push_back({initializers, *large});
      append_delimited(out, kInitializerOfGraph, without_raw_data(field->value));
    } else {
      out += field->whole;
    }
    initializers += is_tensor;
  }
  return !fields.malformed();
}

}  // namespace

std::optional<CutModel> without_large_data(std::string_view bytes) {
  if (bytes.size() < kLarge) return std::nullopt;
  CutModel cut;
  int initializers = 0;  // graphs that follow one another are one graph to protobuf
  Fields fields(bytes);
  while (const std::optional<Field> field = fields.next()) {
    if (field->number != kGraphOfModel || field->wire_type != kDelimited) {
      cut.message += field->whole;
      continue;
    }
    std::string graph;
    if (!cut_graph(field->value, initializers, cut.data, graph)) return std::nullopt;
    append_delimited(cut.message, kGraphOfModel, graph);
  }
  if (fields.malformed() || cut.message.size() > bytes.size() / 2) return std::nullopt;
  return cut;
}

}  // namespace hone::onnx
