// Whatever stands where an integer may stand - in attributes, dimensions of types, elements of operands - an op gives a
// result, an Error or stops: no other exception, no signal, no more memory than it may take. For every op, with valid
// calls in which one place after the other is replaced.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>

#include "ops/evaluate.h"
#include "ops/registry.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/op_cases.h"
#include "tests/support/work_guard.h"

namespace {

constexpr size_t kLargestRequest = size_t{256} << 20;
std::atomic<size_t> large_requests = 0;

}  // namespace

// Lists that no limit counts must stay small too. Tensors ask for aligned memory, which they hold against the limit.
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  if (bytes <= kLargestRequest) return std::malloc(bytes > 0 ? bytes : 1);
  ++large_requests;
  return nullptr;
}
[[gnu::noinline]] void* operator new(size_t bytes) {
  if (void* memory = operator new(bytes, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace hone {
namespace {

constexpr int64_t kMemory = int64_t{16} << 20;
constexpr int64_t kIntegers[] = {0, 1, -1, int64_t{1} << 31, int64_t{1} << 62, INT64_MIN, INT64_MAX};
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNumbers[] = {0, -1, 0.5, 1e10, 1e300, -1e300, kInfinity, -kInfinity, std::nan("")};
constexpr int64_t kShortOperand = 16;  // elements of a tensor that are replaced one by one
constexpr size_t kCases = 3;           // of an op

struct Call {
  const OpDef* op;
  OpCase one;
  std::vector<Graph> bodies;
};

class Hostile {
 public:
  void all_of(const Call& call) {
    attributes_of(call);
    for (size_t i = 0; i < call.one.operands.size(); ++i) {
      if (!call.one.operands[i]) continue;
      const std::string what = fmt::format("operand {}", i);
      dims_of(call, i, what);
      elements_of(call, i, what);
      others_instead_of(call, i, what);
    }
  }

 private:
  void attributes_of(const Call& call) {
    for (const auto& [name, value] : call.one.attributes.items()) {
      const auto with = [&](Attribute replaced) {
        Call changed = call;
        changed.one.attributes.set(name, std::move(replaced));
        run(changed, name);
      };
      for (const int64_t odd : kIntegers) {
        if (std::holds_alternative<int64_t>(value)) with(odd);
        if (std::holds_alternative<Dim>(value)) with(Dim(odd));
        each_of<int64_t>(value, odd, with);
        if (const auto* shape = std::get_if<Shape>(&value)) each_in(*shape, Dim(odd), with);
      }
      for (const double odd : kNumbers) {
        if (std::holds_alternative<double>(value)) with(odd);
        each_of<double>(value, odd, with);
      }
      if (std::holds_alternative<DType>(value))
        for (int dtype = 0; dtype <= static_cast<int>(DType::u2); ++dtype) with(static_cast<DType>(dtype));
    }
  }

  // Replaces one item of a list, takes all away, and adds one.
  template <class T, class With>
  static void each_in(const std::vector<T>& list, const T& odd, With with) {
    for (size_t i = 0; i < list.size(); ++i) {
      std::vector<T> changed = list;
      changed[i] = odd;
      with(changed);
    }
    with(std::vector<T>(list.size(), odd));
    with(std::vector<T>());
    std::vector<T> longer = list;
    longer.push_back(odd);
    with(longer);
    with(std::vector<T>(100, odd));
  }
  template <class T, class With>
  static void each_of(const Attribute& value, const T& odd, With with) {
    if (const auto* list = std::get_if<std::vector<T>>(&value)) each_in(*list, odd, with);
  }

  // The type alone: a shape rule sees it without contents.
  void dims_of(const Call& call, size_t operand, const std::string& what) {
    const TensorType type = call.one.operands[operand]->type();
    if (type.container != Container::none) return;
    each_in(type.shape, Dim::unknown(), [&](Shape shape) { infer_with(call, operand, {type, shape}, what); });
    each_in(type.shape, Dim::symbol("S"), [&](Shape shape) { infer_with(call, operand, {type, shape}, what); });
    for (const int64_t odd : kIntegers)
      each_in(type.shape, Dim(odd), [&](Shape shape) { infer_with(call, operand, {type, shape}, what); });
  }

  void elements_of(const Call& call, size_t operand, const std::string& what) {
    const Tensor& tensor = *call.one.operands[operand];
    if (tensor.container() != Container::none || tensor.is_packed() || tensor.elements() > kShortOperand) return;
    const auto with = [&](Tensor replaced) {
      Call changed = call;
      changed.one.operands[operand] = std::move(replaced);
      run(changed, what);
    };
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const auto at = static_cast<size_t>(i);
      if (tensor.dtype() == DType::i64 || tensor.dtype() == DType::i32)
        for (const int64_t odd : kIntegers) {
          std::vector<int64_t> values = tensor.to_integers();
          values[at] = odd;
          with(Tensor::of<int64_t>(tensor.shape(), values).converted(tensor.dtype()));
        }
      if (is_float(tensor.dtype()))
        for (const double odd : kNumbers) {
          std::vector<double> values = tensor.to_doubles();
          values[at] = odd;
          with(Tensor::from_doubles(tensor.dtype(), tensor.shape(), values));
        }
    }
  }

  // Nothing, nothing of its shape, other types, more dimensions.
  void others_instead_of(const Call& call, size_t operand, const std::string& what) {
    const Tensor& tensor = *call.one.operands[operand];
    std::vector<std::optional<Tensor>> others{std::nullopt};
    for (DType dtype : {DType::f32, DType::f64, DType::i64, DType::i4, DType::u64, DType::boolean, DType::string}) {
      if (tensor.container() == Container::none && tensor.elements() < 1000)
        others.emplace_back(Tensor(dtype, tensor.shape()));
      for (const Sizes64& shape : {Sizes64{}, {0}, {1}, {1, 0, 3}, {1, 1, 2, 2}, {0, int64_t{1} << 40}, Sizes64(7, 1)})
        others.emplace_back(Tensor(dtype, shape));
      others.emplace_back(Tensor::sequence(dtype, {}));
      others.emplace_back(Tensor::optional(TensorType::unranked(dtype), std::nullopt));
    }
    others.emplace_back(pack(parse_format("mxint8"), Tensor(DType::f32, {2, 32})));
    for (size_t size = 0; size < tensor.shape().size(); ++size) {
      Sizes64 empty = tensor.shape();
      empty[size] = 0;
      others.emplace_back(Tensor(tensor.dtype(), empty));
    }
    for (std::optional<Tensor>& other : others) {
      Call changed = call;
      changed.one.operands[operand] = std::move(other);
      run(changed, what);
    }
  }

  void infer_with(const Call& call, size_t operand, std::pair<TensorType, Shape> changed, const std::string& what) {
    std::vector<TensorType> types;
    std::vector<const Tensor*> constants = call.one.pointers();
    for (const Tensor* each : constants) types.push_back(each ? each->type() : TensorType{});
    types[operand] = changed.first;
    types[operand].shape = std::move(changed.second);
    std::vector<const TensorType*> pointers;
    for (size_t i = 0; i < types.size(); ++i) pointers.push_back(constants[i] ? &types[i] : nullptr);
    constants[operand] = nullptr;
    const auto infer = [&] {
      infer_results(*call.op, pointers, constants, call.one.attributes, call.bodies);
      const InferArgs args{pointers, constants, call.one.attributes, &call.bodies};
      const bool ranked = std::ranges::all_of(pointers, [](const TensorType* type) { return !type || type->ranked; });
      if (call.op->flops && ranked) call.op->flops(args);
      if (call.op->from_types) call.op->from_types(args);
    };
    outcome(call, what + " " + to_string(types[operand]), infer);
    std::fill(constants.begin(), constants.end(), nullptr);
    outcome(call, what + " " + to_string(types[operand]) + ", no constants", infer);
    types[operand] = TensorType::unranked(types[operand].dtype);
    outcome(call, what + " unranked", infer);
  }

  void run(const Call& call, const std::string& what) {
    outcome(call, what, [&] { evaluate_node(*call.op, call.one.pointers(), call.one.attributes, call.bodies); });
  }

  template <class Fn>
  void outcome(const Call& call, const std::string& what, Fn fn) {
    const std::string name = fmt::format("{}({}): {}", call.op->name, call.one.text(), what);
    guard_.begin(name);
    try {
      fn();
    } catch (const Error&) {
    } catch (const Stopped&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << name << "\n" << error.what();
    }
    guard_.end();
    EXPECT_EQ(large_requests.exchange(0), 0u) << name;
  }

  test::WorkGuard guard_{kMemory};
};

constexpr const char* kIf = R"(%c : bool[] = const {true}  %x : f32[2] = const {1, 2}
  %y = if %c, %x, %x {then_captures=1} do
    graph then { %a : f32[2] = input "a"  %r = add %a, 1.0  return %r as "0" }
    graph else { %b : f32[2] = input "b"  %r = unsqueeze %b {axes=[0]}  return %r as "0" }
  return %y)";
constexpr const char* kLoop = R"(%most : i64[] = const {3}  %go : bool[] = const {true}
  %x : f32[] = const {1}  %limit : f32[] = const {9}
  %last, %all = loop %most, %go, %x, %limit {carried=1} do
    graph body {
      %i : i64[] = input "i"  %on : bool[] = input "go"  %v : f32[] = input "v"  %m : f32[] = input "m"
      %twice = mul %v, 2.0
      %more = less %v, %m
      return %more as "0", %twice as "1", %v as "2"
    }
  return %last)";
constexpr const char* kScan = R"(%start : f32[2] = const {0, 0}  %x : f32[3,2] = const {1, 2, 3, 4, 5, 6}
  %sum, %sums = scan %start, %x {states=1, scans=1, scan_axes=[0], scan_directions=[1], result_axes=[1],
                                 result_directions=[1]} do
    graph body {
      %s : f32[2] = input "s"  %row : f32[2] = input "row"  %next = add %s, %row
      return %next as "0", %next as "1"
    }
  return %sum)";

std::vector<Call> from_text(const char* text) {
  const Graph graph = test::parse(text);
  const Node& node = graph.node(graph.nodes().front());
  Call call{node.op, {{}, node.attributes}, node.subgraphs};
  for (ValueId v : node.operands) call.one.operands.emplace_back(*graph.constant(v));
  return {call};
}

std::vector<Call> with_bodies(std::string_view op) {
  if (op == "if") return from_text(kIf);
  if (op == "loop") return from_text(kLoop);
  if (op == "scan") return from_text(kScan);
  if (op != "sequence_map") return {};
  const Graph graph = test::parse(R"(%x : f32[2] = input "x"  %y : f32[2] = input "y"  %r = add %x, %y  return %r)");
  const Tensor item = Tensor::of<float>({2}, {1, 2});
  return {{&ops::get("sequence_map"),
           {{Tensor::sequence(DType::f32, {item, item}), item}, {{"inputs", int64_t{1}}}},
           {graph}}};
}

class HostileSizes : public testing::TestWithParam<const OpDef*> {};

TEST_P(HostileSizes, GiveAResultAnErrorOrAStop) {
  const OpDef& op = *GetParam();
  Philox rng(17);
  std::vector<Call> calls = with_bodies(op.name);
  if (op.bodies == 0)
    for (OpCase& one : cases_for(op, rng)) calls.push_back({&op, std::move(one), {}});
  EXPECT_FALSE(calls.empty());
  Hostile hostile;
  for (size_t i = 0; i < calls.size(); i += std::max<size_t>(1, calls.size() / kCases)) hostile.all_of(calls[i]);
}

INSTANTIATE_TEST_SUITE_P(Registry, HostileSizes, testing::ValuesIn(ops::all().begin(), ops::all().end()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace hone
