#include "gradients/expression_nodes.h"

#include <bit>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "ir/compute_column.h"
#include "ir/pointwise.h"
#include "ops/calls/arithmetic.h"
#include "ops/calls/bit_cast.h"
#include "ops/calls/bits.h"
#include "ops/calls/comparison.h"
#include "ops/calls/gather.h"
#include "ops/calls/rounding.h"
#include "ops/calls/transcendental.h"

namespace hone {
namespace {

class ExpressionNodes {
 public:
  ExpressionNodes(Graph& graph, const Program& program, std::span<const ValueId> values)
      : graph_(graph), program_(program), values_(values), nodes_(program.code.size(), kNone) {}

  void know(int32_t instruction, ValueId value) { nodes_[static_cast<size_t>(instruction)] = value; }

  ValueId emit(int32_t result) {
    const std::vector<bool> needed = needed_for(result);
    for (size_t i = 0; i < needed.size(); ++i)
      if (needed[i] && nodes_[i] == kNone) nodes_[i] = node_of(program_.code[i]);
    return value(result);
  }

 private:
  ValueId value(int32_t i) const { return nodes_[static_cast<size_t>(i)]; }
  Scalar type(int32_t i) const { return program_.code[static_cast<size_t>(i)].type; }

  std::vector<bool> needed_for(int32_t result) const {
    std::vector<bool> needed(program_.code.size(), false);
    needed[static_cast<size_t>(result)] = true;
    for (size_t i = needed.size(); i-- > 0;) {
      if (!needed[i] || nodes_[i] != kNone) continue;
      const Instruction& instruction = program_.code[i];
      for (int32_t operand : {instruction.a, instruction.b, instruction.c})
        if (operand >= 0) needed[static_cast<size_t>(operand)] = true;
    }
    return needed;
  }

  ValueId constant(Scalar type, uint64_t bits) {
    Tensor tensor(dtype_of(type), {});
    std::memcpy(tensor.mutable_data(), &bits, static_cast<size_t>(tensor.bytes()));
    return graph_.add_constant("", std::move(tensor));
  }

  ValueId truncated(const Instruction& i) {
    const ValueId x = value(i.a), negative = ops::less(graph_, {x, constant(i.type, 0)});
    return ops::where(graph_, {negative, ops::ceil(graph_, {x}), ops::floor(graph_, {x})});
  }

  // Entries past the end are 0, up to the power of two that indices are taken modulo.
  ValueId lookup(const Instruction& i) {
    const std::vector<uint64_t>& entries = program_.tables[static_cast<size_t>(i.payload)];
    const size_t size = std::bit_ceil(entries.size());
    Tensor table(dtype_of(i.type), {static_cast<int64_t>(size)});
    const size_t width = static_cast<size_t>(table.bytes()) / size;
    for (size_t e = 0; e < entries.size(); ++e) std::memcpy(table.mutable_data() + e * width, &entries[e], width);
    const ValueId index = ops::bitwise_and(graph_, {value(i.a), constant(Scalar::u32, size - 1)});
    return ops::gather(
        graph_, {.table = graph_.add_constant("", std::move(table)), .indices = as_dtype(graph_, index, DType::i64)});
  }

  ValueId shifted(const Instruction& i, const char* direction) {
    const ValueId count =
        ops::bitwise_and(graph_, {value(i.b), constant(i.type, static_cast<uint64_t>(width_bits(i.type)) - 1)});
    return ops::bit_shift(graph_, {.a = value(i.a), .b = count, .direction = direction});
  }

  // The upper half of a product of 32 bits each.
  ValueId upper_half(const Instruction& i) {
    if (width_bits(i.type) == 64) fail("no op computes the upper half of a product of 64-bit integers");
    const Scalar wide = is_signed(i.type) ? Scalar::i64 : Scalar::u64;
    const ValueId product =
        ops::mul(graph_, {as_dtype(graph_, value(i.a), dtype_of(wide)), as_dtype(graph_, value(i.b), dtype_of(wide))});
    const ValueId half = ops::bit_shift(graph_, {.a = product, .b = constant(wide, 32), .direction = "right"});
    return as_dtype(graph_, half, dtype_of(i.type));
  }

  ValueId node_of(const Instruction& i) {
    switch (i.op) {
      case ExprOp::constant:
        return constant(i.type, static_cast<uint64_t>(i.payload));
      case ExprOp::arg:
        return as_dtype(graph_, values_[static_cast<size_t>(i.payload)], dtype_of(i.type));
      case ExprOp::cast:
        return as_dtype(graph_, value(i.a), dtype_of(i.type));
      case ExprOp::bitcast:
        return ops::bit_cast(graph_, {.x = value(i.a), .dtype = dtype_of(i.type)});
      case ExprOp::lookup:
        return lookup(i);
      case ExprOp::trunc:
        return truncated(i);
      case ExprOp::mulhi:
        return upper_half(i);
      case ExprOp::shl:
        return shifted(i, "left");
      case ExprOp::shr:
        return shifted(i, "right");
      case ExprOp::fma:
        return ops::add(graph_, {ops::mul(graph_, {value(i.a), value(i.b)}), value(i.c)});
      case ExprOp::index:
        fail("no op computes an element from its position");
      default:
        break;
    }
    std::vector<ValueId> operands;
    for (int32_t operand : {i.a, i.b, i.c})
      if (operand >= 0) operands.push_back(value(operand));
    return graph_.emit(op_of(i), std::move(operands));
  }

  // Of an instruction that one op computes.
  static const OpDef& op_of(const Instruction& i) {
    const bool boolean = i.type == Scalar::boolean;
    switch (i.op) {
      case ExprOp::neg:
        return neg_def;
      case ExprOp::abs:
        return abs_def;
      case ExprOp::floor:
        return floor_def;
      case ExprOp::ceil:
        return ceil_def;
      case ExprOp::rint:
        return round_def;
      case ExprOp::sqrt:
        return sqrt_def;
      case ExprOp::exp:
        return exp_def;
      case ExprOp::log:
        return log_def;
      case ExprOp::tanh:
        return tanh_def;
      case ExprOp::erf:
        return erf_def;
      case ExprOp::sin:
        return sin_def;
      case ExprOp::cos:
        return cos_def;
      case ExprOp::bit_not:
        return boolean ? logical_not_def : bitwise_not_def;
      case ExprOp::add:
        return add_def;
      case ExprOp::sub:
        return sub_def;
      case ExprOp::mul:
        return mul_def;
      case ExprOp::div:
        return div_def;
      case ExprOp::rem:
        return fmod_def;
      case ExprOp::min:
        return min_def;
      case ExprOp::max:
        return max_def;
      case ExprOp::pow:
        return pow_def;
      case ExprOp::bit_and:
        return boolean ? logical_and_def : bitwise_and_def;
      case ExprOp::bit_or:
        return boolean ? logical_or_def : bitwise_or_def;
      case ExprOp::bit_xor:
        return boolean ? logical_xor_def : bitwise_xor_def;
      case ExprOp::eq:
        return equal_def;
      case ExprOp::ne:
        return not_equal_def;
      case ExprOp::lt:
        return less_def;
      case ExprOp::le:
        return less_or_equal_def;
      case ExprOp::select:
        return where_def;
      default:
        CHECK(false, "no op for {}", to_string(i.op));
    }
  }

  Graph& graph_;
  const Program& program_;
  std::span<const ValueId> values_;
  std::vector<ValueId> nodes_;
};

bool is_number(const Expr& e, double value) { return e.op() == ExprOp::constant && e.value() == value; }

// Those of a node's operands as its expression reads them.
struct Operands {
  std::vector<Expr> elements;  // empty where absent
  std::vector<DType> dtypes;
};

Operands operands_of(const GradientArgs& a) {
  Operands operands;
  for (size_t i = 0; i < a.op().operands.size(); ++i) {
    const bool is_present = a.operand(i) != kNone;
    operands.dtypes.push_back(is_present ? a.type(i).dtype : DType::f32);
    operands.elements.push_back(is_present ? Expr::arg(static_cast<int>(i), compute_scalar(operands.dtypes.back()))
                                           : Expr());
  }
  return operands;
}

}  // namespace

ValueId emit_expression(Graph& graph, const Expr& expression, std::span<const ValueId> values,
                        std::span<const KnownValue> known) {
  std::vector<Expr> all{typed(expression.type(), expression)};
  for (const KnownValue& each : known) all.push_back(each.expression);
  const Program program = flatten(all);
  ExpressionNodes nodes(graph, program, values);
  for (size_t i = 0; i < known.size(); ++i) nodes.know(program.results[i + 1], known[i].value);
  return nodes.emit(program.results[0]);
}

Expr times(const Expr& d, const Expr& factor) {
  if (factor.op() == ExprOp::select) {
    const std::span<const Expr> x = factor.operands();
    return select(x[0], times(d, x[1]), times(d, x[2]));
  }
  if (is_number(factor, 0)) return Expr::number(d.type(), 0);
  if (is_number(factor, -1)) return -d;
  return d * factor;
}

std::vector<ValueId> pointwise_gradient(const GradientArgs& a) {
  Graph& g = a.graph;
  const Operands operands = operands_of(a);
  const Expr e = pointwise_expr(*a.op().op, operands.elements, operands.dtypes, a.op().attributes);
  std::vector<ValueId> gradients(operands.elements.size(), kNone);
  if (e.is_literal() || !is_float(e.type())) return gradients;
  std::vector<ValueId> values = a.op().operands;
  values.push_back(a.d_results[0]);
  const Expr d = Expr::arg(static_cast<int>(values.size()) - 1, e.type());
  std::vector<KnownValue> known;  // the result, unless it was rounded
  if (!e.operands().empty() && g.type(a.result()).dtype == dtype_of(e.type())) known.push_back({e, a.result()});
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!a.wants(i)) continue;
    const Expr slope = derivative(e, static_cast<int>(i));
    if (is_number(slope, 0)) continue;
    const ValueId d_operand = emit_expression(g, times(d, slope), values, known);
    gradients[i] = summed_to(g, d_operand, a.type(i).shape);
  }
  return gradients;
}

}  // namespace hone
