// hone compile: a model with the machine code of its kernels in one file, so that it starts without compiling where the
// instruction set, the CPU's features and the versions of hone and LLVM are those it was made with, for those who trust
// the file (SessionOptions::model_code).
#pragma once

#include <string>
#include <vector>

#include "jobs/file_facts.h"
#include "jobs/run_options.h"
#include "jobs/save_model.h"
#include "jobs/task.h"
#include "measure/environment.h"

namespace hone {

struct CompileOptions : ShapeFlags, RunFlags {
  static std::span<const OptionField<CompileOptions>> fields();
};

struct CompileResult {
  std::string name, path;       // of the model, and of the file with the code
  std::string device, variant;  // what the code is for: "cpu", and its instruction set
  SessionStatistics session;
  int64_t object_bytes = 0;  // of the machine code
  int64_t with_bodies = 0;   // nodes whose bodies have no code in the file: they are compiled when they first run
  SavedModel saved;
  FileFacts source, written;
  Environment environment;
  int kernels() const { return session.kernels_compiled + session.kernels_cached + session.kernels_bundled; }
};

// Compiles for the given shapes and writes the model as it was read, with the code, all of it made in this process:
// none comes from the disk cache or from the model's file. Code for other levels that the model carries already stays
// in it byte for byte, and is not looked at. A compute type that was asked for is stored too.
CompileResult compile_model(Model model, SessionOptions options, const ShapeOptions& shapes, const std::string& path,
                            const TaskContext& context = {});
CompileResult compile_model(const Model& model, const CompileOptions& options, const std::string& path,
                            const TaskContext& context = {});

}  // namespace hone
