#include "jobs/compile_model.h"

#include <algorithm>
#include <filesystem>

#include "base/inputs.h"
#include "jobs/open_session.h"
#include "ops/control.h"
#include "runtime/own_code.h"

namespace hone {

std::span<const OptionField<CompileOptions>> CompileOptions::fields() {
  static const auto all =
      joined_fields<CompileOptions>(ShapeFlags::fields(), RunFlags::fields(), RunFlags::compute_fields());
  return all;
}

CompileResult compile_model(Model model, SessionOptions options, const ShapeOptions& shapes, const std::string& path,
                            const TaskContext& context) {
  if (!path.ends_with(".safetensors")) fail("{}: the output's name must end in .safetensors", path);
  if (!options.compiles()) fail("there is nothing to compile with --backend reference or below -O2; leave them out");
  if (std::filesystem::is_directory(model.path)) refuse_source_as_output(path, model);
  if (options.compute) model.graph.metadata["compute"] = to_string(*options.compute);
  options.keep_objects = true;
  options.model_code = false;
  Session session(model.graph, options);
  const Bindings sizes = bind_symbols(session.graph(), shapes);
  context.tell("compiling");
  session.prepare(sizes, Session::Code::any_sizes);
  if (shapes.sequence || !shapes.dims.empty()) {
    session.prepare(sizes);
    note_own_code(model.graph, sizes);
  }
  context.check();
  const std::string objects = session.objects();
  std::map<std::string, std::string> files = model.files;
  files.insert(model.objects.begin(), model.objects.end());
  files[fmt::format("{}{}", kObjectFiles, session.device()->variant())] = objects;
  CompileResult result{.name = model.name,
                       .path = path,
                       .device = std::string(session.device()->name()),
                       .variant = session.device()->variant(),
                       .session = session.statistics(),
                       .object_bytes = static_cast<int64_t>(objects.size()),
                       .source = facts_of(model)};
  std::error_code absent;
  if (std::filesystem::equivalent(path, model.path, absent)) may_replace(path);  // with one that has more code
  result.saved = save_as_artefact(path, model.graph, files);
  result.written = facts_of_written(path);
  const Graph& graph = session.graph();
  result.with_bodies = std::ranges::count_if(graph.nodes(), [&](NodeId n) { return is_control(*graph.node(n).op); });
  result.environment = environment();
  return result;
}

CompileResult compile_model(const Model& model, const CompileOptions& options, const std::string& path,
                            const TaskContext& context) {
  return compile_model(model, options.session_options(), options.shapes(), path, context);
}

}  // namespace hone
