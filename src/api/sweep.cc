#include "jobs/sweep.h"

#include <hone/sweep.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"

namespace hone::api {
namespace {

SweptVariant described(const SweptFormat& swept) {
  return {.format = swept.format,
          .trained = swept.trained,
          .selecting = wrapped(swept.selecting),
          .held_out = wrapped(swept.held_out),
          .average_bits = swept.average_bits,
          .bytes = swept.bytes};
}

SweptVariant described(const SweptPruning& swept) {
  return {.method = swept.method,
          .sparsity = swept.sparsity,
          .trained = swept.trained,
          .selecting = wrapped(swept.selecting),
          .held_out = wrapped(swept.held_out),
          .bytes = swept.sparse_bytes,
          .parameters = swept.parameters};
}

// What both kinds have.
template <class Sweep, class Variants>
SweepResult described(const Sweep& sweep, const Variants& variants) {
  SweepResult result{.data = sweep.study.data,
                     .metric = metric_name(sweep.study.scale),
                     .measured = sweep.measured,
                     .recalled = sweep.recalled};
  for (const auto& swept : variants) result.variants.push_back(described(swept));
  if (sweep.original_trained) result.original_trained = described(*sweep.original_trained);
  return result;
}

SweepResult described(const FormatSweep& sweep) {
  SweepResult result = described(sweep, sweep.formats);
  result.original = described(sweep.original);
  result.best = sweep.best;
  return result;
}

SweepResult described(const PruneSweep& sweep) {
  SweepResult result = described(sweep, sweep.prunings);
  if (sweep.original) result.original = described(*sweep.original);
  return result;
}

}  // namespace

SweepResult sweep(const Model& model, const SweepOptions& options, const Task& task) {
  return guarded([&] {
    const auto flags = options_of<hone::SweepOptions>(given(options));
    return std::visit([](const auto& found) { return described(found); },
                      hone::sweep(engine(model), flags, context_of(task)));
  });
}

}  // namespace hone::api
