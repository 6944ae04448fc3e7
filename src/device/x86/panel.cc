#include "device/x86/panel.h"

#include <algorithm>
#include <utility>

#include "device/x86/copy.h"
#include "device/x86/square.h"

namespace hone {
namespace {

using llvm::Value;

class Packer {
 public:
  Packer(X86Emitter& e, const PackSpec& spec, llvm::Function* f)
      : e_(e),
        s_(spec),
        w_(f->getArg(0)),
        row_bytes_(f->getArg(1)),
        k_(f->getArg(2)),
        columns_(f->getArg(3)),
        out_(f->getArg(4)) {}

  // Rows of W are rows of the panel.
  void run_kn() {
    const int64_t columns = int64_t{s_.vectors} * e_.lanes;
    e_.when(e_.b.CreateICmpSGE(columns_, e_.num(columns)),
            [&] { kn_rows(Values(static_cast<size_t>(s_.vectors), nullptr)); });
    e_.when(e_.b.CreateICmpSLT(columns_, e_.num(columns)), [&] {
      Values masks;
      for (int v = 0; v < s_.vectors; ++v)
        masks.push_back(e_.tail_mask(e_.b.CreateSub(columns_, e_.num(int64_t{v} * e_.lanes))));
      kn_rows(masks);
    });
  }

  // Rows of W are columns of the panel: squares of lanes x lanes 32-bit elements are transposed in registers, what does
  // not fill a square goes element by element.
  void run_nk() {
    e_.loop(e_.num(0), e_.num(s_.vectors), 1, {}, [&](Value* v, const Values&) {
      Value* first = e_.times(v, e_.lanes);
      Value* rows = e_.at(w_, e_.b.CreateMul(first, row_bytes_));
      Value* out = e_.at(out_, e_.times(v, vector_bytes()));
      Value* left = e_.b.CreateSub(columns_, first);
      Value* squares = e_.b.CreateSelect(e_.b.CreateICmpSGE(left, e_.num(e_.lanes)),
                                         e_.b.CreateUDiv(k_, e_.num(square_k())), e_.num(0));
      e_.loop(e_.num(0), squares, 1, {}, [&](Value* i, const Values&) {
        square(e_.at(rows, e_.times(i, e_.lanes * 4)), e_.at(out, e_.times(i, square_rows() * row_bytes())));
        return Values{};
      });
      nk_elements(rows, out, e_.times(squares, square_k()), left);
      return Values{};
    });
  }

 private:
  int64_t vector_bytes() const { return int64_t{e_.lanes} * 4; }
  int64_t row_bytes() const { return s_.vectors * vector_bytes(); }
  bool pairs() const { return s_.panel == PanelType::pairs; }
  int64_t square_k() const { return e_.lanes * (s_.w == DType::bf16 ? 2 : 1); }  // k in a square
  int64_t square_rows() const { return pairs() ? e_.lanes : square_k(); }        // panel rows it becomes

  void kn_rows(const Values& masks) {
    if (!pairs()) {
      e_.loop(e_.num(0), k_, 1, {}, [&](Value* k, const Values&) {
        for (int v = 0; v < s_.vectors; ++v) store_row(k, v, kn_vector(k, v, masks));
        return Values{};
      });
      return;
    }
    Value* whole = e_.b.CreateLShr(k_, e_.num(1));
    e_.loop(e_.num(0), whole, 1, {}, [&](Value* pair, const Values&) {
      Value* k = e_.b.CreateShl(pair, e_.num(1));
      for (int v = 0; v < s_.vectors; ++v) {
        Value* high = kn_vector(e_.b.CreateAdd(k, e_.num(1)), v, masks);
        store_row(pair, v, e_.join_pair(kn_vector(k, v, masks), high));
      }
      return Values{};
    });
    e_.when(e_.b.CreateICmpNE(e_.b.CreateAnd(k_, e_.num(1)), e_.num(0)), [&] {
      for (int v = 0; v < s_.vectors; ++v)
        store_row(whole, v, e_.join_pair(kn_vector(e_.b.CreateShl(whole, e_.num(1)), v, masks), e_.c_f32(0)));
    });
  }
  Value* kn_vector(Value* k, int v, const Values& masks) {
    Value* p = e_.at(e_.at(w_, e_.b.CreateMul(k, row_bytes_)), int64_t{v} * e_.lanes * size_bytes(s_.w));
    return e_.load_elements(s_.w, p, masks[static_cast<size_t>(v)]);
  }
  void store_row(Value* row, int v, Value* x) {
    e_.store(e_.as(x, e_.v_i32), e_.at(e_.at(out_, e_.times(row, row_bytes())), v * vector_bytes()), e_.lanes * 4);
  }

  void square(Value* in, Value* out) {
    Values rows;
    for (int r = 0; r < e_.lanes; ++r) rows.push_back(e_.load(e_.v_i32, e_.at(in, e_.times(row_bytes_, r))));
    rows = transpose_square(e_, std::move(rows));
    for (int r = 0; r < e_.lanes; ++r) {
      Value* row = rows[static_cast<size_t>(r)];
      if (s_.w == DType::bf16 && !pairs()) {
        const auto [first, second] = e_.split_pair(row);
        e_.store(first, e_.at(out, 2 * r * row_bytes()), e_.lanes * 4);
        e_.store(second, e_.at(out, (2 * r + 1) * row_bytes()), e_.lanes * 4);
      } else {
        e_.store(row, e_.at(out, r * row_bytes()), e_.lanes * 4);
      }
    }
  }

  // Elements [from, k) of the `lanes` columns at `rows`, of which `left` are valid.
  void nk_elements(Value* rows, Value* out, Value* from, Value* left) {
    const int64_t size = size_bytes(s_.w);
    Value* bound = pairs() ? e_.b.CreateAnd(e_.b.CreateAdd(k_, e_.num(1)), e_.num(~int64_t{1})) : k_;
    e_.loop(from, bound, 1, {}, [&](Value* k, const Values&) {
      e_.loop(
          e_.num(0), e_.num(e_.lanes), 1, {},
          [&](Value* n, const Values&) {
            Value* row = pairs() ? e_.b.CreateLShr(k, e_.num(1)) : k;
            Value* to = e_.at(e_.at(out, e_.times(row, row_bytes())), e_.times(n, 4));
            if (pairs()) to = e_.at(to, e_.times(e_.b.CreateAnd(k, e_.num(1)), 2));
            Value* valid = e_.b.CreateAnd(e_.b.CreateICmpSLT(n, left), e_.b.CreateICmpSLT(k, k_));
            e_.store(llvm::Constant::getNullValue(pairs() ? e_.i16 : e_.i32), to, 2);
            e_.when(valid, [&] {
              Value* p = e_.at(e_.at(rows, e_.b.CreateMul(n, row_bytes_)), e_.times(k, size));
              Value* x = e_.load(size == 2 ? e_.i16 : e_.i32, p, static_cast<int>(size));
              if (size == 2 && !pairs()) x = e_.b.CreateShl(e_.b.CreateZExt(x, e_.i32), 16);
              e_.store(x, to, 2);
            });
            return Values{};
          },
          true);
      return Values{};
    });
  }

  X86Emitter& e_;
  const PackSpec& s_;
  Value *w_, *row_bytes_, *k_, *columns_, *out_;
};

llvm::Function* begin_pack(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  CHECK(spec.panel == PanelType::f32 || spec.w == DType::bf16);
  llvm::Type* const params[] = {e.ptr, e.i64, e.i64, e.i64, e.ptr};
  llvm::Function* f = e.begin_function(symbol, e.b.getVoidTy(), params, false);
  allow_spills(f);
  return f;
}

}  // namespace

llvm::Function* emit_pack_kn(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  llvm::Function* f = begin_pack(e, symbol, spec);
  Packer(e, spec, f).run_kn();
  e.end_function();
  return f;
}

llvm::Function* emit_pack_nk(X86Emitter& e, const std::string& symbol, const PackSpec& spec) {
  llvm::Function* f = begin_pack(e, symbol, spec);
  Packer(e, spec, f).run_nk();
  e.end_function();
  return f;
}

}  // namespace hone
