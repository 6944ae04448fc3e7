#include "io/onnx/import_model.h"

#include <algorithm>
#include <filesystem>

#include "base/shell.h"
#include "io/onnx/export_model.h"
#include "io/onnx/onnx_scope.h"
#include "io/onnx/read_model.h"
#include "ir/row_keys.h"

namespace hone {
namespace {

constexpr int kNewestOpset = 28;

OpsetVersions opsets_of(const onnx::ModelProto& model, const std::string& source) {
  OpsetVersions versions;
  for (const auto& opset : model.opset_import()) {
    const std::string domain = opset.domain() == "ai.onnx" ? "" : opset.domain();
    versions[domain] = static_cast<int>(std::clamp<int64_t>(opset.version(), 0, 1'000'000));
  }
  if (!versions.contains("")) versions[""] = 1;  // IR version 1 and 2 had no opset_import
  if (versions[""] > kNewestOpset)
    fail("{}: uses opset {}; supported: 1 to {}. Export it with opset_version={}", source, versions[""], kNewestOpset,
         kNewestOpset);
  return versions;
}

std::string graph_name(const std::string& name) {
  std::string result;
  for (char c : name) result += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return result.empty() || std::isdigit(static_cast<unsigned char>(result[0])) ? "graph_" + result : result;
}

void collect_functions(const onnx::ModelProto& model, OnnxModelContext& context) {
  for (const onnx::FunctionProto& function : model.functions()) {
    const std::string domain = function.domain() == "ai.onnx" ? "" : function.domain();
    const std::string key = domain + ":" + function.name() + ":" + function.overload();
    if (!context.functions.emplace(key, &function).second)
      fail("{}: function {} is defined twice", context.source, function.name());
  }
}

int64_t count_nodes(const onnx::GraphProto& graph) {
  int64_t count = graph.node_size();
  for (const onnx::NodeProto& node : graph.node())
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.has_g()) count += count_nodes(attribute.g());
  return count;
}

// What hone wrote of the rows that the model takes is its own again.
std::string key_of(const std::string& stored) {
  if (stored.starts_with(kOwnKey) && says_what_rows_are(std::string_view(stored).substr(kOwnKey.size())))
    return stored.substr(kOwnKey.size());
  return "onnx." + stored;
}

OnnxImport import_message(const onnx::ModelFile& file, const std::string& source, onnx::ExternalData* external) {
  const onnx::ModelProto& model = file.message;
  const OpsetVersions opsets = opsets_of(model, source);
  OnnxModelContext context{.source = source, .external = external};
  for (const onnx::LargeData& data : file.large_data)
    context.in_file[&model.graph().initializer(data.initializer)] = {file.file, data.bytes};
  context.nodes_in_file = count_nodes(model.graph());
  collect_functions(model, context);
  OnnxImport result;
  result.opset = opsets.at("");
  Graph& graph = result.graph;
  graph.name = graph_name(model.graph().name());
  KnownDims dims;
  OnnxScope scope(context, opsets, graph, dims);
  const auto within_file = [&](auto&& step) {
    try {
      step();
    } catch (const Unsupported& unsupported) {
      if (*unsupported.what()) context.unsupported.push_back({"", "", unsupported.what()});
    } catch (const Error& error) {
      if (std::string_view(error.what()).starts_with(source + ":")) throw;
      fail("{}: {}", source, error.what());
    }
  };
  within_file([&] {
    scope.add_initializers(model.graph());
    scope.add_inputs(model.graph());
    scope.add_nodes(model.graph());
  });
  if (model.graph().output_size() == 0) fail("{}: the graph has no outputs", source);
  for (const onnx::ValueInfoProto& output : model.graph().output())
    within_file([&] {
      if (context.unsupported.empty()) graph.add_output(scope.find(output.name()), output.name());
    });
  graph.erase_unused_constants();
  graph.metadata["source"] = fmt::format("onnx opset {}", result.opset);
  if (!model.producer_name().empty()) graph.metadata["producer"] = model.producer_name();
  for (const auto& entry : model.metadata_props()) graph.metadata[key_of(entry.key())] = entry.value();
  result.unsupported = std::move(context.unsupported);
  result.nodes = context.nodes;
  return result;
}

}  // namespace

OnnxImport import_onnx(const std::string& path) {
  const onnx::ModelFile model = onnx::read_model(path);
  onnx::ExternalData external(path);
  OnnxImport result = import_message(model, path, &external);
  result.files = external.files();
  result.files.insert(result.files.begin(), path);
  return result;
}

OnnxImport import_onnx_bytes(std::string_view bytes, const std::string& source) {
  return import_message({.message = onnx::parse_model(bytes, source)}, source, nullptr);
}

std::string unsupported_text(const std::string& path, const std::vector<UnsupportedNode>& nodes) {
  constexpr size_t kShown = 20;
  std::string text =
      fmt::format("{}: {} {} not supported:", path, nodes.size(), nodes.size() == 1 ? "node is" : "nodes are");
  for (size_t i = 0; i < std::min(nodes.size(), kShown); ++i)
    text += nodes[i].op_type.empty()
                ? "\n  " + nodes[i].reason
                : fmt::format("\n  node \"{}\" ({}): {}", nodes[i].node, nodes[i].op_type, nodes[i].reason);
  if (nodes.size() > kShown) text += fmt::format("\n  and {} more", nodes.size() - kShown);
  return text + fmt::format("\nTry: hone doctor {}", shell_quoted(path));
}

}  // namespace hone
