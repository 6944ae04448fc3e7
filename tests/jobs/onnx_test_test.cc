// The node tests in tests/data/onnx, whose results come from other systems (bench/peers/onnx_fixtures.py).
#include "jobs/onnx_test.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

void expect_none_wrong(OnnxTestOptions options) {
  const OnnxTestResult result = run_onnx_tests({HONE_TEST_DATA "/onnx"}, options);
  EXPECT_GT(result.pass, 500);
  for (const OnnxCase& each : result.cases)
    EXPECT_NE(each.result, OnnxCase::Result::wrong) << each.name << ": " << each.reason;
}

TEST(OnnxTest, NoResultIsWrongAsTheFileHasIt) { expect_none_wrong({.session = {.optimise = 0}}); }
TEST(OnnxTest, NoResultIsWrongCompiled) { expect_none_wrong({.session = {.optimise = 2}}); }

}  // namespace
}  // namespace hone
