// write_data_seeds KIND OUT: a few sound files for data_<KIND>_fuzz to start from.
#include <zlib.h>

#include <cstdio>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "io/numpy.h"
#include "tests/io/write_image.h"

namespace {

using Seeds = std::vector<std::string>;

Seeds images() {
  using namespace hone::test;
  Seeds seeds;
  for (int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
    seeds.push_back(png_of({{1, 2, 3, 4, 5, 6}, {7, 8, 9, 1, 2, 3}}, 2, {.interlace = interlace}));
    seeds.push_back(png_of({{0xb0}, {0x10}}, 4, {.colour = PNG_COLOR_TYPE_GRAY, .bits = 1, .interlace = interlace}));
    seeds.push_back(png_of({{3, 1}}, 2, {.colour = PNG_COLOR_TYPE_PALETTE, .interlace = interlace}));
    seeds.push_back(png_of({{1, 2, 3, 4, 5, 6, 7, 8}}, 1, {.colour = PNG_COLOR_TYPE_RGB_ALPHA, .bits = 16}));
  }
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 9 * 17 * 4; ++i) pixels.push_back(static_cast<uint8_t>(7 * i));
  for (bool progressive : {false, true})
    for (J_COLOR_SPACE colours : {JCS_GRAYSCALE, JCS_RGB, JCS_CMYK})
      seeds.push_back(jpeg_of(pixels, 9, 17, colours, progressive));
  return seeds;
}

std::string npy(const hone::Tensor& tensor) { return hone::npy_bytes(tensor, "seed"); }

Seeds arrays(const std::string& folder) {
  const hone::Tensor images = hone::Tensor::of<uint8_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                     label = hone::Tensor::of<int64_t>({2}, {1, 0}), x = hone::Tensor::of<uint8_t>({2, 1}, {0, 1});
  std::string parts;
  for (const hone::Tensor& each : {images, label, label, x}) {
    const std::string bytes = npy(each);
    parts += static_cast<char>(bytes.size()) + bytes;
  }
  const std::string archive = folder + "/archive.npz";
  hone::write_npz(archive, std::vector<hone::NamedTensor>{{"images", images}, {"label", label}, {"x", x}});
  return {'\0' + parts, '\1' + parts, '\2' + parts, '\4' + hone::read_file(archive)};
}

Seeds gzip() {
  z_stream stream{};
  constexpr int kGzip = 16;
  deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY);
  std::string text = "some text, some text", out(200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(text.data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return {out, out + out};
}

Seeds tables(char separator) {
  Seeds seeds;
  for (char choice : {0, 2, 3, 4, 8, 9, 18}) {
    std::string text = "text,b,group,split\na,x,g,train\nb \"c\",1,h,dev\n";
    for (char& c : text)
      if (c == ',') c = separator;
    seeds.push_back(choice + text);
  }
  seeds.push_back(std::string("\0tokens", 7) + separator + "tags\na b" + separator + "x y\n");
  if (separator == ',') seeds.push_back("\2text,b\r\n\"a, \"\"b\"\"\nc\",x\r\n");
  return seeds;
}

template <size_t kSize>
std::string bytes(const char (&text)[kSize]) {
  return std::string(text, kSize - 1);
}

// A tokenizer.json of each kind, with what normalises and splits, and files of before it.
Seeds tokenizers() {
  const auto json = [](const char* parts) { return '\0' + std::string("{") + parts + "}"; };
  return {
      json(R"("normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"},
              "model": {"type": "WordPiece", "unk_token": "?", "vocab": {"?": 0, "a": 1, "##b": 2}},
              "added_tokens": [{"id": 3, "content": "<s>", "lstrip": true, "single_word": true}])"),
      json(
          R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Nmt"}]},
              "pre_tokenizer": {"type": "ByteLevel"}, "decoder": {"type": "ByteLevel"},
              "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": ["a b"]})"),
      json(R"("normalizer": {"type": "Prepend", "prepend": "x"}, "decoder": {"type": "ByteFallback"},
              "model": {"type": "BPE", "byte_fallback": true, "unk_token": "a", "vocab": {"a": 0, "<0xC3>": 1}, "merges": []})"),
      json(R"("pre_tokenizer": {"type": "Metaspace"}, "decoder": {"type": "Metaspace"},
              "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1.5], ["\u2581b", -2]]})"),
      json(R"("normalizer": {"type": "Precompiled", "precompiled_charsmap": "CAAAAAAAAAAAAAAAYQA="},
              "model": {"type": "Unigram", "unk_id": 0, "vocab": [["?", 0]]})"),
      "\1[UNK]\n[CLS]\n[SEP]\n[PAD]\na\n##b\n",
      bytes("\2{\"a\": 0, \"b\": 1, \"ab\": 2}\0#version: 0.2\na b\n"),
      bytes("\27\x0a\x0c\x0a\5<unk>\x15\0\0\0\0\x0a\x08\x0a\1a\x15\0\0\x80\xbf\x12\2\x18\2")};
}

Seeds seeds_of(const std::string& kind, const std::string& folder) {
  if (kind == "tokenizer") return tokenizers();
  if (kind == "image") return images();
  if (kind == "npz") return arrays(folder);
  if (kind == "gzip") return gzip();
  if (kind == "csv") return tables(',');
  if (kind == "tsv") return tables('\t');
  if (kind == "cifar") return {std::string("\0\1\2\3", 4), std::string("\1\1\2\3", 4), std::string("\6\1", 2)};
  if (kind == "idx") return {std::string("\x12\0\0\0\x08\x03\0\0\0\2\0\0\0\1\0\0\0\1ab\0\0\x08\x01\0\0\0\2\1\1", 30)};
  return {std::string("\0{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\", \"label\": null}\n", 54),
          std::string("\0{\"tokens\": [\"a\"], \"tags\": [\"x\"]}\n", 35), "\2{\"text\": \"a\", \"b\": \"x\"}\n",
          "\4{\"text\": \"a\", \"b\": [\"x\", \"y\"]}\n", "\10{\"text\": \"a\", \"b\": 1.5}\n"};
}

}  // namespace

int main(int, char** argv) {
  const std::string kind = argv[1], folder = argv[2];
  int written = 0;
  for (const std::string& seed : seeds_of(kind, folder))
    hone::write_file(folder + "/" + std::to_string(written++), seed);
  std::printf("%d seeds of %s\n", written, kind.c_str());
  return 0;
}
