// Runs a program over blocks of kBlockElems elements: each instruction is one call of a loop, so that the cost of
// choosing the loop is spread over the block, and all live registers of a block fit the first-level cache.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "base/stop.h"
#include "expr/interpreter.h"

namespace hone {
namespace {

int64_t elem_bytes(Scalar type) { return (width_bits(type) + 7) / 8; }

const std::byte* element(const ConstColumn& column, Scalar type, int64_t i) {
  return static_cast<const std::byte*>(column.data) + i * column.stride * elem_bytes(type);
}

// dst[i] = src[i * step_bytes] for n elements of `bytes` bytes.
void gather(std::byte* dst, const std::byte* src, int64_t step_bytes, int64_t bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) std::memcpy(dst + i * bytes, src + i * step_bytes, static_cast<size_t>(bytes));
}

bool computes(ExprOp op) { return operand_count(op) > 0; }

}  // namespace

Interpreter::Interpreter(const Program& program) : program_(program) {
  check();
  for (const std::vector<uint64_t>& table : program_.tables) tables_.push_back({table.data(), table.size()});
  assign_registers();
  at_.resize(program_.code.size());
  for (size_t i = 0; i < at_.size(); ++i) {
    const Instruction& in = program_.code[i];
    at_[i] = registers_[static_cast<size_t>(register_of_[i])].bytes;
    if (!computes(in.op)) continue;
    const int32_t typed_operand = in.op == ExprOp::select ? in.b : in.a;
    const Scalar operand = in.op == ExprOp::lookup ? in.type : program_.code[static_cast<size_t>(typed_operand)].type;
    const Kernel kernel = find_kernel(in.op, in.type, operand);
    CHECK(kernel, "{} is not defined from {} to {}", to_string(in.op), to_string(operand), to_string(in.type));
    const LookupTable* table = in.op == ExprOp::lookup ? &tables_[static_cast<size_t>(in.payload)] : nullptr;
    steps_.push_back({kernel, static_cast<int32_t>(i), table});
  }
}

void Interpreter::check() const {
  for (size_t i = 0; i < program_.code.size(); ++i) {
    const Instruction& in = program_.code[i];
    const int32_t operands[3] = {in.a, in.b, in.c};
    for (int k = 0; k < operand_count(in.op); ++k)
      CHECK(operands[k] >= 0 && operands[k] < static_cast<int32_t>(i), "%{} reads %{}", i, operands[k]);
    if (in.op == ExprOp::arg)
      CHECK(in.payload >= 0 && in.payload < std::ssize(program_.args) &&
            program_.args[static_cast<size_t>(in.payload)] == in.type);
    if (in.op == ExprOp::lookup)
      CHECK(in.payload >= 0 && in.payload < std::ssize(program_.tables) &&
            !program_.tables[static_cast<size_t>(in.payload)].empty());
  }
  for (int32_t r : program_.results) CHECK(r >= 0 && r < std::ssize(program_.code));
}

// A register is free again after the last instruction that reads it; a result is never the register of its own operand.
// Constants, args and results keep theirs.
void Interpreter::assign_registers() {
  const std::vector<Instruction>& code = program_.code;
  constexpr int32_t kForever = INT32_MAX;
  std::vector<int32_t> last_use(code.size(), -1);
  for (size_t i = 0; i < code.size(); ++i) {
    const int32_t operands[3] = {code[i].a, code[i].b, code[i].c};
    for (int k = 0; k < operand_count(code[i].op); ++k)
      last_use[static_cast<size_t>(operands[k])] = static_cast<int32_t>(i);
  }
  for (size_t i = 0; i < code.size(); ++i)
    if (!computes(code[i].op) || last_use[i] < 0) last_use[i] = kForever;
  for (int32_t r : program_.results) last_use[static_cast<size_t>(r)] = kForever;

  std::vector<int32_t> free;
  int32_t count = 0;
  for (size_t i = 0; i < code.size(); ++i) {
    if (free.empty() || !computes(code[i].op)) {
      register_of_.push_back(count++);
    } else {
      register_of_.push_back(free.back());
      free.pop_back();
    }
    const int32_t operands[3] = {code[i].a, code[i].b, code[i].c};
    for (int k = 0; k < operand_count(code[i].op); ++k) {
      const int32_t operand = operands[k];
      const bool repeated = std::find(operands, operands + k, operand) != operands + k;
      if (!repeated && last_use[static_cast<size_t>(operand)] == static_cast<int32_t>(i))
        free.push_back(register_of_[static_cast<size_t>(operand)]);
    }
  }
  registers_ = std::make_unique_for_overwrite<Register[]>(static_cast<size_t>(std::max(count, 1)));
}

void Interpreter::run(std::span<const ConstColumn> args, int64_t first_index, int64_t n,
                      std::span<const MutableColumn> results) {
  CHECK(args.size() >= program_.args.size(), "{} columns for {} args", args.size(), program_.args.size());
  CHECK(results.size() == program_.results.size(), "{} columns for {} results", results.size(),
        program_.results.size());
  fill(args, std::min(n, kBlockElems));
  for (int64_t begin = 0; begin < n; begin += kBlockElems) {
    check_stop();
    const int64_t count = std::min(kBlockElems, n - begin);
    load(args, first_index, begin, count);
    for (const Step& step : steps_) {
      const Instruction& in = program_.code[static_cast<size_t>(step.instruction)];
      const void* b = step.table ? step.table : in.b >= 0 ? at_[static_cast<size_t>(in.b)] : nullptr;
      const void* c = in.c >= 0 ? at_[static_cast<size_t>(in.c)] : nullptr;
      step.kernel(registers_[static_cast<size_t>(register_of_[static_cast<size_t>(step.instruction)])].bytes,
                  at_[static_cast<size_t>(in.a)], b, c, count);
    }
    for (size_t r = 0; r < results.size(); ++r) {
      const auto i = static_cast<size_t>(program_.results[r]);
      const int64_t bytes = elem_bytes(program_.code[i].type);
      std::memcpy(static_cast<std::byte*>(results[r].data) + begin * bytes, at_[i], static_cast<size_t>(count * bytes));
    }
  }
}

// What stays the same in every block: constants, once for the longest block seen, and repeated args.
void Interpreter::fill(std::span<const ConstColumn> args, int64_t n) {
  for (size_t i = 0; i < program_.code.size(); ++i) {
    const Instruction& in = program_.code[i];
    std::byte* bytes = registers_[static_cast<size_t>(register_of_[i])].bytes;
    if (in.op == ExprOp::constant && filled_ < n) {
      std::byte pattern[8];
      std::memcpy(pattern, &in.payload, 8);
      gather(bytes, pattern, 0, elem_bytes(in.type), n);
    }
    if (in.op == ExprOp::arg && args[static_cast<size_t>(in.payload)].stride == 0) {
      at_[i] = bytes;
      gather(bytes, element(args[static_cast<size_t>(in.payload)], in.type, 0), 0, elem_bytes(in.type), n);
    }
  }
  filled_ = std::max(filled_, n);
}

// Dense args are read in place.
void Interpreter::load(std::span<const ConstColumn> args, int64_t first_index, int64_t begin, int64_t n) {
  for (size_t i = 0; i < program_.code.size(); ++i) {
    const Instruction& in = program_.code[i];
    std::byte* bytes = registers_[static_cast<size_t>(register_of_[i])].bytes;
    if (in.op == ExprOp::index) {
      for (int64_t k = 0; k < n; ++k) reinterpret_cast<int64_t*>(bytes)[k] = first_index + begin + k;
    }
    if (in.op != ExprOp::arg) continue;
    const ConstColumn& column = args[static_cast<size_t>(in.payload)];
    if (column.stride == 0) continue;
    const std::byte* data = element(column, in.type, begin);
    at_[i] = column.stride == 1 ? data : bytes;
    if (column.stride != 1) gather(bytes, data, column.stride * elem_bytes(in.type), elem_bytes(in.type), n);
  }
}

void interpret(const Program& program, std::span<const ConstColumn> args, int64_t first_index, int64_t n,
               std::span<const MutableColumn> results) {
  Interpreter(program).run(args, first_index, n, results);
}

std::vector<uint64_t> evaluate(const Program& program, std::span<const uint64_t> args, int64_t index) {
  static_assert(std::endian::native == std::endian::little, "a value's bytes are the first of its zero-extended word");
  std::vector<ConstColumn> columns;
  for (const uint64_t& value : args) columns.push_back({&value});
  std::vector<uint64_t> values(program.results.size(), 0);
  std::vector<MutableColumn> results;
  for (uint64_t& value : values) results.push_back({&value});
  interpret(program, columns, index, 1, results);
  return values;
}

float evaluate_f32(const Expr& e, std::span<const float> args) {
  const Program program = flatten(e);
  CHECK(program.result_type(0) == Scalar::f32, "{} is {}", to_string(e), to_string(e.type()));
  std::vector<uint64_t> bits;
  for (float value : args) bits.push_back(std::bit_cast<uint32_t>(value));
  return std::bit_cast<float>(static_cast<uint32_t>(evaluate(program, bits)[0]));
}

}  // namespace hone
