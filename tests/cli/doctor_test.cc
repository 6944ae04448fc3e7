// hone doctor as a user meets it: what it promises of a run holds.
#include <gtest/gtest.h>

#include "base/json.h"
#include "tests/cli/cli_fixture.h"

namespace hone {
namespace {

using Doctor = CliTest;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their shadow memory is no part of a run
// The peak of a process that opens, compiles and runs the model, as the system counts it.
TEST_F(Doctor, ARunTakesNoMoreMemoryThanItSays) {
  for (const char* format : {"", "mxint8", "int4.g32"})
    for (const char* ending : {".safetensors", ".onnx"}) {
      SCOPED_TRACE(std::string(format) + ending);
      std::string file = model;
      if (*format) {
        file = out + "/q" + ending;
        expect_done(hone_program({"quantize", model, "--to", format, "-o", file}));
      }
      const Json memory = parse_json(hone_program({"doctor", file, "--seq", "16", "--json"}).out, "stdout")["memory"];
      for (const char* threads : {"1", "2"}) {
        const ProgramResult run = hone_program({"probe", file, "--seq", "16", "--threads", threads, "--no-cache"});
        expect_done(run);
        const size_t line = run.out.rfind('{');
        ASSERT_NE(line, std::string::npos) << run.out;
        EXPECT_LE(parse_json(run.out.substr(line), "stdout")["peak_bytes"].get<int64_t>(),
                  memory["needed_bytes"].get<int64_t>());
      }
    }
}
#endif

}  // namespace
}  // namespace hone
