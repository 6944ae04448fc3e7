// One instruction on its way from text to Code: its modifiers are taken in the order in which PTX has them, its
// operands by position. A modifier that nobody took is refused, and so is a register of another width than the
// instruction's.
#pragma once

#include <initializer_list>
#include <span>

#include "tests/support/ptx/scope.h"
#include "tests/support/ptx/statement.h"

namespace hone::ptx {

struct Type {
  enum class Kind : uint8_t { u, s, b, f, bf, tf, predicate } kind = Kind::b;
  int bits = 0;
  int lanes = 1;  // 2: f16x2, bf16x2
  bool is_float() const { return kind == Kind::f || kind == Kind::bf; }
  bool is_integer() const { return kind == Kind::u || kind == Kind::s || kind == Kind::b; }
  bool is(Kind k, int width, int n = 1) const { return kind == k && bits == width && lanes == n; }
  int register_bits() const { return bits * lanes; }
};

class Decoder {
 public:
  Decoder(Kernel& kernel, Scope& scope, const Statement& statement);

  // Modifiers after the first word.
  std::string_view opcode() const { return opcode_; }
  bool take(std::string_view word);
  bool take_any(std::initializer_list<std::string_view> words);  // one of them, which changes nothing here
  std::string_view take_word();                                  // whichever comes, "" at the end
  Type type();                                                   // fails where the next word is no type
  bool next_is_type() const;
  bool take_rounding();  // .rn .rz .rm .rp .rna
  void take_flush() { code.flush = take("ftz"); }
  void take_saturate() { code.saturate = take("sat"); }

  // Operands. Of what a handler gets they are the next: written ones first.
  size_t count() const { return statement_.arguments.size(); }
  void expect(size_t arguments) const;
  const Argument& argument(size_t i) const;
  void write(size_t i, int bits) { write(argument(i), bits); }
  void read(size_t i, int bits) { read(argument(i), bits); }
  void write(const Argument& argument, int bits, bool or_wider = false);
  void read(const Argument& argument, int bits, bool or_wider = false);
  // A register of 16, 32 or 64 bits that holds `bits` or more; which file it is in.
  RegisterFile write_any(const Argument& argument, int bits);
  RegisterFile read_any(const Argument& argument, int bits);
  void address(size_t i);  // [register + offset]; its file is of 32 or 64 bits
  uint64_t immediate(size_t i) const;
  std::span<const Argument> group(size_t i, size_t size) const;  // {a, b, …}, or a single operand where size is 1
  bool negated(size_t i) const { return argument(i).negated; }

  Code code;
  void finish(Handler handler);  // refuses what is left of the modifiers

  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("line {}: {}: {}", statement_.line, statement_.spelling, fmt::format(format, std::forward<Args>(args)...));
  }
  [[noreturn]] void refuse_type(Type type) const;

 private:
  int file_bits(const Argument& argument, int bits);  // 64 for a register of 64
  Operand resolve(const Argument& argument, int bits, bool or_wider);
  Operand resolve_number(const Argument& argument, RegisterFile file, int bits);
  void add_read(Operand operand);
  void add_write(Operand operand);

  Kernel& kernel_;
  Scope& scope_;
  const Statement& statement_;
  std::string_view opcode_;
  std::vector<std::string_view> words_;
  size_t next_ = 0;
  std::vector<Operand> operands_;
  std::vector<uint32_t> reads_, writes_;
};

Space take_space(Decoder& decoder);  // .global …; none: generic

using DecodeFn = void (*)(Decoder&);
struct Opcode {
  std::string_view name;
  DecodeFn decode;
};
// One table a family of instructions.
std::span<const Opcode> integer_opcodes();
std::span<const Opcode> arithmetic_opcodes();  // of integers and floats
std::span<const Opcode> function_opcodes();
std::span<const Opcode> conversion_opcodes();
std::span<const Opcode> move_opcodes();
std::span<const Opcode> compare_opcodes();
std::span<const Opcode> memory_opcodes();
std::span<const Opcode> atomic_opcodes();
std::span<const Opcode> async_copy_opcodes();
std::span<const Opcode> matrix_opcodes();
std::span<const Opcode> collective_opcodes();
std::span<const Opcode> control_opcodes();

}  // namespace hone::ptx
