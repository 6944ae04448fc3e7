#include "device/cuda/quantize/emit.h"

#include <cmath>
#include <limits>

#include "device/cuda/code_words.h"
#include "device/cuda/quantize/units.h"
#include "device/llvm/expr_emit.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "kernels/program_uses.h"

namespace hone {
namespace {

using llvm::Value;
using A = QuantizeArgs;
using Combine = QuantizePrograms::Combine;
using Reduction = QuantizePrograms::Reduction;
using Task = QuantizePlan::Task;

constexpr uint32_t kInfinity = 0x7f800000;

// What is found of a unit's elements: results in f64, and whether one of them was not finite.
struct Reduced {
  Values results;
  Value* nonfinite = nullptr;  // i1; null: nothing is looked at
};

// The scales of a unit, chosen, and what else its elements read: in the order of QuantizePrograms::values().
struct Chosen {
  Values codes;   // i32: of scales, then the zero point
  Values values;  // f64
};

class QuantizeEmitter {
 public:
  QuantizeEmitter(CudaEmitter& e, const QuantizePlan& plan, const std::string& symbol)
      : e_(e),
        b_(e.b),
        plan_(plan),
        u_(plan, e.threads),
        programs_(u_.programs),
        frame_(e.begin_kernel(symbol)),
        planes_(is_residual(u_.format) ? programs_.levels : 1),
        bits_(u_.format.element.bits / planes_),
        x_(e.pointer<&A::x>(frame_)),
        out_(e.pointer<&A::out>(frame_)) {
    team_ = b_.CreateUDiv(e.thread(), e.n32(u_.team)), place_in_team_ = b_.CreateURem(e.thread(), e.n32(u_.team));
    aligned_ = lies_aligned();
  }

  void run() {
    if (plan_.task == Task::reduce && u_.spans == QuantizeSpans::whole) reduce_segment();
    else if (plan_.task == Task::reduce) reduce_blocks();
    else if (packs() && packs_in_f32(u_.format)) pack_in_f32();
    else quantize_unit();
    e_.end_function();
  }

 private:
  bool packs() const { return plan_.task == Task::pack; }
  bool is_whole() const { return u_.spans == QuantizeSpans::whole; }
  Value* c64(double value) { return llvm::ConstantFP::get(e_.f64, value); }

  // Whether full vectors of elements and codes are accessed at once.
  Value* lies_aligned() {
    if (u_.spans == QuantizeSpans::groups && u_.group % u_.lanes != 0) return b_.getFalse();
    Value* address = b_.CreatePtrToInt(x_, e_.i64);
    if (plan_.task != Task::reduce) address = b_.CreateOr(address, b_.CreatePtrToInt(out_, e_.i64));
    Value* uneven = b_.CreateAnd(address, e_.num(15));
    if (!is_whole()) {
      Value* strides = b_.CreateOr(e_.size<&A::line_stride>(frame_), e_.size<&A::stretch_stride>(frame_));
      if (u_.spans == QuantizeSpans::lines) strides = b_.CreateOr(strides, e_.size<&A::length>(frame_));
      if (packs()) {
        const int bytes = access_alignment(code_bytes(), 16);
        Value* lines = b_.CreateOr(e_.size<&A::line_bytes>(frame_), e_.size<&A::plane_bytes>(frame_));
        uneven = b_.CreateOr(uneven, b_.CreateAnd(lines, e_.num(bytes - 1)));
      }
      Value* odd = b_.CreateAnd(strides, e_.num(u_.lanes - 1));
      Value* one_line = b_.CreateICmpEQ(e_.size<&A::lines>(frame_), e_.num(1));
      if (u_.spans == QuantizeSpans::groups) odd = b_.CreateSelect(one_line, e_.num(0), odd);
      uneven = b_.CreateOr(uneven, odd);
    }
    return b_.CreateICmpEQ(uneven, e_.num(0));
  }
  int code_bytes() const { return u_.lanes * bits_ / 8; }

  // --- units and their elements ------------------------------------------------------------------------------------
  struct Unit {
    Value *exists, *number;  // i1; among all, i64
    Value *place, *n;        // of x: the first element, and how many of a stretch; none where the unit does not exist
    Value* codes;            // how many are stored: with the padding of a group
    Value* first_code;       // where; null where there are none
  };

  Unit unit(Value* number, Value* count) {
    Unit unit;
    unit.exists = b_.CreateICmpSLT(number, count);
    unit.number = b_.CreateSelect(unit.exists, number, e_.num(0));
    Value *length = e_.size<&A::length>(frame_), *line = e_.num(0), *index = unit.number, *before = e_.num(0);
    if (u_.spans == QuantizeSpans::lines) {
      line = unit.number, index = e_.num(0);
    } else if (is_whole()) {
      before = b_.CreateMul(index, segment(length));
    } else {
      Value* per_line = e_.size<&A::groups_per_line>(frame_);
      const Values place = e_.choose(
          b_.CreateICmpEQ(e_.size<&A::lines>(frame_), e_.num(1)),
          [&] {
            return Values{e_.num(0), unit.number};
          },
          [&] {
            return Values{b_.CreateUDiv(unit.number, per_line), b_.CreateURem(unit.number, per_line)};
          });
      line = place[0], index = place[1];
      before = e_.times(index, u_.group);
    }
    unit.place = b_.CreateAdd(b_.CreateMul(line, e_.size<&A::line_stride>(frame_)), before);
    unit.n = b_.CreateSub(length, before);
    if (is_whole()) unit.n = e_.smaller(unit.n, segment(length));
    if (u_.group) unit.n = e_.smaller(unit.n, e_.num(u_.group));
    unit.n = b_.CreateSelect(unit.exists, unit.n, e_.num(0));
    unit.codes = u_.group ? b_.CreateSelect(unit.exists, e_.num(u_.group), e_.num(0)) : unit.n;
    unit.first_code = nullptr;
    if (packs()) {
      Value* bytes = b_.CreateLShr(e_.times(before, bits_), e_.num(3));
      unit.first_code = e_.at(e_.at(out_, b_.CreateMul(line, e_.size<&A::line_bytes>(frame_))), bytes);
    }
    return unit;
  }
  Value* segment(Value* length) {
    if (plan_.task != Task::reduce) return e_.num(kSegment);
    if (u_.adds) return e_.num(kSummed);
    Value* each = b_.CreateUDiv(b_.CreateAdd(length, e_.num(kSegment * kMostParts - 1)), e_.num(kSegment * kMostParts));
    return e_.times(e_.larger(each, e_.num(1)), kSegment);
  }
  Value* units() {
    Value* lines = e_.size<&A::lines>(frame_);
    if (u_.spans == QuantizeSpans::lines) return lines;
    if (u_.spans == QuantizeSpans::groups) return b_.CreateMul(lines, e_.size<&A::groups_per_line>(frame_));
    Value *length = e_.size<&A::length>(frame_), *each = segment(length);
    return b_.CreateUDiv(b_.CreateAdd(length, b_.CreateSub(each, e_.num(1))), each);
  }
  Value* first_unit() { return b_.CreateAdd(e_.times(frame_.begin, u_.teams), e_.wide(team_)); }

  // A vector of a unit: element `place` of x on, which is `index` in the unit; `left` of its stretch exist from there
  // on (mask: which lanes do), and `stored` codes.
  struct Vector {
    Value *place, *index, *left, *mask, *stored;
  };
  // body(vector, carried) for each of this thread's vectors.
  template <class Body>
  Values vectors(const Unit& unit, const Values& carried, Body body) {
    const auto at = [&](Value* start, Value* index, Value* i, const Values& values) {
      Vector v{b_.CreateAdd(start, i), b_.CreateAdd(index, i), b_.CreateSub(unit.n, i), nullptr,
               b_.CreateSub(unit.codes, i)};
      v.mask = e_.tail_mask(v.left);
      return body(v, values);
    };
    Value* mine = e_.times(e_.wide(place_in_team_), u_.lanes);
    if (u_.one_vector()) return at(unit.place, e_.num(0), mine, carried);
    Value* end = packs() ? unit.codes : unit.n;
    const auto stretch = [&](Value* start, Value* index, const Values& values) {
      return e_.loop(mine, end, int64_t{u_.team} * u_.lanes, values,
                     [&](Value* i, const Values& now) { return at(start, index, i, now); });
    };
    if (u_.spans != QuantizeSpans::lines) return stretch(unit.place, e_.num(0), carried);
    return e_.loop(e_.num(0), e_.size<&A::stretches>(frame_), 1, carried, [&](Value* s, const Values& values) {
      Value* start = b_.CreateAdd(unit.place, b_.CreateMul(s, e_.size<&A::stretch_stride>(frame_)));
      return stretch(start, b_.CreateMul(s, unit.n), values);
    });
  }

  Value* is_full(Value* left) { return b_.CreateAnd(aligned_, b_.CreateICmpSGE(left, e_.num(e_.lanes))); }

  // A unit of one vector a thread reads it once.
  Value* load_x(const Vector& v) {
    if (u_.one_vector() && held_) return held_;
    Value* from = e_.at(x_, e_.times(v.place, size_bytes(plan_.x)));
    Value* x = e_.choose(
        is_full(v.left), [&] { return Values{vector_access([&] { return e_.load_elements(plan_.x, from); })}; },
        [&] { return Values{e_.load_elements(plan_.x, from, v.mask)}; })[0];
    if (u_.one_vector()) held_ = x;
    return x;
  }
  template <class Access>
  Value* vector_access(Access access) {
    e_.aligned_vectors = true;
    Value* value = access();
    e_.aligned_vectors = false;
    return value;
  }

  // --- reductions --------------------------------------------------------------------------------------------------
  bool has_nonfinite() const {
    return !programs_.reductions.empty() && u_.format.geometry.kind != Geometry::Kind::none;
  }
  Value* magnitudes(Value* x) { return b_.CreateAnd(e_.as(x, e_.v_i32), e_.c_i32(0x7fffffff)); }
  Value* largest(Value* x, Value* y) { return b_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, x, y); }
  // NaN never gets past a clean group; a nonfinite one's results are not looked at.
  Value* combine(Combine kind, Value* x, Value* y) {
    if (kind == Combine::sum) return b_.CreateFAdd(x, y);
    Value* first = kind == Combine::max ? b_.CreateFCmpOGT(x, y) : b_.CreateFCmpOLT(x, y);
    return b_.CreateSelect(first, x, y);
  }
  llvm::Constant* identity(Combine kind, llvm::Type* type) {
    if (kind == Combine::sum) return llvm::ConstantFP::get(type, 0);
    return llvm::ConstantFP::getInfinity(type, kind == Combine::max);
  }
  llvm::Constant* identity(const Reduction& r) {
    if (r.magnitude) return e_.c_i32(0);
    if (r.combine == Combine::sum) return llvm::ConstantFP::get(e_.f64, 0);
    return identity(r.combine, e_.vec(e_.scalar_type(r.term.result_type(0))));
  }
  // NaN and infinity are found by the largest magnitude's bits, where no reduction is just that.
  bool watches(size_t first, size_t last) const {
    if (first != 0 || !has_nonfinite()) return false;
    for (size_t r = 0; r < last; ++r)
      if (programs_.reductions[r].magnitude) return false;
    return true;
  }

  // Reductions [first, last) of a unit; every thread of its team has them.
  Reduced reduce_stage(const Unit& unit, size_t first, size_t last, const Values& earlier) {
    Values sums;
    for (size_t r = first; r < last; ++r) sums.push_back(identity(programs_.reductions[r]));
    const bool watching = watches(first, last);
    if (watching) sums.push_back(e_.c_i32(0));
    sums = vectors(unit, sums, [&](const Vector& v, Values now) {
      Value* x = load_x(v);
      Values args{x};
      for (Value* value : earlier) args.push_back(e_.splat(value));
      for (size_t r = first; r < last; ++r)
        now[r - first] = with_elements(programs_.reductions[r], args, v.mask, now[r - first]);
      if (watching) now.back() = largest(now.back(), magnitudes(x));
      return now;
    });
    Reduced out;
    for (size_t r = first; r < last; ++r) finish(programs_.reductions[r], sums[r - first], out);
    if (watching) out.nonfinite = is_infinite(of_team(sums.back()));
    return out;
  }
  Value* with_elements(const Reduction& r, const Values& args, Value* mask, Value* sum) {
    if (r.magnitude) return largest(sum, magnitudes(args[0]));  // idle lanes are 0
    Value* term = emit_program(e_, r.term, args, nullptr)[0];
    if (r.combine != Combine::sum) return combine(r.combine, b_.CreateSelect(mask, term, identity(r)), sum);
    return b_.CreateFAddReduce(sum, b_.CreateSelect(mask, term, llvm::Constant::getNullValue(term->getType())));
  }
  Value* of_team(Value* bits) {
    const auto larger = [&](Value* x, Value* y) { return largest(x, y); };
    return e_.reduce_warp(e_.reduce(bits, larger), larger, u_.team);
  }
  Value* is_infinite(Value* bits) { return b_.CreateICmpUGE(bits, b_.getInt32(kInfinity)); }
  void finish(const Reduction& r, Value* sum, Reduced& out) {
    if (r.magnitude) {
      Value* bits = of_team(sum);
      if (has_nonfinite()) out.nonfinite = is_infinite(bits);
      out.results.push_back(b_.CreateFPExt(b_.CreateBitCast(bits, e_.f32), e_.f64));
      return;
    }
    if (r.combine != Combine::sum) {
      const auto both = [&](Value* x, Value* y) { return combine(r.combine, x, y); };
      sum = e_.reduce_warp(e_.reduce(sum, both), both, u_.team);
    }
    out.results.push_back(sum->getType() == e_.f64 ? sum : b_.CreateFPExt(sum, e_.f64));
  }
  Reduced reduce_unit(const Unit& unit) {
    Reduced all;
    for (size_t first = 0; first < programs_.reductions.size();) {
      const size_t last = programs_.end_of_stage(first);
      const Reduced stage = reduce_stage(unit, first, last, all.results);
      all.results.insert(all.results.end(), stage.results.begin(), stage.results.end());
      if (stage.nonfinite) all.nonfinite = stage.nonfinite;
      first = last;
    }
    return all;
  }

  // A program of values that all elements of a unit share.
  Values scalars(const Program& program, const Values& args) {
    return e_.with_lanes(1, [&](CudaEmitter& one) {
      Values vectors;
      for (Value* arg : args) vectors.push_back(one.splat(arg));
      Values out;
      for (Value* value : emit_program(one, program, vectors, nullptr))
        out.push_back(one.b.CreateExtractElement(value, uint64_t{0}));
      return out;
    });
  }

  // --- parts: entry `slot * parts + i` ------------------------------------------------------------------------------
  Value* parts() { return e_.size<&A::part_count>(frame_); }
  Value* part_at(size_t slot, Value* i) {
    Value* entry = b_.CreateAdd(b_.CreateMul(e_.num(static_cast<int64_t>(slot)), parts()), i);
    return e_.at(e_.pointer<&A::parts>(frame_), e_.times(entry, 8));
  }
  Value* combine_parts(size_t slot, Combine kind) {
    const bool in_order = kind == Combine::sum;
    const auto both = [&](Value* x, Value* y) { return combine(kind, x, y); };
    Value* all = e_.loop(
        in_order ? e_.num(0) : e_.wide(e_.lane()), parts(), in_order ? 1 : kWarp, {identity(kind, e_.f64)},
        [&](Value* i, const Values& now) { return Values{both(e_.load(e_.f64, part_at(slot, i), 8), now[0])}; })[0];
    return in_order ? all : e_.reduce_warp(all, both);
  }
  Value* global_of(const Values& terms) { return scalars(programs_.global_value, terms)[0]; }

  // Of a stage over a segment of the tensor, whose earlier stages have left parts.
  void reduce_segment() {
    Values earlier;
    size_t first = 0, last = programs_.end_of_stage(0);
    for (int stage = 0; stage < plan_.stage; ++stage) {
      for (size_t r = first; r < last; ++r) earlier.push_back(combine_parts(r, programs_.reductions[r].combine));
      first = last, last = programs_.end_of_stage(first);
    }
    const Unit own = unit(first_unit(), units());
    const Reduced stage = reduce_stage(own, first, last, earlier);
    e_.when(b_.CreateAnd(own.exists, is_first()), [&] {
      for (size_t r = first; r < last; ++r) e_.store(stage.results[r - first], part_at(r, own.number), 8);
      if (stage.nonfinite)
        e_.store(b_.CreateUIToFP(stage.nonfinite, e_.f64), part_at(programs_.reductions.size(), own.number), 8);
    });
  }
  Value* is_first() { return b_.CreateICmpEQ(place_in_team_, e_.n32(0)); }

  // The global value's term over the clean groups that this block meets.
  void reduce_blocks() {
    Value *all = units(), *step = e_.times(parts(), u_.teams);
    Value* rounds = b_.CreateUDiv(b_.CreateAdd(all, b_.CreateSub(step, e_.num(1))), step);
    const Combine kind = programs_.global_combine;
    Value* part = e_.loop(e_.num(0), rounds, 1, {identity(kind, e_.f64)}, [&](Value* round, const Values& now) {
      held_ = nullptr;
      const Unit own = unit(b_.CreateAdd(first_unit(), b_.CreateMul(round, step)), all);
      const Reduced found = reduce_unit(own);
      Value* counts = own.exists;
      if (found.nonfinite) counts = b_.CreateAnd(counts, b_.CreateNot(found.nonfinite));
      Value* term = scalars(programs_.global_term, found.results)[0];
      return Values{combine(kind, b_.CreateSelect(counts, term, identity(kind, e_.f64)), now[0])};
    })[0];
    part = e_.reduce_block({part}, [&](Value* x, Value* y) { return combine(kind, x, y); })[0];
    e_.when(b_.CreateICmpEQ(e_.thread(), e_.n32(0)), [&] { e_.store(part, part_at(0, frame_.begin), 8); });
  }

  // --- rounding and packing -----------------------------------------------------------------------------------------
  void quantize_unit() {
    Reduced found;
    Value* global = nullptr;
    if (is_whole()) {
      for (size_t r = 0; r < programs_.reductions.size(); ++r)
        found.results.push_back(combine_parts(r, programs_.reductions[r].combine));
      if (has_nonfinite())
        found.nonfinite = b_.CreateFCmpOGT(combine_parts(programs_.reductions.size(), Combine::max), c64(0));
      if (programs_.has_global) global = global_of(scalars(programs_.global_term, found.results));
    } else if (programs_.has_global) {
      global = global_of({combine_parts(0, programs_.global_combine)});
    }
    const Unit own = unit(first_unit(), units());
    if (!is_whole()) found = reduce_unit(own);
    if (global) found.results.push_back(global);
    const Chosen chosen = choose(own, found);
    if (packs()) store_scales(own, chosen);
    quantize_elements(own, chosen, found.nonfinite);
  }

  // In f32 what quantize_unit() does in f64.
  void pack_in_f32() {
    const Unit own = unit(first_unit(), units());
    Value* most = of_team(vectors(own, {e_.c_i32(0)}, [&](const Vector& v, const Values& now) {
      return Values{largest(now[0], magnitudes(load_x(v)))};
    })[0]);
    Value* exponent = b_.CreateLShr(most, e_.n32(23));
    store_scales(own, {{exponent}, {}});
    const int fraction = u_.format.element.fraction_bits;
    Value *up = b_.CreateSub(e_.n32(fraction + 127), exponent), *half = b_.CreateAShr(up, e_.n32(1));
    const auto power = [&](Value* of) {
      return e_.splat(e_.as(b_.CreateShl(b_.CreateAdd(of, e_.n32(127)), e_.n32(23)), e_.f32));
    };
    Value *first = power(half), *second = power(b_.CreateSub(up, half));
    Value* is_finite = e_.splat(b_.CreateICmpNE(exponent, e_.n32(255)));
    vectors(own, {}, [&](const Vector& v, const Values&) {
      Value* x = b_.CreateFMul(b_.CreateFMul(load_x(v), first), second);
      Value* code = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, e_.nearest(x), e_.c_i32(127));
      code = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, code, e_.c_i32(static_cast<uint32_t>(-127)));
      store_codes(own, v, b_.CreateSelect(is_finite, code, e_.c_i32(0)));
      return Values{};
    });
  }

  Chosen choose(const Unit& own, const Reduced& found) {
    Values results;
    for (Value* value : found.results)
      results.push_back(found.nonfinite ? b_.CreateSelect(found.nonfinite, c64(0), value) : value);
    if (programs_.levels == 0) return {{}, results};
    Values best = candidate(found, 0);
    Value* smallest = programs_.scales.size() > 1 ? squared_error(own, chosen_of(best, results)) : nullptr;
    for (size_t c = 1; c < programs_.scales.size(); ++c) {
      const Values other = candidate(found, c);
      Value* error = squared_error(own, chosen_of(other, results));
      Value* better = b_.CreateFCmpOLT(error, smallest);
      smallest = b_.CreateSelect(better, error, smallest);
      for (size_t i = 0; i < best.size(); ++i) best[i] = b_.CreateSelect(better, other[i], best[i]);
    }
    return chosen_of(best, results);
  }
  Values candidate(const Reduced& found, size_t index) {
    Values out = scalars(programs_.scales[index], found.results);
    const auto levels = static_cast<size_t>(programs_.levels);
    for (size_t i = 0; i < out.size() && found.nonfinite; ++i) {
      const bool is_zero = programs_.has_zero_point && (i == 2 * levels || i == 2 * levels + 1);
      Value* instead = out[i]->getType() == e_.i32
                           ? static_cast<Value*>(b_.getInt32(i < levels ? programs_.nan_code : 0))
                           : c64(is_zero ? 0 : 1);
      out[i] = b_.CreateSelect(found.nonfinite, instead, out[i]);
    }
    return out;
  }
  // A candidate's outputs (QuantizePrograms::scales) in the order in which elements read them.
  Chosen chosen_of(const Values& out, const Values& results) const {
    const auto levels = static_cast<size_t>(programs_.levels), reciprocals = static_cast<size_t>(programs_.reciprocals);
    const auto end = static_cast<ptrdiff_t>(out.size() - reciprocals), first = static_cast<ptrdiff_t>(levels);
    Chosen chosen{{out.begin(), out.begin() + first}, {out.begin() + first, out.begin() + 2 * first}};
    if (programs_.has_zero_point) chosen.codes.push_back(out[2 * levels]), chosen.values.push_back(out[2 * levels + 1]);
    chosen.values.insert(chosen.values.end(), results.begin(), results.end());
    chosen.values.insert(chosen.values.end(), out.begin() + end, out.end());
    return chosen;
  }
  Value* squared_error(const Unit& own, const Chosen& chosen) {
    const OfUnit of_unit = read_by(programs_.error, chosen);
    return vectors(own, {c64(0)}, [&](const Vector& v, const Values& sum) {
      Value* term = element(load_x(v), of_unit)[0];
      term = b_.CreateSelect(v.mask, term, llvm::Constant::getNullValue(term->getType()));
      return Values{b_.CreateFAddReduce(sum[0], term)};
    })[0];
  }

  struct OfUnit {
    const Program& program;
    Values args, known;
  };
  OfUnit read_by(const Program& program, const Chosen& chosen) {
    Values args{nullptr};
    for (size_t v = 0; v < chosen.values.size(); ++v)
      args.push_back(reads_argument(program, 1 + static_cast<int>(v)) ? e_.splat(chosen.values[v]) : nullptr);
    return {program, args, emit_invariants(e_, program, args)};
  }
  Values element(Value* x, OfUnit of_unit) {
    of_unit.args[0] = x;
    return emit_program(e_, of_unit.program, of_unit.args, nullptr, of_unit.known);
  }

  void store_scales(const Unit& own, const Chosen& chosen) {
    Value* stores = b_.CreateAnd(own.exists, is_first());
    if (is_whole()) stores = b_.CreateAnd(stores, b_.CreateICmpEQ(own.number, e_.num(0)));
    const auto put = [&](Value* code, Value* to, Value* index, int bytes) {
      e_.store(b_.CreateTrunc(code, b_.getIntNTy(static_cast<unsigned>(bytes) * 8)), e_.at(to, e_.times(index, bytes)));
    };
    e_.when(stores, [&] {
      for (int l = 0; l < programs_.levels; ++l)
        put(chosen.codes[static_cast<size_t>(l)], e_.pointer<&A::scales>(frame_),
            b_.CreateAdd(e_.times(own.number, programs_.levels), e_.num(l)), plan_.scale_bytes);
      if (programs_.has_zero_point)
        put(chosen.codes.back(), e_.pointer<&A::zero_points>(frame_), own.number, plan_.zero_point_bytes);
    });
  }

  void quantize_elements(const Unit& own, const Chosen& chosen, Value* nonfinite) {
    const OfUnit of_unit = read_by(packs() ? programs_.code : programs_.rounded, chosen);
    Value* instead = packs() ? e_.c_i32(0) : e_.c_f32(std::numeric_limits<double>::quiet_NaN());
    vectors(own, {}, [&](const Vector& v, const Values&) {
      Value* y = element(load_x(v), of_unit)[0];
      if (nonfinite) y = b_.CreateSelect(nonfinite, instead, y);
      if (packs()) store_codes(own, v, y);
      else store_rounded(v, y);
      return Values{};
    });
  }
  void store_rounded(const Vector& v, Value* y) {
    Value* to = e_.at(out_, e_.times(v.place, size_bytes(plan_.result)));
    e_.choose(
        is_full(v.left),
        [&] {
          e_.aligned_vectors = true;
          e_.store_elements(y, plan_.result, to);
          e_.aligned_vectors = false;
          return Values{};
        },
        [&] {
          e_.store_elements(y, plan_.result, to, v.mask);
          return Values{};
        });
  }
  // What is encoded as 0 is the padding that formats ask for, but for residual signs.
  void store_codes(const Unit& own, const Vector& v, Value* code) {
    if (u_.group == 0 || planes_ > 1) code = b_.CreateSelect(v.mask, code, e_.c_i32(0));
    for (int plane = 0; plane < planes_; ++plane) {
      Value* own_bits = code;
      if (planes_ > 1) own_bits = b_.CreateLShr(code, e_.c_i32(static_cast<uint32_t>(plane)));
      const Values words = words_of_codes(e_, own_bits, bits_);
      Value* to = e_.at(own.first_code, b_.CreateLShr(e_.times(v.index, bits_), e_.num(3)));
      if (plane) to = e_.at(to, e_.times(e_.size<&A::plane_bytes>(frame_), plane));
      e_.choose(
          is_full(v.stored),
          [&] {
            store_code_words(e_, words, to, code_bytes(), 16);
            return Values{};
          },
          [&] {
            store_code_bytes(e_, words, to, bits_, e_.larger(v.stored, e_.num(0)));
            return Values{};
          });
    }
  }

  CudaEmitter& e_;
  llvm::IRBuilder<>& b_;
  const QuantizePlan& plan_;
  const QuantizeUnits u_;
  const QuantizePrograms& programs_;
  const KernelFrame frame_;
  const int planes_, bits_;
  Value *const x_, *const out_;
  Value *team_, *place_in_team_, *aligned_;
  Value* held_ = nullptr;  // the elements of a unit that is one vector a thread
};

}  // namespace

void emit_quantize(CudaEmitter& e, const QuantizePlan& plan, const std::string& symbol) {
  QuantizeEmitter(e, plan, symbol).run();
}

}  // namespace hone
