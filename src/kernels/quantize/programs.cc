#include "kernels/quantize/programs.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/group_scales.h"
#include "formats/packed.h"
#include "formats/scale.h"
#include "kernels/code_meaning.h"

namespace hone {
namespace {

using Combine = QuantizePrograms::Combine;

Combine combine_of(GroupReduction::Kind kind) {
  switch (kind) {
    case GroupReduction::Kind::max:
      return Combine::max;
    case GroupReduction::Kind::min:
      return Combine::min;
    case GroupReduction::Kind::sum:
      return Combine::sum;
  }
  CHECK(false);
}

// A widened f32 may be widened after the reduction: maxima and minima choose an element.
QuantizePrograms::Reduction reduction_of(const GroupReduction& reduction, const Format& format, Exprs earlier) {
  Expr term = reduction.term(format, element_arg(), earlier);
  const Combine combine = combine_of(reduction.kind);
  if (combine != Combine::sum && term.op() == ExprOp::cast && term.operands()[0].type() == Scalar::f32)
    term = term.operands()[0];
  const bool magnitude = combine == Combine::max && term.op() == ExprOp::abs && term.type() == Scalar::f32 &&
                         term.operands()[0].op() == ExprOp::arg && term.operands()[0].position() == 0;
  return {combine, flatten(term), magnitude};
}

// Division by arg `position` becomes multiplication; false where it is used for something else.
bool multiply_by(Program& program, int position) {
  const auto reads = [&](int32_t operand) {
    if (operand < 0) return false;
    const Instruction& i = program.code[static_cast<size_t>(operand)];
    return i.op == ExprOp::arg && i.payload == position;
  };
  for (const Instruction& i : program.code) {
    const bool divides = i.op == ExprOp::div && i.type == Scalar::f64 && !reads(i.a);
    if (reads(i.a) || reads(i.c) || (reads(i.b) && !divides)) return false;
  }
  for (Instruction& i : program.code)
    if (reads(i.b)) i.op = ExprOp::mul;
  return true;
}

// What an element reads of its group, as the numbers that they are, f32 and codes: narrowed() builds on it.
GroupValues numbers_of_group(const Format& format) {
  GroupValues group = group_args(format);
  for (Expr& scale : group.scales) scale = cast(Scalar::f64, cast(Scalar::f32, scale));
  if (const uint32_t codes = (uint32_t{1} << format.element.bits) - 1; group.zero_point)
    group.zero_point = cast(Scalar::f64, cast(Scalar::u32, group.zero_point) & Expr::constant(Scalar::u32, codes));
  return group;
}

class Builder {
 public:
  explicit Builder(const Format& format)
      : format_(format), kind_(*format.scale_kind), group_(numbers_of_group(format)) {}

  QuantizePrograms build() {
    p_.levels = kind_.code ? scales_per_group(format_) : 0;
    p_.has_zero_point = kind_.zero_point != nullptr;
    add_reductions();
    if (kind_.global) add_global();
    if (p_.levels > 0) add_scales();
    if (!is_fake_only(format_)) add_codes();
    p_.rounded = with_reciprocals([&](const GroupValues& divisors) {
      if (kind_.fake) return fake(format_, element_arg(), group_);
      const Expr x = element_arg();
      return select(x != x, x, decoded(format_, encoded(format_, x, divisors), group_));
    });
    if (p_.scales.size() > 1)
      p_.error = with_reciprocals([&](const GroupValues& divisors) {
        const Expr y = decoded(format_, encoded(format_, element_arg(), divisors), group_);
        const Expr difference = cast(Scalar::f64, element_arg()) - cast(Scalar::f64, y);
        return difference * difference;
      });
    return std::move(p_);
  }

 private:
  // Terms read earlier results by their place among the results.
  void add_reductions() {
    std::vector<Expr> earlier;
    for (const GroupReduction& reduction : kind_.reductions) {
      p_.reductions.push_back(reduction_of(reduction, format_, earlier));
      earlier.push_back(Expr::arg(1 + static_cast<int>(earlier.size()), Scalar::f64));
    }
  }

  std::vector<Expr> result_args() const {
    std::vector<Expr> results;
    for (int i = 0; i < p_.results(); ++i) results.push_back(Expr::arg(i, Scalar::f64));
    return results;
  }

  void add_global() {
    p_.global_term = flatten(kind_.global->term(format_, result_args()));
    p_.global_value = flatten(kind_.global->value(format_, Expr::arg(0, Scalar::f64)));
    p_.global_combine = combine_of(kind_.global->kind);
    p_.global_is_scale = kind_.global->is_scale;
    p_.has_global = true;
  }

  void add_scales() {
    // Every scale has an exact reciprocal then: x / scale is x * (1 / scale), in the same bits.
    if (code_meaning(format_).scale.powers_of_two && !kind_.global) p_.reciprocals = p_.levels;
    const std::vector<Expr> results = result_args();
    const Expr global = p_.has_global ? results.back() : Expr::number(Scalar::f64, 1);
    const int candidates = kind_.candidates ? kind_.candidates(format_) : 1;
    for (int candidate = 0; candidate < candidates; ++candidate) {
      std::vector<Expr> codes, scales, outputs;
      for (int level = 0; level < p_.levels; ++level) {
        codes.push_back(kind_.code(format_, results, candidate, level));
        scales.push_back(effective_scale(format_, kind_.value(format_, codes.back()), global));
      }
      outputs = codes;
      outputs.insert(outputs.end(), scales.begin(), scales.end());
      if (p_.has_zero_point) {
        outputs.push_back(kind_.zero_point(format_, results, scales[0]));
        outputs.push_back(cast(Scalar::f64, outputs.back()));
      }
      for (int level = 0; level < p_.reciprocals; ++level) outputs.push_back(1 / scales[static_cast<size_t>(level)]);
      p_.scales.push_back(flatten(outputs));
    }
    p_.nan_code = kind_.nan_code(format_);
  }

  void add_codes() {
    p_.code = with_reciprocals([&](const GroupValues& divisors) { return encoded(format_, element_arg(), divisors); });
    p_.counted = with_reciprocals([&](const GroupValues& divisors) {
      const Expr t = kind_.normalise(format_, element_arg(), divisors);
      const Expr code = format_.codec->encode(format_.element, t);
      const Losses lost = losses(format_, t, code);
      return std::array{code, lost.saturated, lost.flushed_to_zero};
    });
  }

  // build(group): the expression with what it divides by as `group`'s scales.
  template <class Build>
  Program with_reciprocals(Build build) const {
    if (p_.reciprocals == 0) return flatten(build(group_));
    GroupValues divisors = group_;
    const int first = p_.values() - p_.reciprocals;
    for (int level = 0; level < p_.levels; ++level)
      divisors.scales[static_cast<size_t>(level)] = group_arg(first + level);
    Program program = flatten(build(divisors));
    for (int level = 0; level < p_.levels; ++level)
      if (!multiply_by(program, 1 + first + level)) return flatten(build(group_));
    return program;
  }

  const Format& format_;
  const ScaleKind& kind_;
  const GroupValues group_;
  QuantizePrograms p_;
};

}  // namespace

size_t QuantizePrograms::end_of_stage(size_t first) const {
  size_t last = first + 1;
  for (; last < reductions.size(); ++last)
    for (const Instruction& i : reductions[last].term.code)
      if (i.op == ExprOp::arg && i.payload > static_cast<int64_t>(first)) return last;
  return last;
}

QuantizePrograms quantize_programs(const Format& format) { return Builder(format).build(); }

}  // namespace hone
