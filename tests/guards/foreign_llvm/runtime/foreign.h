#pragma once
#include <llvm/IR/Module.h>
