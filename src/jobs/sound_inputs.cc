#include "jobs/sound_inputs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "io/wav.h"

namespace hone {

NamedTensors sound_inputs(const Model& model, const std::vector<std::string>& files) {
  const ValueId input = sound_input_of(model.graph);
  if (input == kNone)
    fail(
        "{}: takes no sounds; a model with an input input_values f32[rows,samples] or input_features "
        "f32[rows,mels,frames] is needed",
        model.path);
  const TensorType& type = model.graph.type(input);
  const SoundTransform sounds = sound_transform_of(model);
  if (type.rank() == 3 && sounds.mels == 0)
    fail(
        "{}: takes spectra, and does not say which: preprocessor_config.json of its folder would; give them with "
        "--input {}=x.npy",
        model.path, model.graph.value(input).label);
  std::vector<Tensor> rows;
  for (const std::string& file : files) {
    rows.push_back(transformed_sound(read_wav(file), sounds, file));
    if (rows.back().shape() != rows.front().shape())
      fail("{}: has {} samples, and {} {}; sounds of one run have one length", file, rows.back().dim(0), files[0],
           rows.front().dim(0));
  }
  std::vector<int64_t> shape = rows.at(0).shape();
  shape.insert(shape.begin(), std::ssize(rows));
  Tensor all(DType::f32, shape);
  auto out = all.mutable_as<float>().begin();
  for (const Tensor& row : rows) out = std::ranges::copy(row.as<float>(), out).out;
  return {{model.graph.value(input).label, all.converted(type.dtype)}};
}

}  // namespace hone
