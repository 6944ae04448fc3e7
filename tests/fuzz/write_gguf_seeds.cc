// write_gguf_seeds OUT: files of every type that is written, one with a tokenizer, and decoders, for gguf_fuzz to start
// from.
#include <string>

#include "tests/importers/tiny_gguf.h"

int main(int, char** argv) {
  const std::string out = argv[1];
  hone::GgufSettings settings{{"general.architecture", "llama"}};
  std::vector<hone::NamedTensor> tensors;
  for (const hone::GgufType& type : hone::gguf_types()) {
    if (!hone::is_writable(type)) continue;
    const hone::Tensor plain(hone::DType::f32, {2, type.block});
    const hone::Tensor tensor =
        type.is_packed() ? hone::Packer().pack(hone::parse_format(type.format), plain) : plain.converted(*type.dtype);
    tensors.push_back({type.name, tensor});
    hone::write_gguf(out + "/" + type.name, {&tensors.back(), 1}, settings);
  }
  hone::write_gguf(out + "/all", tensors, settings);
  settings["tokenizer.ggml.model"] = std::string("gpt2");
  settings["tokenizer.ggml.pre"] = std::string("smollm");
  settings["tokenizer.ggml.tokens"] = std::vector<std::string>{"<|end|>", "a", "b", "ab"};
  settings["tokenizer.ggml.token_type"] = std::vector<int32_t>{3, 1, 1, 1};
  settings["tokenizer.ggml.merges"] = std::vector<std::string>{"a b"};
  settings["tokenizer.ggml.bos_token_id"] = uint32_t{0};
  hone::write_gguf(out + "/tokenizer", {}, settings);
  for (const char* architecture : {"llama", "qwen2", "qwen3", "smollm3"})
    hone::test::TinyDecoder{.architecture = architecture}.write(out + "/" + architecture);
  hone::test::TinyDecoder{.settings = {{"llama.rope.scaling.type", "yarn"},
                                       {"llama.rope.scaling.factor", 4.f},
                                       {"llama.rope.scaling.original_context_length", uint32_t{8}}}}
      .write(out + "/yarn");
  return 0;
}
