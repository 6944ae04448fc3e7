// Makes a small version of a sentence encoder and embeds texts with the written file.
//   cmake -S examples/cpp -B build/example && cmake --build build/example
//   build/example/embed build/models/all-MiniLM-L6-v2 small.safetensors "a text" "another text"
// build/models/all-MiniLM-L6-v2 is what `make models` fetches; any folder of a sentence encoder will do.
#include <cstdio>
#include <exception>

#include "jobs/quantize_model.h"
#include "jobs/sentences.h"
#include "measure/quality.h"

int main(int argc, char** argv) try {
  if (argc < 5) {
    std::fprintf(stderr, "usage: embed MODEL small.safetensors TEXT TEXT...\n");
    return 2;
  }
  const hone::LoadedModel model = hone::load_model(argv[1]);
  hone::QuantizeOptions options;
  options.to = "mxint8";
  options.rule = {"op:gather=mxint4"};  // embedding tables
  const hone::QuantizedModel small = hone::quantize_model(model, options, hone::Compute::bf16);
  for (const hone::QuantizedTensor& t : small.tensors)
    if (t.sqnr_db) std::printf("%-50s %-8s %5.1f dB\n", t.choice.name.c_str(), t.choice.after.c_str(), *t.sqnr_db);
  hone::save_model(argv[2], small.graph, model);

  hone::SentenceEncoder encoder(hone::load_model(argv[2]), hone::SessionOptions{});
  const hone::Tensor embeddings = encoder.embed({argv + 3, argv + argc});  // f32[texts, C]
  const auto rows = embeddings.as<float>();
  const auto width = static_cast<size_t>(embeddings.dim(1));
  for (int i = 1; i + 3 < argc; ++i) {
    const auto row = rows.subspan(static_cast<size_t>(i) * width, width);
    std::printf("cosine of \"%s\" and \"%s\": %.4f\n", argv[3], argv[3 + i],
                hone::row_cosine(rows.first(width), row, embeddings.dim(1)).mean);
  }
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "embed: %s\n", e.what());
  return 1;
}
