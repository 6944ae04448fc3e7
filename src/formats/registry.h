// The generated table of formats.
#pragma once

#include "formats/format.h"
