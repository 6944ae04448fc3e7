// write_peft_seeds OUT: adapters as PEFT has them, for peft_fuzz to start from: a linear's with the lengths of its
// rows, a convolution's, a table's, and a layer that was trained beside them.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "io/peft.h"

namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

hone::Tensor zeros(std::vector<int64_t> shape) { return hone::Tensor(hone::DType::f32, std::move(shape)); }

}  // namespace

int main(int, char** argv) {
  const std::string out = argv[1];
  hone::PeftAdapters kinds[3];
  kinds[0].adapters.push_back(
      {.layer = "layer.query", .a = zeros({2, 4}), .b = zeros({3, 2}), .magnitude = zeros({3})});
  kinds[1].adapters.push_back({.layer = "stem", .a = zeros({2, 3, 1, 1}), .b = zeros({4, 2, 1, 1})});
  kinds[1].saved.push_back({"classifier.weight", zeros({2, 3})});
  kinds[2].adapters.push_back({.layer = "words", .a = zeros({5, 2}), .b = zeros({4, 2}), .is_table = true});
  for (size_t i = 0; i < std::size(kinds); ++i) {
    const std::string folder = out + "/adapters" + std::to_string(i);
    hone::write_peft(folder, kinds[i]);
    std::ofstream(out + "/seed" + std::to_string(i), std::ios::binary)
        << content_of(folder + "/adapter_config.json") << '\0' << content_of(folder + "/adapter_model.safetensors");
    std::filesystem::remove_all(folder);
  }
  return 0;
}
