// Makes a small version of a model, runs texts or made-up numbers through the written file, and says how near the two
// models' answers are.
//   cmake -S examples/cpp -B build/example -DCMAKE_PREFIX_PATH=PREFIX && cmake --build build/example
//   build/example/embed build/models/all-MiniLM-L6-v2 small.safetensors "a text" "another text"
// PREFIX is where `cmake --install` put hone. build/models/all-MiniLM-L6-v2 is what `make models` fetches.
#include <hone/quantize.h>
#include <hone/session.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <exception>

namespace {

// Of two rows of numbers.
double cosine(std::span<const float> a, std::span<const float> b) {
  double product = 0, square_a = 0, square_b = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += double{a[i]} * double{b[i]};
    square_a += double{a[i]} * double{a[i]}, square_b += double{b[i]} * double{b[i]};
  }
  return product / std::sqrt(square_a * square_b);
}

// The texts as the model's inputs, or a wave in each of the inputs of a model without a tokenizer; open sizes are 1.
hone::NamedTensors inputs_of(const hone::Model& model, const hone::Session& session,
                             const std::vector<std::string>& texts) {
  if (model.has_tokenizer()) return model.text_inputs(texts);
  hone::NamedTensors inputs;
  for (const hone::Port& port : session.inputs()) {
    std::vector<int64_t> shape;
    int64_t elements = 1;
    for (const std::string& size : port.shape) {
      shape.push_back(std::isdigit(static_cast<unsigned char>(size[0])) ? std::stoll(size) : 1);
      elements *= shape.back();
    }
    std::vector<float> wave(static_cast<size_t>(elements));
    for (size_t i = 0; i < wave.size(); ++i) wave[i] = std::sin(0.1f * static_cast<float>(i));
    inputs.emplace(port.name, hone::Tensor::of<float>(shape, wave).converted(port.dtype));
  }
  return inputs;
}

hone::Tensor first_output(hone::Session& session, const hone::NamedTensors& inputs) {
  return session.run(inputs).at(session.outputs()[0].name);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) {
    std::fprintf(stderr, "usage: embed MODEL small.safetensors [TEXT...]\n");
    return 2;
  }
  const hone::Model model = hone::Model::open(argv[1]);
  hone::QuantizeOptions options;
  options.to = "mxint8";
  options.rule = {"op:gather=mxint4"};  // embedding tables
  if (!model.has_tokenizer()) options.rule.clear();
  const hone::QuantizeResult small = hone::quantize(model, options);
  for (const hone::QuantizedTensor& t : small.tensors)
    if (t.sqnr_db) std::printf("%-50s %-8s %5.1f dB\n", t.name.c_str(), t.after.c_str(), *t.sqnr_db);
  small.model.save(argv[2]);

  const std::vector<std::string> texts(argv + 3, argv + argc);
  hone::Session original(model), written(hone::Model::open(argv[2]));
  const hone::NamedTensors inputs = inputs_of(model, original, texts);
  const hone::Tensor reference = first_output(original, inputs), result = first_output(written, inputs);
  const std::vector<float> a = reference.to_floats(), b = result.to_floats();
  std::printf("%s: cosine to the original's %s %.4f\n", argv[2], result.type().c_str(), cosine(a, b));
  if (texts.empty() || reference.shape().size() != 2) return 0;
  const size_t width = b.size() / texts.size();
  for (size_t i = 0; i < texts.size(); ++i)
    std::printf("cosine of \"%s\" and \"%s\": %.4f\n", texts[0].c_str(), texts[i].c_str(),
                cosine(std::span(b).first(width), std::span(b).subspan(i * width, width)));
  return 0;
} catch (const std::exception& e) {
  std::fprintf(stderr, "embed: %s\n", e.what());
  return 1;
}
