#include "device/cuda/attention/tiles.h"

namespace hone {

using A = CudaAttentionArgs;

AttentionTiles::AttentionTiles(const AttentionBlock& block) : block_(block), e_(block.e), s_(block.shape) {}

llvm::Value* AttentionTiles::keys(llvm::Value* stage) const {
  return e_.at(e_.shared(s_.keys_offset), e_.times(stage, s_.key_stage()));
}
llvm::Value* AttentionTiles::values(llvm::Value* stage) const {
  return e_.at(e_.shared(s_.values_offset), e_.times(stage, s_.value_stage()));
}

template <class Piece>
void AttentionTiles::pieces(int64_t rows, int64_t columns, int64_t stride, llvm::Value* to, int width, Piece piece) {
  const int64_t per_row = columns / width, all = rows * per_row;
  for (int64_t first = 0; first < all; first += e_.threads) {
    llvm::Value* number = e_.b.CreateAdd(e_.thread(), e_.n32(first));
    const auto one = [&] {
      llvm::Value *row = e_.b.CreateUDiv(number, e_.n32(per_row)), *in_row = e_.b.CreateURem(number, e_.n32(per_row));
      llvm::Value* column = e_.b.CreateMul(in_row, e_.n32(width));
      llvm::Value* bytes =
          e_.b.CreateAdd(e_.b.CreateMul(row, e_.n32(stride)), e_.b.CreateMul(in_row, e_.n32(width * s_.element())));
      piece(e_.wide(row), e_.wide(column), e_.at(to, e_.wide(bytes)));
    };
    if (first + e_.threads <= all) one();
    else e_.when(e_.b.CreateICmpULT(number, e_.n32(all)), one);
  }
}

// Pieces are copied as they lie where they are of the type that is multiplied, and rows start at multiples of 16 bytes.
bool AttentionTiles::may_copy(int64_t columns) const {
  return size_bytes(block_.plan.dtype) == s_.element() && columns % width() == 0;
}
llvm::Value* AttentionTiles::lies_aligned(llvm::Value* pointer, llvm::Value* stride, int64_t columns) const {
  if (!may_copy(columns)) return e_.b.getFalse();
  llvm::Value* all = e_.b.CreateOr(e_.b.CreatePtrToInt(pointer, e_.i64), e_.times(stride, s_.element()));
  return e_.b.CreateICmpEQ(e_.b.CreateAnd(all, e_.num(15)), e_.num(0));
}

void AttentionTiles::copy_piece(llvm::Value* from, llvm::Value* column, int64_t columns, llvm::Value* exists,
                                llvm::Value* to, bool at_once) {
  if (at_once) {
    if (columns % 16 != 0) exists = e_.b.CreateAnd(exists, e_.b.CreateICmpSLT(column, e_.num(columns)));
    return e_.copy_async(to, from, 16, exists);
  }
  e_.with_lanes(width(), [&](CudaEmitter& w) {
    llvm::Value* left = w.b.CreateSelect(exists, w.b.CreateSub(w.num(columns), column), w.num(0));
    llvm::Value* x = w.load_elements(block_.plan.dtype, from, w.tail_mask(left));
    if (s_.by_mma) x = w.narrow(DType::bf16, x);
    w.store(x, to, 16);
    return 0;
  });
}

void AttentionTiles::fetch_queries() {
  const CudaAttentionPlan& plan = block_.plan;
  const auto as = [&](bool at_once) {
    pieces(s_.rows, s_.key_columns, s_.key_stride, e_.shared(s_.queries_offset), width(),
           [&](llvm::Value* number, llvm::Value* column, llvm::Value* to) {
             const AttentionBlock::Row row = block_.row(number);
             llvm::Value* from = e_.at(block_.query(row), e_.times(column, size_bytes(plan.dtype)));
             copy_piece(from, column, plan.head_dim, row.exists, to, at_once);
           });
    return Values{};
  };
  if (!may_copy(plan.head_dim)) return void(as(false));
  e_.choose(
      lies_aligned(block_.pointer<&A::q>(), block_.size<&A::q_row>(), plan.head_dim), [&] { return as(true); },
      [&] { return as(false); });
}

// A group of columns shares a scale where a piece of codes lies (ops/head_rows.h); of rows that do not exist the last
// is read.
void AttentionTiles::decode_piece(const Operand& operand, llvm::Value* key, llvm::Value* column, llvm::Value* exists,
                                  llvm::Value* to) {
  const HeadReader places = block_.reader(e_, operand.of_values);
  llvm::Value* last = e_.b.CreateSub(block_.size<&A::keys>(), e_.num(1));
  const HeadReader::Rows row = places.row(block_.rows_of(places, operand.of_values), e_.smaller(key, last));
  e_.with_lanes(8, [&](CudaEmitter& w) {
    const HeadReader reader = block_.reader(w, operand.of_values);
    const auto store = [&](llvm::Value* x) {
      const Values parts = w.elements(x);
      for (int half = 0; half < 2; ++half) {
        llvm::Value* four = w.vector_of(Values(parts.begin() + 4 * half, parts.begin() + 4 * half + 4));
        w.store(four, w.at(to, int64_t{16} * half), 16);
      }
    };
    const int64_t whole = operand.columns / 8 * 8;
    llvm::Value* is_whole = w.b.CreateAnd(exists, w.b.CreateICmpSLT(column, w.num(whole)));
    const Values x = w.choose(
        is_whole, [&] { return Values{reader.load(row, column, 8)}; },
        [&] {
          if (whole == operand.columns) return Values{w.c_f32(0)};
          llvm::Value* is_last = w.b.CreateAnd(exists, w.b.CreateICmpEQ(column, w.num(whole)));
          return w.choose(
              is_last, [&] { return Values{reader.load(row, column, operand.columns - whole)}; },
              [&] { return Values{w.c_f32(0)}; });
        });
    store(x[0]);
    return 0;
  });
}

void AttentionTiles::fetch_operand(const Operand& operand, llvm::Value* t, llvm::Value* end, llvm::Value* to) {
  const CudaAttentionPlan& plan = block_.plan;
  const HeadReader reader = block_.reader(e_, operand.of_values);
  const auto exists = [&](llvm::Value* key) { return e_.b.CreateICmpSLT(key, end); };
  if (reader.is_packed())
    return pieces(s_.tile_keys, operand.filled, operand.stride, to, 8,
                  [&](llvm::Value* row, llvm::Value* column, llvm::Value* place) {
                    llvm::Value* key = e_.b.CreateAdd(t, row);
                    decode_piece(operand, key, column, exists(key), place);
                  });
  const HeadReader::Rows rows = block_.rows_of(reader, operand.of_values);
  const auto as = [&](bool at_once) {
    pieces(s_.tile_keys, operand.filled, operand.stride, to, width(),
           [&](llvm::Value* row, llvm::Value* column, llvm::Value* place) {
             llvm::Value* key = e_.b.CreateAdd(t, row);
             llvm::Value* from = e_.at(reader.row(rows, key).codes, e_.times(column, size_bytes(plan.dtype)));
             copy_piece(from, column, operand.columns, exists(key), place, at_once);
           });
    return Values{};
  };
  if (!may_copy(operand.columns)) return void(as(false));
  llvm::Value* stride = operand.of_values ? block_.size<&A::v_row>() : block_.size<&A::k_row>();
  llvm::Value* pointer = operand.of_values ? block_.pointer<&A::v>() : block_.pointer<&A::k>();
  e_.choose(
      lies_aligned(pointer, stride, operand.columns), [&] { return as(true); }, [&] { return as(false); });
}

void AttentionTiles::fetch(llvm::Value* t, llvm::Value* end, llvm::Value* stage) {
  const CudaAttentionPlan& plan = block_.plan;
  fetch_operand({false, plan.head_dim, s_.key_columns, s_.key_stride}, t, end, keys(stage));
  fetch_operand({true, plan.value_dim, s_.value_columns, s_.value_stride}, t, end, values(stage));
}

}  // namespace hone
