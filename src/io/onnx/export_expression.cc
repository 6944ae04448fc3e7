// A pointwise op as one operator for each instruction of its expression, on tensors of the instructions' scalars.
#include <bit>
#include <cmath>

#include "io/onnx/export_node.h"
#include "ir/compute_column.h"
#include "ir/pointwise.h"

namespace hone::onnx {
namespace {

class Spelling {
 public:
  Spelling(const ExportNode& n, const Program& program) : n_(n), program_(program) {}

  std::string result() {
    for (const Instruction& instruction : program_.code) values_.push_back(value_of(instruction));
    return n_.cast(values_.at(static_cast<size_t>(program_.results[0])), dtype_of(program_.result_type(0)),
                   n_.result_type().dtype);
  }

 private:
  const Instruction& at(int32_t i) const { return program_.code[static_cast<size_t>(i)]; }
  const std::string& value(int32_t i) const { return values_[static_cast<size_t>(i)]; }
  std::string emit(const char* op_type, const Names& inputs, const Attributes& attributes = {}) const {
    return n_.emit(op_type, inputs, attributes);
  }
  std::string unary(const char* op_type, const Instruction& i) const { return emit(op_type, {value(i.a)}); }
  std::string binary(const char* op_type, const Instruction& i) const {
    return emit(op_type, {value(i.a), value(i.b)});
  }

  std::string constant(Scalar type, uint64_t bits) const {
    Tensor tensor(dtype_of(type), {});
    std::memcpy(tensor.mutable_data(), &bits, tensor.data().size());
    return n_.constant(tensor);
  }

  std::string lookup(const Instruction& i) const {
    std::vector<uint64_t> entries = program_.tables[static_cast<size_t>(i.payload)];
    entries.resize(std::bit_ceil(entries.size()), 0);
    Tensor table(dtype_of(i.type), {static_cast<int64_t>(entries.size())});
    const size_t width = table.data().size() / entries.size();
    for (size_t e = 0; e < entries.size(); ++e) std::memcpy(table.mutable_data() + e * width, &entries[e], width);
    std::string index = n_.cast(value(i.a), DType::u32, DType::i64);
    if (!is_below(i.a, entries.size()))
      index = emit("Mod", {index, n_.constant(Tensor::of<int64_t>({}, {static_cast<int64_t>(entries.size())}))});
    return emit("Gather", {n_.constant(table), index});
  }

  // As its last instruction shows.
  bool is_below(int32_t value, size_t bound) const {
    const Instruction& i = at(value);
    const auto is_mask = [&](const Instruction& c) {
      return c.op == ExprOp::constant && static_cast<uint64_t>(c.payload) < bound;
    };
    return i.op == ExprOp::bit_and && (is_mask(at(i.a)) || is_mask(at(i.b)));
  }

  std::string bitwise(const char* logical, const char* bits, const Instruction& i) const {
    if (i.type != Scalar::boolean) n_.needs(18, bits);
    return i.b < 0 ? unary(i.type == Scalar::boolean ? logical : bits, i)
                   : binary(i.type == Scalar::boolean ? logical : bits, i);
  }

  std::string shifted(const char* direction, const Instruction& i) const {
    if (is_signed(i.type)) not_in_onnx("BitShift takes unsigned integers only");
    return emit("BitShift", {value(i.a), value(i.b)}, {{"direction", std::string(direction)}});
  }

  // Toward zero.
  std::string truncated(const Instruction& i) const {
    const std::string negative = emit("Less", {value(i.a), constant(i.type, 0)});
    return emit("Where", {negative, unary("Ceil", i), unary("Floor", i)});
  }

  std::string value_of(const Instruction& i) const {
    switch (i.op) {
      case ExprOp::constant:
        return constant(i.type, static_cast<uint64_t>(i.payload));
      case ExprOp::arg:
        return n_.in_as(static_cast<size_t>(i.payload), dtype_of(i.type));
      case ExprOp::neg:
        if (!is_float(i.type) && !is_signed(i.type)) return emit("Sub", {constant(i.type, 0), value(i.a)});
        return unary("Neg", i);
      case ExprOp::abs:
        return unary("Abs", i);
      case ExprOp::floor:
        return unary("Floor", i);
      case ExprOp::ceil:
        return unary("Ceil", i);
      case ExprOp::trunc:
        return truncated(i);
      case ExprOp::rint:
        return unary("Round", i);
      case ExprOp::sqrt:
        return unary("Sqrt", i);
      case ExprOp::exp:
        return unary("Exp", i);
      case ExprOp::log:
        return unary("Log", i);
      case ExprOp::tanh:
        return unary("Tanh", i);
      case ExprOp::erf:
        return unary("Erf", i);
      case ExprOp::sin:
        return unary("Sin", i);
      case ExprOp::cos:
        return unary("Cos", i);
      case ExprOp::bit_not:
        return bitwise("Not", "BitwiseNot", i);
      case ExprOp::cast:
        return n_.cast(value(i.a), dtype_of(at(i.a).type), dtype_of(i.type));
      case ExprOp::lookup:
        return lookup(i);
      case ExprOp::add:
        return binary("Add", i);
      case ExprOp::sub:
        return binary("Sub", i);
      case ExprOp::mul:
        return binary("Mul", i);
      case ExprOp::div:
        return binary("Div", i);
      case ExprOp::rem:
        return emit("Mod", {value(i.a), value(i.b)}, {{"fmod", int64_t{1}}});
      case ExprOp::min:
        return binary("Min", i);
      case ExprOp::max:
        return binary("Max", i);
      case ExprOp::pow:
        return binary("Pow", i);
      case ExprOp::bit_and:
        return bitwise("And", "BitwiseAnd", i);
      case ExprOp::bit_or:
        return bitwise("Or", "BitwiseOr", i);
      case ExprOp::bit_xor:
        return bitwise("Xor", "BitwiseXor", i);
      case ExprOp::shl:
        return shifted("LEFT", i);
      case ExprOp::shr:
        return shifted("RIGHT", i);
      case ExprOp::eq:
        return binary("Equal", i);
      case ExprOp::ne:
        return emit("Not", {binary("Equal", i)});
      case ExprOp::lt:
        return binary("Less", i);
      case ExprOp::le:
        return binary("LessOrEqual", i);
      case ExprOp::select:
        return emit("Where", {value(i.a), value(i.b), value(i.c)});
      case ExprOp::fma:
        return emit("Add", {emit("Mul", {value(i.a), value(i.b)}), value(i.c)});
      case ExprOp::index:
      case ExprOp::bitcast:
      case ExprOp::mulhi:
        break;
    }
    not_in_onnx("its expression has {}, which no operator of ONNX computes", to_string(i.op));
  }

  const ExportNode& n_;
  const Program& program_;
  Names values_;
};

}  // namespace

Names write_expression(const ExportNode& n) {
  std::vector<DType> dtypes;
  bool present[8] = {};
  const size_t operands = n.node().operands.size();
  CHECK(operands <= std::size(present));
  for (size_t i = 0; i < operands; ++i) {
    present[i] = n.has(i);
    dtypes.push_back(n.has(i) ? n.type(i).dtype : DType::f32);
  }
  const Program program = pointwise_program(*n.node().op, dtypes, n.attributes(), std::span(present, operands));
  return {Spelling(n, program).result()};
}

}  // namespace hone::onnx
