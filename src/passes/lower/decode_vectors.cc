#include "passes/captures.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace hone {
namespace {

Graph decode_vectors(Graph graph, const PassContext&) {
  for (ValueId id : graph.constants()) {
    const Tensor& tensor = *graph.constant(id);
    if (!tensor.is_packed() || tensor.shape().size() > 1) continue;
    const ValueId plain = graph.add_constant("", unpack(tensor));
    graph.replace_all_uses(id, plain);
    graph.set_label(plain, derived_label(graph, id, ""));
  }
  graph.erase_unused_constants();
  retype_captures(graph);
  graph.reinfer();
  return graph;
}

}  // namespace

extern constinit const PassDef decode_vectors_def{.name = "decode_vectors",
                                                  .doc =
                                                      "Packed constants of rank 0 and 1, such as biases, become f32: "
                                                      "kernels read them as they are.",
                                                  .run = decode_vectors};

}  // namespace hone
