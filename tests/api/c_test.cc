// The C functions: handles that are no more, never were or are others, null pointers, arrays and their owners.
#include <hone/hone.h>
#include <hone/model.h>

#include <array>
#include <cmath>
#include <filesystem>

#include "tests/api/error_of.h"

namespace {

using testing::HasSubstr;

class C : public testing::Test {
 protected:
  C() {
    hone::Graph graph =
        hone::Graph::parse("graph g {\n  %x : f32[N,3] = input \"x\"\n  %y = add %x, %x\n  return %y as \"y\"\n}");
    hone::Model(graph).save(path_);
    EXPECT_EQ(hone_open(path_.c_str(), &model_), HONE_OK) << hone_error();
    const hone_option no_cache = {"no-cache", "true"};
    EXPECT_EQ(hone_compile(model_, &no_cache, 1, &session_), HONE_OK) << hone_error();
  }
  ~C() override {
    hone_free(session_);
    hone_free(model_);
    std::filesystem::remove(path_);
  }

  const std::string path_ = testing::TempDir() + "hone_c_test.safetensors";
  hone_handle model_ = 0, session_ = 0;
  std::array<float, 6> elements_{0, 1, 2, 3, 4, 5};
  std::array<int64_t, 2> shape_{2, 3}, strides_{1, 2};
  DLTensor array_{elements_.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape_.data(), strides_.data(), 0};
};

TEST_F(C, ArraysAreReadWithTheirStridesAndResultsHaveAnOwner) {
  const hone_input input = {"x", &array_};
  DLManagedTensorVersioned* output = nullptr;
  ASSERT_EQ(hone_run(session_, 0, &input, 1, &output, 1), HONE_OK) << hone_error();
  const auto* y = static_cast<const float*>(output->dl_tensor.data);
  EXPECT_THAT(std::vector<float>(y, y + 6), testing::ElementsAre(0, 4, 8, 2, 6, 10));
  output->deleter(output);
  hone_port port{};
  ASSERT_EQ(hone_input_port(session_, 0, &port), HONE_OK);
  EXPECT_STREQ(port.name, "x");
  EXPECT_STREQ(port.type, "f32[N,3]");
  const char* text = nullptr;
  ASSERT_EQ(hone_graph_text(model_, &text), HONE_OK);
  EXPECT_THAT(text, HasSubstr("add"));
}

TEST_F(C, HandlesThatAreNoObjectsAreRefused) {
  size_t count = 0;
  EXPECT_EQ(hone_input_count(0, &count), HONE_REFUSED);
  EXPECT_EQ(hone_input_count(model_, &count), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("is a model; a session is needed"));
  EXPECT_EQ(hone_free(uint64_t{7} << 32 | 12345), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("never gave it"));
  EXPECT_EQ(hone_free(12345), HONE_REFUSED);

  hone_handle context = 0, next = 0;
  ASSERT_EQ(hone_new_context(&context), HONE_OK);
  ASSERT_EQ(hone_free(context), HONE_OK);
  EXPECT_EQ(hone_free(context), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("was freed"));
  ASSERT_EQ(hone_new_context(&next), HONE_OK);  // in the same place
  EXPECT_NE(next, context);
  EXPECT_EQ(hone_cancel(context), HONE_REFUSED);
  EXPECT_EQ(hone_cancel(next), HONE_OK);
  EXPECT_EQ(hone_free(next), HONE_OK);
}

TEST_F(C, NullPointersAreRefused) {
  hone_handle made = 0;
  size_t count = 0;
  DLManagedTensorVersioned* output = nullptr;
  EXPECT_EQ(hone_open(nullptr, &made), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("path is a null pointer"));
  EXPECT_EQ(hone_open(path_.c_str(), nullptr), HONE_REFUSED);
  EXPECT_EQ(hone_open(std::string(300, 'm').c_str(), &made), HONE_REFUSED);  // a name that no file system takes
  EXPECT_EQ(hone_save(model_, nullptr), HONE_REFUSED);
  EXPECT_EQ(hone_quantize(model_, nullptr, 1, &made), HONE_REFUSED);
  EXPECT_EQ(hone_input_count(session_, nullptr), HONE_REFUSED);
  EXPECT_EQ(hone_run(session_, 0, nullptr, 1, &output, 1), HONE_REFUSED);
  const hone_input nameless = {nullptr, &array_}, without_array = {"x", nullptr};
  EXPECT_EQ(hone_run(session_, 0, &nameless, 1, &output, 1), HONE_REFUSED);
  EXPECT_EQ(hone_run(session_, 0, &without_array, 1, &output, 1), HONE_REFUSED);
  const hone_option nothing = {nullptr, nullptr};
  EXPECT_EQ(hone_compile(model_, &nothing, 1, &made), HONE_REFUSED);
  EXPECT_EQ(made, 0u);
  EXPECT_EQ(output, nullptr);
  EXPECT_EQ(hone_output_count(session_, &count), HONE_OK);
  EXPECT_EQ(count, 1u);
}

TEST_F(C, WrongTypesRoomAndOptionsAreRefused) {
  DLManagedTensorVersioned* outputs[2] = {};
  hone_handle made = 0;
  const hone_input input = {"x", &array_};
  EXPECT_EQ(hone_run(session_, 0, &input, 1, outputs, 2), HONE_REFUSED);
  const hone_input twice[2] = {input, input};
  EXPECT_EQ(hone_run(session_, 0, twice, 2, outputs, 1), HONE_REFUSED);
  array_.dtype = {kDLInt, 32, 1};
  EXPECT_EQ(hone_run(session_, 0, &input, 1, outputs, 1), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("x"));
  const hone_option unknown = {"thread", "1"}, wrong = {"threads", "many"};
  EXPECT_EQ(hone_compile(model_, &unknown, 1, &made), HONE_REFUSED);
  EXPECT_THAT(hone_error(), HasSubstr("threads"));
  EXPECT_EQ(hone_compile(model_, &wrong, 1, &made), HONE_REFUSED);
}

}  // namespace
