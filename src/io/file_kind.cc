#include "io/file_kind.h"

#include <algorithm>
#include <cctype>

namespace hone {
namespace {

using namespace std::string_view_literals;

struct Magic {
  size_t offset;
  std::string_view bytes;
  const char* kind;
};
constexpr Magic kMagics[] = {
    {0, "version https://git-lfs"sv, "a Git LFS pointer; fetch the file it stands for with: git lfs pull"},
    {0, "PK\3\4"sv, "a zip archive, as PyTorch checkpoints and .npz files are"},
    {0, "\x80\2"sv, "a Python pickle"},
    {0, "\x80\4"sv, "a Python pickle"},
    {0, "\x89HDF"sv, "an HDF5 file, as Keras writes"},
    {0, "GGUF"sv, "a GGUF file"},
    {0, "\x93NUMPY"sv, "a NumPy array"},
    {0, "\x1f\x8b"sv, "a gzip archive; unpack it first"},
    {4, "TFL3"sv, "a TensorFlow Lite model"},
    {4, "ORTM"sv, "a model in ONNX Runtime's own format; export it as .onnx"},
    {8, "{\""sv, "a safetensors file"},
};

bool is_text(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) {
    const auto u = static_cast<unsigned char>(c);
    return u >= 0x80 || std::isprint(u) || std::isspace(u);
  });
}

}  // namespace

std::string file_kind(std::string_view bytes) {
  for (const Magic& magic : kMagics)
    if (bytes.size() > magic.offset && bytes.substr(magic.offset).starts_with(magic.bytes)) return magic.kind;
  const std::string_view head = bytes.substr(0, 512);
  if (head.empty() || !is_text(head)) return "";
  const size_t first = head.find_first_not_of(" \t\r\n\f\v");
  const char begin = first == std::string_view::npos ? ' ' : head[first];
  if (begin == '<') return "an HTML or XML page, perhaps of a download that failed";
  return begin == '{' || begin == '[' ? "a JSON file" : "a text file";
}

}  // namespace hone
