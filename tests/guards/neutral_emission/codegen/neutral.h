#pragma once
#include "codegen/llvm/emit.h"
