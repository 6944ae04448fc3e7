#include "device/x86/amx/tile_registers.h"

#include <llvm/IR/IntrinsicsX86.h>

#include <vector>

namespace hone {

void TileRegisters::act(llvm::Intrinsic::ID instruction, const char* software,
                        std::initializer_list<llvm::Value*> arguments) {
  const llvm::ArrayRef<llvm::Value*> operands(arguments);
  if (!e_.target.emulates_tiles()) {
    e_.call(instruction, {}, {operands.data(), operands.size()});
    return;
  }
  std::vector<llvm::Type*> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  e_.b.CreateCall(e_.module.getOrInsertFunction(software, llvm::FunctionType::get(e_.b.getVoidTy(), types, false)),
                  operands);
}

void TileRegisters::configure(llvm::Value* config) {
  act(llvm::Intrinsic::x86_ldtilecfg, TileNames::kConfigure, {config});
}
void TileRegisters::release() { act(llvm::Intrinsic::x86_tilerelease, TileNames::kRelease, {}); }
void TileRegisters::zero(int tile) { act(llvm::Intrinsic::x86_tilezero, TileNames::kZero, {number(tile)}); }
void TileRegisters::load(int tile, llvm::Value* from, llvm::Value* stride, bool once) {
  act(once ? llvm::Intrinsic::x86_tileloaddt164 : llvm::Intrinsic::x86_tileloadd64, TileNames::kLoad,
      {number(tile), from, stride});
}
void TileRegisters::store(int tile, llvm::Value* to, llvm::Value* stride) {
  act(llvm::Intrinsic::x86_tilestored64, TileNames::kStore, {number(tile), to, stride});
}
void TileRegisters::dot(DType a_type, int c, int a, int b) {
  const auto with = [&](llvm::Intrinsic::ID instruction, const char* software) {
    act(instruction, software, {number(c), number(a), number(b)});
  };
  if (a_type == DType::bf16) return with(llvm::Intrinsic::x86_tdpbf16ps, TileNames::kDotBf16);
  if (a_type == DType::u8) return with(llvm::Intrinsic::x86_tdpbusd, TileNames::kDotU8);
  CHECK(a_type == DType::i8);
  with(llvm::Intrinsic::x86_tdpbssd, TileNames::kDotI8);
}

}  // namespace hone
