#include "formats/scale_search.h"

#include <cmath>

#include "formats/group_scales.h"

namespace hone {
namespace {

using Values = std::span<const float>;

// The scale of a power of two moves by whole octaves. Others: clipping pays most between a half and all of the largest
// magnitude; groups of many elements may have one that is far from the rest.
std::vector<double> coarse_factors(const Format& format, const BlockTraversal& blocks) {
  if (format.scale_kind == &pow2_scale) return {2, 0.5, 0.25};
  constexpr int64_t kSmallGroup = 256;
  const int lowest = blocks.layout().group_elems > kSmallGroup ? -40 : -8;  // eighths of an octave
  std::vector<double> factors;
  for (int i = 2; i >= lowest; --i)
    if (i != 0) factors.push_back(std::exp2(i / 8.0));
  return factors;
}

std::vector<double> fine_factors(const Format& format) {
  if (format.scale_kind == &pow2_scale) return {};
  return {std::exp2(1 / 16.0), std::exp2(-1 / 16.0), std::exp2(1 / 32.0), std::exp2(-1 / 32.0)};
}

// A channel along the rows, or a group along them.
bool lies_in_row(const Geometry& geometry) {
  if (geometry.kind == Geometry::Kind::channel) return geometry.axis == 0 || geometry.axis == -2;
  return geometry.kind == Geometry::Kind::group && (geometry.axis == -1 || geometry.axis == 1);
}

class Search {
 public:
  Search(const Format& format, const BlockTraversal& blocks, Values values, const ElementInputs& inputs)
      : format_(format),
        blocks_(blocks),
        values_(values),
        inputs_(inputs),
        groups_(static_cast<size_t>(blocks.layout().groups)),
        best_(choose_scales(format, blocks, values)) {}

  GroupScales run() {
    if (!format_.scale_kind->code || groups_ == 0) return std::move(best_);
    smallest_ = errors(best_);
    try_factors(coarse_factors(format_, blocks_));
    try_factors(fine_factors(format_));
    return std::move(best_);
  }

 private:
  // Each is applied to what is best so far.
  void try_factors(const std::vector<double>& factors) {
    const std::vector<std::vector<double>> start = best_.results;
    GroupScales other;
    other.global = best_.global;
    for (double factor : factors) {
      other.results = start;
      for (size_t i = 0; i < format_.scale_kind->reductions.size(); ++i)
        for (double& result : other.results[i]) result *= factor;
      set_candidate(format_, 0, groups_, other);
      adopt_better(other);
    }
  }

  void adopt_better(const GroupScales& other) {
    const std::vector<double> error = errors(other);
    const size_t levels = best_.scales.size();
    for (size_t g = 0; g < groups_; ++g) {
      if (!(error[g] < smallest_[g])) continue;
      smallest_[g] = error[g];
      for (size_t i = 0; i < levels; ++i) {
        best_.codes[g * levels + i] = other.codes[g * levels + i];
        best_.scales[i][g] = other.scales[i][g];
      }
      for (size_t i = 0; i < best_.results.size(); ++i) best_.results[i][g] = other.results[i][g];
      if (!best_.zero_points.empty()) best_.zero_points[g] = other.zero_points[g], best_.zeros[g] = other.zeros[g];
    }
  }

  // Per group. Units of a one-group geometry sum up their parts, which are then added in order, so that the result does
  // not depend on threads.
  std::vector<double> errors(const GroupScales& scales) const {
    const GroupValues group = group_args(format_);
    const Program program = flatten(decoded(format_, encoded(format_, element_arg(), group), group));
    const std::vector<GroupColumn> columns = scales.columns(program);
    const bool shared = blocks_.units_share_group();
    const bool sums_means = lies_in_row(format_.geometry);
    std::vector<double> parts(shared ? static_cast<size_t>(blocks_.units()) : groups_), means(parts.size());
    struct Scratch {
      BatchInputs inputs;
      std::vector<float> y = std::vector<float>(BlockTraversal::kBatch),
                         variance = std::vector<float>(BlockTraversal::kBatch, 1.0f),
                         mean = std::vector<float>(BlockTraversal::kBatch, 0.0f);
    };
    for_each_unit(
        blocks_, [&] { return Scratch{BatchInputs(columns)}; },
        [&](int64_t unit, Scratch& scratch) {
          blocks_.for_each_batch(blocks_.unit(unit), [&](const Batch& batch) {
            scratch.inputs.load(blocks_, batch, values_);
            if (!inputs_.variance.empty()) blocks_.gather(batch, Values(inputs_.variance), scratch.variance.data());
            if (!inputs_.mean.empty()) blocks_.gather(batch, Values(inputs_.mean), scratch.mean.data());
            const MutableColumn result{scratch.y.data()};
            run_program(program, scratch.inputs.args(), batch.elems, {&result, 1});
            for (const Run& run : batch.runs) {
              const auto part = static_cast<size_t>(shared ? unit : run.group);
              for (auto i = static_cast<size_t>(run.begin); i < static_cast<size_t>(run.begin + run.logical); ++i) {
                const double d = static_cast<double>(scratch.inputs.x()[i]) - static_cast<double>(scratch.y[i]);
                const double mean = static_cast<double>(scratch.mean[i]) * d;
                parts[part] += static_cast<double>(scratch.variance[i]) * d * d + (sums_means ? 0 : mean * mean);
                means[part] += mean;
              }
            }
          });
        });
    if (sums_means)
      for (size_t g = 0; g < parts.size(); ++g) parts[g] += means[g] * means[g];
    if (!shared) return parts;
    double total = 0;
    for (double part : parts) total += part;
    return {total};
  }

  const Format& format_;
  const BlockTraversal& blocks_;
  Values values_;
  const ElementInputs& inputs_;
  size_t groups_;
  GroupScales best_;
  std::vector<double> smallest_;
};

}  // namespace

GroupScales search_scales(const Format& format, const BlockTraversal& blocks, Values values,
                          const ElementInputs& inputs) {
  for (const std::vector<float>* each : {&inputs.variance, &inputs.mean})
    CHECK(each->empty() || each->size() == values.size());
  return Search(format, blocks, values, inputs).run();
}

Planes pack_searched(const Format& format, std::span<const int64_t> shape, Values values, const ElementInputs& inputs) {
  const BlockTraversal blocks(format, shape);
  CHECK(static_cast<int64_t>(values.size()) == blocks.elems());
  (void)plane_bytes(format, shape);  // refuses formats that only quantize values
  return pack(format, blocks, values, search_scales(format, blocks, values, inputs));
}

}  // namespace hone
