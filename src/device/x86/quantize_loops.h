// How quantizing kernels find their way: what a kernel is given, and the loops over its work items, the groups of a
// block and the elements of a group.
//
// A work item is a block of `lanes` groups of a line, or a segment of a tensor that is one group.
#pragma once

#include "device/x86/emitter.h"
#include "device/x86/quantize_parts.h"
#include "kernels/quantize/programs.h"
#include "kernels/quantize/spans.h"

namespace hone {

class QuantizeLoops {
  using A = QuantizeArgs;

 public:
  QuantizeLoops(X86Emitter& e, const QuantizePlan& plan, const std::string& symbol);  // begins the kernel

  X86Emitter& e;
  llvm::IRBuilder<>& b;
  const QuantizePlan& plan;
  const Format format;
  const QuantizePrograms programs;
  const QuantizeSpans spans;
  const int64_t group;  // elements of a group, where lines have several
  const KernelFrame frame;
  // Arguments, which are read once.
  template <auto Member>
  llvm::Value* pointer() const {
    return pointers_[place_of<Member>];
  }
  template <auto Member>
  llvm::Value* size() const {
    return sizes_[place_of<Member>];
  }

  bool rounds() const { return plan.task == QuantizePlan::Task::round; }
  bool reduces() const { return plan.task == QuantizePlan::Task::reduce; }
  bool unpacks() const { return plan.task == QuantizePlan::Task::unpack; }

  // What is kept for each group of a block: arrays of `lanes` elements on the stack.
  llvm::Value* slot(llvm::Type* type) { return e.stack(type, e.lanes); }
  llvm::Value* f64_of(llvm::Value* slot, llvm::Value* j) { return e.load(e.f64, e.at(slot, e.times(j, 8)), 8); }
  llvm::Value* i32_of(llvm::Value* slot, llvm::Value* j) { return e.load(e.i32, e.at(slot, e.times(j, 4)), 4); }
  llvm::Value* f64s(llvm::Value* slot) { return e.load(e.vec(e.f64), slot, 64); }

  llvm::Value* load_x(llvm::Value* place, llvm::Value* mask);

  // body(item, block) for each work item of formats whose groups are found in lines.
  struct Block {
    llvm::Value *line, *first_group, *count, *place, *left;  // `left`: elements of the line from the first group on
  };
  template <class Body>
  void blocks(Body body) {
    llvm::Value* per_line =
        spans == QuantizeSpans::lines
            ? e.num(1)
            : b.CreateSDiv(b.CreateAdd(size<&A::groups_per_line>(), e.num(e.lanes - 1)), e.num(e.lanes));
    e.loop(frame.begin, frame.end, 1, {}, [&](llvm::Value* item, const Values&) {
      Block block;
      block.line = b.CreateUDiv(item, per_line);
      block.first_group = e.times(b.CreateURem(item, per_line), e.lanes);
      block.count = smaller(b.CreateSub(size<&A::groups_per_line>(), block.first_group), e.lanes);
      llvm::Value* before = e.times(block.first_group, group);
      block.place = b.CreateAdd(b.CreateMul(block.line, size<&A::line_stride>()), before);
      block.left = b.CreateSub(size<&A::length>(), before);
      body(item, block);
      return Values{};
    });
  }

  // The number of group `j` of a block among all groups.
  llvm::Value* number(const Block& block, llvm::Value* j) {
    return b.CreateAdd(b.CreateMul(block.line, size<&A::groups_per_line>()), b.CreateAdd(block.first_group, j));
  }

  // body(item, place, n) for each work item of formats with one group in all, or none: a segment of n elements.
  template <class Body>
  void segments(Body body) {
    const int64_t segment = quantize_segment(plan, programs);
    e.loop(frame.begin, frame.end, 1, {}, [&](llvm::Value* item, const Values&) {
      llvm::Value* place = e.times(item, segment);
      body(item, place, smaller(b.CreateSub(size<&A::length>(), place), segment));
      return Values{};
    });
  }

  // body(j, place, n) for each group j < count: its first place in x and its elements.
  template <class Body>
  void groups(const Block& block, Body body) {
    if (spans != QuantizeSpans::groups) return body(e.num(0), block.place, block.left);
    e.loop(e.num(0), block.count, 1, {}, [&](llvm::Value* j, const Values&) {
      llvm::Value* before = e.times(j, group);
      llvm::Value* n = smaller(b.CreateSub(block.left, before), group);
      body(j, b.CreateAdd(block.place, before), n);
      return Values{};
    });
  }

  // The elements of a group: `first` of x on, `n` in each of its stretches. body(place in x, index in the group, mask,
  // stored, carried).
  template <class Body>
  Values elements(llvm::Value* first, llvm::Value* n, const Values& carried, Body body) {
    const auto stretch = [&](llvm::Value* start, llvm::Value* index, const Values& values) {
      return vectors(n, values, [&](llvm::Value* i, llvm::Value* mask, llvm::Value* stored, const Values& inner) {
        return body(b.CreateAdd(start, i), b.CreateAdd(index, i), mask, stored, inner);
      });
    };
    if (spans != QuantizeSpans::lines) return stretch(first, e.num(0), carried);
    return e.loop(e.num(0), size<&A::stretches>(), 1, carried, [&](llvm::Value* s, const Values& values) {
      return stretch(b.CreateAdd(first, b.CreateMul(s, size<&A::stretch_stride>())), b.CreateMul(s, n), values);
    });
  }

  // body(i, mask, stored, carried) for each vector of a stretch of `n` elements: `mask` (null: all) tells which exist,
  // `stored` (null: all lanes) how many codes are stored, which in a group includes its padding.
  template <class Body>
  Values vectors(llvm::Value* n, const Values& carried, Body body) {
    if (group == 0) return open_vectors(n, carried, body);
    return e.choose(
        b.CreateICmpEQ(n, e.num(group)), [&] { return group_vectors(nullptr, carried, body); },
        [&] { return group_vectors(n, carried, body); });
  }

 private:
  template <class Body>
  Values open_vectors(llvm::Value* n, Values carried, Body body) {
    llvm::Value* full = b.CreateAnd(n, e.num(-e.lanes));
    carried = e.loop(e.num(0), full, e.lanes, carried,
                     [&](llvm::Value* i, const Values& values) { return body(i, nullptr, nullptr, values); });
    llvm::Value* rest = b.CreateSub(n, full);
    return e.choose(
        b.CreateICmpSGT(rest, e.num(0)), [&] { return body(full, e.tail_mask(rest), rest, carried); },
        [&] { return carried; });
  }

  // Of a group with padding; `n` null: all of its elements exist.
  template <class Body>
  Values group_vectors(llvm::Value* n, Values carried, Body body) {
    constexpr int64_t kUnrolled = 8;  // vectors of a group that are emitted one after the other instead of as a loop
    const int64_t full = group / e.lanes * e.lanes, rest = group - full;
    const auto one = [&](llvm::Value* i, int64_t stored, const Values& values) {
      llvm::Value* mask = n ? e.tail_mask(b.CreateSub(n, i)) : stored < e.lanes ? e.tail_mask(e.num(stored)) : nullptr;
      return body(i, mask, stored < e.lanes ? e.num(stored) : nullptr, values);
    };
    if (full / e.lanes <= kUnrolled && !n) {
      for (int64_t i = 0; i < full; i += e.lanes) carried = one(e.num(i), e.lanes, carried);
    } else {
      carried = e.loop(e.num(0), e.num(full), e.lanes, carried,
                       [&](llvm::Value* i, const Values& values) { return one(i, e.lanes, values); });
    }
    return rest ? one(e.num(full), rest, carried) : carried;
  }

  const Values pointers_, sizes_;

  llvm::Value* smaller(llvm::Value* x, int64_t y) { return b.CreateSelect(b.CreateICmpSLT(x, e.num(y)), x, e.num(y)); }
};

}  // namespace hone
