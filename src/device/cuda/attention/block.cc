#include "device/cuda/attention/block.h"

namespace hone {

AttentionBlock::AttentionBlock(CudaEmitter& emitter, const CudaAttentionPlan& p, const std::string& symbol)
    : e(emitter), plan(p), shape(p, emitter.target), frame(emitter.begin_kernel(symbol)) {
  const bool joins = plan.task == CudaAttentionPlan::Task::join;
  llvm::Value *part = frame.begin, *ranges = size<&A::ranges>();
  split_ = plan.splits ? e.b.CreateICmpUGT(ranges, e.num(1)) : e.b.getFalse();
  range_ = plan.splits && !joins ? e.b.CreateURem(part, ranges) : e.num(0);
  if (plan.splits && !joins) part = e.b.CreateUDiv(part, ranges);
  block_ = part;
  llvm::Value* group = e.b.CreateUDiv(part, size<&A::blocks>());
  first_row_ = e.times(e.b.CreateURem(part, size<&A::blocks>()), shape.rows);
  batch_ = e.b.CreateUDiv(group, e.num(plan.kv_heads)), group_ = e.b.CreateURem(group, e.num(plan.kv_heads));
  first_key_ = e.times(range_, kRangeKeys), last_key_ = size<&A::keys>();
  if (plan.splits)
    last_key_ = e.b.CreateSelect(split_, e.smaller(last_key_, e.b.CreateAdd(first_key_, e.num(kRangeKeys))), last_key_);
  find_keys();
}

llvm::Value* AttentionBlock::within_keys(llvm::Value* x) const {
  return e.smaller(e.larger(x, e.num(0)), size<&A::keys>());
}

// Rows of one head are neighbours but where a block has several heads, and all of their queries.
void AttentionBlock::find_keys() {
  from_ = all_from_ = first_key_, to_ = all_to_ = last_key_;
  if (!plan.limited) return;
  llvm::Value *queries = size<&A::queries>(), *one = e.num(1);
  llvm::Value* is_mixed = e.b.CreateICmpSLT(queries, e.num(shape.rows));
  llvm::Value* lowest = e.b.CreateSelect(is_mixed, e.num(0), e.b.CreateURem(first_row_, size<&A::per_head>()));
  llvm::Value* highest = e.b.CreateSub(e.smaller(queries, e.b.CreateAdd(lowest, e.num(shape.rows))), one);
  llvm::Value *first = e.b.CreateAdd(lowest, size<&A::first_position>()),
              *last = e.b.CreateAdd(highest, size<&A::first_position>());
  const auto from = [&](llvm::Value* position) { return within_keys(e.b.CreateSub(position, size<&A::before>())); };
  const auto to = [&](llvm::Value* position) {
    return within_keys(e.b.CreateAdd(e.b.CreateAdd(position, size<&A::behind>()), one));
  };
  llvm::Value* start = e.times(e.b.CreateUDiv(from(first), e.num(shape.tile_keys)), shape.tile_keys);
  from_ = e.larger(first_key_, start), to_ = e.smaller(last_key_, to(last));
  all_from_ = e.larger(first_key_, from(last)), all_to_ = e.smaller(last_key_, to(first));
}

AttentionBlock::Row AttentionBlock::row(llvm::Value* number) const {
  const int64_t sharing = plan.heads / plan.kv_heads;
  llvm::Value *at = e.b.CreateAdd(first_row_, number), *queries = size<&A::queries>();
  Row row{nullptr, e.b.CreateUDiv(at, size<&A::per_head>()), e.b.CreateURem(at, size<&A::per_head>())};
  row.exists = e.b.CreateAnd(e.b.CreateICmpSLT(row.head, e.num(sharing)), e.b.CreateICmpSLT(row.query, queries));
  row.head = e.smaller(row.head, e.num(sharing - 1));
  row.query = e.smaller(row.query, e.b.CreateSub(queries, e.num(1)));
  return row;
}

llvm::Value* AttentionBlock::head(const Row& row) const {
  return e.b.CreateAdd(e.times(group_, plan.heads / plan.kv_heads), row.head);
}

llvm::Value* AttentionBlock::row_elements(llvm::Value* row, llvm::Value* stride, llvm::Value* head,
                                          int64_t columns) const {
  llvm::Value* all = e.b.CreateAdd(e.b.CreateMul(batch_, size<&A::queries>()), row);
  return e.b.CreateAdd(e.b.CreateMul(all, stride), e.times(head, columns));
}

llvm::Value* AttentionBlock::query(const Row& row) const {
  return e.at(pointer<&A::q>(),
              e.times(row_elements(row.query, size<&A::q_row>(), head(row), plan.head_dim), size_bytes(plan.dtype)));
}
llvm::Value* AttentionBlock::result(const Row& row) const {
  return e.at(pointer<&A::out>(), e.times(row_elements(row.query, size<&A::out_row>(), head(row), plan.value_dim),
                                          size_bytes(plan.result)));
}
llvm::Value* AttentionBlock::mask(const Row& row) const {
  llvm::Value* at = e.b.CreateMul(batch_, size<&A::mask_strides>(0));
  at = e.b.CreateAdd(at, e.b.CreateMul(head(row), size<&A::mask_strides>(1)));
  at = e.b.CreateAdd(at, e.b.CreateMul(row.query, size<&A::mask_strides>(2)));
  return e.at(pointer<&A::mask>(), e.times(at, plan.mask == AttentionPlan::Mask::added ? 4 : 1));
}

AttentionBlock::Keys AttentionBlock::keys_of(const Row& row) const {
  if (!plan.limited) return {e.n32(0), e.low32(to_)};
  llvm::Value* position = e.b.CreateAdd(row.query, size<&A::first_position>());
  llvm::Value* to = within_keys(e.b.CreateAdd(e.b.CreateAdd(position, size<&A::behind>()), e.num(1)));
  return {e.low32(within_keys(e.b.CreateSub(position, size<&A::before>()))), e.low32(e.smaller(to, to_))};
}

HeadReader AttentionBlock::reader(Emitter& emitter, bool of_values) const {
  return {emitter,
          plan.dtype,
          of_values ? plan.v_format : plan.k_format,
          plan.kv_heads,
          of_values ? plan.value_dim : plan.head_dim,
          {plan.page_rows, plan.table}};
}

HeadReader::Rows AttentionBlock::rows_of(const HeadReader& reader, bool of_values) const {
  llvm::Value* stride = of_values ? size<&A::v_row>() : size<&A::k_row>();
  HeadReader::Rows rows{
      of_values ? pointer<&A::v>() : pointer<&A::k>(), of_values ? pointer<&A::v_scales>() : pointer<&A::k_scales>(),
      of_values ? pointer<&A::v_zero_points>() : pointer<&A::k_zero_points>(), e.times(stride, size_bytes(plan.dtype))};
  if (!reader.is_paged()) return reader.from(reader.head(rows, group_), e.b.CreateMul(batch_, size<&A::keys>()));
  llvm::Value* first = e.times(e.b.CreateMul(batch_, size<&A::sequence_pages>()), size_bytes(plan.table));
  rows.table = e.at(pointer<&A::table>(), first);
  rows.first = e.num(0), rows.last = e.b.CreateSub(size<&A::keys>(), e.num(1));
  rows.count = of_values ? size<&A::v_pages>() : size<&A::k_pages>();
  return reader.head(rows, group_);
}

llvm::Value* AttentionBlock::state(llvm::Value* range) const {
  llvm::Value* number = e.b.CreateAdd(e.b.CreateMul(block_, size<&A::ranges>()), range);
  return e.at(pointer<&A::shared>(), e.times(number, shape.state_bytes()));
}

}  // namespace hone
