#include "views/compile_model.h"

#include <fmt/format.h>

#include "views/conditions.h"
#include "views/saved_model.h"

namespace hone {
namespace {

KeyValues figures(const CompileResult& result) {
  const NumberStyle count{NumberFormat::integer, 0}, bytes{NumberFormat::bytes, 3};
  const SessionStatistics& s = result.session;
  return {.key = "compiled",
          .title = "Compiled",
          .items = {{"isa", "instruction set", result.variant},
                    {"kernels", "kernels", number(result.kernels()), "", count},
                    {"kernels_compiled", "of them compiled now", number(s.kernels_compiled), "", count},
                    {"compile_ms", "compile", number(s.compile_milliseconds), "ms", {}},
                    {"object_bytes", "machine code", number(static_cast<double>(result.object_bytes)), "", bytes},
                    {"file_bytes", "file", number(static_cast<double>(result.saved.bytes)), "", bytes}}};
}

}  // namespace

Record view_of(const CompileResult& result) {
  Record record{.title = fmt::format("{} compiled", result.name),
                .findings = {fmt::format("{} carries the machine code of {} kernels for {}", result.path,
                                         result.kernels(), result.variant)},
                .sections = {{"Compiled", {figures(result)}}},
                .machine = describe(result.environment),
                .manifest = {input_entry(result.source), output_entry(result.written)}};
  if (result.with_bodies > 0)
    record.findings.push_back(fmt::format("without code of the bodies of {} node{}, compiled when they first run",
                                          result.with_bodies, result.with_bodies == 1 ? "" : "s"));
  if (const int kernels = result.session.host_kernels; kernels > 0)
    record.findings.push_back(
        fmt::format("without {} kernel{} of the host, compiled on the machine that runs the file: {} has none for "
                    "their steps",
                    kernels, kernels == 1 ? "" : "s", result.device));
  for (std::string& finding : findings_of(result.saved, result.path)) record.findings.push_back(std::move(finding));
  for (const std::string& note : result.session.notes()) record.findings.push_back(note);
  return record;
}

}  // namespace hone
