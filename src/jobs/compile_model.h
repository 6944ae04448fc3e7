// hone compile: a model with the machine code of its kernels in one file, so that it starts without compiling where the
// instruction set, the CPU's features and the versions of hone and LLVM are those it was made with, for those who trust
// the file (SessionOptions::model_code).
#pragma once

#include <string>

#include "jobs/default_inputs.h"
#include "jobs/load_model.h"
#include "report/record.h"
#include "runtime/session.h"

namespace hone {

// Compiles for the given shapes and writes the model as it was read, with the code, all of it made in this process:
// none comes from the disk cache or from the model's file. Code for other levels that the model carries already stays
// in it byte for byte, and is not looked at. A compute type that was asked for is stored too.
Record compile_model(LoadedModel model, SessionOptions options, const ShapeOptions& shapes, const std::string& output,
                     const std::string& command);

}  // namespace hone
