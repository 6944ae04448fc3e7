// hone info: what it says of a model whose sizes it had to guess.
#include "views/info.h"

#include "report/text.h"
#include "tests/jobs/jobs_fixture.h"

namespace hone {
namespace {

using testing::HasSubstr;
using Info = JobsTest;

TEST_F(Info, OpensAModelThatTheGuessedSizesDoNotFit) {
  const Model loaded = load_model(put_graph("fixed.safetensors", R"(graph g {
    %x : f32[N,3,H,W] = input "x"
    %table : f32[1,3,8] = const "table" {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24}
    %patches = reshape %x {shape=[N,3,H*W]}
    %y = add %patches, %table
    return %y as "y"
  })"));
  const InfoResult guessed = info(loaded, {});
  EXPECT_EQ(guessed.parameters, 24);
  EXPECT_FALSE(guessed.flops);
  EXPECT_TRUE(is_empty(item(view_of(guessed), "summary", "mflop")));
  EXPECT_THAT(text(view_of(guessed)), HasSubstr("do not fit: "));
  EXPECT_EQ(info(loaded, {.dims = {{"H", 4}, {"W", 2}}}).flops, 24);
  EXPECT_THAT(error_of([&] { info(loaded, {.dims = {{"W", 3}}}); }), HasSubstr("add"));
}

}  // namespace
}  // namespace hone
