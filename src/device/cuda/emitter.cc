#include "device/cuda/emitter.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "base/error.h"

// GCC 12 takes the operator delete of LLVM's users for that of another operator new.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace hone {

namespace Intrinsic = llvm::Intrinsic;
using llvm::Value;

namespace {

constexpr unsigned kGlobalSpace = 1, kSharedSpace = 3;
constexpr const char* kSharedName = "shared_memory";
constexpr const char* kMatricesNote = "hone.matrices";  // metadata of modules that have instructions of matrices
constexpr int kAllLanes = -1;

int element_bytes(llvm::Type* type) {
  if (type->isPtrOrPtrVectorTy()) return 8;
  return static_cast<int>(std::max(8u, type->getScalarSizeInBits()) / 8);
}

}  // namespace

CudaEmitter::CudaEmitter(llvm::Module& m, const CudaTarget& t, int lanes_of_vectors, int threads_of_blocks)
    : Emitter(m, lanes_of_vectors), target(t), threads(threads_of_blocks), global(b.getPtrTy(kGlobalSpace)) {
  CHECK(threads > 0 && threads <= 1024 && threads % kWarp == 0, "blocks of {} threads", threads);
}

void CudaEmitter::describe_machine(llvm::Function& function) {
  if (function.hasInternalLinkage()) function.addFnAttr(llvm::Attribute::AlwaysInline);
}

int CudaEmitter::least_alignment(llvm::Type* type) const {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const int element = element_bytes(type);
  return vector && aligned_vectors ? std::min(16, element * static_cast<int>(vector->getNumElements())) : element;
}

KernelFrame CudaEmitter::begin_kernel(const std::string& symbol, bool external) {
  llvm::Type* const params[] = {ptr, ptr, i64};
  llvm::Function* f = begin_function(symbol, b.getVoidTy(), params, external);
  auto* args = llvm::StructType::get(llvm::ArrayType::get(ptr, KernelArgs().pointers.size()),
                                     llvm::ArrayType::get(i64, KernelDims().size()));
  f->addParamAttr(0, llvm::Attribute::getWithByValType(context, args));
  f->addParamAttr(0, llvm::Attribute::getWithAlignment(context, llvm::Align(8)));
  auto* annotations = module.getOrInsertNamedMetadata("nvvm.annotations");
  const auto annotate = [&](const char* what, int value) {
    annotations->addOperand(
        llvm::MDNode::get(context, {llvm::ValueAsMetadata::get(f), llvm::MDString::get(context, what),
                                    llvm::ConstantAsMetadata::get(b.getInt32(static_cast<uint32_t>(value)))}));
  };
  annotate("kernel", 1);
  annotate("maxntidx", threads);
  Value* item = wide(block());
  Value* scratch = b.CreateAddrSpaceCast(in_global(f->getArg(1)), ptr);
  return {f, f->getArg(0), item, b.CreateAdd(item, num(1)), scratch};
}

Value* CudaEmitter::kernel_pointer(const KernelFrame& frame, int index) {
  return b.CreateAddrSpaceCast(in_global(Emitter::kernel_pointer(frame, index)), ptr);
}

// A range lets LLVM see that sums of such numbers do not overflow.
Value* CudaEmitter::special(llvm::Intrinsic::ID id, int below) {
  llvm::CallInst* call = b.CreateIntrinsic(id, {}, {});
  if (below > 0)
    call->addRangeRetAttr(llvm::ConstantRange(llvm::APInt(32, 0), llvm::APInt(32, static_cast<uint64_t>(below))));
  return call;
}
Value* CudaEmitter::block() { return special(Intrinsic::nvvm_read_ptx_sreg_ctaid_x, 0x7fffffff); }
Value* CudaEmitter::thread() { return special(Intrinsic::nvvm_read_ptx_sreg_tid_x, threads); }
Value* CudaEmitter::lane() { return b.CreateAnd(thread(), n32(kWarp - 1)); }
Value* CudaEmitter::warp() { return b.CreateLShr(thread(), n32(5)); }  // threads / 32

Value* CudaEmitter::shared(int64_t offset) {
  llvm::GlobalVariable* memory = module.getGlobalVariable(kSharedName);
  if (!memory) {
    memory = new llvm::GlobalVariable(module, llvm::ArrayType::get(i8, 0), false, llvm::GlobalValue::ExternalLinkage,
                                      nullptr, kSharedName, nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
    memory->setAlignment(llvm::Align(128));
  }
  return at(memory, offset);
}

Value* CudaEmitter::own_shared(int64_t bytes, int alignment) {
  auto* type = llvm::ArrayType::get(i8, static_cast<uint64_t>(bytes));
  auto* memory =
      new llvm::GlobalVariable(module, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                               "own_shared", nullptr, llvm::GlobalValue::NotThreadLocal, kSharedSpace);
  memory->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  return memory;
}

llvm::GlobalVariable* CudaEmitter::table(llvm::Constant* value, int alignment) {
  auto* global_table =
      new llvm::GlobalVariable(module, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "table",
                               nullptr, llvm::GlobalValue::NotThreadLocal, kGlobalSpace);
  global_table->setAlignment(llvm::Align(static_cast<uint64_t>(alignment)));
  global_table->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  return global_table;
}

Values CudaEmitter::elements(Value* vector) {
  Values out;
  for (uint64_t i = 0; i < llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements(); ++i)
    out.push_back(b.CreateExtractElement(vector, i));
  return out;
}

Value* CudaEmitter::vector_of(const Values& elements) {
  Value* out = llvm::PoisonValue::get(vec(elements[0]->getType(), static_cast<int>(elements.size())));
  for (size_t i = 0; i < elements.size(); ++i) out = b.CreateInsertElement(out, elements[i], uint64_t{i});
  return out;
}

Values CudaEmitter::load_words(Value* pointer, int count) {
  if (count == 1) return {load(i32, pointer, 4)};
  return elements(load(vec(i32, count), pointer, 4 * count));
}

void CudaEmitter::store_words(const Values& words, Value* pointer) {
  const auto bytes = static_cast<int>(4 * words.size());
  store(words.size() == 1 ? words[0] : vector_of(words), pointer, bytes);
}

Value* CudaEmitter::load_constant(llvm::Type* type, Value* pointer, int alignment) {
  auto* value = llvm::cast<llvm::LoadInst>(load(type, pointer, alignment));
  value->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context, {}));
  return value;
}

void CudaEmitter::copy_async(Value* to_shared, Value* from, int bytes, Value* is_there) {
  CHECK(bytes == 4 || bytes == 8 || bytes == 16, "copies of {} bytes", bytes);
  if (!target.has_async_copy()) {
    const int count = bytes / 4;
    Values words = is_there ? choose(
                                  is_there, [&] { return load_words(from, count); },
                                  [&] { return Values(static_cast<size_t>(count), n32(0)); })
                            : load_words(from, count);
    return store_words(words, to_shared);
  }
  const Intrinsic::ID id = bytes == 16  ? Intrinsic::nvvm_cp_async_cg_shared_global_16_s
                           : bytes == 8 ? Intrinsic::nvvm_cp_async_ca_shared_global_8_s
                                        : Intrinsic::nvvm_cp_async_ca_shared_global_4_s;
  Value* there = is_there ? b.CreateSelect(is_there, n32(bytes), n32(0)) : n32(bytes);
  b.CreateIntrinsic(id, {}, {to_shared, in_global(from), there});
}

void CudaEmitter::commit_copies() {
  if (target.has_async_copy()) b.CreateIntrinsic(Intrinsic::nvvm_cp_async_commit_group, {}, {});
}

void CudaEmitter::wait_copies(int groups) {
  if (target.has_async_copy()) b.CreateIntrinsic(Intrinsic::nvvm_cp_async_wait_group, {}, {n32(groups)});
}

void CudaEmitter::barrier() { b.CreateIntrinsic(Intrinsic::nvvm_barrier0, {}, {}); }
void CudaEmitter::barrier_warp() { b.CreateIntrinsic(Intrinsic::nvvm_bar_warp_sync, {}, {n32(kAllLanes)}); }

// f of each 32-bit word of a value; narrower scalars are widened.
Value* CudaEmitter::by_words(Value* value, const std::function<Value*(Value*)>& f) {
  llvm::Type* type = value->getType();
  const auto bits = static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue());
  if (type->isIntOrIntVectorTy(1) || bits < 32) {
    llvm::Type* narrow_type = b.getIntNTy(bits);
    return as(b.CreateTrunc(f(b.CreateZExt(as(value, narrow_type), i32)), narrow_type), type);
  }
  CHECK(bits % 32 == 0, "{} bits of another lane", bits);
  if (bits == 32) return as(f(as(value, i32)), type);
  return as(each(as(value, vec(i32, static_cast<int>(bits / 32))), f), type);
}

Value* CudaEmitter::shuffle_xor(Value* value, int mask) {
  return by_words(value, [&](Value* w) {
    return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_bfly_i32, {}, {n32(kAllLanes), w, n32(mask), n32(31)});
  });
}
Value* CudaEmitter::shuffle_down(Value* value, int lanes_down) {
  return by_words(value, [&](Value* w) {
    return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_down_i32, {}, {n32(kAllLanes), w, n32(lanes_down), n32(31)});
  });
}
Value* CudaEmitter::shuffle(Value* value, Value* from_lane) {
  return by_words(value, [&](Value* w) {
    return b.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_idx_i32, {}, {n32(kAllLanes), w, from_lane, n32(31)});
  });
}
Value* CudaEmitter::any(Value* condition) {
  return b.CreateIntrinsic(Intrinsic::nvvm_vote_any_sync, {}, {n32(kAllLanes), condition});
}
Value* CudaEmitter::all(Value* condition) {
  return b.CreateIntrinsic(Intrinsic::nvvm_vote_all_sync, {}, {n32(kAllLanes), condition});
}
Value* CudaEmitter::ballot(Value* condition) {
  return b.CreateIntrinsic(Intrinsic::nvvm_vote_ballot_sync, {}, {n32(kAllLanes), condition});
}

Values CudaEmitter::exchange_warps(const Values& values) {
  CHECK((warps() & (warps() - 1)) == 0, "a reduction over {} warps", warps());
  Values places, out;
  for (size_t i = 0; i < values.size(); ++i) places.push_back(own_shared(int64_t{8} * warps()));
  const auto place = [&](size_t i, Value* of_warp) { return at(places[i], wide(b.CreateShl(of_warp, n32(3)))); };
  barrier();
  when(b.CreateICmpEQ(lane(), n32(0)), [&] {
    for (size_t i = 0; i < values.size(); ++i) store(values[i], place(i, warp()));
  });
  barrier();
  Value* from = b.CreateAnd(lane(), n32(warps() - 1));
  for (size_t i = 0; i < values.size(); ++i) out.push_back(load(values[i]->getType(), place(i, from)));
  return out;
}

void CudaEmitter::need_matrices() { module.getOrInsertNamedMetadata(kMatricesNote); }

std::string CudaEmitter::needed_features() const {
  return fmt::format("+ptx{}", target.ptx_version(module.getNamedMetadata(kMatricesNote) != nullptr));
}

Values CudaEmitter::ldmatrix(Value* row, int count, bool transposed) {
  need_matrices();
  const Intrinsic::ID plain = count == 4   ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16
                              : count == 2 ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16
                                           : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16;
  const Intrinsic::ID turned = count == 4   ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                               : count == 2 ? Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                                            : Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16;
  Value* all_words = b.CreateIntrinsic(transposed ? turned : plain, {row->getType()}, {row});
  if (count == 1) return {all_words};
  Values out;
  for (unsigned i = 0; i < static_cast<unsigned>(count); ++i) out.push_back(b.CreateExtractValue(all_words, i));
  return out;
}

Values CudaEmitter::mma(const MmaShape& shape, const Values& rows, const Values& columns, const Values& sums) {
  CHECK(has_mma(shape), "{} on {}", shape.name, to_string(target));
  CHECK(std::ssize(rows) == shape.a && std::ssize(columns) == shape.b && sums.size() == 4);
  need_matrices();
  std::string text = fmt::format("mma.sync.aligned.{} ", shape.name), constraints;
  const char sum = shape.integers ? 'r' : 'f';
  for (int i = 0; i < 4; ++i) constraints += fmt::format("{}={}", i ? "," : "", sum);
  int operand = 0;
  const auto list = [&](int count, const char* behind) {
    text += '{';
    for (int i = 0; i < count; ++i) text += fmt::format("{}${}", i ? ", " : "", operand++);
    text += fmt::format("}}{}", behind);
  };
  list(4, ", "), list(shape.a, ", "), list(shape.b, ", "), list(4, ";");
  for (int i = 0; i < shape.a + shape.b; ++i) constraints += ",r";
  for (int i = 0; i < 4; ++i) constraints += fmt::format(",{}", sum);
  Values all_operands = rows;
  all_operands.insert(all_operands.end(), columns.begin(), columns.end());
  all_operands.insert(all_operands.end(), sums.begin(), sums.end());
  llvm::Type* type = shape.integers ? i32 : f32;
  Value* made = assembly(text, constraints, llvm::StructType::get(type, type, type, type), all_operands, true);
  Values out;
  for (unsigned i = 0; i < 4; ++i) out.push_back(b.CreateExtractValue(made, i));
  return out;
}

Value* CudaEmitter::assembly(std::string_view text, std::string_view constraints, llvm::Type* result,
                             const Values& arguments, bool warp_wide, bool effects) {
  std::vector<llvm::Type*> types;
  for (Value* v : arguments) types.push_back(v->getType());
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::CallInst* call =
      b.CreateCall(type, llvm::InlineAsm::get(type, std::string(text), std::string(constraints), effects), arguments);
  if (warp_wide) call->addFnAttr(llvm::Attribute::Convergent);
  call->addFnAttr(llvm::Attribute::NoUnwind);
  if (!effects) call->addFnAttr(llvm::Attribute::getWithMemoryEffects(context, llvm::MemoryEffects::none()));
  return call;
}

Value* CudaEmitter::prmt(Value* low, Value* high, Value* selector) {
  return b.CreateIntrinsic(Intrinsic::nvvm_prmt, {}, {low, high, selector});
}

Value* CudaEmitter::lop3(Value* x, Value* y, Value* z, uint8_t truth) {
  return assembly(fmt::format("lop3.b32 $0, $1, $2, $3, {};", truth), "=r,r,r,r", i32, {x, y, z});
}

// As text: LLVM makes an addition of a product by one, which sm_80 does not have, and so a dozen instructions.
Value* CudaEmitter::fma_bf16x2(Value* x, Value* y, Value* z) {
  return assembly("fma.rn.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", i32, {x, y, z});
}
Value* CudaEmitter::fma_f16x2(Value* x, Value* y, Value* z) {
  return assembly("fma.rn.f16x2 $0, $1, $2, $3;", "=r,r,r,r", i32, {x, y, z});
}
Value* CudaEmitter::mul_f16x2(Value* x, Value* y) {
  return assembly("mul.rn.f16x2 $0, $1, $2;", "=r,r,r", i32, {x, y});
}
Value* CudaEmitter::sub_f16x2(Value* x, Value* y) {
  return assembly("sub.rn.f16x2 $0, $1, $2;", "=r,r,r", i32, {x, y});
}

Value* CudaEmitter::pack_bf16(Value* low, Value* high) {
  if (target.has_bf16()) return assembly("cvt.rn.bf16x2.f32 $0, $2, $1;", "=r,f,f", i32, {low, high});
  Value* parts = Emitter::narrow(DType::bf16, vector_of({low, high}));
  return as(parts, i32);
}

Value* CudaEmitter::pack_f16(Value* low, Value* high) {
  return as(Emitter::narrow(DType::f16, vector_of({low, high})), i32);
}

std::pair<Value*, Value*> CudaEmitter::split_bf16(Value* pair) {
  return {as(b.CreateShl(pair, n32(16)), f32), as(b.CreateAnd(pair, n32(0xffff0000)), f32)};
}

std::pair<Value*, Value*> CudaEmitter::split_f16(Value* pair) {
  Value* both = b.CreateFPExt(as(pair, vec(b.getHalfTy(), 2)), vec(f32, 2));
  return {b.CreateExtractElement(both, uint64_t{0}), b.CreateExtractElement(both, uint64_t{1})};
}

Value* CudaEmitter::to_tf32(Value* value) { return assembly("cvt.rna.tf32.f32 $0, $1;", "=r,f", i32, {value}); }

Value* CudaEmitter::narrow(DType dtype, Value* value) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  if (dtype != DType::bf16 || !target.has_bf16() || !vector || vector->getNumElements() % 2)
    return Emitter::narrow(dtype, value);
  Values words;
  const Values parts = elements(value);
  for (size_t i = 0; i < parts.size(); i += 2) words.push_back(pack_bf16(parts[i], parts[i + 1]));
  llvm::Type* stored = vec(i16, static_cast<int>(parts.size()));
  return as(words.size() == 1 ? words[0] : vector_of(words), stored);
}

Value* CudaEmitter::nearest(Value* x) {
  return each(x, [&](Value* v) { return b.CreateIntrinsic(Intrinsic::nvvm_f2i_rn, {}, {v}); });
}

// From memory, which the first-level cache has: eight entries are one sector.
Value* CudaEmitter::lookup_f32(Value* index, std::span<const float> entries) {
  llvm::Constant* all = llvm::ConstantDataArray::get(context, llvm::ArrayRef<float>(entries.data(), entries.size()));
  llvm::GlobalVariable* values = table(all);
  Value* wrapped = b.CreateAnd(index, llvm::ConstantInt::get(index->getType(), entries.size() - 1));
  return each(wrapped, [&](Value* i) { return load_constant(f32, b.CreateGEP(f32, values, wide(i)), 4); });
}

// Of up to 16 entries by permutes of bytes, whose selectors have three bits each that count.
Value* CudaEmitter::lookup_low_bytes(Value* index, std::span<const uint8_t> entries) {
  if (entries.size() > 16) return nullptr;
  uint32_t words[4] = {};
  for (size_t i = 0; i < 16; ++i)
    words[i / 4] |= static_cast<uint32_t>(entries[i & (entries.size() - 1)]) << (8 * (i % 4));
  return each(index, [&](Value* i) {
    Value* selector = b.CreateAnd(i, n32(7));
    Value* low = prmt(n32(words[0]), n32(words[1]), selector);
    if (entries.size() <= 8) return low;
    Value* is_upper = b.CreateICmpNE(b.CreateAnd(i, n32(8)), n32(0));
    return b.CreateSelect(is_upper, prmt(n32(words[2]), n32(words[3]), selector), low);
  });
}

// More than four bytes side by side, which LLVM would take apart into several accesses, as words.
Value* CudaEmitter::load_bytes(Value* pointer, int count) {
  Values out;
  for (Value* w : load_words(pointer, count / 4))
    for (int k = 0; k < 4; ++k) out.push_back(b.CreateTrunc(b.CreateLShr(w, n32(8 * k)), i8));
  return vector_of(out);
}
void CudaEmitter::store_bytes(Value* value, Value* pointer) {
  const Values parts = elements(value);
  Values out;
  for (size_t i = 0; i < parts.size(); i += 4) {
    Value* w = b.CreateZExt(parts[i], i32);
    for (size_t k = 1; k < 4; ++k) w = b.CreateOr(w, b.CreateShl(b.CreateZExt(parts[i + k], i32), n32(8 * k)));
    out.push_back(w);
  }
  store_words(out, pointer);
}

// With a mask a branch a lane, which the driver's compiler turns into predicates.
Value* CudaEmitter::masked_load(llvm::Type* type, Value* pointer, Value* mask) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (!vector) return load(type, pointer);
  const int count = static_cast<int>(vector->getNumElements());
  llvm::Type* element = type->getScalarType();
  const int64_t bytes = element_bytes(element);
  if (!mask && aligned_vectors) return bytes == 1 && count > 4 ? load_bytes(pointer, count) : load(type, pointer);
  Values out;
  if (!mask) {
    for (int i = 0; i < count; ++i) out.push_back(load(element, at(pointer, i * bytes)));
    return vector_of(out);
  }
  const Values is_used = elements(mask);
  for (int i = 0; i < count; ++i)
    out.push_back(choose(
        is_used[static_cast<size_t>(i)], [&] { return Values{load(element, at(pointer, i * bytes))}; },
        [&] { return Values{llvm::Constant::getNullValue(element)}; })[0]);
  return vector_of(out);
}

void CudaEmitter::masked_store(Value* value, Value* pointer, Value* mask) {
  const Values parts = elements(value);
  const int64_t bytes = element_bytes(parts[0]->getType());
  if (!mask && aligned_vectors)
    return bytes == 1 && parts.size() > 4 ? store_bytes(value, pointer) : store(value, pointer);
  const Values is_used = mask ? elements(mask) : Values();
  for (size_t i = 0; i < parts.size(); ++i) {
    Value* to = at(pointer, static_cast<int64_t>(i) * bytes);
    if (mask) when(is_used[i], [&] { store(parts[i], to); });
    else store(parts[i], to);
  }
}

void CudaEmitter::store_stretch(Value* value, Value* pointer, Value* left) {
  const int64_t bytes = std::min<int64_t>(16, int64_t{lanes} * element_bytes(value->getType()));
  Value* is_aligned = b.CreateICmpEQ(b.CreateAnd(b.CreatePtrToInt(pointer, i64), num(bytes - 1)), num(0));
  const auto store_by = [&](Value* mask) {
    aligned_vectors = !mask;
    masked_store(value, pointer, mask);
    aligned_vectors = false;
    return Values{};
  };
  choose(
      b.CreateAnd(is_aligned, b.CreateICmpSGE(left, num(lanes))), [&] { return store_by(nullptr); },
      [&] { return store_by(tail_mask(left)); });
}

Value* CudaEmitter::load_strided(DType dtype, Value* pointer, Value* byte_stride, Value* mask) {
  llvm::Type* element = memory_type(dtype);
  const Values is_used = mask ? elements(mask) : Values();
  Values out;
  Value* from = pointer;
  for (int i = 0; i < lanes; ++i) {
    if (i > 0) from = at(from, byte_stride);
    out.push_back(mask ? choose(
                             is_used[static_cast<size_t>(i)], [&] { return Values{load(element, from)}; },
                             [&] { return Values{llvm::Constant::getNullValue(element)}; })[0]
                       : load(element, from));
  }
  return widen(dtype, vector_of(out));
}

}  // namespace hone
