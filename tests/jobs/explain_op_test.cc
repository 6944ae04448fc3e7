// hone explain --op: one op's plan.
#include "jobs/explain_op.h"

#include <gtest/gtest.h>

#include "jobs/explain.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

TEST(ExplainOp, AMatrixIsDecodedAndRoundedInOneStep) {
  const ExplainResult result = explain(dequantize_model({.shape = {64, 96}, .format = parse_format("mxint8")}));
  ASSERT_EQ(result.steps.size(), 1u);
  EXPECT_EQ(result.steps[0].kernel, "gather");
  ASSERT_EQ(result.codes.size(), 1u);
  EXPECT_EQ(result.codes[0].how, "rows of 96 mxint8");
}

TEST(ExplainOp, RefusesWhatIsNoMatrixAndWhatHasNoCodes) {
  for (const char* shape : {"", "4096", "4096,", "0,3", "3,-1", "3,4,5", "3,4x"})
    EXPECT_EQ(error_of([&] { parse_matrix_shape(shape); }),
              fmt::format("--shape {}: expected two sizes of 1 or more: rows,columns, as 4096,14336", shape));
  EXPECT_EQ(error_of([] { dequantize_model({.format = parse_format("bf16")}); }),
            "--format bf16: it has no codes; accepted: packed formats (hone formats), e.g. mxint8");
}

}  // namespace
}  // namespace hone::test
