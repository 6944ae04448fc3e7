// hone export: a model as an ONNX file that other runtimes open.
#pragma once

#include <optional>
#include <string>

#include "jobs/load_model.h"
#include "report/record.h"

namespace hone {

// Writes the model to `path`, which ends in .onnx, and says how each format was written. Throws Error when ONNX can't
// hold the model, and when `path` is one of the files that it was read from.
Record export_model(const LoadedModel& model, const std::string& path, std::optional<int> opset,
                    const std::string& command);

}  // namespace hone
