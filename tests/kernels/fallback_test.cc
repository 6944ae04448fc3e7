// Who computes what a device has no kernel for: the device node by node, the host's kernels, the interpreter.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/x86/device.h"
#include "kernels/gemm/plan.h"
#include "kernels/lower.h"
#include "tests/passes/parse_ops.h"
#include "tests/support/error_of.h"
#include "tests/support/seeded_constants.h"

namespace hone {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The CPU without some kernel classes, and with products that do nothing else.
class NarrowDevice : public X86Device {
 public:
  NarrowDevice(std::set<std::string_view> lacking, bool plain_products)
      : X86Device(host_target()), lacking_(std::move(lacking)), plain_(plain_products) {}
  std::string_view name() const override { return "narrow"; }
  const KernelImplementation* find(const KernelDef& kernel) const override {
    if (lacking_.contains(kernel.name)) return nullptr;
    const KernelImplementation* const whole = X86Device::find(kernel);
    if (!plain_ || kernel.name != "gemm") return whole;
    static const KernelImplementation plain = [&] {
      KernelImplementation narrow = *whole;
      narrow.supports = [](const Device& device, const KernelPlan& plan) -> Support {
        if (plan.get<GemmPlan>().program.code.size() > 1) return {"products and nothing else"};
        const auto& own = static_cast<const NarrowDevice&>(device);
        return own.X86Device::find(plan.kernel())->supports(device, plan);
      };
      return narrow;
    }();
    return &plain;
  }

 private:
  const std::set<std::string_view> lacking_;
  const bool plain_;
};

LowerOptions on(std::set<std::string_view> lacking, bool plain_products = false) {
  auto device = std::make_shared<NarrowDevice>(std::move(lacking), plain_products);
  return {.device = device, .host = host_kernels_for(*device)};
}

const char* const kProduct = R"(graph g {
    %x : f32[4,8] = input "x"
    %w : f32[8,8] = input "w"
    %p = matmul %x, %w
    %r = relu %p
    %s = softmax %r
    return %s as "s"
  })";

// "host matmul" "narrow relu" "interpreted softmax"
std::vector<std::string> who_does_what(const LowerOptions& options, const char* text = kProduct) {
  const Graph graph = test::parse_seeded(text);
  std::vector<std::string> steps;
  for (const Step& step : lower(graph, options).steps) {
    const std::string who = !step.plan ? "interpreted" : step.on_host() ? "host" : std::string(options.device->name());
    steps.push_back(who + " " + ops_of(graph, step->group));
    EXPECT_EQ(step.plan && step.on_host(), &options.device_of(step) == options.host.device.get());
  }
  return steps;
}

TEST(Fallback, ADeviceThatHasAllKernelsRunsAll) {
  EXPECT_THAT(who_does_what(on({})), ElementsAre("narrow matmul+relu", "narrow softmax"));
}

TEST(Fallback, TheHostsKernelRunsWhatTheDeviceHasNoClassFor) {
  EXPECT_THAT(who_does_what(on({"row"})), ElementsAre("narrow matmul+relu", "host softmax"));
  const Graph graph = test::parse(kProduct);
  const Step step = lower(graph, on({"row"})).steps.back();
  EXPECT_EQ(step.plan->kernel().name, "row");
  EXPECT_THAT(step.why_on_host, HasSubstr("narrow has no row kernels"));
}

TEST(Fallback, OneOperationThatAnEpilogueLacksLeavesTheOthersOnTheDevice) {
  EXPECT_THAT(who_does_what(on({}, true)), ElementsAre("narrow matmul", "narrow relu", "narrow softmax"));
  EXPECT_THAT(who_does_what(on({"gemm", "block_gemm"})), ElementsAre("host matmul", "narrow relu", "narrow softmax"));
  EXPECT_THAT(who_does_what(on({"pointwise"}, true)), ElementsAre("narrow matmul", "host relu", "narrow softmax"));
}

// Though the class that is asked after it is lacking.
TEST(Fallback, TheReasonOfAClassThatRefusesIsSaid) {
  const Graph graph = test::parse(R"(graph g {
    %x : f32[2,3] = input "x"
    %t = transpose %x {perm=[1,0]}
    return %t as "t"
  })");
  const Step step = lower(graph, on({"pointwise"})).steps.back();
  EXPECT_THAT(step.why_on_host, HasSubstr("narrow has no pointwise kernels; squares would be mostly empty"));
}

// The CPU whose products read weights as they lie alone.
class DeviceWithoutLayouts : public X86Device {
 public:
  DeviceWithoutLayouts() : X86Device(host_target()) {}
  std::string_view name() const override { return "narrow"; }
  const KernelImplementation* find(const KernelDef& kernel) const override {
    const KernelImplementation* const whole = X86Device::find(kernel);
    if (kernel.name != "gemm") return whole;
    static const KernelImplementation without = [&] {
      KernelImplementation result = *whole;
      result.prepacking = {};
      return result;
    }();
    return &without;
  }
};

TEST(Fallback, ProductsWithWeightsThatTheDeviceDoesNotLayOutAreTheHosts) {
  const auto device = std::make_shared<DeviceWithoutLayouts>();
  const LowerOptions options{.device = device, .host = host_kernels_for(*device)};
  const char* const constant_weights = R"(graph g {
    %x : f32[4,8] = input "x"
    %w : f32[8,8] = const "spread"
    %p = linear %x, %w
    return %p as "p"
  })";
  EXPECT_THAT(who_does_what(options, constant_weights), ElementsAre("host linear"));
  EXPECT_THAT(lower(test::parse_seeded(constant_weights), options).steps.back().why_on_host,
              HasSubstr("narrow lays out no weights for gemm"));
}

TEST(Fallback, TheHostGetsAGroupAsOneWhereTheDeviceTakesNoNodeOfIt) {
  EXPECT_THAT(who_does_what(on({"gemm", "block_gemm", "pointwise"})),
              ElementsAre("host matmul+relu", "narrow softmax"));
}

TEST(Fallback, WithoutAHostTheRestIsInterpretedAndSaysWhy) {
  LowerOptions options = on({"row"});
  options.host = {};
  EXPECT_THAT(who_does_what(options), ElementsAre("narrow matmul+relu", "interpreted softmax"));
  options.host.why_none = "this CPU is too old";
  EXPECT_THAT(lower(test::parse(kProduct), options).steps.back()->why_interpreted,
              testing::AllOf(HasSubstr("narrow has no row kernels"), HasSubstr("on the host: this CPU is too old")));
}

TEST(Fallback, OpenSizesAreOfferedLikeOthers) {
  const Graph graph = test::parse(R"(graph g {
    %x : f32[B,8] = input "x"
    %s = softmax %x
    return %s as "s"
  })");
  PreparedGraph prepared(graph, on({"row"}));
  const void* plan = nullptr;
  for (const int64_t rows : {1, 7}) {
    const Step step = prepared.place(prepared.sizes({{"B", rows}})).steps.at(0);
    EXPECT_TRUE(step.on_host() && step.lasting);
    EXPECT_TRUE(!plan || step.plan->identity() == plan) << "one plan for all sizes";
    plan = step.plan->identity();
  }
}

TEST(Fallback, WhereNoneIsAllowedAnErrorListsTheSteps) {
  LowerOptions options = on({"row", "gemm", "block_gemm"});
  options.no_fallback = true;
  const std::string error = test::error_of([&] { lower(test::parse(kProduct), options); });
  for (const char* part :
       {"narrow", "2 steps", "%p (matmul)", "%s (softmax)", "has no row kernels", "host's row kernel", "--no-fallback"})
    EXPECT_THAT(error, HasSubstr(part));
  EXPECT_THAT(error, Not(HasSubstr("relu")));
  options.host = {};
  EXPECT_THAT(test::error_of([&] { lower(test::parse(kProduct), options); }),
              HasSubstr("the interpreter would run it"));
  LowerOptions whole = on({});
  whole.no_fallback = true;
  EXPECT_THAT(who_does_what(whole), Not(IsEmpty()));
}

TEST(Fallback, NothingIsLackedWhereNothingIsComputed) {
  LowerOptions options = on({});
  options.no_fallback = true;
  EXPECT_THAT(who_does_what(options, R"(graph g {
    %x : f32[0,8] = input "x"
    %s = softmax %x
    return %s as "s"
  })"),
              ElementsAre("interpreted softmax"));
}

TEST(Fallback, TheCpuAndTheReferenceHaveNoHost) {
  for (const char* name : {"cpu", "reference"}) EXPECT_EQ(host_kernels_for(*open_device(name)).device, nullptr) << name;
  EXPECT_NE(on({}).host.device, nullptr);
}

}  // namespace
}  // namespace hone
