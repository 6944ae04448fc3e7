// What a model calls its classes, in the order of its numbers.
#pragma once

#include <string>
#include <vector>

#include "importers/model.h"

namespace hone {

// By its config.json (id2label), or by the metadata of an ONNX file. None where those name no classes, or only LABEL_0,
// LABEL_1, …
std::vector<std::string> classes_of(const Model& model);

// Writes them into both. `several`: a row may be of any number of them.
void name_classes(Model& model, const std::vector<std::string>& names, bool several);

}  // namespace hone
