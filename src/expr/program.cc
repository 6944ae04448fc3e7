// Expression trees to flat code: value numbering merges equal instructions, whatever tree they came from.
#include "expr/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "expr/kernels.h"
#include "expr/node.h"

namespace hone {
namespace {

bool is_commutative(ExprOp op) {
  switch (op) {
    case ExprOp::add:
    case ExprOp::mul:
    case ExprOp::min:
    case ExprOp::max:
    case ExprOp::mulhi:
    case ExprOp::bit_and:
    case ExprOp::bit_or:
    case ExprOp::bit_xor:
    case ExprOp::eq:
    case ExprOp::ne:
      return true;
    default:
      return false;
  }
}

class Flattener {
 public:
  Program flatten(std::span<const Expr> results) {
    std::vector<Expr> kept;  // a node that was freed could lend its address to another one
    for (const Expr& e : results) kept.push_back(e.is_literal() ? typed(Scalar::f32, e) : e);
    for (const Expr& e : kept) program_.results.push_back(visit(e));
    program_.args.resize(arg_types_.empty() ? 0 : static_cast<size_t>(arg_types_.rbegin()->first) + 1, Scalar::f32);
    for (const auto& [position, type] : arg_types_) program_.args[static_cast<size_t>(position)] = type;
    return std::move(program_);
  }

 private:
  using Key = std::tuple<ExprOp, Scalar, int32_t, int32_t, int32_t, int64_t>;

  int32_t visit(const Expr& e) {
    const auto seen = visited_.find(e.identity());
    if (seen != visited_.end()) return seen->second;
    Instruction in{.op = e.op(), .type = e.type()};
    int32_t* const slots[3] = {&in.a, &in.b, &in.c};
    const std::span<const Expr> operands = e.operands();
    for (size_t k = 0; k < operands.size(); ++k) *slots[k] = visit(operands[k]);
    in.payload = payload(e);
    const int32_t number = emit(in);
    visited_.emplace(e.identity(), number);
    return number;
  }

  int64_t payload(const Expr& e) {
    if (e.op() == ExprOp::constant) return static_cast<int64_t>(e.bits());
    if (e.op() == ExprOp::lookup) return table_number({e.table().begin(), e.table().end()});
    if (e.op() != ExprOp::arg) return 0;
    const auto [known, inserted] = arg_types_.emplace(e.position(), e.type());
    CHECK(known->second == e.type(), "arg {} is both {} and {}", e.position(), to_string(known->second),
          to_string(e.type()));
    return e.position();
  }

  int64_t table_number(const std::vector<uint64_t>& table) {
    const auto found = std::find(program_.tables.begin(), program_.tables.end(), table);
    if (found == program_.tables.end()) {
      program_.tables.push_back(table);
      return std::ssize(program_.tables) - 1;
    }
    return found - program_.tables.begin();
  }

  int32_t emit(const Instruction& in) {
    int32_t a = in.a, b = in.b;
    if (is_commutative(in.op) && b < a) std::swap(a, b);
    const auto [known, inserted] =
        numbers_.emplace(Key{in.op, in.type, a, b, in.c, in.payload}, static_cast<int32_t>(program_.code.size()));
    if (inserted) program_.code.push_back(in);
    return known->second;
  }

  Program program_;
  std::unordered_map<const void*, int32_t> visited_;
  std::map<Key, int32_t> numbers_;
  std::map<int, Scalar> arg_types_;
};

std::string text_of(const Instruction& in) {
  std::string text = fmt::format("{}.{}", to_string(in.op), to_string(in.type));
  const int32_t operands[3] = {in.a, in.b, in.c};
  for (int k = 0; k < operand_count(in.op); ++k) text += fmt::format(" %{}", operands[k]);
  if (in.op == ExprOp::constant) text += fmt::format(" {:#x}", static_cast<uint64_t>(in.payload));
  if (in.op == ExprOp::arg) text += fmt::format(" {}", in.payload);
  if (in.op == ExprOp::lookup) text += fmt::format(" table{}", in.payload);
  return text;
}

}  // namespace

Program flatten(std::span<const Expr> results) { return Flattener().flatten(results); }

Program flatten(const Expr& result) { return flatten(std::span(&result, 1)); }

std::string Program::to_text() const {
  std::string text = "args";
  for (Scalar type : args) text += fmt::format(" {}", to_string(type));
  text += '\n';
  for (size_t i = 0; i < tables.size(); ++i) text += fmt::format("table{} {:#x}\n", i, fmt::join(tables[i], " "));
  for (size_t i = 0; i < code.size(); ++i) text += fmt::format("%{} = {}\n", i, text_of(code[i]));
  text += "return";
  for (int32_t r : results) text += fmt::format(" %{}", r);
  return text + "\n";
}

}  // namespace hone
