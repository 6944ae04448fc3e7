// Inputs and outputs whose elements lie apart: read and written where they are, with the bits of dense ones.
#include <gmock/gmock.h>

#include <cstring>
#include <thread>

#include "kernels/shapes.h"
#include "runtime/placed_views.h"
#include "runtime/session.h"
#include "tests/device/x86/at_the_edge.h"
#include "tests/runtime/encoder.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

constexpr std::byte kOther{0xff};  // what lies between elements: NaN as a float

enum class How : uint8_t { rows, planes, columns, every_other, backwards, repeated };

// Elements of `shape` lie with room between rows; also between the planes behind each other; as the columns of
// another; two apart; from the last row to the first; or those of one plane for all.
Strides strides_of(How how, const std::vector<int64_t>& shape, int64_t room) {
  const size_t rank = shape.size();
  Strides s{std::vector<int64_t>(rank, 1)};
  std::vector<size_t> order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = i;
  if (how == How::columns && rank > 1) std::swap(order[rank - 1], order[rank - 2]);
  int64_t next = how == How::every_other ? 2 : 1;
  for (size_t at = rank; at-- > 0;) {
    const size_t i = order[at];
    s.strides[i] = next;
    next = next * shape[i] + (at + 1 == rank || (how == How::planes && at + 2 == rank) ? room : 0);
  }
  if (how == How::backwards && rank > 1) {
    s.offset = (shape[0] - 1) * s.strides[0];
    s.strides[0] = -s.strides[0];
  }
  if (how == How::repeated && rank > 1) s.strides[0] = 0;
  return s;
}

// Up to its end, behind which nothing can be read or written.
class Memory {
 public:
  Memory(const Tensor& like, Strides strides, bool is_output)
      : type_(like.dtype()), shape_(like.shape()), strides_(std::move(strides)), filled_(bytes(), kOther) {
    if (!is_output)
      copy_elements(shape_, size_bytes(type_), like.data().bytes().data(), Strides::dense(shape_), filled_.data(),
                    strides_);
    edge_.emplace(filled_);
  }
  InputView input() { return {type_, shape_, {edge_->data(), filled_.size()}, strides_}; }
  OutputView output() { return {type_, shape_, {edge_->data(), filled_.size()}, strides_}; }
  Tensor elements() const { return tensor_view(type_, shape_, {edge_->data(), filled_.size()}, strides_); }
  // Whether nothing but the elements has been written.
  bool holds_only(const Tensor& elements) const {
    std::vector<std::byte> want(filled_.size(), kOther);
    copy_elements(shape_, size_bytes(type_), elements.data().bytes().data(), Strides::dense(shape_), want.data(),
                  strides_);
    return std::memcmp(want.data(), edge_->data(), want.size()) == 0;
  }

 private:
  size_t bytes() const {
    int64_t last = strides_.offset;
    for (size_t i = 0; i < shape_.size(); ++i) last += std::max<int64_t>(0, (shape_[i] - 1) * strides_.strides[i]);
    return static_cast<size_t>((last + 1) * size_bytes(type_));
  }
  DType type_;
  std::vector<int64_t> shape_;
  Strides strides_;
  std::vector<std::byte> filled_;
  mutable std::optional<AtTheEdge> edge_;
};

SessionOptions at(int level) {
  SessionOptions options;
  options.optimise = level;
  return options;
}

int copies_in(const RunProfile& profile) {
  return static_cast<int>(std::ranges::count(profile.steps, "copy", &StepProfile::ops));
}

// Runs with all tensors of `inputs` and all outputs laid out so, against the dense run; how many copies it took.
int expect_dense_bits(Session& session, const NamedTensors& given, How how, bool inputs, bool outputs, int64_t room,
                      const std::string& what) {
  const std::vector<std::string> names = session.output_names();
  NamedTensors dense = given, others;
  std::map<std::string, Memory> read, written;
  InputViews in;
  OutputViews out;
  for (auto& [label, tensor] : dense) {
    if (!inputs || tensor.shape().empty()) {
      others.emplace(label, tensor);
      continue;
    }
    const auto& [at, is_new] = read.try_emplace(label, tensor, strides_of(how, tensor.shape(), room), false);
    in.emplace(label, at->second.input());
    tensor = at->second.elements();  // repeated ones have become equal
  }
  const std::vector<Tensor> want = session.run(dense);
  for (size_t i = 0; i < want.size() && outputs; ++i) {
    const std::string& label = names[i];
    if (want[i].shape().empty()) continue;
    const auto& [at, is_new] = written.try_emplace(label, want[i], strides_of(how, want[i].shape(), room), true);
    out.emplace(label, at->second.output());
  }
  Context context;
  RunProfile profile;
  const std::vector<Tensor> got = session.run(context, others, in, out, &profile);
  for (size_t i = 0; i < want.size(); ++i)
    if (const auto apart = written.find(names[i]); apart != written.end())
      EXPECT_TRUE(apart->second.holds_only(want[i])) << what << ", output " << apart->first;
    else EXPECT_TRUE(got[i].same_bits(want[i])) << what << ", output " << i;
  return copies_in(profile);
}

NamedTensors floats_for(const Graph& graph, const Bindings& sizes) {
  NamedTensors inputs;
  Philox rng(11);
  for (ValueId v : graph.inputs()) {
    const TensorType& type = graph.type(v);
    const std::vector<int64_t> shape = evaluate(type.shape, sizes);
    inputs.emplace(graph.value(v).label, is_integer(type.dtype) ? random_integers(rng, shape, type.dtype, 0, 3)
                                                                : random_floats(rng, shape, type.dtype, -1, 1));
  }
  return inputs;
}

struct Class {
  std::string name;
  const char* graph;
  int input_copies, output_copies;  // for elements in rows with room between them
};

const Class kClasses[] = {
    {"pointwise", R"(graph g {
      %x : f32[B,S,12] = input "x"
      %z : f32[S,12] = input "z"
      %a = mul %x, %z
      %y = tanh %a
      return %y as "y"
    })",
     0, 0},
    {"pointwise_of_constant_sizes", R"(graph g {
      %x : f32[5,12] = input "x"
      %y = relu %x
      return %y as "y"
    })",
     0, 0},
    {"pointwise_of_small_types", R"(graph g {
      %x : bf16[B,S,12] = input "x"
      %i : i64[B,S,12] = input "i"
      %f = cast %i {dtype=bf16}
      %y = add %x, %f
      return %y as "y"
    })",
     0, 0},
    {"linear", R"(graph g {
      %x : f32[B,S,36] = input "x"
      %r : f32[B,S,40] = input "r"
      %w : f32[40,36] = const "weight"
      %b : f32[40] = const "bias"
      %l = linear %x, %w, %b
      %g = gelu %l
      %y = add %g, %r
      return %y as "y"
    })",
     0, 0},
    {"packed", R"(graph g {
      %x : f32[B,S,64] = input "x"
      %w : mxint8[40,64] = const "weight"
      %y = linear %x, %w
      return %y as "y"
    })",
     0, 0},
    {"bf16", R"(graph g {
      %x : bf16[B,S,36] = input "x"
      %w : bf16[40,36] = const "weight"
      %l = linear %x, %w
      %y = relu %l
      return %y as "y"
    })",
     0, 0},
    {"matmul", R"(graph g {
      %a : f32[B,S,20] = input "a"
      %b : f32[B,20,28] = input "b"
      %p = matmul %a, %b
      %y = relu %p
      return %y as "y"
    })",
     0, 0},
    {"matmul_of_transposes", R"(graph g {
      %a : f32[S,20] = input "a"
      %b : f32[S,28] = input "b"
      %t = transpose %a {perm=[1,0]}
      %y = matmul %t, %b
      return %y as "y"
    })",
     0, 0},
    {"rows", R"(graph g {
      %x : f32[B,S,33] = input "x"
      %s : f32[B,S,33] = input "s"
      %w : f32[33] = const "weight"
      %b : f32[33] = const "bias"
      %a = add %x, %s
      %y = layer_norm %a, %w, %b
      %m = reduce_max %a {axes=[2], keepdims=1}
      return %y as "y", %m as "m"
    })",
     0, 0},
    {"softmax", R"(graph g {
      %x : f32[B,S] = input "x"
      %y = softmax %x
      return %y as "y"
    })",
     0, 0},
    {"attention", R"(graph g {
      %q : f32[B,S,32] = input "q"
      %k : f32[B,S,32] = input "k"
      %v : f32[B,S,32] = input "v"
      %m : f32[B,1,1,S] = input "m"
      %y = attention %q, %k, %v, %m {heads=2}
      return %y as "y"
    })",
     0, 0},
    {"transpose", R"(graph g {
      %x : f32[S,20] = input "x"
      %y = transpose %x {perm=[1,0]}
      return %y as "y"
    })",
     0, 0},
    {"views", R"(graph g {
      %x : f32[B,S,12] = input "x"
      %v = reshape %x {shape=[B,S,3,4]}
      %r = exp %v
      %y = reshape %r {shape=[B,S,12]}
      return %y as "y"
    })",
     0, 0},
    {"views_across_rows", R"(graph g {
      %x : f32[B,S,12] = input "x"
      %v = reshape %x {shape=[B,12*S]}
      %r = exp %v
      %y = reshape %r {shape=[B,S,12]}
      return %y as "y"
    })",
     1, 1},
    {"heads", R"(graph g {
      %q : f32[B,S,24] = input "q"
      %k : f32[B,S,24] = input "k"
      %a = reshape %q {shape=[B,S,3,8]}
      %b = reshape %k {shape=[B,S,3,8]}
      %ta = transpose %a {perm=[0,2,1,3]}
      %tb = transpose %b {perm=[0,2,3,1]}
      %y = matmul %ta, %tb
      return %y as "y"
    })",
     0, 0},
    {"slice", R"(graph g {
      %x : f32[B,12] = input "x"
      %y = slice %x {axes=[1], starts=[2], ends=[9]}
      return %y as "y"
    })",
     1, 1},
    {"conv", R"(graph g {
      %x : f32[2,3,8,9] = input "x"
      %w : f32[4,3,3,3] = const "weight"
      %y = conv %x, %w
      return %y as "y"
    })",
     0, 0},
    {"columns", R"(graph g {
      %x : f32[B,S,12] = input "x"
      %y = reduce_sum %x {axes=[1], keepdims=0}
      return %y as "y"
    })",
     0, 1},
    {"outputs_that_are_inputs_or_others", R"(graph g {
      %x : f32[B,12] = input "x"
      %y = relu %x
      %z = reshape %y {shape=[B,3,4]}
      %s = sigmoid %y
      return %x as "x", %y as "y", %z as "z", %s as "s"
    })",
     0, 4},
};

class EveryClass : public testing::TestWithParam<Class> {};

TEST_P(EveryClass, GivesTheBitsOfDenseMemoryAndTouchesNothingElse) {
  const Graph graph = parse_seeded(GetParam().graph);
  Session session(graph, {});
  for (const Bindings& sizes :
       {Bindings{{"B", 2}, {"S", 7}}, Bindings{{"B", 1}, {"S", 1}}, Bindings{{"B", 3}, {"S", 40}}})
    for (How how : {How::rows, How::planes, How::columns, How::every_other, How::backwards, How::repeated})
      for (const auto& [inputs, outputs] : {std::pair(true, false), {false, true}, {true, true}}) {
        const std::string what = fmt::format("way {}, {}{}, S {}", static_cast<int>(how), inputs ? "in" : "",
                                             outputs ? "out" : "", sizes.at("S"));
        const int copies = expect_dense_bits(session, floats_for(graph, sizes), how, inputs, outputs, 5, what);
        if (how != How::rows || sizes.at("S") != 7) continue;
        EXPECT_EQ(copies, inputs * GetParam().input_copies + outputs * GetParam().output_copies) << what;
      }
}

TEST_P(EveryClass, OtherStridesAndSizesAreArguments) {
  const Graph graph = parse_seeded(GetParam().graph);
  Session session(graph, {});
  const auto run = [&](int64_t batch, int64_t length, int64_t room) {
    expect_dense_bits(session, floats_for(graph, {{"B", batch}, {"S", length}}), How::rows, true, true, room,
                      fmt::format("{} x {}, {} between rows", batch, length, room));
  };
  for (int64_t length : {2, 9, 40}) run(2, length, 3);
  const int compiled = session.statistics().kernels_compiled + session.statistics().kernels_cached;
  for (int64_t room : {1, 4, 29}) run(2, 40, room);
  if (GetParam().name != "slice") run(3, 17, 8);  // its kernels are made for each size
  EXPECT_EQ(session.statistics().kernels_compiled + session.statistics().kernels_cached, compiled);
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryClass, testing::ValuesIn(kClasses),
                         [](const auto& tested) { return tested.param.name; });

// Of [B, S, 12] with B and S open: which strides are formulas, and which symbols with numbers of their own.
TEST(Layout, FollowsSizesWhereItCan) {
  const Shape declared{Dim::symbol("B"), Dim::symbol("S"), 12};
  const auto text = [&](std::vector<int64_t> shape, std::vector<int64_t> strides) {
    Bindings numbers;
    std::string text = to_string(layout_of(declared, shape, {.strides = std::move(strides)}, "x", numbers));
    for (const auto& [symbol, number] : numbers) text += fmt::format(" {}={}", symbol, number);
    return text;
  };
  EXPECT_EQ(text({2, 5, 12}, {60, 12, 1}), to_string(dense_strides(declared)));
  EXPECT_EQ(text({2, 5, 12}, {80, 16, 1}), "[S*x_1,x_1,1] x_1=16");
  EXPECT_EQ(text({2, 5, 12}, {100, 16, 1}), "[x_0,x_1,1] x_0=100 x_1=16");
  EXPECT_EQ(text({2, 5, 12}, {60, 1, 5}), "[12*S,1,S]");
  EXPECT_EQ(text({2, 5, 12}, {0, 16, 1}), "[0,x_1,1] x_1=16");
  EXPECT_EQ(text({2, 5, 12}, {-80, 16, 1}), "[x_0,x_1,1] x_0=-80 x_1=16");
  EXPECT_EQ(text({1, 1, 12}, {7, 7, 1}), to_string(dense_strides(declared)));
  EXPECT_EQ(text({2, 1, 12}, {16, 99, 1}), "[x_0,12,1] x_0=16");
}

constexpr const char* kHalves = R"(graph g {
  %x : f32[N,16] = input "x"
  %w : f32[8,16] = const "weight"
  %h = linear %x, %w
  %y = relu %h
  return %y as "y"
})";

// The class of a model that is interpreted, or whose sizes depend on data, copies once and gives the same.
TEST(StridedView, IsCopiedWhereNothingIsCompiled) {
  for (const auto& options : {at(0), at(1), SessionOptions{.device = open_device("reference")}}) {
    Session session(parse_seeded(kHalves), options);
    for (How how : {How::rows, How::columns, How::backwards})
      EXPECT_EQ(expect_dense_bits(session, floats_for(session.graph(), {{"N", 5}}), how, true, true, 3, "interpreted"),
                0);
  }
}

TEST(StridedView, WorksBesideSizesThatDependOnData) {
  Session session(parse_seeded(R"(graph g {
    %x : f32[N,4] = input "x"
    %y = relu %x
    %i : i64[2,_1] = non_zero %y
    %f : f32[2,_1] = cast %i {dtype=f32}
    %s = reduce_sum %x {axes=[1], keepdims=1}
    return %f as "f", %y as "y", %s as "s"
  })"),
                  {});
  for (How how : {How::rows, How::columns, How::repeated})
    for (bool outputs : {false, true})
      expect_dense_bits(session, floats_for(session.graph(), {{"N", 5}}), how, true, outputs, 3, "after data");
}

// What two runs leave, of views and of tensors.
TEST(StridedView, GoesWithParametersAndState) {
  constexpr const char* kSum = R"(graph g {
    %x : f32[N,4] = input "x"
    %w : f32[4] = param "w" {1, 2, 3, 4}
    %c : f32[4] = state "sum" {0, 0, 0, 0}
    %p = mul %x, %w
    %s = reduce_sum %p {axes=[0], keepdims=0}
    %sum = add %c, %s
    %w2 = add %w, %s
    update %c = %sum
    update %w = %w2
    return %p as "p"
  })";
  Session tensors(parse(kSum), {}), views(parse(kSum), {});
  Context of_tensors, of_views;
  const NamedTensors given = floats_for(tensors.graph(), {{"N", 6}});
  const Tensor& x = given.at("x");
  for (int round : {1, 2}) {
    const std::vector<Tensor> want = tensors.run(of_tensors, {{"x", x}});
    Memory in(x, strides_of(How::rows, x.shape(), 3), false), out(want[0], strides_of(How::rows, x.shape(), 1), true);
    views.run(of_views, {}, {{"x", in.input()}}, {{"p", out.output()}});
    EXPECT_TRUE(out.holds_only(want[0])) << round;
    EXPECT_TRUE(views.parameter("w").same_bits(tensors.parameter("w"))) << round;
    EXPECT_TRUE(of_views.state("sum").same_bits(of_tensors.state("sum"))) << round;
  }
}

// Ids are looked at before a run: a model that says how many positions it has refuses others by name.
TEST(StridedView, OfTokensIsLookedAt) {
  Graph graph = encoder();
  graph.metadata["max_positions"] = "8";
  Session session(graph, {});
  NamedTensors given = encoder_inputs(2, 5);
  for (int64_t& id : given.at("ids").mutable_as<int64_t>()) id = std::abs(id);
  for (How how : {How::rows, How::columns, How::every_other})
    expect_dense_bits(session, given, how, true, true, 3, fmt::format("way {}", static_cast<int>(how)));
}

TEST(StridedView, ThreadsWithOtherLayoutsRunAtOnce) {
  Session session(parse_seeded(kHalves), {});
  std::vector<std::thread> threads;
  for (How how : {How::rows, How::columns, How::backwards, How::every_other})
    threads.emplace_back([&session, how] {
      for (int64_t rows : {3, 9, 3, 20, 9})
        expect_dense_bits(session, floats_for(session.graph(), {{"N", rows}}), how, true, true, rows, "at once");
    });
  for (std::thread& thread : threads) thread.join();
}

// 100 MB to and from the columns of wider arrays: no step but the kernel's, and no memory beside the caller's.
TEST(StridedView, IsReadAndWrittenInPlace) {
  Session session(parse_seeded(R"(graph g {
    %x : f32[N,1000] = input "x"
    %y = relu %x
    return %y as "y"
  })"),
                  {});
  constexpr int64_t kRows = 25000, kPitch = 1024;
  std::vector<float> from(static_cast<size_t>(kRows * kPitch), -1), to(from.size(), 7);
  InputView in = InputView::of(DType::f32, {kRows, 1000}, std::span(from));
  OutputView out = OutputView::of(DType::f32, {kRows, 1000}, std::span(to));
  in.strides = out.strides = Strides{.strides = {kPitch, 1}, .offset = 24};
  from[24] = 5;
  Context context;
  RunProfile profile;
  session.run(context, {}, {{"x", in}}, {{"y", out}}, &profile);
  ASSERT_EQ(profile.steps.size(), 1u);
  EXPECT_EQ(profile.steps[0].ops, "relu");
  EXPECT_EQ(session.statistics().arena_bytes, 0);
  EXPECT_EQ(to[23], 7);
  EXPECT_EQ(to[24], 5);
  EXPECT_EQ(to[25], 0);
  EXPECT_EQ(to[1024], 7);
  from[24] = 6;  // no copy of the first run's
  session.run(context, {}, {{"x", in}}, {{"y", out}});
  EXPECT_EQ(to[24], 6);
}

TEST(StridedView, FurtherLayoutsAreCopied) {
  SessionOptions options;
  options.max_layouts = 1;
  Session session(parse_seeded(kHalves), options);
  const NamedTensors given = floats_for(session.graph(), {{"N", 5}});
  for (How how : {How::rows, How::columns, How::backwards, How::rows})
    EXPECT_EQ(expect_dense_bits(session, given, how, true, true, 3, "one layout"), 0);
}

class RefusedInput : public testing::TestWithParam<int> {
 protected:
  std::string error(const InputView& view, const NamedTensors& given = {}, const OutputViews& outputs = {}) {
    return error_of([&] { session_.run(context_, given, {{"x", view}}, outputs); });
  }
  InputView view(std::vector<int64_t> shape, Strides strides) {
    InputView view = InputView::of(DType::f32, std::move(shape), std::span(memory_));
    view.strides = std::move(strides);
    return view;
  }
  Session session_{parse_seeded(kHalves), at(GetParam())};
  Context context_;
  std::vector<float> memory_ = std::vector<float>(100, 1.0f);
};

TEST_P(RefusedInput, ElementsOutsideItsMemory) {
  EXPECT_EQ(error(view({6, 16}, {.strides = {20, 1}})),
            "input \"x\" has elements 0 to 115 of 4 bytes each, in memory of 400 bytes");
  EXPECT_EQ(error(view({5, 16}, {.strides = {-20, 1}})),
            "input \"x\" has elements -80 to 15 of 4 bytes each, in memory of 400 bytes");
  EXPECT_EQ(error(view({5, 16}, {.strides = {20}})), "input \"x\" has 2 dimensions and 1 strides");
}

TEST_P(RefusedInput, OtherTypes) {
  EXPECT_THAT(error(view({5, 15}, {.strides = {20, 1}})), testing::HasSubstr("input \"x\""));
  InputView halves = view({5, 16}, {.strides = {20, 1}});
  halves.dtype = DType::f16;
  EXPECT_EQ(error(halves), "input \"x\" is f16[5,16]; the model takes f32[N,16]");
}

TEST_P(RefusedInput, GivenTwice) {
  EXPECT_EQ(error(view({5, 16}, {.strides = {20, 1}}), {{"x", Tensor(DType::f32, {5, 16})}}),
            "input \"x\" is given twice, as a tensor and as a view");
}

TEST_P(RefusedInput, MemoryOfAnOutput) {
  EXPECT_EQ(error(view({2, 16}, {.strides = {20, 1}}), {},
                  {{"y", OutputView::of(DType::f32, {2, 8}, std::span(memory_).subspan(80, 16))}}),
            "the memory for output \"y\" overlaps that of input \"x\"");
}

TEST_P(RefusedInput, OddAddressesAreCopied) {
  InputView odd = view({5, 16}, {.strides = {18, 1}});
  odd.bytes = odd.bytes.subspan(1);
  EXPECT_EQ(error(odd), "");
}

INSTANTIATE_TEST_SUITE_P(Levels, RefusedInput, testing::Values(0, 2));

}  // namespace
}  // namespace hone::test
