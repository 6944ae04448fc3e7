// Where a row's codes lie together and its groups start on bytes, a vector of codes is read at once: it starts on a
// byte, because lanes are a multiple of 8. Anywhere else each code and each scale is fetched by itself.
#include "device/x86/packed_rows.h"

#include "device/llvm/code_stream.h"
#include "device/llvm/packed_table.h"

namespace hone {
namespace {

using llvm::Value;

class RowDecoder {
 public:
  RowDecoder(X86Emitter& e, const GatherPlan& plan)
      : e_(e),
        plan_(plan),
        table_(e, plan),
        layout_(table_.layout()),
        meaning_(table_.meaning()),
        bits_(meaning_.bits),
        scale_bits_(meaning_.scale.bits),
        zero_bytes_(meaning_.zero_point_bytes) {}

  llvm::Function* emit(const std::string& symbol) {
    const llvm::IRBuilderBase::InsertPoint here = e_.b.saveIP();
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr};
    llvm::Function* f = e_.begin_function(symbol + "_row", e_.b.getVoidTy(), params, false);
    table_.bind({f, f->getArg(0), nullptr, nullptr, nullptr});
    if (layout_.together) groups(f->getArg(1), f->getArg(2));
    else elements(f->getArg(1), f->getArg(2));
    e_.end_function();
    e_.b.restoreIP(here);
    return f;
  }

 private:
  using Group = CodeNumbers::Group;

  // Elements [0, count) in full vectors and one masked rest; `count` is known.
  template <class Body>
  void vectors(int64_t count, Body body) {
    e_.loop(e_.num(0), e_.num(count / e_.lanes * e_.lanes), e_.lanes, {}, [&](Value* i, const Values&) {
      body(i, e_.lanes);
      return Values{};
    });
    if (count % e_.lanes) body(e_.num(count / e_.lanes * e_.lanes), count % e_.lanes);
  }
  Value* mask_of(int64_t count) { return count == e_.lanes ? nullptr : e_.tail_mask(e_.num(count)); }

  void store(Value* code, const Group& group, Value* destination, Value* i, int64_t count) {
    e_.store_elements(table_.numbers().value(code, group), plan_.result,
                      e_.at(destination, e_.times(i, size_bytes(plan_.result))), mask_of(count));
  }
  Group group_of(const Values& scales, Value* zero) {
    return table_.numbers().group(scales, table_.numbers().zero_point(zero));
  }

  // --- codes that lie together ---------------------------------------------------------------------------------------
  void groups(Value* row, Value* destination) {
    Value* codes = e_.at(table_.codes(), e_.times(row, layout_.row_bytes));
    Value* scale_bit = e_.times(row, layout_.scale_row_bits);
    Value* first = e_.times(row, layout_.groups_from_row);
    const auto group = [&](Value* g, int64_t count) {
      Values scales;
      if (scale_bits_) scales = {one_scale(e_.b.CreateAdd(scale_bit, e_.times(g, scale_bits_)))};
      Value* zero = zero_bytes_ ? e_.splat(table_.zero_code(e_.b.CreateAdd(first, g))) : nullptr;
      decode_group(e_.at(codes, e_.times(g, layout_.group * bits_ / 8)), group_of(scales, zero),
                   e_.at(destination, e_.times(g, layout_.group * size_bytes(plan_.result))), count);
    };
    const int64_t full = plan_.columns / layout_.group;
    e_.loop(e_.num(0), e_.num(full), 1, {}, [&](Value* g, const Values&) {
      group(g, layout_.group);
      return Values{};
    });
    if (full < layout_.groups) group(e_.num(full), plan_.columns - full * layout_.group);
  }

  void decode_group(Value* codes, const Group& group, Value* destination, int64_t count) {
    vectors(count, [&](Value* i, int64_t in_use) {
      // Codes of one vector: `lanes * bits_` bits, from a multiple of 8 on.
      Value* byte = e_.b.CreateLShr(e_.times(i, bits_), e_.num(3));
      Value* known = in_use == e_.lanes ? nullptr : e_.num(in_use);
      store(load_codes(e_, e_.at(codes, byte), bits_, known), group, destination, i, in_use);
    });
  }

  // The scale whose bits start at `bit` of the plane, in every lane.
  Value* one_scale(Value* bit) {
    if (scale_bits_ > 8) return table_.scale_of(e_.splat(table_.fetch(table_.scales(), bit, scale_bits_)));
    if (!scale_values_) {
      const llvm::ArrayRef<float> values(meaning_.scale.values);
      scale_values_ = e_.table(llvm::ConstantDataArray::get(e_.context, values));
    }
    Value* code = e_.b.CreateZExt(table_.fetch(table_.scales(), bit, scale_bits_), e_.i64);
    return table_.of_tensor(e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, scale_values_, code)));
  }

  // --- each element by itself ----------------------------------------------------------------------------------------
  void elements(Value* row, Value* destination) {
    const int levels = meaning_.levels;
    Value *codes = e_.stack(e_.v_i32, 1), *zeros = e_.stack(e_.v_i32, 1), *scales = e_.stack(e_.v_i32, levels);
    vectors(plan_.columns, [&](Value* i, int64_t count) {
      e_.loop(e_.num(0), e_.num(count), 1, {}, [&](Value* lane, const Values&) {
        Value *c = e_.b.CreateAdd(i, lane), *group = table_.group_of(row, c), *slot = e_.times(lane, 4);
        e_.store(table_.code(row, c), e_.at(codes, slot), 4);
        if (zero_bytes_) e_.store(table_.zero_code(group), e_.at(zeros, slot), 4);
        for (int level = 0; level < levels && scale_bits_; ++level)
          e_.store(table_.scale_code(group, level), e_.at(e_.at(scales, level * e_.lanes * 4), slot), 4);
        return Values{};
      });
      Values of_group;
      for (int level = 0; level < levels && scale_bits_; ++level)
        of_group.push_back(table_.scale_of(e_.load(e_.v_i32, e_.at(scales, level * e_.lanes * 4))));
      Value* zero = zero_bytes_ ? e_.load(e_.v_i32, zeros) : nullptr;
      store(e_.load(e_.v_i32, codes), group_of(of_group, zero), destination, i, count);
    });
  }

  X86Emitter& e_;
  const GatherPlan& plan_;
  PackedTable table_;
  const RowLayout& layout_;
  const CodeMeaning& meaning_;
  const int bits_, scale_bits_, zero_bytes_;
  llvm::GlobalVariable* scale_values_ = nullptr;  // of codes of up to 8 bits
};

}  // namespace

llvm::Function* emit_row_decoder(X86Emitter& e, const std::string& symbol, const GatherPlan& plan) {
  return RowDecoder(e, plan).emit(symbol);
}

}  // namespace hone
