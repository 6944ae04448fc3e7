#include "io/onnx/damage.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace hone::onnx {
namespace {

// The messages within messages that are walked into.
struct Nested {
  std::string_view message;
  uint32_t field;
  std::string_view child;
};
constexpr Nested kNested[] = {
    {"ModelProto", 7, "GraphProto"},        {"ModelProto", 25, "FunctionProto"},
    {"FunctionProto", 7, "NodeProto"},      {"GraphProto", 1, "NodeProto"},
    {"GraphProto", 5, "TensorProto"},       {"GraphProto", 11, "ValueInfoProto"},
    {"GraphProto", 12, "ValueInfoProto"},   {"GraphProto", 13, "ValueInfoProto"},
    {"NodeProto", 5, "AttributeProto"},     {"AttributeProto", 5, "TensorProto"},
    {"AttributeProto", 6, "GraphProto"},    {"AttributeProto", 10, "TensorProto"},
    {"AttributeProto", 11, "GraphProto"},   {"AttributeProto", 14, "TypeProto"},
    {"ValueInfoProto", 2, "TypeProto"},     {"TypeProto", 4, "TypeProto.Sequence"},
    {"TypeProto.Sequence", 1, "TypeProto"}, {"TypeProto", 9, "TypeProto.Optional"},
    {"TypeProto.Optional", 1, "TypeProto"}, {"TypeProto", 5, "TypeProto.Map"},
    {"TypeProto.Map", 2, "TypeProto"},      {"SequenceProto", 3, "TensorProto"},
    {"SequenceProto", 5, "SequenceProto"},  {"SequenceProto", 7, "OptionalProto"},
    {"OptionalProto", 3, "TensorProto"},    {"OptionalProto", 5, "SequenceProto"},
    {"OptionalProto", 7, "OptionalProto"},
};

std::string_view child_of(std::string_view message, uint32_t field) {
  for (const Nested& row : kNested)
    if (row.message == message && row.field == field) return row.child;
  return {};
}

// Reads the wire format (https://protobuf.dev/programming-guides/encoding): a field is a tag, number << 3 | wire type,
// and a value whose length follows from the wire type.
class Traversal {
 public:
  Traversal(std::string_view bytes, int max_nesting) : bytes_(bytes), max_nesting_(max_nesting) {}

  // The first fault of the message at position_ that ends at `end`; "" when there is none.
  std::string message(std::string_view name, size_t end, int nesting) {
    while (position_ < end)
      if (std::string fault = field(name, end, nesting); !fault.empty()) return fault;
    return "";
  }

 private:
  std::string field(std::string_view message, size_t end, int nesting) {
    const size_t start = position_;
    const std::optional<uint64_t> tag = varint(end);
    if (!tag) return at(start, "the tag of a field of {} is cut off or longer than 10 bytes", message);
    const uint64_t number = *tag >> 3;
    if (number == 0 || number >> 29 != 0) return at(start, "{} has a field with the number {}", message, number);
    switch (*tag & 7) {
      case 0:
        if (!varint(end)) return at(start, "field {} of {} is cut off or longer than 10 bytes", number, message);
        return "";
      case 1:
        return skip(8, message, number, start, end);
      case 2:
        return delimited(message, static_cast<uint32_t>(number), start, end, nesting);
      case 5:
        return skip(4, message, number, start, end);
      default:
        return at(start, "field {} of {} has wire type {}; ONNX has 0, 1, 2 and 5", number, message, *tag & 7);
    }
  }

  std::string delimited(std::string_view message, uint32_t number, size_t start, size_t end, int nesting) {
    const std::optional<uint64_t> length = varint(end);
    if (!length) return at(start, "the length of field {} of {} is cut off", number, message);
    const std::string_view child = child_of(message, number);
    if (child.empty() || *length > end - position_) return skip(*length, message, number, start, end);
    if (nesting == max_nesting_)
      return at(start, "{} messages are nested in one another here; at most {} are accepted", nesting + 1,
                max_nesting_);
    return this->message(child, position_ + *length, nesting + 1);
  }

  std::string skip(uint64_t length, std::string_view message, uint64_t number, size_t start, size_t end) {
    if (length > end - position_)
      return at(start, "field {} of {} says that it has {} bytes, but {} follow; the file may be truncated", number,
                message, length, end - position_);
    position_ += length;
    return "";
  }

  std::optional<uint64_t> varint(size_t end) {
    uint64_t value = 0;
    for (int shift = 0; shift < 70 && position_ < end; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes_[position_++]);
      value |= uint64_t{byte & 127u} << shift;
      if (byte < 128) return value;
    }
    return std::nullopt;
  }

  template <class... Args>
  static std::string at(size_t position, fmt::format_string<Args...> format, Args&&... args) {
    return fmt::format("byte {}: ", position) + fmt::format(format, std::forward<Args>(args)...);
  }

  std::string_view bytes_;
  int max_nesting_;
  size_t position_ = 0;
};

}  // namespace

std::string first_fault(std::string_view bytes, std::string_view message, int max_nesting) {
  const std::string fault = Traversal(bytes, max_nesting).message(message, bytes.size(), 0);
  return fault.empty() ? "the value of a field is malformed" : fault;
}

}  // namespace hone::onnx
