// What models' answers to data are worth (jobs/evaluate.h), in sentences and tables: of evaluate, and beside speed.
#pragma once

#include <string>
#include <vector>

#include "jobs/evaluate.h"
#include "report/record.h"

namespace hone {

std::vector<std::string> findings_of(const QualityComparison& comparison);

// Tables "evaluation", "confusion" where there are classes, "agreement" on demand.
std::vector<Block> tables_of(const QualityComparison& comparison);

// Findings, a section "Answers" and the data's entry of the manifest, for the record of another task on the models.
void add_quality(Record& record, const QualityComparison& comparison);

Record view_of(const QualityComparison& comparison);

}  // namespace hone
