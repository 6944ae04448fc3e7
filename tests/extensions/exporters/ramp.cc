// ramp: what importers/ramp.cc reads, of a graph y = x * w.
#include <fmt/format.h>

#include "base/atomic_file.h"
#include "base/error.h"
#include "exporters/exporter.h"
#include "ops/registry.h"

namespace hone {
namespace {

const Tensor& slopes_of(const Graph& graph, const std::string& path) {
  const std::span<const NodeId> nodes = graph.nodes();
  if (nodes.size() == 1 && graph.node(nodes[0]).op == &ops::get("mul"))
    for (const ValueId operand : graph.node(nodes[0]).operands)
      if (const Tensor* w = graph.constant(operand); w && w->shape().size() == 1 && w->dtype() == DType::f32) return *w;
  fail("{}: a ramp has one product with a row of f32; the graph has {} nodes. Write it as .safetensors", path,
       nodes.size());
}

WrittenModel write(const std::string& path, const Graph& graph, const NamedFiles&, const ExportOptions&) {
  std::string text = "hone-ramp\n";
  for (const float slope : slopes_of(graph, path).as<float>()) text += fmt::format("{}\n", slope);
  write_file(path, text);
  return {.files = {path}, .onnx = {}, .notes = {}};
}

}  // namespace

extern constinit const ExporterDef ramp_exporter_def{.name = "ramp",
                                                     .doc = "slopes, one a line",
                                                     .ending = ".ramp",
                                                     .is_exact = true,
                                                     .carries = [](const std::string&) { return false; },
                                                     .write = write};

}  // namespace hone
