#include "formats/group_scales.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "formats/codecs.h"
#include "formats/scale.h"

namespace hone {
namespace {

using Values = std::span<const float>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<uint8_t> find_nonfinite(const BlockTraversal& blocks, Values values) {
  std::vector<uint8_t> nonfinite(static_cast<size_t>(blocks.layout().groups));
  for_each_unit(
      blocks, [] { return BatchInputs({}); },
      [&](int64_t unit, BatchInputs& inputs) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          inputs.load(blocks, batch, values);
          if (!any_nonfinite(inputs.x().first(static_cast<size_t>(batch.elems)))) return;
          for (const Run& run : batch.runs)
            if (any_nonfinite(inputs.x().subspan(static_cast<size_t>(run.begin), static_cast<size_t>(run.logical))))
              // Units of a one-group geometry share the flag.
              std::atomic_ref(nonfinite[static_cast<size_t>(run.group)]).store(1, std::memory_order_relaxed);
        });
      });
  return nonfinite;
}

double identity(GroupReduction::Kind kind) {
  switch (kind) {
    case GroupReduction::Kind::max:
      return -kInfinity;
    case GroupReduction::Kind::min:
      return kInfinity;
    case GroupReduction::Kind::sum:
      return 0;
  }
  CHECK(false);
}

double combine(GroupReduction::Kind kind, double a, double b) {
  switch (kind) {
    case GroupReduction::Kind::max:
      return b > a ? b : a;
    case GroupReduction::Kind::min:
      return b < a ? b : a;
    case GroupReduction::Kind::sum:
      return a + b;
  }
  CHECK(false);
}

double reduce_run(GroupReduction::Kind kind, double result, std::span<const double> terms) {
  if (kind == GroupReduction::Kind::max)
    for (double t : terms) result = t > result ? t : result;
  else
    for (double t : terms) result = combine(kind, result, t);
  return result;
}

// One value per group. In one-group geometries each unit reduces its own part; the parts are combined in order, so that
// the result does not depend on threads.
std::vector<double> reduce(const BlockTraversal& blocks, Values values, GroupReduction::Kind kind, const Expr& term,
                           std::span<const GroupColumn> columns) {
  const Program program = flatten(term);
  const bool shared = blocks.units_share_group();
  std::vector<double> parts(static_cast<size_t>(shared ? blocks.units() : blocks.layout().groups), identity(kind));
  struct Scratch {
    BatchInputs inputs;
    std::vector<double> terms = std::vector<double>(BlockTraversal::kBatch);
  };
  for_each_unit(
      blocks, [&] { return Scratch{BatchInputs(columns)}; },
      [&](int64_t unit, Scratch& scratch) {
        blocks.for_each_batch(blocks.unit(unit), [&](const Batch& batch) {
          scratch.inputs.load(blocks, batch, values);
          const MutableColumn result{scratch.terms.data()};
          run_program(program, scratch.inputs.args(), batch.elems, {&result, 1});
          for (const Run& run : batch.runs) {
            double& part = parts[static_cast<size_t>(shared ? unit : run.group)];
            part = reduce_run(kind, part, {scratch.terms.data() + run.begin, static_cast<size_t>(run.logical)});
          }
        });
      });
  if (!shared) return parts;
  double total = identity(kind);
  for (double part : parts) total = combine(kind, total, part);
  return {total};
}

// A value per group from columns of values per group (all of type `in`).
template <class Out, class In>
std::vector<Out> map_groups(const Expr& expr, std::span<const std::vector<In>* const> inputs, size_t groups) {
  std::vector<ConstColumn> args;
  for (const std::vector<In>* input : inputs) args.push_back({input->data()});
  std::vector<Out> out(groups);
  const MutableColumn result{out.data()};
  run_program(flatten(expr), args, static_cast<int64_t>(groups), {&result, 1});
  return out;
}

// The results as expressions of columns 0, 1, ... of groups, and those columns.
struct ResultColumns {
  std::vector<Expr> names;
  std::vector<const std::vector<double>*> columns;

  explicit ResultColumns(const GroupScales& scales) {
    for (const std::vector<double>& result : scales.results) add(result);
  }
  Expr add(const std::vector<double>& column) {
    columns.push_back(&column);
    names.push_back(Expr::arg(static_cast<int>(names.size()), Scalar::f64));
    return names.back();
  }
};

// The global value of the clean groups, appended to the results.
void add_global(const Format& format, size_t groups, GroupScales& out) {
  const GlobalValue& global = *format.scale_kind->global;
  const ResultColumns results(out);
  const auto terms = map_groups<double, double>(global.term(format, results.names), results.columns, groups);
  double reduced = identity(global.kind);
  for (size_t g = 0; g < groups; ++g)
    if (!out.nonfinite[g]) reduced = combine(global.kind, reduced, terms[g]);
  const uint64_t arg = std::bit_cast<uint64_t>(reduced);
  const Program value = flatten(global.value(format, Expr::arg(0, Scalar::f64)));
  out.global = static_cast<float>(std::bit_cast<double>(evaluate(value, {&arg, 1})[0]));
  out.results.emplace_back(groups, out.global);
}

// fn(group, super-block) for all groups.
template <class F>
void for_each_super_of(const PackedLayout& p, F&& fn) {
  for (int64_t g = 0; g < p.groups; ++g) fn(static_cast<size_t>(g), static_cast<size_t>(p.super_of(g)));
}

// A group with NaN or infinity takes its super-block along: integers have no NaN.
void spread_nonfinite(const PackedLayout& p, std::vector<uint8_t>& nonfinite) {
  std::vector<uint8_t> supers(static_cast<size_t>(p.supers()));
  for_each_super_of(p, [&](size_t g, size_t s) { supers[s] |= nonfinite[g]; });
  for_each_super_of(p, [&](size_t g, size_t s) { nonfinite[g] = supers[s]; });
}

// Values per super-block, spread over their groups.
std::vector<double> of_groups(const PackedLayout& p, std::span<const double> of_supers) {
  std::vector<double> values(static_cast<size_t>(p.groups));
  for_each_super_of(p, [&](size_t g, size_t s) { values[g] = of_supers[s]; });
  return values;
}

// The outer scales: codes, and their values behind the results.
void add_outer(const Format& format, const PackedLayout& p, GroupScales& out) {
  const ScaleKind& kind = *format.scale_kind;
  const auto groups = static_cast<size_t>(p.groups), supers = static_cast<size_t>(p.supers()),
             levels = static_cast<size_t>(kind.levels);
  const double highest = highest_integer(format.scale.type);
  const Expr code = outer_scale_code(Expr::arg(0, Scalar::f64)), value = outer_scale_value(Expr::arg(0, Scalar::u32));
  const ResultColumns results(out);
  std::vector<std::vector<double>> columns;
  out.outer_codes.resize(supers * levels);
  for (size_t level = 0; level < levels; ++level) {
    const auto terms = map_groups<double, double>(kind.outer_term(format, results.names, static_cast<int>(level)),
                                                  results.columns, groups);
    std::vector<double> scales(supers);
    std::vector<uint8_t> is_nan(supers);
    for_each_super_of(p, [&](size_t g, size_t s) {
      if (out.nonfinite[g]) is_nan[s] = 1;
      else scales[s] = std::max(scales[s], terms[g] / highest);
    });
    const std::vector<double>* const wanted[] = {&scales};
    std::vector<uint32_t> codes = map_groups<uint32_t, double>(code, wanted, supers);
    const std::vector<uint32_t>* const stored[] = {&codes};
    columns.push_back(of_groups(p, map_groups<double, uint32_t>(value, stored, supers)));
    for (size_t s = 0; s < supers; ++s) out.outer_codes[s * levels + level] = is_nan[s] ? kNanOuterScale : codes[s];
  }
  for (std::vector<double>& column : columns) out.results.push_back(std::move(column));
}

// Sum over each group of (x - decoded)^2.
std::vector<double> squared_error(const Format& format, const BlockTraversal& blocks, Values values,
                                  const GroupScales& scales) {
  const GroupValues group = group_args(format);
  const Expr y = decoded(format, encoded(format, element_arg(), group), group);
  const Expr difference = cast(Scalar::f64, element_arg()) - cast(Scalar::f64, y);
  const Expr term = difference * difference;
  return reduce(blocks, values, GroupReduction::Kind::sum, term, scales.columns(flatten(term)));
}

// Keeps, for each group, the candidate with the smallest error.
void choose_candidates(const Format& format, const BlockTraversal& blocks, Values values, int count, size_t groups,
                       GroupScales& best) {
  std::vector<double> smallest = squared_error(format, blocks, values, best);
  GroupScales other;
  other.results = best.results, other.global = best.global;
  for (int index = 1; index < count; ++index) {
    set_candidate(format, index, groups, other);
    const std::vector<double> error = squared_error(format, blocks, values, other);
    for (size_t g = 0; g < groups; ++g) {
      if (!(error[g] < smallest[g])) continue;
      smallest[g] = error[g];
      best.codes[g] = other.codes[g], best.scales[0][g] = other.scales[0][g];
    }
  }
}

void make_nan(const Format& format, size_t group, GroupScales& scales) {
  const size_t levels = scales.scales.size();
  std::fill_n(scales.codes.begin() + static_cast<ptrdiff_t>(group * levels), levels,
              format.scale_kind->nan_code(format));
  for (std::vector<double>& scale : scales.scales) scale[group] = 1;
  if (!scales.zero_points.empty()) scales.zero_points[group] = 0, scales.zeros[group] = 0;
  for (std::vector<double>& result : scales.results) result[group] = 0;
}

}  // namespace

bool any_nonfinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float v : values) found |= (std::bit_cast<uint32_t>(v) & kExponent) == kExponent;
  return found != 0;
}

GroupValues group_args(const Format& format) {
  const ScaleKind& kind = *format.scale_kind;
  GroupValues group;
  int column = 0;
  for (int level = 0; level < scales_per_group(format); ++level) group.scales.push_back(group_arg(column++));
  if (kind.zero_point) group.zero_point = group_arg(column++);
  const size_t outer = is_two_level(format) ? static_cast<size_t>(kind.levels) : 0;
  for (size_t i = 0; i < kind.reductions.size() + (kind.global != nullptr) + outer; ++i)
    group.results.push_back(group_arg(column++));
  return group;
}

Expr encoded(const Format& format, Expr x, const GroupValues& group) {
  return format.codec->encode(format.element, format.scale_kind->normalise(format, x, group));
}

Expr decoded(const Format& format, Expr code, const GroupValues& group) {
  const Expr value = format.codec->decode(format.element, code);
  const ScaleKind& kind = *format.scale_kind;
  if (kind.restore) return cast(Scalar::f32, kind.restore(format, value, group));
  const Expr scaled = value * group.scale();
  if (kind.minimum_sign == 0) return cast(Scalar::f32, scaled);
  return cast(Scalar::f32, kind.minimum_sign > 0 ? scaled + group.scales[1] : scaled - group.scales[1]);
}

Expr fake(const Format& format, Expr x, const GroupValues& group) {
  const auto direct = format.scale_kind->fake;
  return select(x != x, x, direct ? direct(format, x, group) : decoded(format, encoded(format, x, group), group));
}

Losses losses(const Format& format, Expr t, Expr code) {
  const ElementParams& p = format.element;
  const double step = std::ldexp(1.0, top_exponent(format) - format.codec->fraction_bits_on_top(p));
  const double highest = format.codec->max(p), lowest = lowest_value(format);
  const Expr saturated = (t >= highest + step / 2) | (t <= lowest - step / 2);
  const Expr is_zero = decoded(format, code, group_args(format)) == 0;
  return {saturated & (abs(element_arg()) < HUGE_VAL), (abs(element_arg()) > 0) & is_zero & ~saturated};
}

std::vector<GroupColumn> GroupScales::columns(const Program& program) const {
  std::vector<GroupColumn> all(scales.begin(), scales.end());
  if (!zeros.empty()) all.push_back(zeros);
  all.insert(all.end(), results.begin(), results.end());
  all.resize(program.args.empty() ? 0 : program.args.size() - 1);
  return all;
}

void set_candidate(const Format& format, int index, size_t groups, GroupScales& out) {
  const ScaleKind& kind = *format.scale_kind;
  ResultColumns results(out);
  const auto levels = static_cast<size_t>(kind.levels);
  out.codes.resize(levels * groups);
  out.scales.resize(levels);
  const Expr value =
      effective_scale(format, kind.value(format, Expr::arg(0, Scalar::u32)), Expr::number(Scalar::f64, out.global));
  for (size_t level = 0; level < levels; ++level) {
    const auto codes = map_groups<uint32_t, double>(kind.code(format, results.names, index, static_cast<int>(level)),
                                                    results.columns, groups);
    for (size_t g = 0; g < groups; ++g) out.codes[g * levels + level] = codes[g];
    const std::vector<uint32_t>* columns[] = {&codes};
    out.scales[level] = map_groups<double, uint32_t>(value, columns, groups);
    if (!is_two_level(format)) continue;
    const std::vector<double>& outer = out.results[kind.reductions.size() + level];
    for (size_t g = 0; g < groups; ++g) out.scales[level][g] *= outer[g];
  }
  if (!kind.zero_point) return;
  const std::vector<Expr> names = results.names;
  const Expr scale = results.add(out.scales[0]);
  out.zero_points = map_groups<uint32_t, double>(kind.zero_point(format, names, scale), results.columns, groups);
  out.zeros.assign(out.zero_points.begin(), out.zero_points.end());
}

GroupScales choose_scales(const Format& format, const BlockTraversal& blocks, Values values) {
  const ScaleKind& kind = *format.scale_kind;
  GroupScales out;
  if (kind.reductions.empty()) return out;
  for (const GroupReduction& reduction : kind.reductions) {
    std::vector<Expr> earlier;
    const std::vector<GroupColumn> columns(out.results.begin(), out.results.end());
    for (size_t i = 0; i < out.results.size(); ++i) earlier.push_back(group_arg(static_cast<int>(i)));
    out.results.push_back(
        reduce(blocks, values, reduction.kind, reduction.term(format, element_arg(), earlier), columns));
  }
  const size_t groups = static_cast<size_t>(blocks.layout().groups);
  if (groups > 0) out.nonfinite = find_nonfinite(blocks, values);
  if (kind.global) add_global(format, groups, out);
  if (!kind.code || groups == 0) return out;
  if (is_two_level(format)) {
    spread_nonfinite(blocks.layout(), out.nonfinite);
    add_outer(format, blocks.layout(), out);
  }
  set_candidate(format, 0, groups, out);
  const int candidates = kind.candidates ? kind.candidates(format) : 1;
  if (candidates > 1) choose_candidates(format, blocks, values, candidates, groups, out);
  for (size_t g = 0; g < groups; ++g)
    if (out.nonfinite[g]) make_nan(format, g, out);
  return out;
}

}  // namespace hone
