#include "jobs/export_model.h"

namespace hone {

ExportResult export_model(const Model& model, const std::string& path, std::optional<int> opset) {
  if (!path.ends_with(".onnx")) fail("{}: the output's name must end in .onnx", path);
  refuse_source_as_output(path, model);
  ExportResult result{.name = model.name,
                      .path = path,
                      .saved = save_as_onnx(path, model.graph, {.opset = opset}),
                      .source = facts_of(model),
                      .environment = environment()};
  for (const std::string& file : result.saved.files) result.written.push_back(facts_of_written(file));
  return result;
}

}  // namespace hone
