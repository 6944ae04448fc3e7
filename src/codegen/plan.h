// Kernel plans: plain data from which the one generator emits code. A plan holds everything that is constant in the
// machine code; its text is the cache key. What may change between calls (pointers, extents, strides) is in KernelArgs,
// described per plan.
//
// Every kernel covers work items [begin, end); items are independent, so any scheduler may hand them out in any pieces,
// and the result has the same bits. Element programs are expr Programs over f32 (or integer) scalars: loads convert to
// the compute scalar of the dtype (compute_scalar), stores round to the result's dtype.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "codegen/target.h"
#include "expr/program.h"
#include "ir/type.h"

namespace hone {

struct KernelArgs {
  std::array<void*, 16> pointers{};
  std::array<int64_t, 48> dims{};
};
using KernelFn = void (*)(const KernelArgs* args, int64_t begin, int64_t end, std::byte* scratch);

// results[j][o, i] = program(operands...)[j] over `rank` extents (outer to inner), each operand with its own strides.
//   pointers  operands, then results
//   dims      extents[0..rank), then rank strides (in elements; 0 = broadcast) for each operand, then, where the
//   results
//             are not dense, those of all results, the last of which is 1
//   items     rank 1: elements; otherwise the product of all extents but the last
// `inner` states what the last stride of an operand is, so that loads can be vectors.
struct PointwisePlan {
  enum class Inner : uint8_t { contiguous, broadcast, strided };
  struct Operand {
    DType dtype;
    Inner inner;
    bool operator==(const Operand&) const = default;
  };
  int rank = 1;  // 1..6
  bool dense = true;
  std::vector<Operand> operands;
  std::vector<DType> results;
  Program program;
};

// Reductions over rows of `length` elements, then results (OpDef::row; same argument positions in `element` programs
// and `program`).
//   pointers  operands, then results
//   dims      [0] rows, [1] length, then the row stride of each operand in elements (0: the same row for all),
//             then the period of each: operand row = row % period where it is > 0 (a [S,C] operand beside [B,S,C]),
//             else row
//   items     rows. Result rows are dense: of `length`, or of 1 where `scalar_results[j]`.
struct RowPlan {
  struct Operand {
    DType dtype;
    bool row_scalar = false;  // one element per row instead of a vector
    bool operator==(const Operand&) const = default;
  };
  struct Step {
    int kind = 0;  // Reduction::Kind
    Program element;
    bool keep = false;
  };
  std::vector<Operand> operands;
  std::vector<Step> reductions;
  Program program;
  std::vector<DType> results;
  std::vector<bool> scalar_results;
  int64_t max_length = 0;  // bound of dims[1] when scratch for kept elements is needed
};

// What a kernel does with the numbers it has summed up before it stores them, as a matrix [m, n] of results. `full`
// operands lie like the results.
struct Epilogue {
  enum class Access : uint8_t { full, column, row, scalar };  // [m,n], [n], [m], []
  struct Operand {
    DType dtype;
    Access access;
    bool operator==(const Operand&) const = default;
  };
  std::vector<Operand> operands;
  std::vector<DType> results;
  Program program;  // first what the kernel has made, as its plan says, then the operands
};

// C[M,N] = epilogue(A[M,K] · W), batched. W is a constant laid out by prepack() (prepack.h), or an activation packed on
// the fly.
//   pointers  [0] A, [1] W, then epilogue operands, then results
//   dims      [0] M, [1] batches, [2] A batch stride, [3] W batch stride, [4] result batch stride (elements; W stride
//   0: shared),
//             [5] A row stride, [6] W row stride (activations only), [7] inner batches: batch = outer * inner + h,
//             [8] [9] [10] strides of the inner batch for A, W, result; then from [11] for each `full` operand its row
//             stride (0 = that of the result). `full` operands have the batch strides of the result; `row` ones hold
//             [batches, M]
//   items     batches * ceil(M / rows_per_block) * panel_items; see gemm_items()
//   program   arg 0 = the f32 sum over K; arg 1+i = epilogue operand i. Results are [M,N], row stride `n` unless
//   result_row_stride.
struct GemmPlan : Epilogue {
  enum class Weights : uint8_t {
    prepacked,
    activation_nk,
    activation_kn
  };  // rows of W are outputs (n,k) or inputs (k,n)
  int64_t n = 0, k = 0;
  DType a = DType::f32;  // f32 or bf16; products are exact in bf16 pairs, sums are f32
  Weights weights = Weights::prepacked;
  DType w = DType::f32;           // f32 or bf16 when not packed
  std::string w_format;           // canonical format string of packed weights, "" otherwise
  int64_t m_hint = 0;             // rows expected: chooses tile, loop order and where weights are decoded; not a limit
  int64_t m_remainder = -1;       // M % gemm_tile_rows() (gemm_shape.h) when known: fewer tails to generate; -1: any
  int64_t a_row_stride = 0;       // elements, when constant: faster addresses; 0: dims[5]
  int64_t result_row_stride = 0;  // elements; 0: n
};

// A window that moves over planes of x [images, height, width, channels]; a 1-D window has heights of 1. Elements
// outside the plane are zeros, or left out.
struct PlaneWindow {
  int64_t height = 1, width = 1, out_height = 1, out_width = 1;
  int64_t kernel_height = 1, kernel_width = 1, stride_y = 1, stride_x = 1, dilation_y = 1, dilation_x = 1;
  int64_t pad_top = 0, pad_left = 0;
  int64_t taps() const { return kernel_height * kernel_width; }
  std::string to_text() const;
};

// out[i,y,x,:] = epilogue(w · what the window sees of x at y, x), channels last, in `groups` separate groups of
// channels.
//   pointers  [0] x, [1] W as prepack() lays it out, then epilogue operands, then results
//   dims      [0] images * out_height * out_width, [1] images; from [11] on zeros, as for GemmPlan
//   items     blocks of output rows times panels of outputs; see conv_shape.h
struct ConvPlan {
  enum class Method : uint8_t { direct, winograd2, winograd4 };  // F(2x2,3x3), F(4x4,3x3)
  PlaneWindow window;
  int64_t groups = 1, channels = 1;  // of x, in one group
  Method method = Method::direct;
  GemmPlan product;  // of one group: n outputs, k = taps * channels in the order ky, kx, channel; the epilogue
};

// One number per channel from the elements under each place of a window on x [images, height, width, channels]; what
// lies outside the plane is left out. Results are [images * places, channels].
//   pointers  [0] x, [1] w (see prepack()) or null, then epilogue operands, then results
//   dims      [0] images
//   items     images * out_height * blocks of channels
//   program   arg 0 = the reduction, in the compute scalar of x; arg 1 = the taps that count, f32; arg 2+i = operand i
struct WindowPlan : Epilogue {
  enum class Reduction : uint8_t { sum, max, min, products };  // products: the sum of x * w
  PlaneWindow plane;
  int64_t channels = 1;
  DType x = DType::f32;
  Reduction reduction = Reduction::sum;
  std::string w_format;  // canonical format string of packed weights, decoded once a call; "" otherwise
  // Where arg 1 is read: taps that count in a window of each row of places, and of each column; it is their product.
  std::vector<int64_t> taps_down, taps_across;
};

// out[b,s,h,:] = softmax(scale · q[b,s,h,:]·k[b,t,h',:] + mask) · v, h' = h / (heads / kv_heads); q, k, v, out are [B,
// S or T, heads*head_dim].
//   pointers  [0] q, [1] k, [2] v, [3] mask or null, [4] out
//   dims      [0] B, [1] S, [2] T, [3] row stride of q, [4] of k, [5] of v, [6] of out (elements),
//             [7] [8] [9] mask strides for b, h, s (elements, 0 = broadcast; t is contiguous)
//   items     B * heads * ceil(S / rows_per_item); see attention_items()
struct AttentionPlan {
  int heads = 1, kv_heads = 1, head_dim = 64;
  DType dtype = DType::f32;  // of q, k, v: f32 or bf16
  DType result = DType::f32;
  bool has_mask = false, causal = false;
  float scale = 1;
  int64_t max_length = 0;  // bound of T: sizes the scratch
};

// out[i, :] = table[ids[i], :], decoded. The caller has checked that ids are in range (negative ones count from the
// end).
//   pointers  [0] table or codes plane, [1] scales plane or null, [2] ids, [3] out, [4] zero points or null,
//             [5] global scale or null
// Several tables of equal size lie one behind the other, and so do their results.
//   dims      [0] results: tables * ids, [1] rows of a table, [2] ids
//   items     results
struct GatherPlan {
  int64_t columns = 0;
  DType table = DType::f32;
  std::string table_format;  // canonical format string when packed
  int64_t rows = 0;          // of a packed table, on which the places of its codes and scales may depend
  DType ids = DType::i64;
  DType result = DType::f32;
};

// out[p, j, i] = x[p, i, j]: planes with rows and columns exchanged.
//   pointers  [0] x, [1] out
//   dims      [0] planes, [1] rows, [2] columns of a plane of x, then in elements the distance of planes of [3] x,
//             [4] out, of rows of [5] x, [6] out
//   items     planes * blocks of rows * blocks of columns
struct TransposePlan {
  int element_bytes = 4;          // 1, 2 or 4
  int64_t rows = 0, columns = 0;  // where fewer than fill a square; 0: as in dims
};

// out[i, y, x, :] = the weighted sum of the elements of x [images, height, width, channels] that row y and column x
// read, in f32.
//   pointers  [0] x, [1] out
//   dims      [0] images
//   items     images * places of rows
struct ResizePlan {
  // Place p reads positions [p * taps, (p + 1) * taps), with the weights beside them.
  struct Axis {
    int64_t taps = 1;
    std::vector<int64_t> positions;
    std::vector<float> weights;
    int64_t places() const { return std::ssize(positions) / taps; }
  };
  DType x = DType::f32, result = DType::f32;
  int64_t height = 1, width = 1, channels = 1;
  Axis rows, columns;
};

// Elements rounded to a number format, turned into its codes, or made from them. Where all elements share a scale, or a
// format has a value of the whole tensor, kernels with task `reduce` (one per stage) run first and leave parts for the
// others (quantise.h).
//   pointers  [0] x (unpack: codes), [1] results (pack: codes), [2] scale codes as u32 (unpack: scales as f32, NaN as
//             0x7fc00000), [3] zero points as u32 (unpack: as f32), [4] parts, f64,
//             [5] counts (i64) of NaN, infinity, saturated and flushed elements, added to
//   dims      [0] lines, [1] elements of a stretch, [2] from line to line and [6] from stretch to stretch in elements,
//             [3] groups of a line, [4] bytes of a line of codes, [5] stretches of a line, [7] bytes of a plane of
//             codes, [8] parts
//   items     segments where all elements are one span; lines; or lines * blocks of groups, as the format has it
struct QuantisePlan {
  enum class Task : uint8_t { round, reduce, pack, unpack } task = Task::round;
  int stage = 0;       // reduce
  std::string format;  // canonical
  DType x = DType::f32, result = DType::f32;
  bool counts = false;  // pack: of what could not be represented
};

using KernelPlan = std::variant<PointwisePlan, RowPlan, GemmPlan, ConvPlan, WindowPlan, AttentionPlan, GatherPlan,
                                TransposePlan, ResizePlan, QuantisePlan>;

std::string to_text(const KernelPlan& plan);         // canonical: equal plans have equal text
std::string_view kind_name(const KernelPlan& plan);  // "pointwise" "row" "gemm" ...
int64_t work_items(const KernelPlan& plan, const Target& target, const KernelArgs& args);

}  // namespace hone
