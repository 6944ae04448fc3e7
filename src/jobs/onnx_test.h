// hone onnx-test: runs test cases in the layout of ONNX's own (model.onnx beside test_data_set_*/input_*.pb,
// output_*.pb) and counts what came out.
#pragma once

#include <string>
#include <vector>

#include "jobs/task.h"
#include "runtime/session.h"

namespace hone {

struct OnnxTestOptions {
  SessionOptions session;
  // As the standard's runner; a case's data.json wins. Never closer than the last place of the expected values.
  double relative = 1e-3, absolute = 1e-7;
};

// Folders that hold a model.onnx: `paths` themselves or anywhere below them, sorted. Error when there is none.
std::vector<std::string> find_onnx_cases(const std::vector<std::string>& paths);

struct OnnxCase {
  enum class Result : uint8_t { pass, wrong, unsupported, skipped };
  std::string path, name, operators;
  Result result = Result::wrong;
  std::string reason;
  std::string execution;  // "compiled" "interpreted" "partly compiled"; empty when it did not run
};

const char* to_string(OnnxCase::Result result);

// Never throws on account of a case: what goes wrong is its result.
OnnxCase run_onnx_case(const std::string& path, const OnnxTestOptions& options);

struct OnnxTestResult {
  std::vector<OnnxCase> cases;
  int pass = 0, wrong = 0, unsupported = 0, skipped = 0;
};
OnnxTestResult run_onnx_tests(const std::vector<std::string>& paths, const OnnxTestOptions& options,
                              const TaskContext& context = {});

}  // namespace hone
