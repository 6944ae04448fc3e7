// The product of what windows see by the weights of one group: an implicit matrix product, through the loop and the
// epilogue of all products.
#include "device/cuda/conv/emit.h"

#include "device/cuda/conv/window_operand.h"
#include "device/cuda/gemm/store_results.h"
#include "device/llvm/epilogue.h"

namespace hone {

using A = ConvArgs;

static_assert(shares_epilogue<&A::rows, &A::epilogue>());

namespace {

std::unique_ptr<Operand> rows_of(CudaEmitter& e, const CudaConvPlan& plan, const KernelFrame& frame, llvm::Value* group,
                                 llvm::Value* rows) {
  const DType type = plan.product.a;
  llvm::Value* x = e.at(e.pointer<&A::x>(frame), e.times(e.wide(group), plan.channels * size_bytes(type)));
  if (!sees_one_place(plan)) return std::make_unique<WindowOperand>(e, plan, frame, x, rows);
  return std::make_unique<StridedOperand>(e, type, false, x, e.num(plan.groups * plan.channels), rows,
                                          e.n32(plan.channels));
}

}  // namespace

void emit_cuda_conv(CudaEmitter& e, const CudaConvPlan& plan, const std::string& symbol, int) {
  auto& b = e.b;
  const CudaGemmPlan product = plan.tiled_product();
  const CudaGemmShape s = cuda_gemm_shape(product, e.target);
  const KernelFrame frame = e.begin_kernel(symbol);
  llvm::Value *rows = e.size<&A::rows>(frame), *rows32 = e.low32(rows), *item = e.low32(frame.begin);
  const auto blocks = [&](llvm::Value* extent, int size) {
    return b.CreateUDiv(b.CreateAdd(extent, e.n32(size - 1)), e.n32(size));
  };
  llvm::Value *row_blocks = blocks(rows32, s.tile.rows()), *column_blocks = blocks(e.n32(product.n), s.tile.columns());
  llvm::Value *row = b.CreateMul(b.CreateURem(item, row_blocks), e.n32(s.tile.rows())),
              *rest = b.CreateUDiv(item, row_blocks);
  llvm::Value* column = b.CreateMul(b.CreateURem(rest, column_blocks), e.n32(s.tile.columns()));
  llvm::Value* group = b.CreateUDiv(rest, column_blocks);
  const std::unique_ptr<Operand> x = rows_of(e, plan, frame, group, rows32);
  llvm::Value* w = e.at(e.pointer<&A::w>(frame), e.times(e.wide(group), s.weights.bytes()));
  TileReader reader(e, s.weights, product.w_format, w);
  ProductLoop loop(e, s, *x, nullptr, &reader, {row, column}, e.n32(product.k));
  const Values sums = loop.run();
  // The result of all groups is one matrix, of which a group has some columns.
  GemmPlan whole = plan.product;
  whole.n *= plan.groups, whole.result_row_stride = 0;
  const int side = plan.groups > 1 && product.n % 4 ? 1 : 4;
  CudaEpilogue epilogue(e, whole, frame, side, e.num(0), e.num(0));
  store_results(e, s, loop, sums,
                {.row = row,
                 .column = column,
                 .rows = rows,
                 .n = e.num(product.n),
                 .first_column = e.times(e.wide(group), product.n),
                 .side = side},
                epilogue);
  e.end_function();
}

}  // namespace hone
