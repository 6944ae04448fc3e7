// Top-k: elements become integers in whose order they are (key), and the k largest of these are kept as a heap with the
// least on top.
#include <algorithm>
#include <cmath>

#include "device/x86/emitter.h"
#include "device/x86/x86_kernel.h"
#include "kernels/elements.h"
#include "kernels/top_k/plan.h"

namespace hone {
namespace {

using llvm::BasicBlock;
using llvm::Function;
using llvm::Value;

class TopKEmitter {
 public:
  TopKEmitter(X86Emitter& e, const TopKPlan& plan)
      : e_(e),
        plan_(plan),
        bytes_(size_bytes(plan.dtype)),
        half_(bytes_ == 8 ? e.i64 : e.i32),
        whole_(e.b.getIntNTy(static_cast<unsigned>(8 * plan.key_bytes()))) {}

  void run(const std::string& symbol) {
    if (!plan_.one) sift_ = emit_sift(symbol + "_sift");
    const KernelFrame frame = e_.begin_kernel(symbol);
    using A = TopKArgs;
    Value *x = e_.pointer<&A::x>(frame), *values = e_.pointer<&A::values>(frame),
          *indices = e_.pointer<&A::indices>(frame);
    length_ = e_.size<&A::length>(frame), inner_ = e_.size<&A::inner>(frame);
    k_ = plan_.one ? e_.num(1) : e_.size<&A::k>(frame);
    e_.loop(frame.begin, frame.end, 1, {}, [&](Value* item, const Values&) {
      Value *outer = e_.b.CreateUDiv(item, inner_), *j = e_.b.CreateURem(item, inner_);
      const auto first = [&](Value* pointer, Value* length, int64_t bytes) {
        Value* row = e_.b.CreateMul(outer, e_.b.CreateMul(length, inner_));
        return e_.at(pointer, e_.times(e_.b.CreateAdd(row, j), bytes));
      };
      Value *from = first(x, length_, bytes_), *value = first(values, k_, bytes_), *index = first(indices, k_, 8);
      const auto write = [&](Value* rank, Value* key) {
        Value *at = e_.b.CreateMul(rank, inner_), *place = place_of(key);
        e_.when(e_.b.CreateIsNotNull(values), [&] {
          Value* element =
              e_.load(e_.memory_type(plan_.dtype), e_.at(from, e_.times(e_.b.CreateMul(place, inner_), bytes_)));
          e_.store(element, e_.at(value, e_.times(at, bytes_)));
        });
        e_.when(e_.b.CreateIsNotNull(indices), [&] { e_.store(place, e_.at(index, e_.times(at, 8))); });
      };
      if (plan_.one) write(e_.num(0), best(from));
      else sorted(from, frame.scratch, write);
      return Values{};
    });
    e_.end_function();
  }

 private:
  Value* key_at(Value* from, Value* i) {
    return key(e_.load(e_.memory_type(plan_.dtype), e_.at(from, e_.times(e_.b.CreateMul(i, inner_), bytes_))), i);
  }

  // The element's bits as a signed integer that grows with it, and behind it its place.
  Value* key(Value* raw, Value* place) {
    Value* element = e_.widen(plan_.dtype, raw);
    Value* order = is_float(compute_scalar(plan_.dtype)) ? float_order(element) : integer_order(element);
    if (!plan_.last_first) place = e_.b.CreateNot(place);
    place = e_.b.CreateZExt(e_.b.CreateTrunc(place, half_), whole_);
    return e_.b.CreateOr(e_.b.CreateShl(e_.b.CreateSExt(order, whole_), half_->getIntegerBitWidth()), place);
  }
  Value* place_of(Value* key) {
    Value* place = e_.b.CreateTrunc(key, half_);
    return e_.b.CreateZExt(plan_.last_first ? place : e_.b.CreateNot(place), e_.i64);
  }

  // The bits of a number that is not negative grow with it; those of its negative are the same with the sign bit set.
  Value* float_order(Value* element) {
    const unsigned bits = half_->getIntegerBitWidth();
    Value* own = e_.as(element, half_);
    Value* least = llvm::ConstantInt::get(half_, llvm::APInt::getSignedMinValue(bits));
    Value* most = llvm::ConstantInt::get(half_, llvm::APInt::getSignedMaxValue(bits));
    Value* is_negative = e_.b.CreateICmpSLT(own, llvm::ConstantInt::get(half_, 0));
    Value* order = e_.b.CreateSelect(is_negative, e_.b.CreateSub(least, own), own);
    Value* is_nan = e_.b.CreateFCmpUNO(element, element);
    if (plan_.largest) return e_.b.CreateSelect(is_nan, most, order);
    return e_.b.CreateSelect(is_nan, plan_.nan_first ? most : least, e_.b.CreateNot(order));
  }
  Value* integer_order(Value* element) {
    Value* order = e_.b.CreateZExt(element, half_);  // of booleans
    const Scalar scalar = compute_scalar(plan_.dtype);
    if (scalar == Scalar::u32 || scalar == Scalar::u64)
      order = e_.b.CreateXor(
          order, llvm::ConstantInt::get(half_, llvm::APInt::getSignedMinValue(half_->getIntegerBitWidth())));
    return plan_.largest ? order : e_.b.CreateNot(order);
  }

  Value* best(Value* from) {
    return e_.loop(e_.num(1), length_, 1, {key_at(from, e_.num(0))}, [&](Value* i, const Values& now) {
      Value* other = key_at(from, i);
      return Values{e_.b.CreateSelect(e_.b.CreateICmpSGT(other, now[0]), other, now[0])};
    })[0];
  }

  Value* slot(Value* heap, Value* i) { return e_.at(heap, e_.times(i, plan_.key_bytes())); }
  Value* kept(Value* heap, Value* i) { return e_.load(whole_, slot(heap, i), 8); }
  void keep(Value* key, Value* heap, Value* i) { e_.store(key, slot(heap, i), 8); }

  template <class Write>
  void sorted(Value* from, Value* heap, Write write) {
    const auto repeat = [&](Value* first, Value* end, auto body) {
      e_.loop(first, end, 1, {}, [&](Value* i, const Values&) {
        body(i);
        return Values{};
      });
    };
    Value *zero = e_.num(0), *one = e_.num(1), *half = e_.b.CreateUDiv(k_, e_.num(2));
    repeat(zero, k_, [&](Value* i) { keep(key_at(from, i), heap, i); });
    repeat(zero, half, [&](Value* i) {
      Value* root = e_.b.CreateSub(e_.b.CreateSub(half, one), i);
      e_.b.CreateCall(sift_, {heap, root, k_, kept(heap, root)});
    });
    e_.when(e_.b.CreateICmpSGT(k_, zero), [&] {
      repeat(k_, length_, [&](Value* i) {
        Value* other = key_at(from, i);
        e_.when(e_.b.CreateICmpSGT(other, kept(heap, zero)), [&] { e_.b.CreateCall(sift_, {heap, zero, k_, other}); });
      });
    });
    // The least goes to the end, again and again.
    repeat(one, k_, [&](Value* i) {
      Value *end = e_.b.CreateSub(k_, i), *other = kept(heap, end);
      keep(kept(heap, zero), heap, end);
      e_.b.CreateCall(sift_, {heap, zero, end, other});
    });
    repeat(zero, k_, [&](Value* i) { write(i, kept(heap, i)); });
  }

  // void(heap, root, size, key): the key into the heap from `root` on, whose own is let go.
  Function* emit_sift(const std::string& symbol) {
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.i64, whole_};
    Function* f = e_.begin_function(symbol, e_.b.getVoidTy(), params, false);
    Value *heap = f->getArg(0), *size = f->getArg(2), *key = f->getArg(3);
    const auto block = [&](const char* name) { return BasicBlock::Create(e_.context, name, f); };
    BasicBlock *entry = e_.b.GetInsertBlock(), *head = block("node"), *inside = block("inside"), *down = block("down"),
               *done = block("done");
    e_.b.CreateBr(head);
    e_.b.SetInsertPoint(head);
    llvm::PHINode* at = e_.b.CreatePHI(e_.i64, 2);
    at->addIncoming(f->getArg(1), entry);
    Value* left = e_.b.CreateAdd(e_.times(at, 2), e_.num(1));
    e_.b.CreateCondBr(e_.b.CreateICmpSLT(left, size), inside, done);
    e_.b.SetInsertPoint(inside);
    Value* right = e_.smaller(e_.b.CreateAdd(left, e_.num(1)), e_.b.CreateSub(size, e_.num(1)));
    Value *of_left = kept(heap, left), *of_right = kept(heap, right);
    Value* goes_right = e_.b.CreateICmpSLT(of_right, of_left);
    Value *child = e_.b.CreateSelect(goes_right, right, left),
          *least = e_.b.CreateSelect(goes_right, of_right, of_left);
    e_.b.CreateCondBr(e_.b.CreateICmpSLT(least, key), down, done);
    e_.b.SetInsertPoint(down);
    keep(least, heap, at);
    at->addIncoming(child, down);
    e_.b.CreateBr(head);
    e_.b.SetInsertPoint(done);
    keep(key, heap, at);
    e_.end_function();
    return f;
  }

  X86Emitter& e_;
  const TopKPlan& plan_;
  const int bytes_;
  llvm::Type *const half_, *const whole_;
  Function* sift_ = nullptr;
  Value *length_ = nullptr, *inner_ = nullptr, *k_ = nullptr;
};

void emit(X86Emitter& e, const TopKPlan& plan, const std::string& symbol, int) { TopKEmitter(e, plan).run(symbol); }

Support supports(const TopKPlan& plan, const X86Target&) {
  if (!has_machine_type(plan.dtype)) return {fmt::format("elements of type {}", to_string(plan.dtype))};
  return {};
}

// Each element is compared with the least of those kept; these are a heap, which is sorted at the end.
Launch launch(const TopKPlan& plan, const X86Target&, TopKArgs& args) {
  const auto length = static_cast<double>(args.length), k = static_cast<double>(args.k);
  const double ns = plan.one ? 1.5 * length : 2 * length + 5 * k * std::log2(k + 2);
  return {.items = args.outer * args.inner,
          .items_per_chunk = std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns + 5))),
          .scratch_bytes = plan.one ? 0 : args.k * plan.key_bytes()};
}

std::string describe(const TopKPlan& plan, const X86Target&) {
  return fmt::format("the {} {} of an axis", plan.largest ? "largest" : "smallest", to_string(plan.dtype));
}

constexpr X86KernelClass<TopKPlan, TopKArgs> kTopK{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef top_k_on_x86_def = x86_kernel<kTopK>();

}  // namespace hone
