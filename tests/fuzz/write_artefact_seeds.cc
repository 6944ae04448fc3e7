// write_artefact_seeds OUT FILE.onnx...: each model that opens as an artefact below OUT, its larger constants packed
// every other time, for artefact_structure_fuzz to start from.
#include <cstdio>
#include <string>

#include "base/error.h"
#include "io/artefact.h"
#include "io/onnx/import_model.h"

int main(int argc, char** argv) {
  int written = 0;
  for (int i = 2; i < argc; ++i) {
    try {
      const hone::OnnxImport import = hone::import_onnx(argv[i]);
      hone::Graph graph = import.graph;
      const hone::Format format = hone::parse_format(i % 4 == 0 ? "mxint4" : "int4.g32.asym");
      for (const std::vector<hone::ValueId> constants = graph.constants(); hone::ValueId id : constants)
        if (i % 2 == 0 && graph.type(id).dtype == hone::DType::f32 && graph.type(id).rank() == 2)
          graph.replace_all_uses(id, graph.add_constant("packed", hone::pack(format, *graph.constant(id))));
      graph.erase_unused_constants();
      if (i % 3 == 0) graph.metadata[hone::kStoreKey] = hone::kSparse;
      hone::save_artefact(std::string(argv[1]) + "/" + std::to_string(written) + ".safetensors", graph,
                          {{"config.json", "{}"}});
      ++written;
    } catch (const hone::Error&) {
    }
  }
  std::printf("%d artefacts\n", written);
  return written > 0 ? 0 : 1;
}
