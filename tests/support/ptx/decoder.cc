#include "tests/support/ptx/decoder.h"

#include <algorithm>
#include <optional>

namespace hone::ptx {
namespace {

std::optional<Type> type_of(std::string_view word) {
  using Kind = Type::Kind;
  static constexpr struct {
    std::string_view name;
    Type type;
  } kTypes[] = {
      {"u8", {Kind::u, 8}},     {"u16", {Kind::u, 16}},         {"u32", {Kind::u, 32}},
      {"u64", {Kind::u, 64}},   {"s8", {Kind::s, 8}},           {"s16", {Kind::s, 16}},
      {"s32", {Kind::s, 32}},   {"s64", {Kind::s, 64}},         {"b8", {Kind::b, 8}},
      {"b16", {Kind::b, 16}},   {"b32", {Kind::b, 32}},         {"b64", {Kind::b, 64}},
      {"f16", {Kind::f, 16}},   {"f32", {Kind::f, 32}},         {"f64", {Kind::f, 64}},
      {"bf16", {Kind::bf, 16}}, {"f16x2", {Kind::f, 16, 2}},    {"bf16x2", {Kind::bf, 16, 2}},
      {"tf32", {Kind::tf, 32}}, {"pred", {Kind::predicate, 1}}, {"s4", {Kind::s, 4}},
      {"u4", {Kind::u, 4}},
  };
  for (const auto& [name, type] : kTypes)
    if (name == word) return type;
  return {};
}

std::vector<std::string_view> split(std::string_view spelling) {
  std::vector<std::string_view> words;
  for (size_t from = 0; from <= spelling.size();) {
    const size_t dot = std::min(spelling.find('.', from), spelling.size());
    words.push_back(spelling.substr(from, dot - from));
    from = dot + 1;
  }
  return words;
}

}  // namespace

Decoder::Decoder(Kernel& kernel, Scope& scope, const Statement& statement)
    : kernel_(kernel), scope_(scope), statement_(statement), words_(split(statement.spelling)) {
  opcode_ = words_[0];
  next_ = 1;
}

bool Decoder::take(std::string_view word) {
  const bool there = next_ < words_.size() && words_[next_] == word;
  next_ += there;
  return there;
}
bool Decoder::take_any(std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) { return take(word); });
}
std::string_view Decoder::take_word() { return next_ < words_.size() ? words_[next_++] : std::string_view(); }

bool Decoder::next_is_type() const { return next_ < words_.size() && type_of(words_[next_]); }
Type Decoder::type() {
  if (!next_is_type()) refuse("a type is missing after \"{}\"", words_[next_ - 1]);
  return *type_of(words_[next_++]);
}

bool Decoder::take_rounding() {
  static constexpr std::pair<std::string_view, Rounding> kRoundings[] = {
      {"rn", Rounding::nearest_even}, {"rz", Rounding::zero},          {"rm", Rounding::down},
      {"rp", Rounding::up},           {"rna", Rounding::nearest_away},
  };
  for (const auto& [word, rounding] : kRoundings)
    if (take(word)) return code.rounding = rounding, true;
  return false;
}

void Decoder::expect(size_t arguments) const {
  if (count() != arguments) refuse("{} operands; it takes {}", count(), arguments);
}
const Argument& Decoder::argument(size_t i) const {
  if (i >= count()) refuse("operand {} is missing", i + 1);
  return statement_.arguments[i];
}

void Decoder::refuse_type(Type type) const { refuse("not known of {} bits of this kind", type.register_bits()); }

Operand Decoder::resolve_number(const Argument& argument, RegisterFile file, int bits) {
  const Number& number = argument.number;
  if ((number.is == Number::Is::f32 && bits != 32) || (number.is == Number::Is::f64 && bits != 64))
    refuse("a float of another width than {} bits", bits);
  if (file == RegisterFile::predicate) return scope_.constant(file, number.value ? kAllLanes : 0);
  const uint64_t mask = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  return scope_.constant(file, number.value & mask);
}

Operand Decoder::resolve(const Argument& argument, int bits, bool or_wider) {
  const RegisterFile file = Scope::file_of(bits);
  if (argument.is == Argument::Is::number) return resolve_number(argument, file, bits);
  if (argument.is != Argument::Is::name) refuse("a register or a number is expected");
  if (argument.name == "_") return scope_.sink(file);
  std::optional<Operand> found = scope_.find(argument.name);
  if (!found) found = scope_.special(argument.name);
  if (found) {
    const int own = scope_.bits(*found);
    if (found->file != file || (own != 0 && (or_wider ? own < bits : own != bits)))
      refuse("{} has another width than {} bits", argument.name, bits);
    return *found;
  }
  const std::optional<uint64_t> address = scope_.address(argument.name);
  if (!address) refuse("nothing is called {}", argument.name);
  if (file == RegisterFile::predicate) refuse("{} is an address", argument.name);
  return scope_.constant(file, *address);
}

void Decoder::add_read(Operand operand) {
  operands_.push_back(operand);
  reads_.push_back(operand.id);
}
void Decoder::add_write(Operand operand) {
  operands_.push_back(operand);
  writes_.push_back(operand.id);
}

void Decoder::write(const Argument& argument, int bits, bool or_wider) {
  if (argument.is != Argument::Is::name || scope_.address(argument.name) ||
      (argument.name != "_" && !scope_.find(argument.name)))
    refuse("its result goes to no register");
  if (argument.negated) refuse("a result that is negated");
  add_write(resolve(argument, bits, or_wider));
}
void Decoder::read(const Argument& argument, int bits, bool or_wider) {
  if (argument.negated && bits != 1) refuse("only predicates can be negated by \"!\"");
  add_read(resolve(argument, bits, or_wider));
}

int Decoder::file_bits(const Argument& argument, int bits) {
  const std::optional<Operand> found = argument.is == Argument::Is::name ? scope_.find(argument.name) : std::nullopt;
  return found && found->file == RegisterFile::wide ? 64 : bits;
}
RegisterFile Decoder::write_any(const Argument& argument, int bits) {
  write(argument, file_bits(argument, bits), true);
  return operands_.back().file;
}
RegisterFile Decoder::read_any(const Argument& argument, int bits) {
  read(argument, file_bits(argument, bits), true);
  return operands_.back().file;
}

void Decoder::address(size_t i) {
  const Argument& memory = argument(i);
  if (memory.is != Argument::Is::memory) refuse("operand {} is no [address]", i + 1);
  const Argument& base = memory.parts.at(0);
  code.offset = memory.offset;
  const std::optional<Operand> found = base.is == Argument::Is::name ? scope_.find(base.name) : std::nullopt;
  read(base, found && found->file == RegisterFile::words ? 32 : 64);
}

uint64_t Decoder::immediate(size_t i) const {
  if (argument(i).is != Argument::Is::number || argument(i).number.is != Number::Is::integer)
    refuse("operand {} is no integer", i + 1);
  return argument(i).number.value;
}

std::span<const Argument> Decoder::group(size_t i, size_t size) const {
  const Argument& all = argument(i);
  if (size == 1 && all.is != Argument::Is::group) return {&all, 1};
  if (all.is != Argument::Is::group || all.parts.size() != size) refuse("operand {} is no group of {}", i + 1, size);
  return all.parts;
}

void Decoder::finish(Handler handler) {
  if (next_ < words_.size()) refuse("\".{}\" is not known there", words_[next_]);
  code.run = handler;
  code.line = statement_.line;
  if (!statement_.guard.empty()) {
    const std::optional<Operand> guard = scope_.find(statement_.guard);
    if (!guard || guard->file != RegisterFile::predicate) refuse("{} is no predicate", statement_.guard);
    code.guard = *guard, code.guarded = true, code.unless = statement_.unless;
  }
  const auto named = std::find(kernel_.names.begin(), kernel_.names.end(), statement_.spelling);
  code.name = static_cast<uint16_t>(named - kernel_.names.begin());
  if (named == kernel_.names.end()) kernel_.names.emplace_back(statement_.spelling);
  if (kernel_.names.size() > UINT16_MAX) refuse("more than {} spellings of instructions", UINT16_MAX);
  code.operands = static_cast<uint32_t>(kernel_.operands.size());
  code.reads = static_cast<uint32_t>(kernel_.ids.size()), code.read_count = static_cast<uint32_t>(reads_.size());
  code.writes = code.reads + code.read_count, code.write_count = static_cast<uint32_t>(writes_.size());
  kernel_.operands.insert(kernel_.operands.end(), operands_.begin(), operands_.end());
  kernel_.ids.insert(kernel_.ids.end(), reads_.begin(), reads_.end());
  kernel_.ids.insert(kernel_.ids.end(), writes_.begin(), writes_.end());
  kernel_.code.push_back(code);
}

}  // namespace hone::ptx
