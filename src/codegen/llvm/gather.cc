// Gather kernels: rows of a table by number, converted, or decoded from the storage layout of a packed format
// (docs/FORMATS.md, section 3.5).
//
// A vector of codes starts on a byte, because lanes are a multiple of 8. Its bytes are shuffled so that every lane
// holds the three bytes its code lies in, then shifted and masked; a table of code values or plain arithmetic makes the
// number, and one multiply applies the scale of the group.
#include <algorithm>
#include <bit>
#include <cmath>

#include "codegen/elements.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/expr_emit.h"
#include "codegen/llvm/generate.h"
#include "formats/packed.h"
#include "formats/scale.h"

namespace hone {
namespace {

using llvm::Value;
using Kind = Geometry::Kind;

// Where the codes and scales of a row lie.
struct TableLayout {
  int code_bits = 0, scale_bits = 0;
  int64_t row_bytes = 0;       // of codes
  int64_t group = 0;           // codes per group; whole rows in geometries without groups
  int64_t groups = 0;          // per row
  int64_t scale_row_bits = 0;  // from one row's scales to the next's
};

Refusal packed_refusal(const Format& format, int64_t columns) {
  const Geometry& g = format.geometry;
  const int64_t shape[] = {2, columns};
  const std::string name = to_string(format);
  if (g.kind == Kind::tile && g.rows != 1) return {fmt::format("a table in {}: tiles span rows", name)};
  if (g.kind == Kind::group && g.axis != -1 && g.axis != 1)
    return {fmt::format("a table in {}: groups run across rows", name)};
  if (g.kind == Kind::channel && g.axis != 0 && g.axis != -2)
    return {fmt::format("a table in {}: channels are columns", name)};
  const PlaneBytes planes = plane_bytes(format, shape);
  if (planes.zero_points) return {fmt::format("a table in {}: zero points", name)};
  if (planes.global) return {fmt::format("a table in {}: scales in two levels", name)};
  if (format.scale_kind->restore) return {fmt::format("a table in {}: its values are not code times scale", name)};
  const int bits = format.element.bits;
  if ((g.kind == Kind::none || g.kind == Kind::tensor) && columns * bits % 8)
    return {fmt::format("a table in {} with {} columns: rows do not start on a byte", name, columns)};
  const bool grouped = g.kind == Kind::group || g.kind == Kind::tile;
  const int64_t group = !grouped || g.columns == 0 ? columns : g.columns;
  if (group < columns && group * bits % 8) return {fmt::format("a table in {}: groups do not start on a byte", name)};
  return {};
}

TableLayout layout_of(const Format& format, int64_t columns) {
  const int64_t shape[] = {2, columns};
  const PackedLayout packed = packed_layout(format, shape);
  const Geometry& g = format.geometry;
  const bool grouped = g.kind == Kind::group || g.kind == Kind::tile;
  TableLayout t;
  t.code_bits = format.element.bits;
  t.scale_bits = g.kind == Kind::none ? 0 : format.scale.bits;
  t.row_bytes = g.kind == Kind::none || g.kind == Kind::tensor ? columns * t.code_bits / 8 : packed.line_bytes;
  t.group = !grouped || g.columns == 0 ? columns : std::min(g.columns, columns);
  t.groups = (columns + t.group - 1) / t.group;
  const bool own_line = packed.scale_lines == 2;
  if (grouped || (g.kind == Kind::channel && own_line)) t.scale_row_bits = packed.scale_line_bytes * 8;
  else if (g.kind == Kind::channel) t.scale_row_bits = t.scale_bits;
  return t;
}

class GatherEmitter {
 public:
  GatherEmitter(Emitter& e, const GatherPlan& plan) : e_(e), plan_(plan) {
    if (plan.table_format.empty()) return;
    format_ = parse_format(plan.table_format);
    layout_ = layout_of(format_, plan.columns);
  }

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    Value *table = e_.kernel_pointer(frame_, 0), *scales = e_.kernel_pointer(frame_, 1);
    Value *ids = e_.kernel_pointer(frame_, 2), *out = e_.kernel_pointer(frame_, 3), *rows = e_.kernel_dim(frame_, 1),
          *per_table = e_.kernel_dim(frame_, 2);
    const bool packed = !plan_.table_format.empty();
    llvm::Function* decode = packed ? row_decoder(symbol) : nullptr;
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* i, const Values&) {
      Value* row = load_id(e_.at(ids, e_.times(e_.b.CreateURem(i, per_table), size_bytes(plan_.ids))));
      row = e_.b.CreateSelect(e_.b.CreateICmpSLT(row, e_.num(0)), e_.b.CreateAdd(row, rows), row);
      row = e_.b.CreateAdd(row, e_.b.CreateMul(e_.b.CreateUDiv(i, per_table), rows));
      Value* destination = e_.at(out, e_.times(i, plan_.columns * size_bytes(plan_.result)));
      if (packed) {
        Value* codes = e_.at(table, e_.times(row, layout_.row_bytes));
        e_.b.CreateCall(decode, {codes, scales, e_.times(row, layout_.scale_row_bits), destination});
      } else {
        copy_row(e_.at(table, e_.times(row, plan_.columns * size_bytes(plan_.table))), destination);
      }
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

  // void(codes, scales plane, bit offset of the row's scales, destination): one row.
  llvm::Function* row_decoder(const std::string& symbol) {
    const llvm::IRBuilderBase::InsertPoint here = e_.b.saveIP();
    llvm::Type* const params[] = {e_.ptr, e_.ptr, e_.i64, e_.ptr};
    llvm::Function* f = e_.begin_function(symbol + "_row", e_.b.getVoidTy(), params, false);
    Value *codes = f->getArg(0), *scales = f->getArg(1), *scale_bit = f->getArg(2), *destination = f->getArg(3);
    auto group = [&](Value* g, int64_t count) {
      Value* scale =
          layout_.scale_bits ? load_scale(scales, e_.b.CreateAdd(scale_bit, e_.times(g, layout_.scale_bits))) : nullptr;
      decode_group(e_.at(codes, e_.times(g, layout_.group * layout_.code_bits / 8)), scale,
                   e_.at(destination, e_.times(g, layout_.group * size_bytes(plan_.result))), count);
    };
    const int64_t full = plan_.columns / layout_.group;
    e_.loop(e_.num(0), e_.num(full), 1, {}, [&](Value* g, const Values&) {
      group(g, layout_.group);
      return Values{};
    });
    if (full < layout_.groups) group(e_.num(full), plan_.columns - full * layout_.group);
    e_.end_function();
    e_.b.restoreIP(here);
    return f;
  }

  void decode_group(Value* codes, Value* scale, Value* destination, int64_t count) {
    vectors(count, [&](Value* i, int64_t in_use) {
      // Codes of one vector: `lanes * code_bits` bits, from a multiple of 8 on.
      Value* byte = e_.b.CreateLShr(e_.times(i, layout_.code_bits), e_.num(3));
      Value* value = value_of(load_codes(e_.at(codes, byte), in_use));
      if (scale) value = e_.b.CreateFMul(value, scale);
      e_.store_elements(value, plan_.result, e_.at(destination, e_.times(i, size_bytes(plan_.result))),
                        mask_of(in_use));
    });
  }

  // The codes of `count` lanes as an i32 vector; reads their bytes and none behind.
  Value* load_codes(Value* pointer, int64_t count) {
    const int bits = layout_.code_bits, bytes = static_cast<int>((count * bits + 7) / 8);
    if (bits == 16 || bits == 8) {
      llvm::Type* type = e_.vec(bits == 8 ? e_.i8 : e_.i16);
      return e_.b.CreateZExt(e_.masked_load(type, pointer, mask_of(count)), e_.v_i32);
    }
    Value* raw = e_.load(e_.vec(e_.i8, bytes), pointer);
    std::vector<int> spread;
    std::vector<llvm::Constant*> shifts;
    for (int lane = 0; lane < e_.lanes; ++lane) {
      const int first = lane * bits / 8, last = (lane * bits + bits - 1) / 8;
      for (int k = 0; k < 4; ++k) spread.push_back(first + k <= last && first + k < bytes ? first + k : bytes);
      shifts.push_back(e_.b.getInt32(static_cast<uint32_t>(lane * bits % 8)));
    }
    Value* lanes = e_.as(e_.b.CreateShuffleVector(raw, llvm::Constant::getNullValue(raw->getType()), spread), e_.v_i32);
    return e_.b.CreateAnd(e_.b.CreateLShr(lanes, llvm::ConstantVector::get(shifts)),
                          e_.c_i32((uint32_t{1} << bits) - 1));
  }

  // What a code means without scale, as f32 (every value of a code is one).
  Value* value_of(Value* code) {
    if (layout_.code_bits > 8) return by_expression(code);
    std::vector<float> table;
    for (double value : code_values(format_)) table.push_back(static_cast<float>(value));
    CHECK(table.size() == size_t{1} << layout_.code_bits);
    // Two's complement with a fixed step needs no table.
    const int unused = 32 - layout_.code_bits;
    bool linear = true;
    for (size_t c = 0; c < table.size(); ++c)
      linear &=
          std::bit_cast<uint32_t>(table[c]) ==
          std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(uint32_t(c) << unused) >> unused) * table[1]);
    if (!linear) return e_.lookup_f32(code, table);
    const auto shift = static_cast<uint32_t>(unused);
    Value* number =
        e_.b.CreateSIToFP(e_.b.CreateAShr(e_.b.CreateShl(code, e_.c_i32(shift)), e_.c_i32(shift)), e_.v_f32);
    return table[1] == 1 ? number : e_.b.CreateFMul(number, e_.c_f32(table[1]));
  }

  Value* by_expression(Value* code) {
    const Program program = flatten(format_.codec->decode(format_.element, Expr::arg(0, Scalar::u32)));
    Value* const args[] = {code};
    return e_.b.CreateFPTrunc(emit_program(e_, program, args, nullptr)[0], e_.v_f32);
  }

  // The scale whose bits start at `bit` of the plane, in every lane.
  Value* load_scale(Value* plane, Value* bit) {
    Value* at = e_.at(plane, e_.b.CreateLShr(bit, e_.num(3)));
    if (layout_.scale_bits == 32) return e_.load_broadcast(DType::f32, at);
    CHECK(layout_.scale_bits <= 8);
    Value* code = e_.b.CreateZExt(e_.load(e_.i8, at), e_.i32);
    if (layout_.scale_bits < 8) {  // may continue in the next byte, which is read only then
      Value* shift = e_.b.CreateTrunc(e_.b.CreateAnd(bit, e_.num(7)), e_.i32);
      Value* over = e_.b.CreateICmpUGT(e_.b.CreateAdd(shift, e_.b.getInt32(static_cast<uint32_t>(layout_.scale_bits))),
                                       e_.b.getInt32(8));
      Value* next = e_.load(e_.i8, e_.b.CreateGEP(e_.i8, at, e_.b.CreateZExt(over, e_.i64)));
      Value* both = e_.b.CreateOr(code, e_.b.CreateShl(e_.b.CreateZExt(next, e_.i32), e_.b.getInt32(8)));
      code = e_.b.CreateAnd(e_.b.CreateLShr(both, shift), e_.b.getInt32((1u << layout_.scale_bits) - 1));
    }
    std::vector<float> values;
    for (double value : scale_values(format_)) values.push_back(static_cast<float>(value));
    if (!scale_table_) scale_table_ = e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(values)));
    return e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, scale_table_, code));
  }

  Emitter& e_;
  const GatherPlan& plan_;
  Format format_;
  TableLayout layout_;
  KernelFrame frame_{};
  llvm::GlobalVariable* scale_table_ = nullptr;
};

}  // namespace

namespace kernels {

Refusal supports(const GatherPlan& plan, IsaLevel) {
  if (!is_integer(plan.ids)) return {fmt::format("row numbers of type {}", to_string(plan.ids))};
  if (plan.columns < 1) return {fmt::format("rows of {} elements", plan.columns)};
  if (!plan.table_format.empty()) {
    if (compute_scalar(plan.result) != Scalar::f32)
      return {fmt::format("a packed table read as {}", to_string(plan.result))};
    return packed_refusal(parse_format(plan.table_format), plan.columns);
  }
  for (DType dtype : {plan.table, plan.result})
    if (!has_machine_type(dtype)) return {fmt::format("elements of type {}", to_string(dtype))};
  if (compute_scalar(plan.table) != compute_scalar(plan.result))
    return {fmt::format("a table of {} read as {}", to_string(plan.table), to_string(plan.result))};
  return {};
}

KernelNeeds needs(const GatherPlan& plan, IsaLevel) {
  const double ns = plan.table_format.empty() ? 0.2 : 0.5;  // an element
  return {0, std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * static_cast<double>(plan.columns) + 5)))};
}

int64_t items(const GatherPlan&, IsaLevel, const KernelArgs& args) { return args.dims[0]; }

void emit(Emitter& e, const GatherPlan& plan, const std::string& symbol, int) { GatherEmitter(e, plan).run(symbol); }

}  // namespace kernels
}  // namespace hone
