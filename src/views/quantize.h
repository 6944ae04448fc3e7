// The record of jobs/quantize_model.h.
#pragma once

#include <string>

#include "jobs/quantize_flags.h"
#include "jobs/save_model.h"
#include "report/record.h"

namespace hone {

// `saved`: what save_model() made of it at `output`; `source`: what was quantized, with `options`. Findings; the tables
// of views/quantize_tables.h.
Record view_of(const QuantizedModel& quantized, const QuantizeFlags& options, const Model& source,
               const std::string& output, const SavedModel& saved);

}  // namespace hone
