#include "views/sweep.h"

#include "report/html.h"
#include "report/svg.h"
#include "views/format_sweep.h"
#include "views/prune_sweep.h"

namespace hone {

Record view_of(const SweepResult& result, const std::string& folder) {
  return std::visit([&](const auto& sweep) { return view_of(sweep, folder); }, result);
}

std::vector<std::pair<std::string, std::string>> sweep_files(const SweepResult& result, const Record& record) {
  std::vector<std::pair<std::string, std::string>> files{
      {"sweep.csv", std::visit([](const auto& sweep) { return csv(sweep); }, result)}, {"sweep.html", html(record)}};
  for (const Section& section : record.sections)
    for (const Block& block : section.blocks)
      if (const auto* plot = std::get_if<LinePlot>(&block)) files.emplace_back(plot->key + ".svg", svg(*plot));
  return files;
}

}  // namespace hone
