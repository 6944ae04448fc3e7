// Graphs that move elements or take them from elsewhere: gathers, transposes, parts, images of another size.
#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

TEST(Moves, GatherAlongAnyAxis) {
  for (int axis : {0, 1, -1})
    for (const char* ids : {"i64[4]", "i32[]", "i64[2,3]"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : f32[7,9,8] = input "x"
      %i : {} = input "i"
      %y = gather %x, %i {{axis={}}}
      return %y as "y"
    }})",
                                       ids, axis),
                           {}, {}, "gather gather");
}

TEST(Moves, TransposesBySquares) {
  for (const char* x : {"f32[2,3,35,17]", "bf16[1,40,5,6]", "i64[2,3,9,4]", "u8[3,20,33,2]", "f32[1,5,1,3]"})
    for (const char* perm : {"0,2,3,1", "0,3,1,2", "0,1,3,2", "3,2,1,0", "2,3,0,1"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {} = input "x"
      %y = transpose %x {{perm=[{}]}}
      return %y as "y"
    }})",
                                       x, perm));
}

// The op `node` moves elements of %x and %y without being interpreted; %s is a scalar.
void expect_moved(const std::string& x, const std::string& op, const std::string& operands) {
  expect_text_conforms(fmt::format(R"(graph g {{
      %x : {0} = input "x"
      %y : {0} = input "y"
      %s : {1} = input "s"
      %z = {2} {3}
      return %z as "z"
    }})",
                                   x, x.substr(0, x.find('[')) + "[]", op, operands),
                       {}, {}, "pointwise " + op);
}

TEST(Moves, ConcatenationsAndSlicesAreCopiesOfParts) {
  for (const char* x : {"f32[2,5,7,18]", "i64[3,4,6,2]", "bf16[1,6,9,33]", "u8[2,4,8,1]"}) {
    expect_moved(x, "concat", "%x, %y, %x {axis=3}");
    expect_moved(x, "concat", "%y, %x {axis=0}");
    expect_moved(x, "concat", "%x, %y {axis=-2}");
    expect_moved(x, "slice", "%x {axes=[1,2], starts=[1,0], ends=[4,6], steps=[2,3]}");
    expect_moved(x, "strided_slice", "%x {axes=[1,2], starts=[-1,50], ends=[-100,0], steps=[-1,-2]}");
    expect_moved(x, "tile", "%x {repeats=[2,1,3,2]}");
    expect_moved(x, "tile", "%x {repeats=[1,4,1,1]}");
    expect_moved(x, "pad", "%x, %s {pads=[0,1,2,0,0,3,0,5]}");
    expect_moved(x, "pad", "%x {pads=[0,1,-2,0,1,0,3,0]}");
  }
  for (const char* mode : {"edge", "reflect", "wrap"})
    expect_moved("f32[2,5,7,18]", "pad", fmt::format("%x {{pads=[0,1,3,0,0,2,1,0], mode=\"{}\"}}", mode));
}

TEST(Moves, ConcatenationsReadWhatTheirOperandsAreSlicesOf) {
  const std::string text = R"(graph g {
      %x : f32[3,6,5,4] = input "x"
      %p = pad %x {pads=[0,1,0,0,0,1,0,0]}
      %a = slice %p {axes=[1], starts=[0], ends=[6]}
      %b = slice %p {axes=[1,3], starts=[2,1], ends=[8,3]}
      %c = slice %p {axes=[1,3], starts=[2,1], ends=[8,4], steps=[1,2]}
      %y = concat %a, %b, %c {axis=-1}
      %d = relu %b
      return %y as "y", %d as "d", %a as "a"
    })";
  expect_text_conforms(text, {}, {}, "pointwise concat");
  ParseContext context = op_context();
  const Graph graph = parse_graph(text, context);
  Philox rng(3);
  const RunProfile profile = run_session(graph, {{"x", random_floats(rng, {3, 6, 5, 4})}}, {}).profile;
  EXPECT_TRUE(std::ranges::none_of(profile.steps, [](const StepProfile& step) { return step.name == "c"; }));
}

TEST(Moves, SplitWritesEachPart) {
  expect_text_conforms(R"(graph g {
      %x : f32[3,5,21] = input "x"
      %a, %b, %c = split %x {axis=2, sizes=[16,1,4]}
      %r = relu %c
      return %a as "a", %r as "r"
    })",
                       {}, {}, "pointwise split; pointwise split");
}

TEST(Moves, NearestPlacesAlongChannelsLastImages) {
  for (const char* arguments : {"sizes=[14,18]", "sizes=[28,36]", "sizes=[7,18], coordinates=\"align_corners\"",
                                "sizes=[14,3], coordinates=\"asymmetric\", nearest_mode=\"floor\""})
    expect_moved("f32[2,7,9,24]", "resize", fmt::format("%x {{axes=[1,2], {}}}", arguments));
}

TEST(Moves, PlacesBetweenElements) {
  for (const char* x : {"f32[2,7,9,24]", "bf16[1,4,5,3]", "f32[3,6,5,1]"})
    for (const char* arguments :
         {"sizes=[14,18], mode=\"linear\"", "sizes=[5,23], mode=\"linear\", coordinates=\"align_corners\"",
          "sizes=[3,4], mode=\"linear\", antialias=1", "sizes=[17,11]", "sizes=[14,18], mode=\"cubic\"",
          "sizes=[3,4], mode=\"cubic\", antialias=1, cubic_coeff_a=-0.5"})
      expect_text_conforms(fmt::format(R"(graph g {{
      %x : {} = input "x"
      %y = resize %x {{axes=[1,2], {}}}
      return %y as "y"
    }})",
                                       x, arguments),
                           {}, {}, "resize resize");
}

}  // namespace
}  // namespace hone::test
