// The end of a sequence classifier, as Hugging Face configures it.
#pragma once

#include "models/config.h"
#include "models/transformer.h"

namespace hone {

int64_t class_count(const ModelConfig& config);  // entries of id2label, else num_labels, else 2

// The outputs "logits" f32[B,classes] and, when `labels` (i64[B]) are not kNone, "loss".
void classifier_outputs(TransformerBuilder& builder, ValueId logits, ValueId labels, int64_t classes);

}  // namespace hone
