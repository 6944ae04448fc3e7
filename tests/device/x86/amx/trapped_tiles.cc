#include "tests/device/x86/amx/trapped_tiles.h"

#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "device/x86/amx/tile_file.h"
#include "tests/device/x86/amx/tile_decoder.h"
#include "tests/support/emulated_tiles.h"

namespace hone::test {
namespace {

using Kind = TileInstruction::Kind;

// Of the one that is installed.
struct sigaction before;
std::atomic<bool> installed{false};
std::atomic<int64_t> trapped_count{0};
std::mutex fault_mutex;
std::string first_fault_text;

thread_local TileConfig configured;  // palette 0: no tiles

void note(const std::string& fault) {
  const std::lock_guard lock(fault_mutex);
  if (first_fault_text.empty()) first_fault_text = fault;
}

template <class... Operands>
void software(std::string_view name, Operands... operands) {
  for (const TileFunction& f : tile_functions())
    if (f.name == name) return reinterpret_cast<void (*)(Operands...)>(f.function)(operands...);
  note(fmt::format("no software does {}", name));
}

void configure(const TileInstruction& i) {
  TileConfig config;
  std::memcpy(&config, reinterpret_cast<const void*>(i.address), sizeof config);
  if (const std::string fault = configuration_fault(config); !fault.empty()) return note("ldtilecfg: " + fault);
  configured = config.palette ? config : TileConfig();
  software<const void*>(TileNames::kConfigure, &configured);
}

void execute(const TileInstruction& i) {
  if (const std::string fault = instruction_fault(i, configured); !fault.empty()) return note(fault);
  const auto c = static_cast<int8_t>(i.c), a = static_cast<int8_t>(i.a), b = static_cast<int8_t>(i.b);
  switch (i.kind) {
    case Kind::configure:
      return configure(i);
    case Kind::store_configuration:
      std::memcpy(reinterpret_cast<void*>(i.address), &configured, sizeof configured);
      return;
    case Kind::release:
      configured = {};
      return software(TileNames::kRelease);
    case Kind::zero:
      return software(TileNames::kZero, c);
    case Kind::load:
      return software(TileNames::kLoad, c, reinterpret_cast<const std::byte*>(i.address), i.stride);
    case Kind::store:
      return software(TileNames::kStore, c, reinterpret_cast<std::byte*>(i.address), i.stride);
    case Kind::dot_bf16:
      return software(TileNames::kDotBf16, c, a, b);
    case Kind::dot_i8_i8:
      return software(TileNames::kDotI8, c, a, b);
    case Kind::dot_u8_i8:
      return software(TileNames::kDotU8, c, a, b);
    case Kind::dot_i8_u8:
    case Kind::dot_u8_u8:
      return note(fmt::format("no software does {}", to_string(i.kind)));
  }
}

GeneralRegisters registers_of(const ucontext_t& context) {
  constexpr std::array kOrder{REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  GeneralRegisters registers;
  for (size_t i = 0; i < registers.size(); ++i) registers[i] = context.uc_mcontext.gregs[kOrder[i]];
  return registers;
}

// As if there were no handler here; what is ignored ends the process all the same when the CPU raises it.
void pass_on(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  sigaction(SIGILL, &before, nullptr);    // and the instruction is tried again
  if (info->si_code <= 0) raise(signal);  // sent by someone: there is none
}

void on_illegal_instruction(int signal, siginfo_t* info, void* context_pointer) {
  auto& context = *static_cast<ucontext_t*>(context_pointer);
  greg_t& next = context.uc_mcontext.gregs[REG_RIP];
  const auto instruction = info->si_code > 0
                               ? decode_tile_instruction(reinterpret_cast<const uint8_t*>(next), registers_of(context))
                               : std::nullopt;
  if (!instruction) return pass_on(signal, info, context_pointer);
  execute(*instruction);
  next += instruction->length;
  ++trapped_count;
}

// Which register files are not in their initial state (XINUSE): those that Linux saves when threads switch.
bool hardware_in_use() {
  unsigned eax, ebx, ecx, edx;
  if (!__get_cpuid_count(13, 1, &eax, &ebx, &ecx, &edx) || !(eax >> 2 & 1)) return false;  // can't be asked
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return low & 0x60000;
}

}  // namespace

TrappedTiles::TrappedTiles() {
  CHECK(!installed.exchange(true), "tiles are trapped already");
  static_cast<void>(cpu_features());  // asks the system for tiles
  trapped_count = 0;
  forget_fault();
  struct sigaction action = {};
  action.sa_sigaction = on_illegal_instruction;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  CHECK(sigaction(SIGILL, &action, &before) == 0);
  TileConfig config{.palette = 1};
  config.rows[0] = 1, config.row_bytes[0] = 4;
  __asm__ volatile("ldtilecfg %0" : : "m"(config));
  __asm__ volatile("tilerelease");
  by_ = trapped_count == 2 ? By::software : trapped_count == 0 ? By::hardware : By::neither;
  trapped_count = 0;
}

TrappedTiles::~TrappedTiles() {
  sigaction(SIGILL, &before, nullptr);
  installed = false;
}

int64_t TrappedTiles::trapped() const { return trapped_count; }

std::string TrappedTiles::fault() const {
  const std::lock_guard lock(fault_mutex);
  return first_fault_text;
}

void TrappedTiles::forget_fault() {
  const std::lock_guard lock(fault_mutex);
  first_fault_text.clear();
}

bool TrappedTiles::in_use() const { return by_ == By::hardware ? hardware_in_use() : configured.palette != 0; }

X86Target target_with_tiles() {
  const Features features = cpu_features().with(Feature::amx_bf16).with(Feature::amx_int8);
  return X86Target(features, microarchitecture("sapphire_rapids"));
}

X86Target target_with_emulated_tiles() {
  const Features features = cpu_features().without(Feature::amx_bf16).without(Feature::amx_int8);
  return with_emulated_tiles(X86Target(features, microarchitecture("sapphire_rapids")));
}

}  // namespace hone::test
