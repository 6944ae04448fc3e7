// Every op, and what shares kernels, with a size of 0 in each place: the reference's results, or its refusal; never a
// crash.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "tests/conformance/conform_text.h"

namespace hone::test {
namespace {

using Sizes = std::vector<int64_t>;

// A graph text whose sizes may each be 0.
struct Class {
  const char* name;
  Sizes sizes;
  std::function<std::string(const Sizes&)> text;
};

template <class... Args>
std::string body(fmt::format_string<Args...> form, Args&&... args) {
  return "graph g {\n" + fmt::format(form, std::forward<Args>(args)...) + "\n}";
}

const std::vector<Class>& classes() {
  static const std::vector<Class> all{
      {"pointwise",
       {3, 5, 4},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1},{2}] = input "x"
            %b : f32[{1},1] = input "b"
            %h = add %x, %b
            %y = tanh %h
            return %y as "y")",
                     s[0], s[1], s[2]);
       }},
      {"softmax",
       {3, 5, 4},
       [](const Sizes& s) {
         return body(R"(%x : f32[{},{},{}] = input "x"
            %e = exp %x
            %a = softmax %e {{axis=-1}}
            %b = softmax %x {{axis=1}}
            %c = log_softmax %x {{axis=0}}
            return %a as "a", %b as "b", %c as "c")",
                     s[0], s[1], s[2]);
       }},
      {"norms",
       {3, 5},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1}] = input "x"
            %w : f32[{1}] = const "w"
            %y = layer_norm %x, %w, %w
            %z = rms_norm %x, %w
            %r = relu %y
            return %r as "r", %z as "z")",
                     s[0], s[1]);
       }},
      {"reductions",
       {3, 5, 4, 2},
       [](const Sizes& s) {
         std::string text = body(R"(%x : f32[{},{},{},{}] = input "x"
            )",
                                 s[0], s[1], s[2], s[3]);
         text.pop_back();
         std::string outputs;
         int number = 0;
         for (const char* op : {"sum", "mean", "prod", "max", "min", "l2", "sum_square"})
           for (const char* axes : {"[0]", "[1]", "[1,2]", "[-1]", "[2,3]", "[0,1,2,3]", "[0,2]"}) {
             if (!ops::find(fmt::format("reduce_{}", op))) continue;
             text += fmt::format("%y{} = reduce_{} %x {{axes={}, keepdims={}}}\n", number, op, axes, number % 2);
             outputs += fmt::format("{} %y{} as \"y{}\"", number ? "," : "", number, number);
             ++number;
           }
         return text + "return" + outputs + "\n}";
       }},
      {"argmax",
       {3, 5, 4},
       [](const Sizes& s) {
         return body(R"(%x : f32[{},{},{}] = input "x"
            %a = argmax %x {{axis=-1}}
            %b = argmin %x {{axis=1}}
            return %a as "a", %b as "b")",
                     s[0], s[1], s[2]);
       }},
      {"linear",
       {3, 5, 4},
       [](const Sizes& s) {  // M, K, N
         return body(R"(%x : f32[{0},{1}] = input "x"
            %w : f32[{2},{1}] = const "w"
            %b : f32[{2}] = const "b"
            %h = linear %x, %w, %b
            %y = gelu %h
            return %y as "y")",
                     s[0], s[1], s[2]);
       }},
      {"linear in bf16",
       {3, 5, 4},
       [](const Sizes& s) {
         return body(R"(%x : bf16[{0},{1}] = input "x"
            %w : bf16[{2},{1}] = const "w"
            %y = linear %x, %w
            return %y as "y")",
                     s[0], s[1], s[2]);
       }},
      {"matmul",
       {2, 3, 5, 4},
       [](const Sizes& s) {  // batches, M, K, N
         return body(R"(%a : f32[{0},{1},{2}] = input "a"
            %b : f32[{0},{2},{3}] = input "b"
            %c : f32[{0},{3},{2}] = input "c"
            %d : f32[{2},{3}] = input "d"
            %x = matmul %a, %b
            %y = matmul %a, %c {{transpose_b=1}}
            %z = matmul %a, %d
            %r = relu %z
            return %x as "x", %y as "y", %r as "r")",
                     s[0], s[1], s[2], s[3]);
       }},
      {"attention",
       {2, 3, 5, 4},
       [](const Sizes& s) {  // batches, queries, keys, columns of a head
         return body(R"(%q : f32[{0},{1},{3}] = input "q"
            %k : f32[{0},{2},{3}] = input "k"
            %v : f32[{0},{2},{3}] = input "v"
            %m : f32[{0},1,{1},{2}] = input "m"
            %y = attention %q, %k, %v, %m {{heads=2}}
            %z = attention %q, %k, %v {{heads=1}}
            return %y as "y", %z as "z")",
                     s[0], s[1], s[2], s[3]);
       }},
      {"gather",
       {6, 5, 3},
       [](const Sizes& s) {  // rows, columns, indices
         return body(R"(%t : f32[{0},{1}] = const "t"
            %p : f32[{1},{0}] = input "p"
            %i : i64[{2}] = input "i"
            %y = gather %t, %i {{axis=0}}
            %z = gather %p, %i {{axis=1}}
            return %y as "y", %z as "z")",
                     std::max<int64_t>(s[0] ? 7 : 0, s[0]), s[1], s[2]);
       }},
      {"convolution",
       {2, 4, 6, 7, 8},
       [](const Sizes& s) {  // images, channels, height, width, outputs
         return body(R"(%x : f32[{0},{1},{2},{3}] = input "x"
            %w : f32[{4},{1},3,3] = const "w"
            %h = conv %x, %w {{pads=[1,1,1,1]}}
            %y = relu %h
            %v : f32[{4},{1},1,1] = const "v"
            %z = conv %x, %v {{strides=[2,2]}}
            return %y as "y", %z as "z")",
                     s[0], s[1], s[2], s[3], s[4]);
       }},
      {"kernel of a convolution",
       {3, 3},
       [](const Sizes& s) {
         return body(R"(%x : f32[1,4,6,7] = input "x"
            %w : f32[8,4,{0},{1}] = const "w"
            %y = conv %x, %w
            return %y as "y")",
                     s[0], s[1]);
       }},
      {"grouped convolution",
       {2, 6, 7},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},8,{1},{2}] = input "x"
            %w : f32[16,4,3,3] = const "w"
            %d : f32[8,1,3,3] = const "d"
            %y = conv %x, %w {{groups=2, pads=[1,1,1,1]}}
            %z = conv %x, %d {{groups=8, pads=[1,1,1,1]}}
            return %y as "y", %z as "z")",
                     s[0], s[1], s[2]);
       }},
      {"transposed convolution",
       {2, 4, 3, 3, 6},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1},{2},{3}] = input "x"
            %w : f32[{1},{4},3,3] = const "w"
            %b : f32[{4}] = const "b"
            %y = conv_transpose %x, %w, %b {{strides=[2,2]}}
            return %y as "y")",
                     s[0], s[1], s[2], s[3], s[4]);
       }},
      {"pools",
       {2, 4, 6, 7},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1},{2},{3}] = input "x"
            %y = max_pool %x {{kernel_shape=[2,2], strides=[2,2]}}
            %z = avg_pool %x {{kernel_shape=[3,3], pads=[1,1,1,1]}}
            return %y as "y", %z as "z")",
                     s[0], s[1], s[2], s[3]);
       }},
      {"moves",
       {3, 5, 4},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1},{2}] = input "x"
            %o : f32[{0},2,{2}] = input "o"
            %c = concat %x, %o {{axis=1}}
            %t = transpose %x {{perm=[2,0,1]}}
            %u = transpose %x
            %p = pad %x {{pads=[0,1,0,2,0,1]}}
            %s = slice %x {{axes=[1], starts=[1], ends=[3]}}
            %e : f32[1,{1},1] = input "e"
            %f = expand %e {{shape=[{0},{1},{2}]}}
            return %c as "c", %t as "t", %u as "u", %p as "p", %s as "s", %f as "f")",
                     s[0], s[1], s[2]);
       }},
      {"concat of parts",
       {2, 3, 4},
       [](const Sizes& s) {
         return body(R"(%a : f32[5,{0}] = input "a"
            %b : f32[5,{1}] = input "b"
            %c : f32[5,{2}] = input "c"
            %y = concat %a, %b, %c {{axis=1}}
            %z = relu %y
            return %y as "y", %z as "z")",
                     s[0], s[1], s[2]);
       }},
      {"rounding",
       {3, 64},
       [](const Sizes& s) {
         return body(R"(%x : f32[{0},{1}] = input "x"
            %a = fake_quant %x {{format=mxint8}}
            %b = fake_quant %x {{format=int8.tensor}}
            %c = fake_quant %x {{format=fp8_e4m3}}
            return %a as "a", %b as "b", %c as "c")",
                     s[0], s[1]);
       }},
      {"views", {3, 4}, [](const Sizes& s) {
         return body(R"(%x : f32[{0},1,{1}] = input "x"
            %s = squeeze %x {{axes=[1]}}
            %f = flatten %x
            %e = exp %s
            return %s as "s", %f as "f", %e as "e")",
                     s[0], s[1]);
       }}};
  return all;
}

NamedTensors inputs_of(const Graph& graph) {
  Philox rng(5);
  NamedTensors inputs;
  for (ValueId v : graph.inputs()) {
    const TensorType& type = graph.type(v);
    inputs[graph.value(v).label] = is_float(type.dtype)
                                       ? random_floats(rng, constant_shape(type.shape), type.dtype)
                                       : random_integers(rng, constant_shape(type.shape), type.dtype, 0, 5);
  }
  return inputs;
}

std::optional<Graph> accepted(const std::string& text) try {
  ParseContext context = op_context();
  context.find_constant = [&](const std::string& name, const TensorType& type) -> std::optional<Tensor> {
    Philox rng(name.size() * 131 + static_cast<uint64_t>(name[0]));
    return random_floats(rng, constant_shape(type.shape), type.dtype, -0.5f, 0.5f);
  };
  return parse_graph(text, context);
} catch (const Error&) {
  return std::nullopt;  // by a shape rule
}

class Empty : public testing::TestWithParam<size_t> {};

TEST_P(Empty, IsComputedAsTheReferenceDoesOrRefusedAsItDoes) {
  const Class& kernels = classes()[GetParam()];
  ASSERT_TRUE(accepted(kernels.text(kernels.sizes))) << kernels.text(kernels.sizes);
  for (size_t place = 0; place < kernels.sizes.size(); ++place) {
    Sizes sizes = kernels.sizes;
    sizes[place] = 0;
    const std::optional<Graph> graph = accepted(kernels.text(sizes));
    if (!graph) continue;
    SCOPED_TRACE(kernels.text(sizes));
    const NamedTensors inputs = inputs_of(*graph);
    bool refused = false;
    try {
      evaluate(*graph, inputs);
    } catch (const Error&) {
      refused = true;
    }
    if (!refused) expect_conforms(*graph, inputs);
    else EXPECT_THROW(run_session(*graph, inputs, {}), Error);
  }
}

INSTANTIATE_TEST_SUITE_P(Classes, Empty, testing::Range(size_t{0}, classes().size()), [](const auto& info) {
  std::string name = classes()[info.param].name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

// What the reference does of fixed sizes is done of open ones, interpreted and compiled.
TEST(OpenEmpty, RowsWithoutElementsGiveNone) {
  const std::optional<Graph> graph = accepted(R"(graph g {
      %x : f32[N,M] = input "x"
      %a = softmax %x
      %b = log_softmax %x {axis=0}
      %c = layer_norm %x
      %d = softmax_gradient %a, %x
      return %a as "a", %b as "b", %c as "c", %d as "d"
    })");
  ASSERT_TRUE(graph);
  for (const Sizes& sizes : {Sizes{2, 0}, Sizes{0, 3}, Sizes{0, 0}})
    for (int optimise : {0, 2})
      for (const Tensor& y : run_session(*graph, {{"x", Tensor(DType::f32, sizes)}}, {.optimise = optimise}).outputs)
        EXPECT_EQ(y.shape(), sizes);
}

// A call with every axis of `size` empty.
struct EmptiedCall {
  Graph graph;
  NamedTensors inputs;
};

std::optional<EmptiedCall> emptied(const OpDef& op, const OpCase& one, int64_t size) try {
  EmptiedCall call;
  bool is_emptied = false;
  std::vector<ValueId> operands;
  for (const std::optional<Tensor>& operand : one.operands) {
    if (!operand) {
      operands.push_back(kNone);
      continue;
    }
    const std::string label = fmt::format("{}", operands.size());
    Tensor tensor = *operand;
    if (tensor.container() == Container::none && !tensor.is_packed()) {
      Sizes shape = tensor.shape();
      std::ranges::replace(shape, size, 0);
      if (shape != tensor.shape()) tensor = Tensor(tensor.dtype(), shape), is_emptied = true;
    }
    operands.push_back(tensor.is_packed() ? call.graph.add_constant(label, tensor)
                                          : call.graph.add_input(label, tensor.type()));
    if (!tensor.is_packed()) call.inputs[label] = tensor;
  }
  if (!is_emptied) return std::nullopt;
  const NodeId node = call.graph.add_node(op, operands, one.attributes);
  for (size_t r = 0; r < call.graph.node(node).results.size(); ++r)
    call.graph.add_output(call.graph.result(node, static_cast<int>(r)), fmt::format("{} result {}", one.text(), r));
  return call;
} catch (const Error&) {
  return std::nullopt;  // by a shape rule
}

// In bits, but for NaN of a device that is not the host: it makes them with bits of its own.
bool same_results(const Tensor& got, const Tensor& want) {
  if (got.same_bits(want)) return true;
  const std::shared_ptr<Device> device = chosen_device();
  if (!device || device->is_host() || got.type() != want.type() || !is_float(got.dtype())) return false;
  return std::ranges::equal(got.to_doubles(), want.to_doubles(), [](double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  });
}

class EmptyOp : public testing::TestWithParam<const OpDef*> {};

TEST_P(EmptyOp, IsComputedAsTheReferenceDoesOrRefusedAsItDoes) {
  constexpr size_t kCalls = 4;
  Philox rng(1);
  const OpCases cases = cases_for(*GetParam(), rng);
  for (size_t i = 0; i < cases.size(); i += std::max<size_t>(1, cases.size() / kCalls)) {
    std::set<int64_t> sizes;
    for (const std::optional<Tensor>& operand : cases[i].operands)
      if (operand && operand->container() == Container::none && !operand->is_packed())
        sizes.insert(operand->shape().begin(), operand->shape().end());
    for (int64_t size : sizes) {
      const std::optional<EmptiedCall> call = emptied(*GetParam(), cases[i], size);
      if (!call) continue;
      SCOPED_TRACE(fmt::format("{}, size {}", cases[i].text(), size));
      std::optional<std::vector<Tensor>> want;
      try {
        want = evaluate(call->graph, call->inputs);
      } catch (const Error&) {
      }
      if (!want) {
        EXPECT_THROW(run_session(call->graph, call->inputs, {}), Error);
        continue;
      }
      const Ran ran = run_session(call->graph, call->inputs, {});
      ASSERT_EQ(ran.outputs.size(), want->size());
      for (size_t r = 0; r < want->size(); ++r) EXPECT_TRUE(same_results(ran.outputs[r], (*want)[r])) << ran.names[r];
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EmptyOp, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone::test
