// What the parts of bench_kernels share: its options and figures, and how plans become kernels that run on made-up
// data.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/philox.h"
#include "device/x86/compiler.h"
#include "device/x86/gemm/shape.h"
#include "formats/packed.h"
#include "ir/tensor.h"

namespace hone {

struct KernelBench {
  std::vector<std::string> only;
  int rounds = 40;
  bool every_format = false;
  bool cold = false;
  Json measured = Json::array();

  bool skips(const std::string& name) const {
    return !only.empty() && std::none_of(only.begin(), only.end(), [&](const std::string& wanted) {
      return name.find(wanted) != std::string::npos;
    });
  }
};

// What kernels are made for: this CPU, or as much of it as --isa says.
inline X86Target& bench_target() {
  static X86Target target = host_target();
  return target;
}

// Products with one row, and everything that is asked of packed formats (weight_streams.cc).
void time_gemv(KernelBench& bench, int64_t n, int64_t k, DType type, const std::string& format);
void time_packed_formats(KernelBench& bench);
// Products of codes with scales of blocks (block_products.cc).
void time_block_products(KernelBench& bench);

struct Compiled {
  explicit Compiled(const KernelPlan& p) : plan(p), library(bench_target(), CompilerOptions{.cache_folder = {}}) {
    kernel = function_of(library.compile(std::span(&plan, 1))[0]);
    milliseconds = library.statistics().milliseconds;
    spilled = library.statistics().spilled;
  }
  Launch prepare(KernelArgs& args) {
    const Launch call = launch(plan, bench_target(), args);
    scratch = Buffer(static_cast<size_t>(call.scratch_bytes) + 64);
    return call;
  }
  void run(const KernelArgs& args, int64_t items) { kernel(&args, 0, items, scratch.mutable_bytes().data()); }

  KernelPlan plan;
  X86Compiler library;
  KernelFn kernel = nullptr;
  double milliseconds = 0;
  int spilled = 0;
  Buffer scratch;
};

inline std::byte* bytes_of(const Tensor& t) { return const_cast<std::byte*>(t.data().bytes().data()); }

inline Tensor random_tensor(DType dtype, std::vector<int64_t> shape) {
  Philox rng(1);
  const float most = is_float(dtype) ? 1 : 127;
  std::vector<float> values(static_cast<size_t>(element_count(shape)));
  for (float& v : values) v = rng.uniform(-most, most);
  return Tensor::from_floats(dtype, std::move(shape), values);
}

// Panels of weights; cold: copies that together exceed the caches, one after the other.
class LaidOut {
 public:
  LaidOut(const Buffer& panels, bool cold) : copies_{panels} {
    constexpr size_t kBytes = size_t{96} << 20;
    while (cold && copies_.size() * panels.bytes().size() < kBytes) copies_.push_back(copied(panels));
  }
  std::byte* next() const {
    next_ = (next_ + 1) % copies_.size();
    return const_cast<std::byte*>(copies_[next_].bytes().data());
  }

 private:
  static Buffer copied(const Buffer& from) {
    Buffer to(from.bytes().size());
    std::ranges::copy(from.bytes(), to.mutable_bytes().data());
    return to;
  }
  std::vector<Buffer> copies_;
  mutable size_t next_ = 0;
};

// Of a linear layer: in `format`, or of `type` where that is empty.
inline Tensor random_weights(int64_t n, int64_t k, DType type, const std::string& format) {
  Tensor w = random_tensor(format.empty() ? type : DType::f32, {n, k});
  return format.empty() ? w : pack(parse_format(format), w);
}

// A linear layer without bias; of codes with a scale for each output.
inline X86GemmPlan linear_plan(int64_t n, int64_t k, DType type, const std::string& format) {
  X86GemmPlan plan;
  plan.n = n, plan.k = k, plan.a = plan.w = type, plan.w_format = format;
  plan.results = {DType::f32};
  plan.program = flatten(Expr::arg(0, Scalar::f32));
  if (is_float(type)) return plan;
  plan.operands = {{DType::f32, X86GemmPlan::Access::column}};
  plan.program = flatten(cast(Scalar::f32, Expr::arg(0, Scalar::i32)) * Expr::arg(1, Scalar::f32));
  return plan;
}
inline X86GemmPlan linear_plan(int64_t n, int64_t k, DType type, const std::string& format, int64_t m) {
  X86GemmPlan plan = linear_plan(n, k, type, format);
  plan.a_row_stride = k;
  plan.rows = only_rows(plan, bench_target(), m);
  return plan;
}

}  // namespace hone
