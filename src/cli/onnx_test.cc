#include "jobs/onnx_test.h"

#include "cli/flags.h"
#include "cli/registry.h"
#include "cli/terminal_progress.h"
#include "report/json.h"
#include "report/text.h"

namespace hone {
namespace {

struct {
  std::vector<std::string> folders;
  RunFlags run;
  bool json = false, all = false;
} flags;

void setup(CLI::App& app) {
  app.add_option("DIR", flags.folders, "Folders with cases in them (model.onnx, test_data_set_0/input_0.pb …)")
      ->required();
  flags.run.add_to(app);
  app.add_flag("--all", flags.all, "List every case, not only those that are not right");
  app.add_flag("--json", flags.json, "Print the counts and all cases as JSON");
}

Json json_of(const OnnxTestResult& result) {
  Json cases = Json::array();
  for (const OnnxCase& each : result.cases)
    cases.push_back({{"name", each.name},
                     {"path", each.path},
                     {"result", to_string(each.result)},
                     {"execution", each.execution},
                     {"operators", each.operators},
                     {"reason", each.reason}});
  return {{"pass", result.pass},
          {"wrong", result.wrong},
          {"unsupported", result.unsupported},
          {"skipped", result.skipped},
          {"cases", std::move(cases)}};
}

int run() {
  const OnnxTestResult result =
      run_onnx_tests(flags.folders, {.session = flags.run.options(), .progress = terminal_progress()});
  if (flags.json) {
    print_json(json_of(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    Record record = onnx_test_record(result);
    auto& rows = std::get<Table>(record.sections[1].blocks[0]).rows;
    if (!flags.all)
      std::erase_if(rows, [](const std::vector<Cell>& row) { return std::get<std::string>(row[1]) == "pass"; });
    if (rows.empty()) record.sections.pop_back();
    print_text(text(record));
  }
  return result.wrong > 0 ? 1 : 0;
}

}  // namespace

extern constinit const VerbDef onnx_test_verb_def{
    .name = "onnx-test",
    .summary = "Run ONNX test cases and count what is right, wrong and not supported",
    .examples =
        "  hone onnx-test /usr/share/libonnx-testdata/data/node\n"
        "  hone onnx-test cases -O0 --json\n"
        "  hone onnx-test cases --isa avx2 --no-pass fold_constants",
    .setup = setup,
    .run = run};

}  // namespace hone
