// Gather kernels: rows of a table by number, converted, or decoded (packed_rows.h).
#include <algorithm>

#include "device/x86/emitter.h"
#include "device/x86/packed_rows.h"
#include "device/x86/weight_codec.h"
#include "device/x86/x86_kernel.h"
#include "ir/pointwise.h"
#include "kernels/elements.h"
#include "kernels/gather/plan.h"

namespace hone {
namespace {

using llvm::Value;
class GatherEmitter {
 public:
  GatherEmitter(X86Emitter& e, const GatherPlan& plan) : e_(e), plan_(plan) {}

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    using A = GatherArgs;
    Value *table = e_.pointer<&A::table>(frame_), *ids = e_.pointer<&A::ids>(frame_),
          *out = e_.pointer<&A::out>(frame_), *rows = e_.size<&A::rows>(frame_),
          *per_table = e_.size<&A::ids_per_table>(frame_);
    const bool packed = !plan_.table_format.empty();
    llvm::Function* decode = packed ? emit_row_decoder(e_, symbol, plan_) : nullptr;
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* i, const Values&) {
      Value* row = i;
      if (!plan_.every_row) {
        row = load_id(e_.at(ids, e_.times(e_.b.CreateURem(i, per_table), size_bytes(plan_.ids))));
        row = e_.b.CreateSelect(e_.b.CreateICmpSLT(row, e_.num(0)), e_.b.CreateAdd(row, rows), row);
        row = e_.b.CreateAdd(row, e_.b.CreateMul(e_.b.CreateUDiv(i, per_table), rows));
      }
      Value* destination = e_.at(out, e_.times(i, plan_.columns * size_bytes(plan_.result)));
      if (packed) e_.b.CreateCall(decode, {frame_.args, row, destination});
      else copy_row(e_.at(table, e_.times(row, plan_.columns * size_bytes(plan_.table))), destination);
      return Values{};
    });
    e_.end_function();
  }

 private:
  // Elements [0, count) in full vectors and one masked rest; `count` is known.
  template <class Body>
  void vectors(int64_t count, Body body) {
    e_.loop(e_.num(0), e_.num(count / e_.lanes * e_.lanes), e_.lanes, {}, [&](Value* i, const Values&) {
      body(i, e_.lanes);
      return Values{};
    });
    if (count % e_.lanes) body(e_.num(count / e_.lanes * e_.lanes), count % e_.lanes);
  }
  Value* load_id(Value* pointer) {
    Value* id = e_.load(e_.memory_type(plan_.ids), pointer);
    const bool negative = plan_.ids == DType::i8 || plan_.ids == DType::i16 || plan_.ids == DType::i32;
    return negative ? e_.b.CreateSExt(id, e_.i64) : e_.b.CreateZExtOrTrunc(id, e_.i64);
  }
  Value* mask_of(int64_t count) { return count == e_.lanes ? nullptr : e_.tail_mask(e_.num(count)); }

  void copy_row(Value* source, Value* destination) {
    vectors(plan_.columns, [&](Value* i, int64_t count) {
      Value* value = e_.load_elements(plan_.table, e_.at(source, e_.times(i, size_bytes(plan_.table))), mask_of(count));
      e_.store_elements(value, plan_.result, e_.at(destination, e_.times(i, size_bytes(plan_.result))), mask_of(count));
    });
  }

  X86Emitter& e_;
  const GatherPlan& plan_;
  KernelFrame frame_{};
};

void emit(X86Emitter& e, const GatherPlan& plan, const std::string& symbol, int) { GatherEmitter(e, plan).run(symbol); }

Support supports(const GatherPlan& plan, const X86Target&) {
  if (!is_integer(plan.ids)) return {fmt::format("row numbers of type {}", to_string(plan.ids))};
  if (plan.columns < 1) return {fmt::format("rows of {} elements", plan.columns)};
  if (!plan.table_format.empty()) {
    if (compute_scalar(plan.result) != Scalar::f32)
      return {fmt::format("a packed table read as {}", to_string(plan.result))};
    return prepackable(parse_format(plan.table_format));
  }
  for (DType dtype : {plan.table, plan.result})
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  if (compute_scalar(plan.table) != compute_scalar(plan.result))
    return {fmt::format("a table of {} read as {}", to_string(plan.table), to_string(plan.result))};
  return {};
}

Launch launch(const GatherPlan& plan, const X86Target&, GatherArgs& args) {
  const double ns = plan.table_format.empty() ? 0.2 : 0.5;  // an element
  return {args.results,
          std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * static_cast<double>(plan.columns) + 5)))};
}

std::string describe(const GatherPlan& plan, const X86Target&) {
  return fmt::format("rows of {} {}", plan.columns,
                     plan.table_format.empty() ? to_string(plan.table) : std::string_view(plan.table_format));
}

constexpr X86KernelClass<GatherPlan, GatherArgs> kGather{
    .supports = supports, .launch = launch, .describe = describe, .emit = emit};

}  // namespace

extern constinit const X86KernelDef gather_on_x86_def = x86_kernel<kGather>();

}  // namespace hone
