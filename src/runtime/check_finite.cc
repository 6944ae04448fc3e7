#include "runtime/check_finite.h"

#include <fmt/ranges.h>

#include <cmath>
#include <cstring>

namespace hone {
namespace {

// The first element whose exponent bits are all ones: NaN and the infinities of every IEEE type. -1 when there is none.
template <class Bits>
int64_t first_with(Bits exponent, std::span<const std::byte> bytes) {
  for (size_t at = 0; at + sizeof(Bits) <= bytes.size(); at += sizeof(Bits)) {
    Bits bits;
    std::memcpy(&bits, bytes.data() + at, sizeof bits);
    if ((bits & exponent) == exponent) return static_cast<int64_t>(at / sizeof(Bits));
  }
  return -1;
}

int64_t first_not_finite_element(const Tensor& tensor) {
  const std::span<const std::byte> bytes = tensor.data().bytes();
  switch (tensor.dtype()) {
    case DType::f64:
      return first_with<uint64_t>(0x7ff0'0000'0000'0000, bytes);
    case DType::f32:
      return first_with<uint32_t>(0x7f80'0000, bytes);
    case DType::f16:
      return first_with<uint16_t>(0x7c00, bytes);
    case DType::bf16:
      return first_with<uint16_t>(0x7f80, bytes);
    default:
      return -1;
  }
}

std::vector<int64_t> place_of(int64_t element, const std::vector<int64_t>& shape) {
  std::vector<int64_t> place(shape.size());
  for (size_t i = shape.size(); i-- > 0; element /= shape[i]) place[i] = element % shape[i];
  return place;
}

std::string text_of(double value) { return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf"; }

std::string state_of(const Tensor& tensor) {
  const std::string found = first_not_finite(tensor);
  return found.empty() ? "is finite" : "has " + found;
}

std::string operand_text(const Graph& graph, ValueId id, const NamedTensors& inputs) {
  const Value& value = graph.value(id);
  if (const Tensor* constant = graph.constant(id))
    return fmt::format("{} {}", value.label.empty() ? "%" + value.name : fmt::format("\"{}\"", value.label),
                       state_of(*constant));
  const auto input = graph.producer(id) == kNone ? inputs.find(value.label) : inputs.end();
  if (input != inputs.end()) return fmt::format("input \"{}\" {}", value.label, state_of(input->second));
  return fmt::format("%{} is finite", value.name);
}

// The first labelled constant that is read names the layer.
std::string layer_text(const Graph& graph, std::span<const ValueId> operands) {
  for (ValueId id : operands)
    if (id != kNone && graph.constant(id) && !graph.value(id).label.empty())
      return fmt::format(" (\"{}\")", graph.value(id).label);
  return "";
}

}  // namespace

std::string first_not_finite(const Tensor& tensor) {
  if (tensor.container() != Container::none) {
    for (const Tensor& item : tensor.items())
      if (std::string found = first_not_finite(item); !found.empty()) return found;
    return "";
  }
  const Tensor plain = tensor.is_packed() ? unpack(tensor) : tensor;
  const int64_t element = first_not_finite_element(plain);
  if (element < 0) return "";
  return fmt::format("{} at [{}]", text_of(plain.to_doubles()[static_cast<size_t>(element)]),
                     fmt::join(place_of(element, plain.shape()), ","));
}

void require_finite(const Graph& graph, ValueId id, const Tensor& value, const std::string& ops,
                    std::span<const ValueId> operands, const NamedTensors& inputs) {
  const std::string found = first_not_finite(value);
  if (found.empty()) return;
  std::vector<std::string> read;
  for (ValueId operand : operands)
    if (operand != kNone) read.push_back(operand_text(graph, operand, inputs));
  fail("%{}, the result of {}{}, is the first that is not finite: {}\n  it was computed from: {}{}",
       graph.value(id).name, ops, layer_text(graph, operands), found,
       read.empty() ? "nothing" : fmt::format("{}", fmt::join(read, "; ")),
       ops.find('+') == std::string::npos ? "" : "\n  to see which op of these it is: -O 1");
}

}  // namespace hone
