#include "jobs/compile_model.h"

#include <algorithm>
#include <filesystem>

#include "base/hash.h"
#include "base/inputs.h"
#include "jobs/open_session.h"
#include "jobs/save_model.h"
#include "measure/environment.h"
#include "ops/control.h"
#include "runtime/own_code.h"

namespace hone {
namespace {

KeyValues figures(const SessionStatistics& s, const Device& device, size_t object_bytes, int64_t file_bytes) {
  const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
  const int kernels = s.kernels_compiled + s.kernels_cached + s.kernels_bundled;
  return {.key = "compiled",
          .title = "Compiled",
          .items = {{"isa", "instruction set", device.variant()},
                    {"kernels", "kernels", number(kernels), "", count},
                    {"kernels_compiled", "of them compiled now", number(s.kernels_compiled), "", count},
                    {"compile_ms", "compile", number(s.compile_milliseconds), "ms", {}},
                    {"object_bytes", "machine code", number(static_cast<double>(object_bytes)), "", bytes},
                    {"file_bytes", "file", number(static_cast<double>(file_bytes)), "", bytes}}};
}

}  // namespace

Record compile_model(LoadedModel model, SessionOptions options, const ShapeOptions& shapes, const std::string& output,
                     const std::string& command) {
  if (!output.ends_with(".safetensors")) fail("{}: the output's name must end in .safetensors", output);
  if (!options.compiles()) fail("there is nothing to compile with --backend reference or below -O2; leave them out");
  if (std::filesystem::is_directory(model.path)) refuse_source_as_output(output, model);
  if (options.compute) model.graph.metadata["compute"] = to_string(*options.compute);
  options.keep_objects = true;
  options.model_code = false;
  Session session(model.graph, options);
  const Bindings sizes = bind_symbols(session.graph(), shapes);
  session.prepare(sizes, Session::Code::any_sizes);
  if (shapes.sequence || !shapes.dims.empty()) {
    session.prepare(sizes);
    note_own_code(model.graph, sizes);
  }
  const std::string objects = session.objects();
  std::map<std::string, std::string> files = model.files;
  files.insert(model.objects.begin(), model.objects.end());
  files[fmt::format("{}{}", kObjectFiles, session.device()->variant())] = objects;
  const ManifestEntry source{"input", model.path, model.sha256(), model.file_bytes};
  std::error_code absent;
  if (std::filesystem::equivalent(output, model.path, absent)) may_replace(output);  // with one that has more code
  const SavedModel saved = save_as_artefact(output, model.graph, files);
  const SessionStatistics& s = session.statistics();
  Record record{
      .title = fmt::format("{} compiled", model.name),
      .command = command,
      .findings = {fmt::format("{} carries the machine code of {} kernels for {}", output,
                               s.kernels_compiled + s.kernels_cached + s.kernels_bundled, session.device()->variant())},
      .sections = {{"Compiled", {figures(s, *session.device(), objects.size(), saved.bytes)}}},
      .machine = describe(environment()),
      .manifest = {source, {"output", output, sha256_of_file(output), saved.bytes}}};
  const Graph& graph = session.graph();
  const auto with_bodies = static_cast<size_t>(
      std::ranges::count_if(graph.nodes(), [&](NodeId n) { return is_control(*graph.node(n).op); }));
  if (with_bodies > 0)
    record.findings.push_back(fmt::format("without code of the bodies of {} node{}, compiled when they first run",
                                          with_bodies, with_bodies == 1 ? "" : "s"));
  if (s.host_kernels > 0)
    record.findings.push_back(
        fmt::format("without {} kernel{} of the host, compiled on the machine that runs the file: {} has none for "
                    "their steps",
                    s.host_kernels, s.host_kernels == 1 ? "" : "s", session.device()->name()));
  add_check(record, output, saved);
  for (const std::string& note : s.notes()) record.findings.push_back(note);
  return record;
}

}  // namespace hone
