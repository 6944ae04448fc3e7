#include "formats/group_scales.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <limits>

#include "formats/scale.h"

namespace hone {
namespace {

using Values = std::span<const float>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<uint8_t> find_dirty(const Walk& walk, Values values) {
  std::vector<uint8_t> dirty(static_cast<size_t>(walk.layout().groups));
  for_each_unit(
      walk, [] { return BatchInputs(0); },
      [&](int64_t unit, BatchInputs& inputs) {
        walk.for_each_batch(walk.unit(unit), [&](const Batch& batch) {
          inputs.load(walk, batch, values, {});
          if (!any_nonfinite(inputs.x().first(static_cast<size_t>(batch.elems)))) return;
          for (const Run& run : batch.runs)
            if (any_nonfinite(inputs.x().subspan(static_cast<size_t>(run.begin), static_cast<size_t>(run.logical))))
              // Units of a one-group geometry share the flag.
              std::atomic_ref(dirty[static_cast<size_t>(run.group)]).store(1, std::memory_order_relaxed);
        });
      });
  return dirty;
}

double identity(Reduction::Kind kind) {
  switch (kind) {
    case Reduction::Kind::max:
      return -kInfinity;
    case Reduction::Kind::min:
      return kInfinity;
    case Reduction::Kind::sum:
      return 0;
  }
  CHECK(false);
}

double combine(Reduction::Kind kind, double a, double b) {
  switch (kind) {
    case Reduction::Kind::max:
      return b > a ? b : a;
    case Reduction::Kind::min:
      return b < a ? b : a;
    case Reduction::Kind::sum:
      return a + b;
  }
  CHECK(false);
}

double reduce_run(Reduction::Kind kind, double result, std::span<const double> terms) {
  if (kind == Reduction::Kind::max)
    for (double t : terms) result = t > result ? t : result;
  else
    for (double t : terms) result = combine(kind, result, t);
  return result;
}

// One value per group. In one-group geometries each unit reduces its own part; the parts are combined in order, so that
// the result does not depend on threads.
std::vector<double> reduce(const Walk& walk, Values values, Reduction::Kind kind, const Expr& term,
                           std::span<const GroupColumn> columns) {
  const Program program = flatten(term);
  const bool shared = walk.units_share_group();
  std::vector<double> parts(static_cast<size_t>(shared ? walk.units() : walk.layout().groups), identity(kind));
  struct Scratch {
    BatchInputs inputs;
    std::vector<double> terms = std::vector<double>(Walk::kBatch);
  };
  for_each_unit(
      walk, [&] { return Scratch{BatchInputs(columns.size())}; },
      [&](int64_t unit, Scratch& scratch) {
        walk.for_each_batch(walk.unit(unit), [&](const Batch& batch) {
          scratch.inputs.load(walk, batch, values, columns);
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

struct Candidate {
  std::vector<uint32_t> codes, zero_points;
  std::vector<double> scales, zeros;
};

// `results` of the reductions; position i of the expressions is result i, the one after them the scale.
Candidate make_candidate(const Format& format, const std::vector<std::vector<double>>& results, int index,
                         size_t groups) {
  const ScaleKind& kind = *format.scale_kind;
  std::vector<Expr> names;
  std::vector<const std::vector<double>*> columns;
  for (size_t i = 0; i < results.size(); ++i) {
    names.push_back(Expr::arg(static_cast<int>(i), Scalar::f64));
    columns.push_back(&results[i]);
  }
  Candidate c;
  c.codes = map_groups<uint32_t, double>(kind.code(format, names, index), columns, groups);
  const std::vector<uint32_t>* codes[] = {&c.codes};
  c.scales = map_groups<double, uint32_t>(kind.value(format, Expr::arg(0, Scalar::u32)), codes, groups);
  if (!kind.zero_point) return c;
  columns.push_back(&c.scales);
  const Expr scale = Expr::arg(static_cast<int>(names.size()), Scalar::f64);
  c.zero_points = map_groups<uint32_t, double>(kind.zero_point(format, names, scale), columns, groups);
  c.zeros.assign(c.zero_points.begin(), c.zero_points.end());
  return c;
}

std::vector<GroupColumn> columns_of(const std::vector<double>& scales, const std::vector<double>& zeros) {
  std::vector<GroupColumn> columns{scales};
  if (!zeros.empty()) columns.push_back(zeros);
  return columns;
}

// Sum over the group of (x - decoded)^2.
std::vector<double> squared_error(const Format& format, const Walk& walk, Values values, const Candidate& candidate) {
  const Expr x = element_arg(), scale = group_arg(0), zero = group_arg(1);
  const Expr y = decoded(format, encoded(format, x, scale, zero), scale, zero);
  const Expr difference = cast(Scalar::f64, x) - cast(Scalar::f64, y);
  return reduce(walk, values, Reduction::Kind::sum, difference * difference,
                columns_of(candidate.scales, candidate.zeros));
}

Candidate best_candidate(const Format& format, const Walk& walk, Values values,
                         const std::vector<std::vector<double>>& results, size_t groups) {
  const int count = format.scale_kind->candidates ? format.scale_kind->candidates(format) : 1;
  Candidate best = make_candidate(format, results, 0, groups);
  if (count == 1) return best;
  std::vector<double> smallest = squared_error(format, walk, values, best);
  for (int index = 1; index < count; ++index) {
    const Candidate other = make_candidate(format, results, index, groups);
    const std::vector<double> error = squared_error(format, walk, values, other);
    for (size_t g = 0; g < groups; ++g) {
      if (!(error[g] < smallest[g])) continue;
      smallest[g] = error[g];
      best.codes[g] = other.codes[g], best.scales[g] = other.scales[g];
      if (!other.zeros.empty()) best.zero_points[g] = other.zero_points[g], best.zeros[g] = other.zeros[g];
    }
  }
  return best;
}

}  // namespace

bool any_nonfinite(std::span<const float> values) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (const float v : values) found |= (std::bit_cast<uint32_t>(v) & kExponent) == kExponent;
  return found != 0;
}

Expr encoded(const Format& format, Expr x, Expr scale, Expr zero_point) {
  return format.codec->encode(format.element, format.scale_kind->normalise(format, x, scale, zero_point));
}

Expr decoded(const Format& format, Expr code, Expr scale, Expr zero_point) {
  const Expr value = format.codec->decode(format.element, code);
  const auto restore = format.scale_kind->restore;
  return cast(Scalar::f32, restore ? restore(format, value, scale, zero_point) : value * scale);
}

std::vector<GroupColumn> GroupScales::columns() const {
  if (codes.empty()) return {};
  return columns_of(scales, zeros);
}

GroupScales choose_scales(const Format& format, const Walk& walk, Values values) {
  const ScaleKind& kind = *format.scale_kind;
  const size_t groups = static_cast<size_t>(walk.layout().groups);
  if (!kind.code || groups == 0) return {};
  std::vector<std::vector<double>> results;
  for (const Reduction& reduction : kind.reductions) {
    std::vector<Expr> earlier;
    std::vector<GroupColumn> columns(results.begin(), results.end());
    for (size_t i = 0; i < results.size(); ++i) earlier.push_back(group_arg(static_cast<int>(i)));
    results.push_back(reduce(walk, values, reduction.kind, reduction.term(format, element_arg(), earlier), columns));
  }
  Candidate best = best_candidate(format, walk, values, results, groups);
  GroupScales out{std::move(best.codes), std::move(best.zero_points), std::move(best.scales), std::move(best.zeros),
                  find_dirty(walk, values)};
  for (size_t g = 0; g < groups; ++g) {
    if (!out.dirty[g]) continue;
    out.codes[g] = kind.nan_code(format), out.scales[g] = 1;
    if (!out.zeros.empty()) out.zero_points[g] = 0, out.zeros[g] = 0;
  }
  return out;
}

}  // namespace hone
