#include "ops/call.h"

namespace hone::ops {

CallBuilder&& CallBuilder::operand(ValueId value) && {
  call_.operands.push_back(value);
  return std::move(*this);
}

CallBuilder&& CallBuilder::operands(std::span<const ValueId> values) && {
  call_.operands.insert(call_.operands.end(), values.begin(), values.end());
  return std::move(*this);
}

CallBuilder&& CallBuilder::attribute(const char* name, Attribute value) && {
  call_.attributes.set(name, std::move(value));
  return std::move(*this);
}

CallBuilder&& CallBuilder::bodies(std::vector<Graph> graphs) && {
  call_.subgraphs = std::move(graphs);
  return std::move(*this);
}

Call CallBuilder::call() && {
  const auto least = static_cast<size_t>(call_.op->operands.least());
  while (call_.operands.size() > least && call_.operands.back() == kNone) call_.operands.pop_back();
  return std::move(call_);
}

}  // namespace hone::ops
