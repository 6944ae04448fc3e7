// Models changed in their structure (tests/fuzz): they run, or are refused by an Error. The same few hundred each time;
// `make fuzz` looks for new ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/atomic_file.h"
#include "base/error.h"
#include "io/artefact.h"
#include "io/onnx/import_model.h"
#include "io/onnx/onnx.pb.h"
#include "jobs/scratch_folder.h"
#include "tests/fuzz/exercise.h"
#include "tests/fuzz/mutate_artefact.h"
#include "tests/fuzz/mutate_model.h"
#include "tests/support/paths.h"

namespace hone {
namespace {

std::vector<std::string> seeds() {
  std::vector<std::string> paths;
  for (const auto& folder : std::filesystem::directory_iterator(test::kOnnxCases))
    if (const auto model = folder.path() / "model.onnx"; std::filesystem::exists(model))
      paths.push_back(model.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(MutatedModels, OnnxModelsRunOrAreRefused) {
  const std::vector<std::string> paths = seeds();
  ASSERT_GT(paths.size(), 100u);
  for (uint64_t i = 0; i < 400; ++i) {
    Philox random(i, 14);
    const std::string& path = paths[random.below(static_cast<uint32_t>(paths.size()))];
    SCOPED_TRACE(path + ", mutation " + std::to_string(i));
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(read_file(path)));
    fuzz::mutate(model, random);
    const std::string bytes = model.SerializeAsString();
    EXPECT_NO_THROW(fuzz::exercise([&] { return import_onnx_bytes(bytes, "mutated.onnx").graph; }));
  }
}

TEST(MutatedModels, ArtefactsRunOrAreRefused) {
  const std::vector<std::string> paths = seeds();
  const ScratchFolder folder;
  const std::string file = folder.path() + "/model.safetensors";
  int mutated = 0;
  for (uint64_t i = 0; i < 400; ++i) {
    Philox random(i, 15);
    const std::string& path = paths[random.below(static_cast<uint32_t>(paths.size()))];
    SCOPED_TRACE(path + ", mutation " + std::to_string(i));
    try {
      save_artefact(file, import_onnx(path).graph, {{"config.json", "{}"}});
    } catch (const Error&) {  // sequences and strings, say
      continue;
    }
    const std::string bytes = fuzz::mutated_artefact(read_file(file), random);
    std::ofstream(file, std::ios::binary) << bytes;
    EXPECT_NO_THROW(fuzz::exercise([&] { return load_artefact(file).graph; }));
    ++mutated;
  }
  EXPECT_GT(mutated, 300);
}

}  // namespace
}  // namespace hone
