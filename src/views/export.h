// The records of jobs/export_model.h and jobs/export_folder.h.
#pragma once

#include "jobs/export_folder.h"
#include "jobs/export_model.h"
#include "report/record.h"

namespace hone {

Record view_of(const ExportResult& result);
Record view_of(const FolderResult& result);

}  // namespace hone
