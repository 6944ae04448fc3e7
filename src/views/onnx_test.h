// The record of jobs/onnx_test.h.
#pragma once

#include "jobs/onnx_test.h"
#include "report/record.h"

namespace hone {

// Key-values "summary", tables "operators" and "cases". `all`: with the cases that pass.
Record view_of(const OnnxTestResult& result, bool all = true);

}  // namespace hone
