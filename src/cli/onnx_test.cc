#include "views/onnx_test.h"

#include "base/json.h"
#include "cli/flags.h"
#include "cli/terminal_progress.h"
#include "cli/verb.h"
#include "report/text.h"

namespace hone {
namespace {

struct OnnxTestVerb : RunFlags {
  std::vector<std::string> folders;
  bool json = false, all = false;
  static std::span<const OptionField<OnnxTestVerb>> fields();
};

constexpr OptionField<OnnxTestVerb> kFolders[] = {
    required_flag("dir", "Folders with cases in them (model.onnx, test_data_set_0/input_0.pb …)",
                  &OnnxTestVerb::folders, {.is_positional = true})};
constexpr OptionField<OnnxTestVerb> kOwn[] = {
    flag("all", "List every case, not only those that are not right", &OnnxTestVerb::all),
    flag("json", "Print the counts and all cases as JSON", &OnnxTestVerb::json)};

std::span<const OptionField<OnnxTestVerb>> OnnxTestVerb::fields() {
  static const auto all = joined_fields<OnnxTestVerb>(kFolders, RunFlags::fields(), RunFlags::trust_fields(), kOwn);
  return all;
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

int run(OnnxTestVerb& verb) {
  const OnnxTestResult result =
      run_onnx_tests(verb.folders, {.session = verb.session_options()}, {.progress = terminal_progress()});
  if (verb.json) {
    print_json(json_of(result).dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    print_text(text(view_of(result, verb.all)));
  }
  return result.wrong > 0 ? 1 : 0;
}

constexpr Verb<OnnxTestVerb> kVerb{.name = "onnx-test",
                                   .task = VerbTask::measure,
                                   .summary = "Run ONNX test cases and count what is right, wrong and not supported",
                                   .examples =
                                       "  hone onnx-test /usr/share/libonnx-testdata/data/node\n"
                                       "  hone onnx-test cases -O0 --json\n"
                                       "  hone onnx-test cases --isa avx2 --no-pass fold_constants",
                                   .run = run};

}  // namespace

extern constinit const VerbDef onnx_test_verb_def = verb_def<kVerb>();

}  // namespace hone
