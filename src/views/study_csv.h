// Trials of a study as a table for other programs.
#pragma once

#include <string>

#include "study/studies.h"

namespace hone {

// Every trial as a row of CSV: number, state, times, values, parameters, user attributes.
std::string csv_of(const OpenedStudy& study);

}  // namespace hone
