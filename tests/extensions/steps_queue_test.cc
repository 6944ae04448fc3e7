// The device `steps` alone: its memory, its queue, and what it says of plans.
#include <gtest/gtest.h>

#include "device/device_lost.h"
#include "device/steps/device.h"
#include "kernels/gather/plan.h"
#include "kernels/pointwise/plan.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

using Floats = std::vector<float>;

PointwisePlan doubling() {
  const Expr x = Expr::arg(0, Scalar::f32);
  return {
      .operands = {{DType::f32, PointwisePlan::Inner::contiguous}}, .results = {DType::f32}, .program = flatten(x + x)};
}

// Buffers of four floats, and a queue that doubles one into another.
class StepsQueueTest : public testing::Test {
 protected:
  Buffer buffer(const Floats& values) { return device_->copied(Tensor::of<float>({4}, values).data()); }
  Floats read(const Buffer& buffer) const { return Tensor(DType::f32, {4}, buffer).on_host().to_floats(); }
  static KernelArgs args_of(const Buffer& from, const Buffer& to) {
    PointwiseKernelArgs args;
    args.values = {from.address(), to.address()};
    args.sizes = {4, 1};
    return to_args(args);
  }
  void launch(Queue& queue, const Buffer& from, const Buffer& to) {
    queue.launch(code_, args_of(from, to), {.items = 1, .name = "y"}, {});
  }

  const std::shared_ptr<StepsDevice> device_ = std::make_shared<StepsDevice>();
  const std::unique_ptr<Compiler> compiler_ = device_->make_compiler({});
  const Code code_ = compiler_->compile(std::vector<KernelPlan>{doubling()})[0];
  std::unique_ptr<Queue> queue_ = device_->make_queue();
  const Buffer x_ = buffer({1, 2, 3, 4}), y_ = buffer({0, 0, 0, 0}), z_ = buffer({0, 0, 0, 0});
};

TEST_F(StepsQueueTest, FailsLateAndOnceAndNothingBehindThatIsDone) {
  device_->probe().fail_after = 1;
  launch(*queue_, x_, y_);
  launch(*queue_, y_, z_);
  launch(*queue_, y_, y_);
  const std::string error = error_of([&] { queue_->synchronise(); });
  EXPECT_NE(error.find("y: the pointwise kernel of the steps device failed"), std::string::npos) << error;
  EXPECT_NO_THROW(queue_->synchronise());
  EXPECT_EQ(read(y_), (Floats{2, 4, 6, 8}));
  EXPECT_EQ(read(z_), (Floats{0, 0, 0, 0}));
  launch(*queue_, y_, z_);
  queue_->synchronise();
  EXPECT_EQ(read(z_), (Floats{4, 8, 12, 16}));
}

TEST_F(StepsQueueTest, IsOfNoUseOnceItsMemoryIsLost) {
  device_->probe().lose_after = 0;
  launch(*queue_, x_, y_);
  EXPECT_THROW(queue_->synchronise(), DeviceLost);
  EXPECT_EQ(device_->generation(), 1u);
  EXPECT_THROW(launch(*queue_, x_, y_), DeviceLost);
  EXPECT_THROW(queue_->copy(x_.address(), y_.address(), 16), DeviceLost);
  EXPECT_THROW(queue_->synchronise(), DeviceLost);
  EXPECT_THROW(read(x_), DeviceLost);
  queue_ = device_->make_queue();
  const Buffer x = buffer({1, 2, 3, 4}), y = buffer({0, 0, 0, 0});
  launch(*queue_, x, y);
  queue_->synchronise();
  EXPECT_EQ(read(y), (Floats{2, 4, 6, 8}));
}

TEST_F(StepsQueueTest, ReplaysLaunchesWithTheArgumentsOfThen) {
  std::array<KernelArgs, 2> args{args_of(x_, y_), args_of(y_, z_)};
  const Launch call{.items = 1, .name = "y"};
  const std::vector<QueuedStep> steps{{code_, &args[0], &call, {}}, {code_, &args[1], &call, {}}};
  const std::unique_ptr<Replay> replay = queue_->prepare(steps);
  queue_->run(*replay, {});
  const Buffer w = buffer({5, 6, 7, 8});
  args[0] = args_of(w, y_);
  queue_->run(*replay, std::vector<size_t>{0});
  args[1] = args_of(x_, z_);  // not said to have changed, and read no more
  queue_->run(*replay, {});
  queue_->synchronise();
  EXPECT_EQ(read(z_), (Floats{20, 24, 28, 32}));
  EXPECT_EQ(device_->probe().replays, 3);
}

TEST_F(StepsQueueTest, EventsSayHowLongLaunchesTook) {
  const uint64_t begin = queue_->record();
  launch(*queue_, x_, y_);
  const uint64_t end = queue_->record();
  queue_->wait(end);
  EXPECT_GT(queue_->elapsed_ns(begin, end), 0);
}

TEST(ForeignMemory, IsNoProcessesAndHasAnEnd) {
  ForeignMemory memory("steps");
  std::byte* const block = memory.take(16);
  EXPECT_GE(reinterpret_cast<uintptr_t>(block), uintptr_t{1} << 57);
  EXPECT_NO_THROW(memory.at(block + 12, 4));
  EXPECT_THROW(memory.at(block + 12, 5), Bug);
  EXPECT_THROW(memory.at(&memory, 1), Bug);
  memory.give_back(block);
  EXPECT_THROW(memory.at(block, 1), Bug);
}

TEST(ForeignMemory, EndsWhenATestAsks) {
  ForeignMemory memory("steps");
  memory.fail_after(1);
  memory.take(8);
  EXPECT_NE(error_of([&] { memory.take(8); }).find("no more memory"), std::string::npos);
  EXPECT_NO_THROW(memory.take(8));
  EXPECT_EQ(memory.blocks(), 2);
}

TEST(StepsDevice, TwoImplementationsOfOneClassAreABug) {
  const std::vector<const StepsKernel*> kernels{&kStepsGather, &kStepsPointwise, &kStepsGather};
  try {
    StepsDevice device(kernels);
    FAIL() << "both were taken";
  } catch (const Bug& bug) {
    EXPECT_NE(std::string(bug.what()).find("steps has two implementations of gather kernels"), std::string::npos)
        << bug.what();
  }
}

TEST(StepsDevice, SaysWhyItHasNoCode) {
  const StepsDevice device;
  EXPECT_EQ(supports(device, GatherPlan{.columns = 2}).why, "");
  EXPECT_EQ(supports(device, GatherPlan{.columns = 32, .table_format = "mxint8"}).why, kPackedTables);
  EXPECT_EQ(supports(device, GatherPlan{.columns = 2, .table = DType::string, .result = DType::string}).why, kStrings);
  EXPECT_EQ(supports(device, GatherPlan{.columns = 2, .result = DType::f16}).why, kOtherElements);
  EXPECT_EQ(supports(device, doubling()).why, "");
  PointwisePlan plan = doubling();
  plan.results = {DType::f64};
  EXPECT_EQ(supports(device, plan).why, kDoubles);
}

TEST(StepsDevice, RefusesToCompileWhatItDoesNotSupport) {
  const auto device = std::make_shared<StepsDevice>();
  const std::unique_ptr<Compiler> compiler = device->make_compiler({.bundled = {"of another device"}});
  const std::vector<KernelPlan> plans{doubling(), GatherPlan{.columns = 32, .table_format = "mxint8"}};
  EXPECT_NE(error_of([&] { compiler->compile(plans); }).find(kPackedTables), std::string::npos);
  const std::vector<KernelPlan> equal{doubling(), doubling()};
  const std::vector<Code> codes = compiler->compile(equal);
  EXPECT_EQ(codes[0], codes[1]);
  EXPECT_EQ(compiler->statistics().compiled, 1);
  EXPECT_NE(compiler->statistics().bundle_note, "");
}

}  // namespace
}  // namespace hone::test
