#include "jobs/export_model.h"

#include <limits>

namespace hone {
namespace {

constexpr OptionField<ExportFlags> kFields[] = {
    flag("opset", "Version of ONNX's operators, 17 to 28; default: the oldest that will do", &ExportFlags::opset,
         {.least = std::numeric_limits<int>::min(), .most = std::numeric_limits<int>::max()}),
    flag("layout",
         "Write a Hugging Face folder with packed weights as in compressed-tensors, mxfp4 (gpt-oss) or torchao",
         &ExportFlags::layout, {.not_with = "opset"}),
    flag("packed", "File that hone wrote: its packed weights take the place of MODEL's", &ExportFlags::packed,
         {.file = OptionFile::reads, .only_with = "layout"})};

}  // namespace

std::span<const OptionField<ExportFlags>> ExportFlags::fields() { return kFields; }

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

std::variant<ExportResult, FolderResult> export_as(const Model& model, const std::string& path,
                                                   const ExportFlags& options) {
  if (!options.layout.empty()) return export_folder(model, {path, options.layout, options.packed});
  std::optional<int> opset;
  if (options.opset) opset = static_cast<int>(*options.opset);
  return export_model(model, path, opset);
}

}  // namespace hone
