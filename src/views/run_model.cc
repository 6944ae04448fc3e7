#include "views/run_model.h"

#include <algorithm>

#include "views/profile.h"

namespace hone {
namespace {

Table outputs_table(const RunModelResult& result, const std::vector<std::string>& files) {
  const NumberStyle four{NumberFormat::significant, 4};
  Table table{.key = "outputs",
              .title = "Outputs",
              .columns = {{"name", "name"},
                          {"type", "type"},
                          {"min", "smallest", "", four},
                          {"mean", "mean", "", four},
                          {"max", "largest", "", four},
                          {"file", "file"}},
              .rows = {}};
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const Tensor& output = result.outputs[i];
    // Of strings, and of sequences and optionals, the type is all that is shown.
    const bool has_numbers = output.container() == Container::none && output.dtype() != DType::string;
    const std::vector<double> values = has_numbers ? output.to_doubles() : std::vector<double>();
    Cell least, mean, most;
    if (!values.empty()) {
      double sum = 0;
      for (double v : values) sum += v;
      const auto [low, high] = std::minmax_element(values.begin(), values.end());
      least = number(*low), most = number(*high), mean = number(sum / static_cast<double>(values.size()));
    }
    table.rows.push_back(
        {result.names[i], to_string(output.type()), least, mean, most, files.empty() ? Cell() : Cell(files[i])});
  }
  return table;
}

}  // namespace

Record view_of(const RunModelResult& result, const std::vector<std::string>& files) {
  Record record{.sections = {{"Outputs", {outputs_table(result, files)}}}};
  if (!result.profile) return record;
  Record profiled = view_of(*result.profile);
  record.sections.push_back(std::move(profiled.sections[0]));
  record.machine = std::move(profiled.machine);
  return record;
}

}  // namespace hone
