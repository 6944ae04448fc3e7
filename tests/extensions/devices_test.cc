// A device whose memory the host can't read: parameters and state that stay there, views of callers, what is looked at
// before kernels trust it, and what fails.
#include <gtest/gtest.h>

#include "runtime/session.h"
#include "tests/passes/parse_ops.h"
#include "tests/runtime/sample_sessions.h"
#include "tests/support/error_of.h"

namespace hone::test {
namespace {

SessionOptions on_device() {
  SessionOptions options;
  options.device = open_device("offset");
  options.threads = 2;
  return options;
}

NamedTensors x_of(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return {{"x", Tensor::of<float>({size}, values)}};
}

constexpr const char* kStep = R"(graph step {
  %x : f32[3] = input "x"
  %w : f32[3] = param "w" {1, 2, 3}
  %m : f32[3] = state "m" {0, 0, 0}
  %m2 = add %m, %x
  %w2 = sub %w, %m2
  update %w = %w2
  update %m = %m2
  return %m2 as "y"
})";

TEST(OffsetDevice, IsOneFile) { EXPECT_FALSE(open_device("offset")->is_host()); }

TEST(OffsetDevice, KeepsParametersAndStateBetweenRuns) {
  Session session(parse(kStep), on_device());
  Context context;
  for (float run : {1.0f, 2.0f, 3.0f})
    EXPECT_EQ(session.run(context, x_of({1, 0, -1}))[0].to_floats(), (std::vector<float>{run, 0, -run}));
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{-5, 2, 9}));
  EXPECT_EQ(context.state("m").to_floats(), (std::vector<float>{3, 0, -3}));
  session.set_parameters({{"w", Tensor::of<float>({3}, std::vector<float>{0, 0, 0})}});
  context.set_state("m", Tensor::of<float>({3}, std::vector<float>{1, 1, 1}));
  session.run(context, x_of({0, 0, 0}));
  EXPECT_EQ(session.parameter("w").to_floats(), (std::vector<float>{-1, -1, -1}));
}

// The state that a run leaves on one device is read by sessions on another, compiled or interpreted.
TEST(OffsetDevice, SharesAContextWithOthers) {
  SessionOptions interpreted;
  interpreted.optimise = 0;
  Session there(parse(kStep), on_device()), beside(parse(kStep), on_device()), here(parse(kStep), {}),
      slow(parse(kStep), interpreted);
  Context context;
  float sum = 0;
  for (Session* session : {&there, &here, &there, &beside, &slow, &there})
    EXPECT_EQ(session->run(context, x_of({1, 1, 1}))[0].to_floats(), std::vector<float>(3, ++sum));
}

TEST(OffsetDevice, WritesIntoMemoryOfCallers) {
  Session session(parse(kStep), on_device());
  Context context;
  std::vector<float> y(3);
  session.run(context, x_of({1, 2, 3}), {{"y", OutputView::of(DType::f32, {3}, std::span(y))}});
  EXPECT_EQ(y, (std::vector<float>{1, 2, 3}));
}

TEST(OffsetDevice, RowsThatDoNotExistAreRefused) { expect_rows_are_looked_at(on_device()); }

TEST(OffsetDevice, PagedRowsStayThere) { expect_rows_are_kept(on_device(), "offset"); }

TEST(OffsetDevice, ItsMemoryIsNotReadAsTheHosts) {
  const std::shared_ptr<Device> device = open_device("offset");
  const std::vector<float> values{1, 2, 3};
  const Buffer there = device->copied(Tensor::of<float>({3}, values).data());
  EXPECT_THROW(there.bytes(), Bug);
  EXPECT_EQ(Tensor(DType::f32, {3}, there).on_host().to_floats(), values);
}

TEST(Devices, ThatAreNotThereAreAnErrorThatListsThose) {
  const std::string error = error_of([] { open_device("tpu:0"); });
  for (const char* part : {"tpu", "cpu", "offset", "reference", "steps"})
    EXPECT_NE(error.find(part), std::string::npos) << error;
  EXPECT_NE(error_of([] { open_device("reference:fast"); }).find("no variants"), std::string::npos);
  EXPECT_NE(error_of([] { open_device("steps:fast"); }).find("no variants"), std::string::npos);
  EXPECT_NE(error_of([] { open_device("cpu:avx1024"); }).find("avx1024"), std::string::npos);
}

TEST(Devices, AreOpenedByTheTextThatTheyGive) {
  for (const char* text : {"reference", "cpu:avx2"}) EXPECT_EQ(text_of(*open_device(text)), text);
}

}  // namespace
}  // namespace hone::test
