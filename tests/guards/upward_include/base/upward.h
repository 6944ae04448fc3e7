#pragma once
#include "ir/graph.h"
