// Kernels of number formats: elements rounded to a format, turned into its codes, or made from them.
//
// A work item is a block of `lanes` groups, so that the expressions of scales run on full vectors: first the reductions
// of one group after the other, then all their scales at once, then the elements of one group after the other, which
// are still in the first-level cache. What a group's elements read lies in arrays on the stack in between. Sums are
// added in the order of the elements, as the reference does it.
#include <algorithm>
#include <bit>
#include <cmath>

#include "base/multiples.h"
#include "codegen/elements.h"
#include "codegen/llvm/code_stream.h"
#include "codegen/llvm/code_values.h"
#include "codegen/llvm/element_cost.h"
#include "codegen/llvm/emit.h"
#include "codegen/llvm/expr_emit.h"
#include "codegen/llvm/generate.h"
#include "codegen/quantise.h"
#include "codegen/quantise_programs.h"
#include "formats/packed.h"

namespace hone {
namespace {

using llvm::Value;
using Task = QuantisePlan::Task;
using Combine = QuantisePrograms::Combine;

constexpr uint32_t kInfinity = 0x7f800000, kMagnitude = 0x7fffffff;
constexpr int64_t kUnrolled = 8;  // vectors of a group that are emitted one after the other instead of as a loop

class QuantiseEmitter {
 public:
  QuantiseEmitter(Emitter& e, const QuantisePlan& plan)
      : e_(e),
        b_(e.b),
        plan_(plan),
        format_(parse_format(plan.format)),
        p_(quantise_programs(format_)),
        spans_(quantise_spans(format_)),
        group_(spans_ == QuantiseSpans::groups ? format_.geometry.columns : 0),
        planes_(is_residual(format_) ? p_.levels : 1),
        code_bits_(format_.element.bits / planes_) {
    if (unpacks()) meaning_ = code_meaning(format_);
  }

  void run(const std::string& symbol) {
    frame_ = e_.begin_kernel(symbol);
    for (int i = 0; i < 6; ++i) pointers_.push_back(e_.kernel_pointer(frame_, i));
    for (int i = 0; i < 9; ++i) dims_.push_back(e_.kernel_dim(frame_, i));
    make_slots();
    if (spans_ == QuantiseSpans::whole) run_whole();
    else run_blocks();
    if (plan_.counts) add_counts();
    e_.end_function();
  }

 private:
  Value* x() const { return pointers_[0]; }
  Value* length() const { return dims_[1]; }
  Value* parts() const { return dims_[8]; }
  bool rounds() const { return plan_.task == Task::round; }
  bool reduces() const { return plan_.task == Task::reduce; }
  bool unpacks() const { return plan_.task == Task::unpack; }
  bool has_scale() const { return p_.levels > 0; }
  // NaN and infinity make groups NaN, where there are groups and their elements are looked at.
  bool has_dirty() const { return !p_.reductions.empty() && format_.geometry.kind != Geometry::Kind::none; }
  size_t reductions() const { return p_.reductions.size(); }

  // ---- What is kept for each group of a block: arrays of `lanes` elements on the stack.
  void make_slots() {
    const auto slot = [&](llvm::Type* type) { return e_.stack(type, e_.lanes); };
    if (unpacks()) return;
    if (plan_.counts) {
      counts_ = slot(e_.i64);
      e_.store(llvm::Constant::getNullValue(e_.vec(e_.i64, 4)), counts_, 64);
    }
    for (size_t r = 0; r < reductions(); ++r) results_.push_back(slot(e_.f64));
    dirty_ = slot(e_.i32);
    if (reduces()) return;
    for (int v = 0; v < p_.values(); ++v) values_.push_back(slot(e_.f64));
    for (int l = 0; l < p_.levels + p_.has_zero_point; ++l) codes_.push_back(slot(e_.i32));
    for (size_t c = 0; c < p_.scales.size() && p_.scales.size() > 1; ++c) errors_.push_back(slot(e_.f64));
  }
  Value* f64_of(Value* slot, Value* j) { return e_.load(e_.f64, e_.at(slot, e_.times(j, 8)), 8); }
  Value* i32_of(Value* slot, Value* j) { return e_.load(e_.i32, e_.at(slot, e_.times(j, 4)), 4); }
  Value* f64s(Value* slot) { return e_.load(e_.vec(e_.f64), slot, 64); }

  // ---- Walks over elements.

  // then(carried) or otherwise(carried), by `condition`.
  template <class Then, class Otherwise>
  Values either(Value* condition, const Values& carried, Then then, Otherwise otherwise) {
    llvm::Function* function = b_.GetInsertBlock()->getParent();
    llvm::BasicBlock* yes = llvm::BasicBlock::Create(e_.context, "yes", function);
    llvm::BasicBlock* no = llvm::BasicBlock::Create(e_.context, "no", function);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(e_.context, "after", function);
    b_.CreateCondBr(condition, yes, no);
    b_.SetInsertPoint(yes);
    const Values first = then(carried);
    llvm::BasicBlock* yes_end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(no);
    const Values second = otherwise(carried);
    llvm::BasicBlock* no_end = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    Values merged;
    for (size_t i = 0; i < first.size(); ++i) {
      llvm::PHINode* phi = b_.CreatePHI(first[i]->getType(), 2);
      phi->addIncoming(first[i], yes_end);
      phi->addIncoming(second[i], no_end);
      merged.push_back(phi);
    }
    return merged;
  }

  // body(i, mask, stored, carried) for each vector of a stretch of `n` elements: `mask` (null: all) tells which exist,
  // `stored` (null: all lanes) how many codes are stored, which in a group includes its padding.
  template <class Body>
  Values vectors(Value* n, const Values& carried, Body body) {
    if (group_ == 0) return open_vectors(n, carried, body);
    return either(
        b_.CreateICmpEQ(n, e_.num(group_)), carried,
        [&](const Values& values) { return group_vectors(nullptr, values, body); },
        [&](const Values& values) { return group_vectors(n, values, body); });
  }

  template <class Body>
  Values open_vectors(Value* n, Values carried, Body body) {
    Value* full = b_.CreateAnd(n, e_.num(-e_.lanes));
    carried = e_.loop(e_.num(0), full, e_.lanes, carried,
                      [&](Value* i, const Values& values) { return body(i, nullptr, nullptr, values); });
    Value* rest = b_.CreateSub(n, full);
    return either(
        b_.CreateICmpSGT(rest, e_.num(0)), carried,
        [&](const Values& values) { return body(full, e_.tail_mask(rest), rest, values); },
        [&](const Values& values) { return values; });
  }

  // Of a group with padding: `n` elements exist (null: all).
  template <class Body>
  Values group_vectors(Value* n, Values carried, Body body) {
    const int64_t full = group_ / e_.lanes * e_.lanes, rest = group_ - full;
    const auto one = [&](Value* i, int64_t stored, const Values& values) {
      Value* mask = n ? e_.tail_mask(b_.CreateSub(n, i)) : stored < e_.lanes ? e_.tail_mask(e_.num(stored)) : nullptr;
      return body(i, mask, stored < e_.lanes ? e_.num(stored) : nullptr, values);
    };
    if (full / e_.lanes <= kUnrolled && !n) {
      for (int64_t i = 0; i < full; i += e_.lanes) carried = one(e_.num(i), e_.lanes, carried);
    } else {
      carried = e_.loop(e_.num(0), e_.num(full), e_.lanes, carried,
                        [&](Value* i, const Values& values) { return one(i, e_.lanes, values); });
    }
    return rest ? one(e_.num(full), rest, carried) : carried;
  }

  // The elements of a group: `first` of x on, `n` in each of its stretches. body(place in x, index in the group, mask,
  // stored, carried).
  template <class Body>
  Values elements(Value* first, Value* n, const Values& carried, Body body) {
    const auto stretch = [&](Value* start, Value* index, const Values& values) {
      return vectors(n, values, [&](Value* i, Value* mask, Value* stored, const Values& inner) {
        return body(b_.CreateAdd(start, i), b_.CreateAdd(index, i), mask, stored, inner);
      });
    };
    if (spans_ != QuantiseSpans::lines) return stretch(first, e_.num(0), carried);
    return e_.loop(e_.num(0), dims_[5], 1, carried, [&](Value* s, const Values& values) {
      return stretch(b_.CreateAdd(first, b_.CreateMul(s, dims_[6])), b_.CreateMul(s, n), values);
    });
  }

  Value* load_x(Value* place, Value* mask) {
    return e_.load_elements(plan_.x, e_.at(x(), e_.times(place, size_bytes(plan_.x))), mask);
  }

  // ---- Reductions.
  Value* identity(const QuantisePrograms::Reduction& r) {
    if (r.magnitude) return e_.c_i32(0);
    if (r.combine == Combine::sum) return llvm::ConstantFP::get(e_.f64, 0);
    return llvm::ConstantFP::getInfinity(e_.vec(e_.scalar_type(r.term.result_type(0))), r.combine == Combine::max);
  }
  // NaN never gets past a clean group; a dirty one's results are not looked at.
  Value* combine(Combine kind, Value* x, Value* y) {
    if (kind == Combine::sum) return b_.CreateFAdd(x, y);
    Value* first = kind == Combine::max ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y);
    return b_.CreateSelect(first, x, y);
  }
  Value* largest(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y); }
  Value* magnitudes(Value* x) { return b_.CreateAnd(e_.as(x, e_.v_i32), e_.c_i32(kMagnitude)); }

  // What is found of NaN and infinity: the largest magnitude's bits, where no reduction is just that.
  bool watches(size_t first, size_t last) const {
    return first == 0 && has_dirty() &&
           std::none_of(p_.reductions.begin(), p_.reductions.begin() + static_cast<ptrdiff_t>(last),
                        [](const auto& r) { return r.magnitude; });
  }

  // Results of a stage over elements, as scalars in f64; behind them whether one was not finite (an i32), where that
  // is found out in this stage.
  struct StageResults {
    Values results;
    Value* dirty = nullptr;
  };
  StageResults reduce_stage(size_t first, size_t last, Value* place, Value* n, const Values& earlier) {
    Values acc;
    for (size_t r = first; r < last; ++r) acc.push_back(identity(p_.reductions[r]));
    const bool watching = watches(first, last);
    if (watching) acc.push_back(e_.c_i32(0));
    acc = elements(place, n, acc, [&](Value* at, Value*, Value* mask, Value*, Values sums) {
      Value* x = load_x(at, mask);
      Values args{x};
      args.insert(args.end(), earlier.begin(), earlier.end());
      for (size_t r = first; r < last; ++r)
        sums[r - first] = add_elements(p_.reductions[r], args, mask, sums[r - first]);
      if (watching) sums.back() = largest(sums.back(), magnitudes(x));
      return sums;
    });
    StageResults out;
    for (size_t r = first; r < last; ++r) finish(p_.reductions[r], acc[r - first], out);
    if (watching) out.dirty = is_infinite(e_.reduce(acc.back(), [&](Value* x, Value* y) { return largest(x, y); }));
    return out;
  }

  Value* add_elements(const QuantisePrograms::Reduction& r, const Values& args, Value* mask, Value* sum) {
    if (r.magnitude) return largest(sum, magnitudes(args[0]));  // idle lanes are 0
    Value* term = emit_program(e_, r.term, args, nullptr)[0];
    if (r.combine == Combine::sum) {
      if (mask) term = b_.CreateSelect(mask, term, llvm::Constant::getNullValue(term->getType()));
      return b_.CreateFAddReduce(sum, term);  // one after the other
    }
    if (mask) term = b_.CreateSelect(mask, term, identity(r));
    return combine(r.combine, term, sum);
  }

  void finish(const QuantisePrograms::Reduction& r, Value* sum, StageResults& out) {
    if (r.magnitude) {
      Value* bits = e_.reduce(sum, [&](Value* x, Value* y) { return largest(x, y); });
      if (has_dirty()) out.dirty = is_infinite(bits);
      out.results.push_back(b_.CreateFPExt(b_.CreateBitCast(bits, e_.f32), e_.f64));
      return;
    }
    if (r.combine != Combine::sum) sum = e_.reduce(sum, [&](Value* x, Value* y) { return combine(r.combine, x, y); });
    out.results.push_back(sum->getType() == e_.f64 ? sum : b_.CreateFPExt(sum, e_.f64));
  }
  Value* is_infinite(Value* bits) { return b_.CreateZExt(b_.CreateICmpUGE(bits, b_.getInt32(kInfinity)), e_.i32); }

  // All reductions of group `j` of a block, into the slots.
  void reduce_group(Value* j, Value* place, Value* n) {
    Values earlier;
    for (size_t first = 0; first < reductions();) {
      const size_t last = p_.end_of_stage(first);
      const StageResults stage = reduce_stage(first, last, place, n, earlier);
      for (size_t r = first; r < last; ++r) {
        e_.store(stage.results[r - first], e_.at(results_[r], e_.times(j, 8)), 8);
        earlier.push_back(e_.splat(stage.results[r - first]));
      }
      if (stage.dirty) e_.store(stage.dirty, e_.at(dirty_, e_.times(j, 4)), 4);
      first = last;
    }
  }

  // ---- Scales of all groups of a block at once.
  struct GroupVectors {
    Values results;  // with the global value
    Value* dirty = nullptr;
  };
  GroupVectors group_vectors_of_slots() {
    GroupVectors g;
    for (Value* slot : results_) g.results.push_back(f64s(slot));
    if (global_) g.results.push_back(e_.splat(global_));
    if (has_dirty()) g.dirty = b_.CreateICmpNE(e_.load(e_.v_i32, dirty_, 64), e_.c_i32(0));
    return g;
  }

  Values candidate(const GroupVectors& g, size_t index) {
    Values out = emit_program(e_, p_.scales[index], g.results, nullptr);
    for (size_t i = 0; i < out.size(); ++i) {
      Value*& value = out[i];
      const bool is_code = value->getType() == e_.v_i32, is_scale_code = i < static_cast<size_t>(p_.levels);
      const bool is_zero =
          p_.has_zero_point && (i == 2 * static_cast<size_t>(p_.levels) || i == 1 + 2 * static_cast<size_t>(p_.levels));
      llvm::Type* type = value->getType();
      Value* replacement = is_code ? static_cast<Value*>(e_.c_i32(is_scale_code ? p_.nan_code : 0))
                                   : llvm::ConstantFP::get(type, is_zero ? 0.0 : 1.0);
      value = b_.CreateSelect(g.dirty, replacement, value);
    }
    return out;
  }

  // A candidate's outputs (QuantisePrograms::scales) to the slots that elements read.
  void store_candidate(const Values& out) {
    const auto levels = static_cast<size_t>(p_.levels);
    for (size_t l = 0; l < levels; ++l) e_.store(out[l], codes_[l], 64), e_.store(out[levels + l], values_[l], 64);
    if (p_.has_zero_point)
      e_.store(out[2 * levels], codes_[levels], 64), e_.store(out[2 * levels + 1], values_[levels], 64);
    for (int r = 0; r < p_.reciprocals; ++r) {
      const size_t back = static_cast<size_t>(p_.reciprocals - r);
      e_.store(out[out.size() - back], values_[values_.size() - back], 64);
    }
  }

  // For each group j < count: its first place in x and its elements.
  struct Block {
    Value *line, *first_group, *count, *place, *left;  // `left`: elements of the line from the first group on
  };
  template <class Body>
  void groups(const Block& block, Body body) {
    if (spans_ != QuantiseSpans::groups) return body(e_.num(0), block.place, block.left);
    e_.loop(e_.num(0), block.count, 1, {}, [&](Value* j, const Values&) {
      Value* before = e_.times(j, group_);
      Value* left = b_.CreateSub(block.left, before);
      Value* n = b_.CreateSelect(b_.CreateICmpSLT(left, e_.num(group_)), left, e_.num(group_));
      body(j, b_.CreateAdd(block.place, before), n);
      return Values{};
    });
  }

  void choose_scales(const Block& block) {
    const GroupVectors g = group_vectors_of_slots();
    const int first_result = p_.levels + p_.has_zero_point;
    for (size_t r = 0; r < g.results.size(); ++r) {
      Value* zero = llvm::Constant::getNullValue(g.results[r]->getType());
      e_.store(g.dirty ? b_.CreateSelect(g.dirty, zero, g.results[r]) : g.results[r],
               values_[static_cast<size_t>(first_result) + r], 64);
    }
    if (!has_scale()) return;
    Values best = candidate(g, 0);
    store_candidate(best);
    if (p_.scales.size() == 1) return;
    Value* smallest = squared_errors(block, 0);
    for (size_t c = 1; c < p_.scales.size(); ++c) {
      const Values other = candidate(g, c);
      store_candidate(other);
      Value* error = squared_errors(block, c);
      Value* better = b_.CreateFCmpOLT(error, smallest);
      smallest = b_.CreateSelect(better, error, smallest);
      for (size_t i = 0; i < best.size(); ++i) best[i] = b_.CreateSelect(better, other[i], best[i]);
    }
    store_candidate(best);
  }

  Value* squared_errors(const Block& block, size_t candidate) {
    groups(block, [&](Value* j, Value* place, Value* n) {
      const Values values = values_of(j, p_.error);
      const Values sum = elements(place, n, {llvm::ConstantFP::get(e_.f64, 0)},
                                  [&](Value* at, Value*, Value* mask, Value*, const Values& sums) {
                                    Value* term = element(p_.error, load_x(at, mask), values)[0];
                                    if (mask)
                                      term = b_.CreateSelect(mask, term, llvm::Constant::getNullValue(term->getType()));
                                    return Values{b_.CreateFAddReduce(sums[0], term)};
                                  });
      e_.store(sum[0], e_.at(errors_[candidate], e_.times(j, 8)), 8);
    });
    return f64s(errors_[candidate]);
  }

  // ---- Elements.

  // What a program reads of group `j`, in every lane; the first position is the element's.
  Values values_of(Value* j, const Program& program) {
    Values args{nullptr};
    for (size_t v = 0; v < values_.size(); ++v)
      args.push_back(reads_argument(program, 1 + static_cast<int>(v)) ? e_.splat(f64_of(values_[v], j)) : nullptr);
    known_ = emit_invariants(e_, program, args);
    return args;
  }
  Values element(const Program& program, Value* x, Values args) {
    args[0] = x;
    return emit_program(e_, program, args, nullptr, known_);
  }
  Value* is_dirty(Value* j) {
    return has_dirty() ? e_.splat(b_.CreateICmpNE(i32_of(dirty_, j), b_.getInt32(0))) : nullptr;
  }

  // Lanes where `condition` holds, added to count `which` of this call.
  void count(int which, Value* condition, Value* mask) {
    if (mask) condition = b_.CreateAnd(condition, mask);
    Value* bits = b_.CreateBitCast(condition, b_.getIntNTy(static_cast<unsigned>(e_.lanes)));
    Value* lanes = b_.CreateZExt(b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, bits), e_.i64);
    Value* at = e_.at(counts_, 8 * which);
    e_.store(b_.CreateAdd(e_.load(e_.i64, at, 8), lanes), at, 8);
  }

  void count_losses(Value* x, const Values& lost, Value* mask, Value* dirty) {
    count(0, b_.CreateFCmpUNO(x, x), mask);
    count(1, b_.CreateICmpEQ(magnitudes(x), e_.c_i32(kInfinity)), mask);
    for (int i = 1; i < 3; ++i) {
      Value* of_clean = lost[static_cast<size_t>(i)];
      count(1 + i, dirty ? b_.CreateAnd(of_clean, b_.CreateNot(dirty)) : of_clean, mask);
    }
  }

  void add_counts() {
    for (int which = 0; which < 4; ++which)
      b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, e_.at(pointers_[5], 8 * which),
                         e_.load(e_.i64, e_.at(counts_, 8 * which), 8), llvm::MaybeAlign(8),
                         llvm::AtomicOrdering::Monotonic);
  }

  // Elements of group `j`; their codes, if any, start at `codes`.
  void quantise_group(Value* j, Value* place, Value* n, Value* codes) {
    const Program& program = rounds() ? p_.rounded : plan_.counts ? p_.counted : p_.code;
    const Values values = values_of(j, program);
    Value* dirty = is_dirty(j);
    elements(place, n, {}, [&](Value* at, Value* index, Value* mask, Value* stored, const Values&) {
      Value* x = load_x(at, mask);
      const Values made = element(program, x, values);
      Value* y = made[0];
      if (plan_.counts) count_losses(x, made, mask, dirty);
      if (dirty) y = b_.CreateSelect(dirty, rounds() ? static_cast<Value*>(e_.c_f32(std::nan(""))) : e_.c_i32(0), y);
      if (rounds())
        e_.store_elements(y, plan_.result, e_.at(pointers_[1], e_.times(at, size_bytes(plan_.result))), mask);
      else store(y, codes, index, mask, stored);
      return Values{};
    });
  }

  Value* code_place(Value* codes, Value* index, int plane) {
    Value* at = e_.at(codes, b_.CreateLShr(e_.times(index, code_bits_), e_.num(3)));
    return plane ? e_.at(at, e_.times(dims_[7], plane)) : at;
  }

  void store(Value* code, Value* codes, Value* index, Value* mask, Value* stored) {
    // What is encoded as 0 is the padding that formats ask for, but for residual signs.
    if (mask && (group_ == 0 || planes_ > 1)) code = b_.CreateSelect(mask, code, e_.c_i32(0));
    for (int plane = 0; plane < planes_; ++plane) {
      Value* own = code;
      if (planes_ > 1) own = b_.CreateAnd(b_.CreateLShr(code, e_.c_i32(static_cast<uint32_t>(plane))), e_.c_i32(1));
      store_codes(e_, own, code_place(codes, index, plane), code_bits_, stored);
    }
  }

  // The scale codes of group `j` and its zero point, as they are, to entry `number`.
  void store_scales(Value* j, Value* number) {
    for (int l = 0; l < p_.levels; ++l)
      e_.store(i32_of(codes_[static_cast<size_t>(l)], j),
               e_.at(pointers_[2], e_.times(b_.CreateAdd(e_.times(number, p_.levels), e_.num(l)), 4)), 4);
    if (p_.has_zero_point) e_.store(i32_of(codes_.back(), j), e_.at(pointers_[3], e_.times(number, 4)), 4);
  }

  // ---- Decoding.
  void unpack_group(Value* number, Value* place, Value* n, Value* codes) {
    const auto number_at = [&](int pointer, Value* entry) {
      return e_.load_broadcast(DType::f32, e_.at(pointers_[static_cast<size_t>(pointer)], e_.times(entry, 4)));
    };
    Values scales;
    for (int l = 0; l < p_.levels; ++l)
      scales.push_back(number_at(2, b_.CreateAdd(e_.times(number, p_.levels), e_.num(l))));
    Value* zero = p_.has_zero_point ? number_at(3, number) : nullptr;
    CodeValues decoder(e_, format_, meaning_, p_, scales, zero);
    vectors(n, {}, [&](Value* i, Value* mask, Value* stored, const Values&) {
      Value* code = nullptr;
      for (int plane = 0; plane < planes_; ++plane) {
        Value* bits = load_codes(e_, code_place(codes, i, plane), code_bits_, stored);
        if (plane) bits = b_.CreateOr(code, b_.CreateShl(bits, e_.c_i32(static_cast<uint32_t>(plane))));
        code = bits;
      }
      Value* at = e_.at(pointers_[1], e_.times(b_.CreateAdd(place, i), size_bytes(plan_.result)));
      decoder.store(code, plan_.result, at, mask);
      return Values{};
    });
  }

  // ---- Formats whose groups are found in lines.
  void run_blocks() {
    if (p_.has_global && !reduces() && !unpacks()) global_ = global_value();
    Value* per_line = spans_ == QuantiseSpans::lines
                          ? e_.num(1)
                          : b_.CreateSDiv(b_.CreateAdd(dims_[3], e_.num(e_.lanes - 1)), e_.num(e_.lanes));
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Block block;
      block.line = b_.CreateUDiv(item, per_line);
      block.first_group = e_.times(b_.CreateURem(item, per_line), e_.lanes);
      Value* groups_left = b_.CreateSub(dims_[3], block.first_group);
      block.count = b_.CreateSelect(b_.CreateICmpSLT(groups_left, e_.num(e_.lanes)), groups_left, e_.num(e_.lanes));
      Value* before = e_.times(block.first_group, group_);
      block.place = b_.CreateAdd(b_.CreateMul(block.line, dims_[2]), before);
      block.left = b_.CreateSub(length(), before);
      run_block(item, block);
      return Values{};
    });
  }

  void run_block(Value* item, const Block& block) {
    const auto number_of = [&](Value* j) {
      return b_.CreateAdd(b_.CreateMul(block.line, dims_[3]), b_.CreateAdd(block.first_group, j));
    };
    const auto codes_of = [&](Value* j) {
      Value* line = e_.at(pointers_[unpacks() ? 0 : 1], b_.CreateMul(block.line, dims_[4]));
      return e_.at(line, e_.times(b_.CreateAdd(block.first_group, j), group_ * code_bits_ / 8));
    };
    if (unpacks())
      return groups(block,
                    [&](Value* j, Value* place, Value* n) { unpack_group(number_of(j), place, n, codes_of(j)); });
    groups(block, [&](Value* j, Value* place, Value* n) { reduce_group(j, place, n); });
    if (reduces()) return reduce_block(item, block);
    choose_scales(block);
    groups(block, [&](Value* j, Value* place, Value* n) {
      if (!rounds()) store_scales(j, number_of(j));
      quantise_group(j, place, n, rounds() ? nullptr : codes_of(j));
    });
  }

  // One part of the global value: of the clean groups of a block.
  void reduce_block(Value* item, const Block& block) {
    const GroupVectors g = group_vectors_of_slots();
    Value* term = emit_program(e_, p_.global_term, g.results, nullptr)[0];
    Value* counts = b_.CreateAnd(e_.tail_mask(block.count), b_.CreateNot(g.dirty));
    term = b_.CreateSelect(counts, term, identity_of(p_.global_combine, term->getType()));
    Value* part = e_.reduce(term, [&](Value* x, Value* y) { return combine(p_.global_combine, x, y); });
    e_.store(part, e_.at(pointers_[4], e_.times(item, 8)), 8);
  }

  llvm::Constant* identity_of(Combine kind, llvm::Type* type) {
    if (kind == Combine::sum) return llvm::ConstantFP::get(type, 0);
    return llvm::ConstantFP::getInfinity(type, kind == Combine::max);
  }

  // ---- Parts, which `reduce` kernels have left: entry `slot * parts + i`.
  Value* combine_parts(int slot, Combine kind) {
    Value* first = e_.at(pointers_[4], e_.times(b_.CreateMul(e_.num(slot), parts()), 8));
    if (kind == Combine::sum)
      return e_.loop(e_.num(0), parts(), 1, {llvm::ConstantFP::get(e_.f64, 0)},
                     [&](Value* i, const Values& sum) { return Values{b_.CreateFAdd(sum[0], f64_of(first, i))}; })[0];
    llvm::Type* type = e_.vec(e_.f64);
    llvm::Constant* none = identity_of(kind, type);
    Value* all = e_.loop(e_.num(0), parts(), e_.lanes, {none}, [&](Value* i, const Values& best) {
      Value* mask = e_.tail_mask(b_.CreateSub(parts(), i));
      Value* part = b_.CreateMaskedLoad(type, e_.at(first, e_.times(i, 8)), llvm::Align(8), mask, none);
      return Values{combine(kind, part, best[0])};
    })[0];
    return e_.reduce(all, [&](Value* x, Value* y) { return combine(kind, x, y); });
  }

  Value* global_value() {
    const Values args{e_.splat(combine_parts(0, p_.global_combine))};
    return b_.CreateExtractElement(emit_program(e_, p_.global_value, args, nullptr)[0], uint64_t{0});
  }

  // ---- Formats with one group in all, or none: segments of one line.
  void run_whole() {
    const int64_t segment = quantise_segment(plan_, p_);
    if (reduces()) return reduce_whole(segment);
    if (!unpacks()) {
      Values earlier;
      for (size_t r = 0; r < reductions(); ++r)
        e_.store(e_.splat(combine_parts(static_cast<int>(r), p_.reductions[r].combine)), results_[r], 64);
      if (has_dirty()) {
        Value* dirty = combine_parts(static_cast<int>(reductions()), Combine::max);
        Value* any = b_.CreateZExt(b_.CreateFCmpOGT(dirty, llvm::ConstantFP::get(e_.f64, 0)), e_.i32);
        e_.store(e_.splat(any), dirty_, 64);
      }
      if (global_in_whole()) global_ = global_value_of_slots();
      choose_scales({});
    }
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value* place = e_.times(item, segment);
      Value* left = b_.CreateSub(length(), place);
      Value* n = b_.CreateSelect(b_.CreateICmpSLT(left, e_.num(segment)), left, e_.num(segment));
      if (unpacks()) {
        unpack_group(e_.num(0), place, n, code_place(pointers_[0], place, 0));
      } else {
        if (!rounds() && has_scale())
          e_.when(b_.CreateICmpEQ(item, e_.num(0)), [&] { store_scales(e_.num(0), e_.num(0)); });
        quantise_group(e_.num(0), place, n, rounds() ? nullptr : code_place(pointers_[1], place, 0));
      }
      return Values{};
    });
  }

  // With one group in all, the global value follows from its results.
  bool global_in_whole() const { return p_.has_global; }
  Value* global_value_of_slots() {
    Values results;
    for (Value* slot : results_) results.push_back(f64s(slot));
    const Values term = emit_program(e_, p_.global_term, results, nullptr);
    return b_.CreateExtractElement(emit_program(e_, p_.global_value, term, nullptr)[0], uint64_t{0});
  }

  void reduce_whole(int64_t segment) {
    Values earlier;
    size_t first = 0, last = p_.end_of_stage(0);
    for (int stage = 0; stage < plan_.stage; ++stage) {
      for (size_t r = first; r < last; ++r)
        earlier.push_back(e_.splat(combine_parts(static_cast<int>(r), p_.reductions[r].combine)));
      first = last, last = p_.end_of_stage(first);
    }
    e_.loop(frame_.begin, frame_.end, 1, {}, [&](Value* item, const Values&) {
      Value* place = e_.times(item, segment);
      Value* left = b_.CreateSub(length(), place);
      Value* n = b_.CreateSelect(b_.CreateICmpSLT(left, e_.num(segment)), left, e_.num(segment));
      const StageResults stage = reduce_stage(first, last, place, n, earlier);
      const auto put = [&](size_t slot, Value* value) {
        Value* entry = b_.CreateAdd(b_.CreateMul(e_.num(static_cast<int64_t>(slot)), parts()), item);
        e_.store(value, e_.at(pointers_[4], e_.times(entry, 8)), 8);
      };
      for (size_t r = first; r < last; ++r) put(r, stage.results[r - first]);
      if (stage.dirty) put(reductions(), b_.CreateUIToFP(stage.dirty, e_.f64));
      return Values{};
    });
  }

  Emitter& e_;
  llvm::IRBuilder<>& b_;
  const QuantisePlan& plan_;
  const Format format_;
  const QuantisePrograms p_;
  const QuantiseSpans spans_;
  const int64_t group_;  // elements of a group, where lines have several
  const int planes_, code_bits_;
  CodeMeaning meaning_;
  KernelFrame frame_{};
  Values pointers_, dims_;
  Values results_, values_, codes_, errors_, known_;
  Value *dirty_ = nullptr, *global_ = nullptr, *counts_ = nullptr;
};

}  // namespace

namespace kernels {

Refusal supports(const QuantisePlan& plan, IsaLevel) {
  for (DType dtype : {plan.x, plan.result})
    if (compute_scalar(dtype) != Scalar::f32) return {fmt::format("elements of type {}", to_string(dtype))};
  return {};
}

KernelNeeds needs(const QuantisePlan& plan, IsaLevel isa) {
  const Format format = parse_format(plan.format);
  const QuantisePrograms programs = quantise_programs(format);
  const int64_t lanes = isa >= IsaLevel::avx512 ? 16 : 8;
  double ns = plan.task == QuantisePlan::Task::unpack ? 0.4 : element_ns(programs.rounded, 2, isa);
  for (const QuantisePrograms::Reduction& r : programs.reductions) ns += element_ns(r.term, 1, isa);
  double elements = 4096;
  if (quantise_spans(format) == QuantiseSpans::whole) elements = static_cast<double>(quantise_segment(plan, programs));
  if (quantise_spans(format) == QuantiseSpans::groups) elements = static_cast<double>(lanes * format.geometry.columns);
  return {0, std::max<int64_t>(1, static_cast<int64_t>(20000 / (ns * elements + 10)))};
}

int64_t items(const QuantisePlan& plan, IsaLevel isa, const KernelArgs& args) {
  const Format format = parse_format(plan.format);
  switch (quantise_spans(format)) {
    case QuantiseSpans::whole:
      return ceil_div(args.dims[1], quantise_segment(plan, quantise_programs(format)));
    case QuantiseSpans::lines:
      return args.dims[0];
    case QuantiseSpans::groups:
      return args.dims[0] * ceil_div(args.dims[3], int64_t{isa >= IsaLevel::avx512 ? 16 : 8});
  }
  CHECK(false);
}

void emit(Emitter& e, const QuantisePlan& plan, const std::string& symbol, int) {
  QuantiseEmitter(e, plan).run(symbol);
}

}  // namespace kernels
}  // namespace hone
