// hone info: what it says of a model whose sizes it had to guess.
#include "jobs/info.h"

#include "report/text.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Info = JobsTest;

TEST_F(Info, OpensAModelThatTheGuessedSizesDoNotFit) {
  const LoadedModel loaded = load_model(put_graph("fixed.safetensors", R"(graph g {
    %x : f32[N,3,H,W] = input "x"
    %table : f32[1,3,1,2] = const "table" {1, 2, 3, 4, 5, 6}
    %y = add %x, %table
    return %y as "y"
  })"));
  const Record record = info(loaded, {});
  EXPECT_EQ(value_of(item(record, "summary", "parameters")), 6);
  EXPECT_TRUE(is_empty(item(record, "summary", "mflop")));
  EXPECT_EQ(text_of(cell(table_of(record, "ops"), "op", 0)), "add");
  EXPECT_EQ(value_of(item(info(loaded, {.dims = {{"H", 4}, {"W", 2}}}), "summary", "mflop")), 24e-6);
  EXPECT_THAT(error_of([&] { info(loaded, {.dims = {{"W", 4}}}); }), HasSubstr("add"));
}

}  // namespace
}  // namespace hone
