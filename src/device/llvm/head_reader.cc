#include "device/llvm/head_reader.h"

#include "device/llvm/code_stream.h"

namespace hone {

using llvm::Value;

HeadReader::HeadReader(Emitter& e, DType dtype, const std::string& format, int64_t heads, int64_t columns,
                       Pages pages)
    : e_(e), dtype_(dtype), columns_(columns), pages_(pages) {
  if (format.empty()) return;
  format_ = parse_format(format);
  packed_ = head_rows(*format_, heads, columns);
  CHECK(packed_, "{} heads of {} columns in {}", heads, columns, format);
  meaning_ = &code_meaning(*format_);
  numbers_.emplace(e, *meaning_, *format_);
}

std::vector<llvm::Type*> HeadReader::types() const {
  std::vector<llvm::Type*> types{e_.ptr, e_.ptr, e_.ptr, e_.i64};
  if (is_paged()) types.insert(types.end(), {e_.ptr, e_.i64, e_.i64, e_.i64});
  return types;
}

HeadReader::Rows HeadReader::from_arguments(llvm::Function* f, unsigned first) const {
  Rows rows{f->getArg(first), f->getArg(first + 1), f->getArg(first + 2), f->getArg(first + 3)};
  if (!is_paged()) return rows;
  rows.table = f->getArg(first + 4), rows.first = f->getArg(first + 5);
  rows.last = f->getArg(first + 6), rows.count = f->getArg(first + 7);
  return rows;
}

std::vector<Value*> HeadReader::arguments(const Rows& rows) const {
  std::vector<Value*> values{rows.codes, rows.scales, rows.zeros, rows.row_bytes};
  if (is_paged()) values.insert(values.end(), {rows.table, rows.first, rows.last, rows.count});
  return values;
}

int64_t HeadReader::head_bytes() const {
  return packed_ ? columns_ * meaning_->bits / 8 : columns_ * size_bytes(dtype_);
}

Value* HeadReader::stride(const Rows& rows) const { return packed_ ? e_.num(packed_->row_codes) : rows.row_bytes; }

HeadReader::Rows HeadReader::head(Rows rows, Value* head) const {
  rows.codes = e_.at(rows.codes, e_.times(head, head_bytes()));
  if (!packed_ || packed_->group == 0) return rows;
  Value* group = e_.b.CreateUDiv(e_.times(head, columns_), e_.num(packed_->group));
  rows.scales = e_.at(rows.scales, e_.times(group, packed_->scale_bytes));
  rows.zeros = e_.at(rows.zeros, e_.times(group, packed_->zero_bytes));
  return rows;
}

HeadReader::Rows HeadReader::from(Rows rows, Value* number) const {
  if (!is_paged()) return moved(rows, number);
  rows.first = e_.b.CreateAdd(rows.first, number);
  return rows;
}

HeadReader::Rows HeadReader::row(Rows rows, Value* number) const {
  if (!is_paged()) return moved(rows, number);
  Value *at = e_.smaller(e_.b.CreateAdd(rows.first, number), rows.last), *in_page = e_.num(pages_.rows);
  Value* place = e_.at(rows.table, e_.times(e_.b.CreateUDiv(at, in_page), size_bytes(pages_.table)));
  Value* page = pages_.table == DType::i64 ? e_.load(e_.i64, place) : e_.b.CreateSExt(e_.load(e_.i32, place), e_.i64);
  page = e_.b.CreateSelect(e_.b.CreateICmpSLT(page, e_.num(0)), e_.b.CreateAdd(page, rows.count), page);
  return moved(rows, e_.b.CreateAdd(e_.b.CreateMul(page, in_page), e_.b.CreateURem(at, in_page)));
}

HeadReader::Rows HeadReader::moved(Rows rows, Value* number) const {
  rows.codes = e_.at(rows.codes, e_.b.CreateMul(number, stride(rows)));
  if (!packed_) return rows;
  if (packed_->scale_bytes) rows.scales = e_.at(rows.scales, e_.times(number, packed_->row_scales));
  if (packed_->zero_bytes) rows.zeros = e_.at(rows.zeros, e_.times(number, packed_->row_zeros));
  return rows;
}

Value* HeadReader::load(const Rows& rows, Value* c, int64_t count) const {
  Value* mask = count < e_.lanes ? e_.tail_mask(e_.num(count)) : nullptr;
  if (!packed_) return e_.load_elements(dtype_, e_.at(rows.codes, e_.times(c, size_bytes(dtype_))), mask);
  Value* byte = e_.b.CreateLShr(e_.times(c, meaning_->bits), e_.num(3));
  Value* codes = load_codes(e_, e_.at(rows.codes, byte), meaning_->bits, mask ? e_.num(count) : nullptr);
  Value* group = packed_->group >= columns_ ? e_.num(0)
                 : packed_->group           ? e_.b.CreateUDiv(c, e_.num(packed_->group))
                                            : e_.num(0);
  Values scales;
  if (packed_->scale_bytes) scales = {scale(e_.at(rows.scales, e_.times(group, packed_->scale_bytes)))};
  Value* zero_point = packed_->zero_bytes ? zero(e_.at(rows.zeros, e_.times(group, packed_->zero_bytes))) : nullptr;
  Value* value = numbers_->value(codes, numbers_->group(scales, numbers_->zero_point(zero_point)));
  return mask ? e_.b.CreateSelect(mask, value, e_.c_f32(0)) : value;  // a zero point is no 0 where nothing is
}

Value* HeadReader::scale(Value* pointer) const {
  using By = ScaleMeaning::By;
  const ScaleMeaning& scale = meaning_->scale;
  const int bits = scale.bits;
  if (scale.by == By::code) {
    Value* code = e_.b.CreateAlignedLoad(e_.b.getIntNTy(static_cast<unsigned>(bits)), pointer, llvm::Align(1));
    return e_.splat(e_.b.CreateZExt(code, e_.i32));
  }
  if (scale.by == By::f32) return e_.load_broadcast(DType::f32, pointer);
  if (scale.by == By::f16 || scale.by == By::bf16)
    return e_.load_broadcast(scale.by == By::f16 ? DType::f16 : DType::bf16, pointer);
  CHECK(bits == 8, "scales of {} bits", bits);
  if (!table_) table_ = e_.table(llvm::ConstantDataArray::get(e_.context, llvm::ArrayRef<float>(scale.values)));
  Value* code = e_.b.CreateZExt(e_.load(e_.i8, pointer), e_.i64);
  return e_.load_broadcast(DType::f32, e_.b.CreateGEP(e_.f32, table_, code));
}

Value* HeadReader::zero(Value* pointer) const {
  const auto bits = static_cast<unsigned>(packed_->zero_bytes * 8);
  Value* code = e_.b.CreateAlignedLoad(e_.b.getIntNTy(bits), pointer, llvm::Align(1));
  return e_.splat(e_.b.CreateZExtOrTrunc(code, e_.i32));
}

}  // namespace hone
