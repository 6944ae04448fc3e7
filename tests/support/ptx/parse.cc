// The directives of PTX and the statements of kernels. Functions, textures and what only debuggers read are refused.
#include <algorithm>
#include <unordered_map>

#include "base/checked.h"
#include "tests/support/ptx/decoder.h"

namespace hone::ptx {
namespace {

constexpr int64_t kMostSharedBytes = kDynamicShared - kSpaceBase, kMostLocalBytes = 512 << 10,
                  kMostConstantBytes = 16 << 20, kMostParamBytes = 32 << 10;
constexpr size_t kMostInstructions = 1 << 20;

DecodeFn decoder_of(std::string_view opcode) {
  static const auto all = [] {
    std::unordered_map<std::string_view, DecodeFn> table;
    for (const auto& family : {integer_opcodes(), arithmetic_opcodes(), function_opcodes(), conversion_opcodes(),
                               move_opcodes(), compare_opcodes(), memory_opcodes(), atomic_opcodes(),
                               async_copy_opcodes(), matrix_opcodes(), collective_opcodes(), control_opcodes()})
      for (const Opcode& opcode : family) table.emplace(opcode.name, opcode.decode);
    return table;
  }();
  const auto found = all.find(opcode);
  return found == all.end() ? nullptr : found->second;
}

int bits_of_type(const Token& word) {
  static constexpr std::pair<std::string_view, int> kBits[] = {
      {".pred", 1}, {".b8", 8},   {".u8", 8},    {".s8", 8},     {".b16", 16},    {".u16", 16}, {".s16", 16},
      {".f16", 16}, {".b32", 32}, {".u32", 32},  {".s32", 32},   {".f32", 32},    {".b64", 64}, {".u64", 64},
      {".s64", 64}, {".f64", 64}, {".bf16", 16}, {".f16x2", 32}, {".bf16x2", 32},
  };
  for (const auto& [name, bits] : kBits)
    if (name == word.text) return bits;
  fail("line {}: {} is no type", word.line, word.text);
}

int64_t aligned(int64_t value, int64_t alignment) { return checked_add(value, alignment - 1) / alignment * alignment; }

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(tokens(text)) {}

  Module run() {
    while (now().is != Token::Is::end) top_level();
    if (!module_.version) refuse("no .version");
    return std::move(module_);
  }

 private:
  struct Jump {
    size_t from;
    std::string_view label;
    int line;
  };
  struct Variable {
    Space space = Space::global;
    std::string_view name;
    int64_t alignment = 1, bytes = 0, element_bytes = 1;
  };

  // Tokens.
  const Token& now() const { return tokens_[at_]; }
  const Token& peek() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token next() { return now().is == Token::Is::end ? now() : tokens_[at_++]; }
  bool take(char mark) { return now() == mark ? (++at_, true) : false; }
  bool take(std::string_view word) { return now().is == Token::Is::word && now().text == word ? (++at_, true) : false; }
  void expect(char mark) {
    if (!take(mark)) refuse("\"{}\" is expected", mark);
  }
  std::string_view name() {
    if (now().is != Token::Is::word || now().text[0] == '.') refuse("a name is expected");
    return next().text;
  }
  int64_t integer(int64_t least, int64_t most) {
    if (now().is != Token::Is::number) refuse("a number is expected");
    const Number value = number(now());
    if (value.is != Number::Is::integer || value.value > static_cast<uint64_t>(most) ||
        value.value < static_cast<uint64_t>(least))
      refuse("{} to {} is expected", least, most);
    next();
    return static_cast<int64_t>(value.value);
  }
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail("line {}: {}, not \"{}\"", now().line, fmt::format(format, std::forward<Args>(args)...), now().text);
  }

  void top_level() {
    if (take(".version")) {
      version();
    } else if (take(".target")) {
      module_.target = std::string(name());
      while (take(',')) name();
    } else if (take(".address_size")) {
      integer(64, 64);
    } else if (take(".file")) {
      while (now().is == Token::Is::number || now().is == Token::Is::text || now() == ',') next();
    } else {
      while (take(".visible") || take(".extern") || take(".weak")) {
      }
      if (take(".entry")) kernel();
      else variable({});
    }
  }

  void version() {
    const std::string_view text = next().text;  // "7.8"
    if (text.size() != 3 || text[1] != '.') refuse("a version as 7.8 is expected before this");
    module_.version = 10 * (text[0] - '0') + (text[2] - '0');
  }

  // ".shared .align 16 .b8 name[512];", ".global .align 4 .u32 name[2] = {1, 2};"
  void variable(Scope* scope) {
    Variable v;
    if (take(".shared")) v.space = Space::shared;
    else if (take(".local")) v.space = Space::local;
    else if (take(".const")) v.space = Space::constant;
    else if (!take(".global")) refuse("a variable or .entry is expected");
    if (take(".align")) v.alignment = alignment();
    v.element_bytes = std::max(1, bits_of_type(next()) / 8);
    if (!v.alignment || v.alignment < v.element_bytes) v.alignment = v.element_bytes;
    v.name = name();
    v.bytes = v.element_bytes;
    while (take('[')) {
      v.bytes = now() == ']' ? 0 : checked_mul(v.bytes, integer(0, kMostConstantBytes));
      expect(']');
    }
    const uint64_t address = place(v, scope);
    if (scope) scope->declare_address(v.name, address);
    else if (!variables_.emplace(v.name, address).second) refuse("{} is declared twice", v.name);
    expect(';');
  }
  int64_t alignment() {
    const int64_t n = integer(1, 1024);
    if (n & (n - 1)) refuse("a power of two is expected");
    return n;
  }
  uint64_t place(const Variable& v, Scope* scope) {
    if (v.space == Space::shared) {
      if (!v.bytes) return kDynamicShared;
      if (!kernel_) return kSpaceBase + room(shared_bytes_, v, kMostSharedBytes);
      return kSpaceBase + room(kernel_->shared_bytes, v, kMostSharedBytes);
    }
    if (v.space == Space::local) {
      if (!scope) refuse("local memory outside of a kernel");
      return kSpaceBase + room(kernel_->local_bytes, v, kMostLocalBytes);
    }
    int64_t used = std::ssize(module_.constants);
    const uint64_t from = room(used, v, kMostConstantBytes);
    module_.constants.resize(static_cast<size_t>(used));
    if (take('=')) initialise(v, from);
    return kSpaceBase + from + (v.space == Space::global ? generic_window(Space::constant) : 0);
  }
  uint64_t room(int64_t& used, const Variable& v, int64_t most) {
    const int64_t from = aligned(used, v.alignment);
    used = checked_add(from, v.bytes);
    if (used > most) refuse("variables of at most {} bytes are expected", most);
    return static_cast<uint64_t>(from);
  }
  void initialise(const Variable& v, uint64_t from) {
    const bool many = take('{');
    for (int64_t offset = 0; now() != '}' && now() != ';'; offset += v.element_bytes) {
      if (offset + v.element_bytes > v.bytes) refuse("no more than {} bytes are expected", v.bytes);
      const bool negative = take('-');
      if (now().is != Token::Is::number) refuse("a number is expected");
      uint64_t value = number(next()).value;
      if (negative) value = -value;
      for (int64_t byte = 0; byte < v.element_bytes; ++byte)
        module_.constants[from + static_cast<uint64_t>(offset + byte)] = static_cast<std::byte>(value >> (8 * byte));
      if (!take(',')) break;
    }
    if (many) expect('}');
  }

  void kernel() {
    Kernel made;
    kernel_ = &made;
    made.name = std::string(name());
    if (module_.find(made.name)) refuse("{} is defined twice", made.name);
    made.shared_bytes = shared_bytes_;
    Scope scope(made);
    for (const auto& [variable, address] : variables_) scope.declare_address(variable, address);
    if (take('(')) {
      if (now() != ')') do
          parameter(scope);
        while (take(','));
      expect(')');
    }
    attributes(made);
    jumps_.clear(), labels_.clear();
    expect('{');
    while (!(scope.is_outermost() && now() == '}')) statement(scope);
    next();
    finish(made);
    module_.kernels.push_back(std::move(made));
    kernel_ = nullptr;
  }
  // ".param .align 8 .b8 name[512]", ".param .u64 .ptr .global .align 1 name"
  void parameter(Scope& scope) {
    if (!take(".param")) refuse(".param is expected");
    Variable v;
    if (take(".align")) v.alignment = alignment();
    v.element_bytes = std::max(1, bits_of_type(next()) / 8);
    v.alignment = std::max(v.alignment, v.element_bytes);
    if (take(".ptr")) {
      while (take(".global") || take(".shared") || take(".local") || take(".const")) {
      }
      if (take(".align")) alignment();
    }
    v.name = name();
    v.bytes = v.element_bytes;
    if (take('[')) {
      v.bytes = checked_mul(v.bytes, integer(1, kMostParamBytes));
      expect(']');
    }
    const uint64_t from = room(kernel_->param_bytes, v, kMostParamBytes);
    kernel_->parameters.push_back({static_cast<int64_t>(from), v.bytes});
    scope.declare_address(v.name, kSpaceBase + from);
  }
  void attributes(Kernel& kernel) {
    for (;;) {
      const bool required = now().text == ".reqntid";
      if (required || now().text == ".maxntid") {
        next();
        kernel.max_threads = integer(1, 1024);
        while (take(',')) kernel.max_threads = checked_mul(kernel.max_threads, integer(1, 1024));
      } else if (take(".minnctapersm")) {
        kernel.least_blocks = integer(1, 1 << 16);
      } else if (take(".maxnreg") || take(".maxnctapersm")) {
        integer(1, 1 << 16);
      } else {
        return;
      }
    }
  }

  void statement(Scope& scope) {
    if (now().is == Token::Is::end) refuse("the kernel does not end");
    if (take('{')) return scope.enter();
    if (now() == '}') return next(), scope.leave();
    if (take(';')) return;
    if (take(".reg")) return registers(scope);
    if (now().text == ".shared" || now().text == ".local") return variable(&scope);
    if (take(".pragma") || take(".loc")) {
      while (now() != ';' && now().is != Token::Is::word && now().is != Token::Is::end) next();
      take(';');
      return;
    }
    if (now().is == Token::Is::word && peek() == ':') return label();
    instruction(scope);
  }
  void label() {
    if (!labels_.emplace(now().text, kernel_->code.size()).second) refuse("another label is expected");
    at_ += 2;
  }
  void registers(Scope& scope) {
    const int bits = bits_of_type(next());
    do {
      const std::string_view what = name();
      if (take('<')) {
        scope.declare_family(what, bits, static_cast<uint64_t>(integer(0, 1 << 20)));
        expect('>');
      } else {
        scope.declare(what, bits);
      }
    } while (take(','));
    expect(';');
  }

  void instruction(Scope& scope) {
    Statement s;
    s.line = now().line;
    if (take('@')) {
      s.unless = take('!');
      s.guard = name();
    }
    s.spelling = name();
    const std::string_view opcode = s.spelling.substr(0, s.spelling.find('.'));
    const DecodeFn decode = decoder_of(opcode);
    if (!decode) fail("line {}: the instruction {} is not known", s.line, s.spelling);
    if (kernel_->code.size() == kMostInstructions) refuse("a kernel of at most {} instructions", kMostInstructions);
    if (opcode == "bra") {
      jumps_.push_back({kernel_->code.size(), name(), s.line});
    } else if (now() != ';') {
      do s.arguments.push_back(argument(0));
      while (take(','));
    }
    expect(';');
    Decoder decoder(*kernel_, scope, s);
    decode(decoder);
  }
  Argument argument(int depth) {
    Argument a;
    if (depth > 2) refuse("no deeper group");
    if (take('{')) {
      a.is = Argument::Is::group;
      do a.parts.push_back(argument(depth + 1));
      while (take(','));
      expect('}');
      return a;
    }
    if (take('[')) {
      a.is = Argument::Is::memory;
      a.parts.push_back(simple());
      if (now() == '+' || now() == '-') {
        const bool down = next() == '-', negative = take('-') != down;
        const int64_t by = integer(0, INT32_MAX);
        a.offset = negative ? -by : by;
      }
      expect(']');
      return a;
    }
    a = simple();
    if (!take('|')) return a;
    Argument both{.is = Argument::Is::group, .parts = {a, simple()}};  // d|p
    return both;
  }
  Argument simple() {
    Argument a;
    a.negated = take('!');
    const bool negative = take('-');
    if (now().is == Token::Is::number) {
      a.is = Argument::Is::number;
      a.number = number(next());
      if (negative && a.number.is != Number::Is::integer) refuse("bits of a float with a sign");
      if (negative) a.number.value = -a.number.value;
    } else {
      a.name = name();
    }
    return a;
  }

  void finish(Kernel& kernel) {
    for (const Jump& jump : jumps_) {
      const auto found = labels_.find(jump.label);
      if (found == labels_.end()) fail("line {}: no label {}", jump.line, jump.label);
      kernel.code[jump.from].target = static_cast<uint32_t>(found->second);
    }
    Statement end{.line = now().line, .spelling = "ret"};  // where the text ends without one
    Scope scope(kernel);
    Decoder decoder(kernel, scope, end);
    decoder_of("ret")(decoder);
  }

  std::vector<Token> tokens_;
  size_t at_ = 0;
  Module module_;
  Kernel* kernel_ = nullptr;
  int64_t shared_bytes_ = 0;  // of variables outside of kernels
  std::unordered_map<std::string_view, uint64_t> variables_;
  std::unordered_map<std::string_view, size_t> labels_;
  std::vector<Jump> jumps_;
};

}  // namespace

Module parse(std::string_view text) { return Parser(text).run(); }

const Kernel* Module::find(std::string_view name) const {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace hone::ptx
