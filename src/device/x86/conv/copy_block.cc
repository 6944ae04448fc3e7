#include "device/x86/conv/copy_block.h"

#include <algorithm>
#include <vector>

#include "device/x86/copy.h"
#include "device/x86/left_rows.h"

namespace hone {
namespace {

using llvm::Function;
using llvm::Value;
using A = DirectConvArgs;

class BlockCopy {
 public:
  BlockCopy(X86Emitter& e, const X86ConvPlan& plan, const ConvShape& shape)
      : e_(e), plan_(plan), w_(plan.window), shape_(shape) {}

  Function* emit(const std::string& symbol) {
    if (shape_.gemm.integers()) run_ = emit_code_run(e_, symbol + "_codes", shape_.gemm.code_form(), plan_.product.a);
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.i64, e_.ptr};
    Function* f = e_.begin_function(symbol + "_copy", e_.b.getVoidTy(), params, false);
    frame_ = {f, f->getArg(0), nullptr, nullptr, nullptr};
    sizes_ = conv_sizes(e_, plan_, shape_, frame_);
    Value *x = f->getArg(1), *first = f->getArg(2), *scratch = f->getArg(3);
    padding_ = padding_lane();
    Value* source_row = e_.times(sizes_.plane.width, plan_.channels * plan_.groups * element());
    // The first and the last output row of a block are this far apart, and its window that high.
    Value* rows = e_.times(e_.b.CreateSub(sizes_.block_rows, e_.num(1)), w_.stride_y);
    rows = e_.b.CreateAdd(rows, e_.num((w_.kernel_height - 1) * w_.dilation_y + 1));
    e_.loop(e_.num(0), rows, 1, {}, [&](Value* r, const Values&) {
      Value* row = e_.b.CreateAdd(first, r);
      Value* to = e_.at(scratch, e_.times(r, sizes_.row_bytes));
      Value* inside = e_.b.CreateICmpULT(row, sizes_.plane.height);
      e_.when(inside, [&] {
        Value* from = e_.at(x, e_.times(row, source_row));
        if (!shape_.spreads) return copy_row(from, to, e_.b.CreateUDiv(sizes_.row_bytes, e_.num(shape_.pixel_bytes)));
        Value* line = e_.at(scratch, e_.b.CreateMul(rows, sizes_.row_bytes));
        Value* stretch = e_.times(e_.b.CreateSub(sizes_.plane.out_width, e_.num(1)), w_.stride_x);
        copy_row(from, line, e_.b.CreateAdd(stretch, e_.num(w_.kernel_width)));
        spread_row(line, to);
      });
      e_.when(e_.b.CreateNot(inside), [&] { pad(to, sizes_.row_bytes); });
      return Values{};
    });
    e_.end_function();
    return f;
  }

 private:
  int64_t element() const { return size_bytes(plan_.product.a); }

  // What stands outside the plane, as it is multiplied; null for bytes of 0.
  Value* padding_lane() {
    const CodeForm form = shape_.gemm.code_form();
    if (!plan_.has_x_zero && form != CodeForm::offset_bytes) return nullptr;
    const size_t last = plan_.product.operands.size() + plan_.product.results.size();
    Value* code =
        plan_.has_x_zero ? e_.load(e_.i8, e_.pointer<&A::epilogue>(frame_, static_cast<int>(last))) : e_.b.getInt8(0);
    code = e_.b.CreateZExt(multiplied_code(e_, form, plan_.product.a, code), e_.b.getInt32Ty());
    return e_.b.CreateMul(code, e_.b.getInt32(form == CodeForm::words ? 0x00010001 : 0x01010101));
  }
  void pad(Value* to, Value* bytes) {
    if (!padding_) return emit_zero(e_, to, bytes);
    e_.loop(e_.num(0), bytes, 4, {}, [&](Value* at, const Values&) {  // pixels are whole lanes
      e_.store(padding_, e_.at(to, at), 4);
      return Values{};
    });
  }

  void copy_run(Value* from, Value* to, Value* pixels) {
    if (!run_) return emit_copy(e_, from, to, e_.times(pixels, plan_.channels * element()));
    Value* const arguments[] = {from, to, e_.times(pixels, plan_.channels / 4)};
    e_.b.CreateCall(run_, arguments);
  }

  // Each place of the window in a line as a run of its own. Past its end vectors read what follows, and take zeros.
  void spread_row(Value* line, Value* to) {
    const int64_t run = shape_.segment * element(), vector = int64_t{e_.lanes} * 4, whole = run / vector * vector;
    const X86Emitter::Moving moving[] = {{line, w_.stride_x * shape_.pixel_bytes}, {to, shape_.across_bytes}};
    e_.walk(sizes_.plane.out_width, moving, {}, [&](const Values& p, const Values&) {
      emit_copy(e_, p[0], p[1], whole);
      int64_t done = whole;
      if (run > whole) {
        std::vector<uint8_t> kept(static_cast<size_t>(vector));
        std::fill_n(kept.begin(), run - whole, 0xff);
        Value* mask = e_.as(llvm::ConstantDataVector::get(e_.module.getContext(), kept), e_.v_i32);
        e_.store(e_.b.CreateAnd(e_.load(e_.v_i32, e_.at(p[0], whole)), mask), e_.at(p[1], whole));
        done += vector;
      }
      emit_zero(e_, e_.at(p[1], done), shape_.run_bytes - done);
      return Values{};
    });
  }

  void copy_row(Value* from, Value* to, Value* pixels) {
    const int64_t own = plan_.channels * element();
    const bool together = shape_.pixel_bytes == plan_.channels * size_bytes(shape_.gemm.a);
    Value* before = e_.smaller(sizes_.plane.pad_left, pixels);
    Value* inside = e_.smaller(e_.b.CreateSub(pixels, before), sizes_.plane.width);
    pad(to, e_.times(before, shape_.pixel_bytes));
    to = e_.at(to, e_.times(before, shape_.pixel_bytes));
    if (plan_.groups == 1 && together) {
      copy_run(from, to, inside);
    } else {
      const X86Emitter::Moving moving[] = {{from, own * plan_.groups}, {to, shape_.pixel_bytes}};
      e_.walk(inside, moving, {}, [&](const Values& p, const Values&) {
        copy_run(p[0], p[1], e_.num(1));
        return Values{};
      });
    }
    Value* after = e_.b.CreateSub(e_.b.CreateSub(pixels, before), inside);
    pad(e_.at(to, e_.times(inside, shape_.pixel_bytes)), e_.times(after, shape_.pixel_bytes));
  }

  X86Emitter& e_;
  const X86ConvPlan& plan_;
  const PlaneWindow& w_;
  const ConvShape& shape_;
  KernelFrame frame_{};
  ConvSizes sizes_{};
  Function* run_ = nullptr;   // copies codes
  Value* padding_ = nullptr;  // a lane of it
};

}  // namespace

llvm::Value* conv_size(X86Emitter& e, const X86ConvPlan& plan, const KernelFrame& frame, int64_t constant,
                       int derived) {
  return plan.any_plane ? e.kernel_dim(frame, derived) : e.num(constant);
}

ConvSizes conv_sizes(X86Emitter& e, const X86ConvPlan& plan, const ConvShape& shape, const KernelFrame& frame) {
  const auto size = [&](int64_t constant, int derived) { return conv_size(e, plan, frame, constant, derived); };
  ConvSizes sizes;
  sizes.plane = plane_values(e, plan.window, plan.any_plane, frame, place_of<&A::window>);
  sizes.row_bytes = size(shape.row_bytes, place_of<&A::row_bytes>);
  sizes.block_rows = size(shape.block_rows, place_of<&A::block_rows>);
  sizes.blocks = size(shape.blocks, place_of<&A::blocks>);
  return sizes;
}

llvm::Function* emit_copy_block(X86Emitter& e, const std::string& symbol, const X86ConvPlan& plan,
                                const ConvShape& shape) {
  return BlockCopy(e, plan, shape).emit(symbol);
}

}  // namespace hone
