#include "device/llvm/packed_table.h"

#include <algorithm>

namespace hone {
namespace {

using llvm::Value;
using Kind = Geometry::Kind;

bool along_rows(const Format& format, const CodeMeaning& meaning, int64_t columns) {
  const Geometry& g = format.geometry;
  const bool by_row = g.axis == 0 || g.axis == -2;
  if (meaning.by >= CodeMeaning::By::signs || g.kind == Kind::flattened) return false;
  if (g.kind == Kind::tile && g.rows != 1) return false;
  if (g.kind == Kind::group && by_row) return false;
  if (g.kind == Kind::channel && !by_row) return false;
  const int bits = format.element.bits;
  if (bits > 16 && bits != 32) return false;
  if ((g.kind == Kind::none || g.kind == Kind::tensor) && columns * bits % 8) return false;
  const bool grouped = g.kind == Kind::group || g.kind == Kind::tile;
  const int64_t group = !grouped || g.columns == 0 ? columns : g.columns;
  return group >= columns || group * bits % 8 == 0;
}

}  // namespace

RowLayout row_layout(const Format& format, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  const Geometry& g = format.geometry;
  const bool grouped = g.kind == Kind::group || g.kind == Kind::tile, by_row = g.axis == 0 || g.axis == -2;
  RowLayout r{.together = along_rows(format, code_meaning(format), columns), .packed = packed_layout(format, shape)};
  r.across = g.kind == Kind::channel ? !by_row : g.kind == Kind::group && by_row;
  const bool one_line = g.kind == Kind::none || g.kind == Kind::tensor;
  r.row_bytes = one_line ? columns * format.element.bits / 8 : r.packed.line_bytes;
  r.group = !grouped || g.columns == 0 ? columns : std::min(g.columns, columns);
  r.groups = (columns + r.group - 1) / r.group;
  if (grouped) r.groups_from_row = r.packed.groups_per_line;
  else if (g.kind == Kind::channel) r.groups_from_row = 1;
  const bool own_line = r.packed.scale_lines == rows;
  if (grouped || (g.kind == Kind::channel && own_line)) r.scale_row_bits = r.packed.scale_line_bytes * 8;
  else if (g.kind == Kind::channel) r.scale_row_bits = format.scale.bits;
  return r;
}

PackedTable::PackedTable(Emitter& e, const GatherPlan& plan)
    : e_(e),
      plan_(plan),
      format_(parse_format(plan.table_format)),
      meaning_(code_meaning(format_)),
      numbers_(e, meaning_, format_),
      layout_(row_layout(format_, plan.rows, plan.columns)) {}

void PackedTable::bind(const KernelFrame& frame) {
  using A = GatherArgs;
  codes_ = e_.pointer<&A::table>(frame), scales_ = e_.pointer<&A::scales>(frame);
  zeros_ = e_.pointer<&A::zero_points>(frame);
  if (meaning_.has_global) global_ = e_.load_broadcast(DType::f32, e_.pointer<&A::global_scale>(frame));
}

Value* PackedTable::code(Value* row, Value* column) {
  const PackedLayout& p = layout_.packed;
  const int planes = p.code_planes, bits = meaning_.bits / planes;
  Value *line = e_.num(0), *position = e_.b.CreateAdd(e_.times(row, plan_.columns), column);
  if (p.lines > 1 || format_.geometry.kind == Kind::tile) line = row, position = column;
  if (layout_.across) line = column, position = row;
  Value* bit = e_.b.CreateAdd(e_.times(line, p.line_bytes * 8), e_.times(position, bits));
  Value* code = nullptr;
  for (int plane = 0; plane < planes; ++plane) {
    Value* part = fetch(e_.at(codes_, plane * p.padded_lines * p.line_bytes), bit, bits);
    if (plane) part = e_.b.CreateShl(part, e_.b.getInt32(static_cast<uint32_t>(plane * bits)));
    code = code ? e_.b.CreateOr(code, part) : part;
  }
  return code;
}

Value* PackedTable::group_of(Value* row, Value* column) {
  const Geometry& g = format_.geometry;
  const int64_t per_line = layout_.packed.groups_per_line;
  const auto in_line = [&](Value* line, Value* position, int64_t group) {
    Value* index = group ? e_.b.CreateUDiv(position, e_.num(group)) : e_.num(0);
    return e_.b.CreateAdd(e_.times(line, per_line), index);
  };
  switch (g.kind) {
    case Kind::none:
    case Kind::tensor:
      return e_.num(0);
    case Kind::channel:
      return layout_.across ? column : row;
    case Kind::group:
      return layout_.across ? in_line(column, row, g.columns) : in_line(row, column, g.columns);
    case Kind::tile:
      return in_line(g.rows ? e_.b.CreateUDiv(row, e_.num(g.rows)) : e_.num(0), column, g.columns);
    case Kind::flattened:
      return e_.b.CreateUDiv(e_.b.CreateAdd(e_.times(row, plan_.columns), column), e_.num(g.columns));
  }
  CHECK(false);
}

Value* PackedTable::scale_code(Value* group, int level) {
  const int64_t per_line = std::max<int64_t>(1, layout_.packed.groups_per_line);
  const int bits = meaning_.scale.bits;
  Value* line = e_.b.CreateUDiv(group, e_.num(per_line));
  Value* index = e_.times(e_.b.CreateURem(group, e_.num(per_line)), meaning_.levels);
  Value* bit = e_.b.CreateAdd(e_.times(line, layout_.packed.scale_line_bytes * 8), e_.times(index, bits));
  return fetch(scales_, e_.b.CreateAdd(bit, e_.num(level * bits)), bits);
}

Value* PackedTable::zero_code(Value* group) {
  const int bytes = meaning_.zero_point_bytes;
  return fetch(zeros_, e_.times(group, bytes * 8), bytes * 8);
}

Value* PackedTable::fetch(Value* plane, Value* bit, int bits) {
  Value* first = e_.b.CreateLShr(bit, e_.num(3));
  Value* last = e_.b.CreateLShr(e_.b.CreateAdd(bit, e_.num(bits - 1)), e_.num(3));
  Value* word = e_.num(0);
  for (int i = 0; i < (bits % 8 ? bits + 14 : bits) / 8; ++i) {
    Value* at = e_.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.b.CreateAdd(first, e_.num(i)), last);
    Value* byte = e_.b.CreateZExt(e_.load(e_.i8, e_.at(plane, at)), e_.i64);
    word = e_.b.CreateOr(word, e_.b.CreateShl(byte, e_.num(8 * i)));
  }
  word = e_.b.CreateLShr(word, e_.b.CreateAnd(bit, e_.num(7)));
  return e_.b.CreateTrunc(e_.b.CreateAnd(word, e_.num((int64_t{1} << bits) - 1)), e_.i32);
}

Value* PackedTable::of_tensor(Value* scale) { return global_ ? e_.b.CreateFMul(scale, global_) : scale; }

Value* PackedTable::scale_of(Value* codes) {
  using By = ScaleMeaning::By;
  const By by = meaning_.scale.by;
  if (by == By::code) return codes;
  if (by == By::f32) return of_tensor(e_.as(codes, e_.v_f32));
  if (by == By::f16 || by == By::bf16)
    return of_tensor(e_.widen(by == By::f16 ? DType::f16 : DType::bf16, e_.b.CreateTrunc(codes, e_.vec(e_.i16))));
  return of_tensor(e_.lookup_f32(codes, meaning_.scale.values));
}

}  // namespace hone
