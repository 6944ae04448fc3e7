// Written models: read back as they were, in one file or with their weights beside it, and whole or not at all.
#include "io/onnx/write_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "io/onnx/external_data.h"
#include "io/onnx/read_model.h"
#include "io/onnx/tensor_messages.h"
#include "io/onnx/tensors.h"
#include "tests/io/temporary_folder.h"

namespace hone::onnx {
namespace {

using testing::HasSubstr;

// Weights of 8192, 12 and 5000 bytes, the last in the attribute of a node of a subgraph.
ModelProto model_with_weights(float value) {
  ModelProto model;
  model.set_ir_version(8);
  GraphProto& graph = *model.mutable_graph();
  *graph.add_initializer() = to_proto(Tensor::of<float>({2048}, std::vector<float>(2048, value)), "large");
  *graph.add_initializer() = to_proto(Tensor::of<float>({3}, {1, 2, value}), "small");
  GraphProto& branch = *graph.add_node()->add_attribute()->mutable_g();
  *branch.add_node()->add_attribute()->mutable_t() =
      to_proto(Tensor::of<float>({1250}, std::vector<float>(1250, -value)), "inner");
  return model;
}

std::vector<Tensor> tensors_in(const std::string& path) {
  ModelProto model = read_model(path).message;
  ExternalData external(path);
  std::vector<Tensor> tensors;
  for (TensorProto* proto : tensor_messages(model).dense)
    tensors.push_back(tensor_of(std::move(*proto), {path, &external}));
  return tensors;
}

void expect_weights(const std::string& path, float value) {
  const std::vector<Tensor> tensors = tensors_in(path);
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].as<float>().back(), value);
  EXPECT_EQ(tensors[1].as<float>().back(), value);
  EXPECT_EQ(tensors[2].as<float>().back(), -value);
}

TEST(OnnxWrite, ASmallModelIsOneFile) {
  const TemporaryFolder folder;
  write_model(model_with_weights(3), folder / "m.onnx");
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_EQ(content_of(folder / "m.onnx"), model_with_weights(3).SerializeAsString());
}

TEST(OnnxWrite, LargeWeightsGoBesideTheModel) {
  const TemporaryFolder folder;
  write_model(model_with_weights(3), folder / "m.onnx", 1000);
  EXPECT_EQ(folder.entries(), 2u);
  EXPECT_LT(content_of(folder / "m.onnx").size(), 1000u);
  EXPECT_EQ(content_of(folder / "m.onnx.data").size(), 4 * 4096u);  // two pages, and 5000 bytes on two more
  expect_weights(folder / "m.onnx", 3);
  EXPECT_TRUE(tensors_in(folder / "m.onnx")[2].data().is_mapped());
}

TEST(OnnxWrite, APairIsReplacedByAPair) {
  const TemporaryFolder folder;
  for (float value : {3.0f, 4.0f}) {
    write_model(model_with_weights(value), folder / "m.onnx", 1000);
    expect_weights(folder / "m.onnx", value);
  }
  EXPECT_EQ(folder.entries(), 2u);
}

// A folder at the place of the model, or of its weights, can't be replaced.
TEST(OnnxWrite, NothingIsLeftWhereWritingIsImpossible) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "m.onnx.data");
  EXPECT_THAT(error_of([&] { write_model(model_with_weights(3), folder / "m.onnx", 1000); }),
              HasSubstr("is a directory"));
  EXPECT_EQ(folder.entries(), 1u);
  EXPECT_THAT(error_of([&] { write_model(model_with_weights(3), folder / "absent/m.onnx"); }),
              HasSubstr("can't write"));
}

// In a child that may write files of at most `bytes`.
int write_with_limit(const std::string& path, rlim_t bytes) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string error = error_of([&] { write_model(model_with_weights(4), path, 1000); });
    ::_exit(error.find("writing failed") != std::string::npos ? 1 : error.empty() ? 0 : 2);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}

TEST(OnnxWrite, AFullDiskLeavesTheOldPair) {
  const TemporaryFolder folder;
  write_model(model_with_weights(3), folder / "m.onnx", 1000);
  for (rlim_t bytes : {100, 5000, 12000}) {  // within the model, within the first weight, within the second
    EXPECT_EQ(write_with_limit(folder / "m.onnx", bytes), 1);
    EXPECT_EQ(folder.entries(), 2u);
    expect_weights(folder / "m.onnx", 3);
  }
  EXPECT_EQ(write_with_limit(folder / "m.onnx", 20000), 0);
  expect_weights(folder / "m.onnx", 4);
}

}  // namespace
}  // namespace hone::onnx
