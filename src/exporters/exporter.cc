#include "exporters/exporter.h"

#include "base/error.h"
#include "base/text.h"
#include "exporters/registry.h"

namespace hone {

const ExporterDef& exporter_for(const std::string& path) {
  std::vector<std::string> endings;
  for (const ExporterDef* def : exporters::all()) {
    if (path.ends_with(def->ending)) return *def;
    endings.emplace_back(def->ending);
  }
  fail("{}: the output's name must end in {}", path, one_of(endings));
}

ReopenedModel reopen(const ExporterDef& exporter, const std::string& path) {
  if (exporter.reopen) return exporter.reopen(path);
  Model model = import_model(path);
  NamedFiles files = std::move(model.files);
  files.merge(model.objects);
  return {.graph = std::move(model.graph), .files = std::move(files), .not_run = {}};
}

}  // namespace hone
