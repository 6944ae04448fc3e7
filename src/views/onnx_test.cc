#include "views/onnx_test.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "base/text.h"

namespace hone {

Record view_of(const OnnxTestResult& result, bool all) {
  const NumberStyle count{NumberFormat::integer, 0};
  const auto counted = [&](const char* key, int value) {
    return KeyValue{key, key, number(static_cast<double>(value)), "", count};
  };
  KeyValues summary{.key = "summary",
                    .title = "Cases",
                    .items = {counted("pass", result.pass), counted("wrong", result.wrong),
                              counted("unsupported", result.unsupported), counted("skipped", result.skipped)}};
  std::map<std::string, std::array<int, 4>> by_operator;
  for (const OnnxCase& each : result.cases)
    for (const std::string& name : split(each.operators, ' '))
      if (!name.empty()) ++by_operator[name][static_cast<size_t>(each.result)];
  Table operators{.key = "operators",
                  .title = "By operator",
                  .columns = {{"operator", "op, or operator that is not supported"},
                              {"pass", "pass", "", count},
                              {"wrong", "wrong", "", count},
                              {"unsupported", "unsupported", "", count},
                              {"skipped", "skipped", "", count}}};
  for (const auto& [name, counts] : by_operator) {
    std::vector<Cell> row{name};
    for (int value : counts) row.push_back(number(static_cast<double>(value)));
    operators.rows.push_back(std::move(row));
  }
  Table cases{.key = "cases",
              .title = "Cases",
              .columns = {{"case", "case"},
                          {"result", "result"},
                          {"execution", "ran"},
                          {"operators", "ops"},
                          {"reason", "reason"},
                          {"path", "folder"}}};
  for (const OnnxCase& each : result.cases)
    if (all || each.result != OnnxCase::Result::pass)
      cases.rows.push_back({each.name, to_string(each.result), each.execution, each.operators, each.reason, each.path});
  Record record{
      .title = "ONNX test cases",
      .findings = {fmt::format("{} of {} cases pass, {} are wrong, {} use what is not supported, {} are "
                               "skipped: their results are random, or they have no data, or it contradicts the model.",
                               result.pass, result.cases.size(), result.wrong, result.unsupported, result.skipped)}};
  record.sections.push_back({"Summary", {summary, operators}});
  if (!cases.rows.empty()) record.sections.push_back({"All cases", {cases}});
  return record;
}

}  // namespace hone
