#include <hone/allocate.h>

#include "api/given_options.h"
#include "api/guarded.h"
#include "api/judged.h"
#include "jobs/allocate_formats.h"

namespace hone::api {
namespace {

MeasuredChoice described(const hone::MeasuredChoice& choice) {
  return {choice.name, choice.average_bits, choice.bytes, wrapped(choice.selecting), wrapped(choice.held_out)};
}

}  // namespace

AllocateResult allocate(const Model& model, const AllocateOptions& options, const Task& task) {
  return guarded([&] {
    const AllocatedFormats found =
        allocate_formats(engine(model), options_of<AllocateFlags>(given(options)), context_of(task));
    AllocateResult result{.rule = found.plan.rule,
                          .skip = found.plan.skip,
                          .method = found.plan.method,
                          .activations = found.plan.activations,
                          .compute = found.notes.compute,
                          .file_bytes = found.file_bytes,
                          .data = found.study.data,
                          .metric = metric_name(found.study.scale),
                          .chosen = described(found.chosen),
                          .original = described(found.original),
                          .measured = found.measured,
                          .recalled = found.recalled};
    for (const hone::MeasuredChoice& choice : found.uniform) result.uniform.push_back(described(choice));
    for (const hone::MeasuredChoice& choice : found.front) result.front.push_back(described(choice));
    for (const hone::AllocatedTensor& t : found.tensors)
      result.tensors.push_back({t.name, t.format, t.bytes, t.layer_error, t.output_error, t.is_measured});
    return result;
  });
}

}  // namespace hone::api
