#include "io/onnx/export_model.h"

#include <filesystem>

#include "io/onnx/export_scope.h"
#include "io/onnx/write_model.h"
#include "ir/held_values.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

using onnx::ExportContext;

// The IR version that came with an opset: https://onnx.ai/onnx/repo-docs/Versioning.html
int ir_version_of(int opset) {
  constexpr int kVersions[] = {8, 8, 9, 9, 10, 10, 11, 12, 13, 13, 13, 14};  // of opset 17 and after
  return kVersions[opset - kOldestExportOpset];
}

// Where other programs see it. What is said of the file that the graph came from, or of computing, stays behind.
std::string stored_key(const std::string& key) {
  if (says_what_rows_are(key)) return std::string(kOwnKey) + key;
  return key.starts_with("onnx.") ? key.substr(5) : key;
}

void write_metadata(const Graph& graph, onnx::ModelProto& model) {
  for (const auto& [key, value] : graph.metadata) {
    if (key == "source" || key == "producer" || key == "compute") continue;
    auto& entry = *model.add_metadata_props();
    entry.set_key(stored_key(key));
    entry.set_value(value);
  }
}

onnx::ModelProto attempt(const Graph& graph, ExportContext& context) {
  onnx::ModelProto model;
  model.set_ir_version(ir_version_of(context.opset));
  model.set_producer_name("hone");
  model.set_producer_version(HONE_VERSION);
  model.add_opset_import()->set_version(context.opset);
  model.mutable_graph()->set_name(graph.name);
  onnx::ExportScope scope(context, graph, *model.mutable_graph());
  for (size_t i = 0; i < graph.inputs().size(); ++i) scope.declare_input(i, graph.value(graph.inputs()[i]).label);
  scope.write(true);
  write_metadata(graph, model);
  return model;
}

[[noreturn]] void refuse(const std::vector<onnx::NotExported>& refused) {
  std::string text = fmt::format("ONNX can't hold {} of the graph:", refused.size() == 1 ? "one part" : "some parts");
  for (const auto& [name, op, reason] : refused) text += fmt::format("\n  {} ({}): {}", name, op, reason);
  throw Error(text);
}

}  // namespace

onnx::ModelProto onnx_model(const Graph& given, const OnnxExportOptions& options, OnnxExport& result) {
  const Graph graph = with_constant_parameters(with_state_as_arguments(given));
  if (options.opset && (*options.opset < kOldestExportOpset || *options.opset > kNewestExportOpset))
    fail("opset {} is not supported; accepted: {} to {}", *options.opset, kOldestExportOpset, kNewestExportOpset);
  for (int opset = options.opset.value_or(kOldestExportOpset);;) {
    ExportContext context{.opset = opset,
                          .fixed = options.opset.has_value() || opset == kNewestExportOpset,
                          .keep_layouts = options.keep_layouts};
    onnx::ModelProto model = attempt(graph, context);
    if (context.needed > opset) {
      opset = context.needed;
      continue;
    }
    if (!context.refused.empty()) refuse(context.refused);
    result.opset = opset;
    result.nodes = context.nodes;
    for (auto& [how, format] : context.formats) result.formats.push_back(std::move(format));
    return model;
  }
}

OnnxExport export_onnx(const Graph& graph, const std::string& path, const OnnxExportOptions& options) {
  OnnxExport result;
  onnx::ModelProto model;
  try {
    model = onnx_model(graph, options, result);
  } catch (const Error& error) {
    fail("{}: {}", path, error.what());
  }
  const bool split = model.ByteSizeLong() > options.max_bytes;
  onnx::write_model(std::move(model), path, options.max_bytes);
  result.files = {path};
  if (split) result.files.push_back(path + ".data");
  for (const std::string& file : result.files) result.bytes += static_cast<int64_t>(std::filesystem::file_size(file));
  return result;
}

}  // namespace hone
