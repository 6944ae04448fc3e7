// Where a row's codes lie together and its groups start on bytes, a vector of codes is read at once: it starts on a
// byte, because lanes are a multiple of 8. Anywhere else each code and each scale is fetched by itself.
#include "device/x86/packed_rows.h"

#include "device/llvm/code_numbers.h"
#include "device/llvm/code_stream.h"
#include "formats/packed.h"

namespace hone {
namespace {

using llvm::Value;
using Kind = Geometry::Kind;

// Where the codes and scales of a row lie.
struct RowLayout {
  bool together = false;        // in a run of bytes; else in `packed`
  bool across = false;          // lines run across the rows
  int64_t row_bytes = 0;        // of codes
  int64_t group = 0;            // codes per group; whole rows in geometries without groups
  int64_t groups = 0;           // per row
  int64_t scale_row_bits = 0;   // from one row's scales to the next's
  int64_t groups_from_row = 0;  // from one row's first group to the next's
  PackedLayout packed;
};

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

RowLayout layout_of(const Format& format, const CodeMeaning& meaning, int64_t rows, int64_t columns) {
  const int64_t shape[] = {rows, columns};
  const Geometry& g = format.geometry;
  const bool grouped = g.kind == Kind::group || g.kind == Kind::tile, by_row = g.axis == 0 || g.axis == -2;
  RowLayout r{.together = along_rows(format, meaning, columns), .packed = packed_layout(format, shape)};
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

class RowDecoder {
 public:
  RowDecoder(X86Emitter& e, const GatherPlan& plan)
      : e_(e),
        plan_(plan),
        format_(parse_format(plan.table_format)),
        meaning_(code_meaning(format_)),
        numbers_(e, meaning_, format_),
        layout_(layout_of(format_, meaning_, plan.rows, plan.columns)),
        bits_(meaning_.bits),
        scale_bits_(meaning_.scale.bits),
        zero_bytes_(meaning_.zero_point_bytes) {}

  llvm::Function* emit(const std::string& symbol) {
    const llvm::IRBuilderBase::InsertPoint here = e_.b.saveIP();
    llvm::Type* const params[] = {e_.ptr, e_.i64, e_.ptr};
    llvm::Function* f = e_.begin_function(symbol + "_row", e_.b.getVoidTy(), params, false);
    const KernelFrame frame{f, f->getArg(0), nullptr, nullptr, nullptr};
    using A = GatherArgs;
    codes_ = e_.pointer<&A::table>(frame), scales_ = e_.pointer<&A::scales>(frame);
    zeros_ = e_.pointer<&A::zero_points>(frame);
    if (meaning_.two_level) outer_ = e_.pointer<&A::global_scale>(frame);
    if (meaning_.has_global) global_ = e_.load_broadcast(DType::f32, e_.pointer<&A::global_scale>(frame));
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
    e_.store_elements(numbers_.value(code, group), plan_.result,
                      e_.at(destination, e_.times(i, size_bytes(plan_.result))), mask_of(count));
  }

  // --- codes that lie together ---------------------------------------------------------------------------------------
  void groups(Value* row, Value* destination) {
    Value* codes = e_.at(codes_, e_.times(row, layout_.row_bytes));
    Value* scale_bit = e_.times(row, layout_.scale_row_bits);
    Value* first = e_.times(row, layout_.groups_from_row);
    const auto group = [&](Value* g, int64_t count) {
      Values scales;
      for (int level = 0; level < meaning_.levels && scale_bits_; ++level) {
        Value* scale = one_scale(e_.b.CreateAdd(scale_bit, scale_of_line(g, level)));
        if (outer_) scale = times_outer(scale, e_.splat(outer_code(e_.b.CreateAdd(first, g), level)));
        scales.push_back(scale);
      }
      Value* zero = zero_bytes_ ? e_.splat(zero_code(e_.b.CreateAdd(first, g))) : nullptr;
      decode_group(e_.at(codes, e_.times(g, layout_.group * bits_ / 8)),
                   numbers_.group(scales, numbers_.zero_point(zero)),
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

  // The bit of a group's scale, from that of the first of its line.
  Value* scale_of_line(Value* group, int level) {
    return e_.b.CreateAdd(e_.times(group, meaning_.levels * scale_bits_), e_.num(level * scale_bits_));
  }

  // The scale whose bits start at `bit` of the plane, in every lane.
  Value* one_scale(Value* bit) {
    if (scale_bits_ > 8) return scale_of(e_.splat(fetch(scales_, bit, scale_bits_)));
    if (!scale_table_) {
      const llvm::ArrayRef<float> values(meaning_.scale.values);
      scale_table_ = e_.table(llvm::ConstantDataArray::get(e_.context, values));
    }
    Value* code = e_.b.CreateZExt(fetch(scales_, bit, scale_bits_), e_.i64);
    return of_tensor(e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, scale_table_, code)));
  }

  // --- each element by itself ----------------------------------------------------------------------------------------
  void elements(Value* row, Value* destination) {
    const int levels = meaning_.levels;
    Value *codes = e_.stack(e_.v_i32, 1), *zeros = e_.stack(e_.v_i32, 1), *scales = e_.stack(e_.v_i32, levels),
          *outers = e_.stack(e_.v_i32, levels);
    vectors(plan_.columns, [&](Value* i, int64_t count) {
      e_.loop(e_.num(0), e_.num(count), 1, {}, [&](Value* lane, const Values&) {
        Value *c = e_.b.CreateAdd(i, lane), *group = group_of(row, c), *slot = e_.times(lane, 4);
        e_.store(code_at(row, c), e_.at(codes, slot), 4);
        if (zero_bytes_) e_.store(zero_code(group), e_.at(zeros, slot), 4);
        for (int level = 0; level < levels && scale_bits_; ++level) {
          e_.store(scale_code(group, level), e_.at(e_.at(scales, level * e_.lanes * 4), slot), 4);
          if (outer_) e_.store(outer_code(group, level), e_.at(e_.at(outers, level * e_.lanes * 4), slot), 4);
        }
        return Values{};
      });
      Values of_group;
      for (int level = 0; level < levels && scale_bits_; ++level) {
        Value* scale = scale_of(e_.load(e_.v_i32, e_.at(scales, level * e_.lanes * 4)));
        if (outer_) scale = times_outer(scale, e_.load(e_.v_i32, e_.at(outers, level * e_.lanes * 4)));
        of_group.push_back(scale);
      }
      Value* zero = zero_bytes_ ? e_.load(e_.v_i32, zeros) : nullptr;
      store(e_.load(e_.v_i32, codes), numbers_.group(of_group, numbers_.zero_point(zero)), destination, i, count);
    });
  }

  Value* code_at(Value* row, Value* c) {
    const PackedLayout& p = layout_.packed;
    const int planes = p.code_planes, bits = bits_ / planes;
    Value *line = e_.num(0), *position = e_.b.CreateAdd(e_.times(row, plan_.columns), c);
    if (p.lines > 1 || format_.geometry.kind == Kind::tile) line = row, position = c;
    if (layout_.across) line = c, position = row;
    Value* bit = e_.b.CreateAdd(e_.times(line, p.line_bytes * 8), e_.times(position, bits));
    Value* code = nullptr;
    for (int plane = 0; plane < planes; ++plane) {
      Value* part = fetch(e_.at(codes_, plane * p.padded_lines * p.line_bytes), bit, bits);
      if (plane) part = e_.b.CreateShl(part, e_.b.getInt32(static_cast<uint32_t>(plane * bits)));
      code = code ? e_.b.CreateOr(code, part) : part;
    }
    return code;
  }

  Value* group_of(Value* row, Value* c) {
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
        return layout_.across ? c : row;
      case Kind::group:
        return layout_.across ? in_line(c, row, g.columns) : in_line(row, c, g.columns);
      case Kind::tile:
        return in_line(g.rows ? e_.b.CreateUDiv(row, e_.num(g.rows)) : e_.num(0), c, g.columns);
      case Kind::flattened:
        return e_.b.CreateUDiv(e_.b.CreateAdd(e_.times(row, plan_.columns), c), e_.num(g.columns));
    }
    CHECK(false);
  }

  Value* scale_code(Value* group, int level) {
    const int64_t per_line = layout_.packed.groups_per_line;
    Value* line = e_.b.CreateUDiv(group, e_.num(per_line));
    Value* bit = scale_of_line(e_.b.CreateURem(group, e_.num(per_line)), level);
    return fetch(scales_, e_.b.CreateAdd(e_.times(line, layout_.packed.scale_line_bytes * 8), bit), scale_bits_);
  }

  // The f16 that the scales of a group's super-block are relative to, as an i32.
  Value* outer_code(Value* group, int level) {
    const PackedLayout& p = layout_.packed;
    Value* line = e_.b.CreateUDiv(group, e_.num(p.groups_per_line));
    Value* in_line = e_.b.CreateUDiv(e_.b.CreateURem(group, e_.num(p.groups_per_line)), e_.num(p.groups_per_super));
    Value* index = e_.times(e_.b.CreateAdd(e_.times(line, p.supers_per_line), in_line), meaning_.levels);
    return fetch(outer_, e_.times(e_.b.CreateAdd(index, e_.num(level)), 16), 16);
  }
  Value* times_outer(Value* scale, Value* code) {
    return e_.b.CreateFMul(scale, e_.widen(DType::f16, e_.b.CreateTrunc(code, e_.vec(e_.i16))));
  }

  Value* zero_code(Value* group) { return fetch(zeros_, e_.times(group, zero_bytes_ * 8), zero_bytes_ * 8); }

  // `bits` bits of the plane as an i32; no byte but those they lie in is read.
  Value* fetch(Value* plane, Value* bit, int bits) {
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

  // --- scales --------------------------------------------------------------------------------------------------------
  Value* of_tensor(Value* scale) { return global_ ? e_.b.CreateFMul(scale, global_) : scale; }

  Value* scale_of(Value* code) {
    using By = ScaleMeaning::By;
    const By by = meaning_.scale.by;
    if (by == By::code) return code;
    if (by == By::f32) return of_tensor(e_.as(code, e_.v_f32));
    if (by == By::f16 || by == By::bf16)
      return of_tensor(e_.widen(by == By::f16 ? DType::f16 : DType::bf16, e_.b.CreateTrunc(code, e_.vec(e_.i16))));
    return of_tensor(e_.lookup_f32(code, meaning_.scale.values));
  }

  X86Emitter& e_;
  const GatherPlan& plan_;
  const Format format_;
  const CodeMeaning& meaning_;
  CodeNumbers numbers_;
  const RowLayout layout_;
  const int bits_, scale_bits_, zero_bytes_;
  Value *codes_ = nullptr, *scales_ = nullptr, *zeros_ = nullptr, *global_ = nullptr, *outer_ = nullptr;
  llvm::GlobalVariable* scale_table_ = nullptr;
};

}  // namespace

llvm::Function* emit_row_decoder(X86Emitter& e, const std::string& symbol, const GatherPlan& plan) {
  return RowDecoder(e, plan).emit(symbol);
}

}  // namespace hone
