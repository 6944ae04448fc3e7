// The records of jobs/lora.h.
#pragma once

#include <string>

#include "jobs/lora.h"
#include "jobs/save_model.h"
#include "report/record.h"

namespace hone {

// `saved`: what save_model() made of the graph at `output`; `model`: what the adapters were put into, or had them.
// Findings, and the table "adapters".
Record view_of(const InsertedAdapters& inserted, const Model& model, const std::string& output,
               const SavedModel& saved);
Record view_of(const FusedAdapters& fused, const Model& model, const std::string& output, const SavedModel& saved);
Record view_of(const ExportedAdapters& exported, const Model& model);
Record view_of(const ImportedAdapters& imported, const Model& model, const std::string& output,
               const SavedModel& saved);

}  // namespace hone
