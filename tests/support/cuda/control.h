// What a test asks of the emulated driver besides what drivers do. The functions are found in the shared object by
// name.
#pragma once

extern "C" {
// Begins anew, with these settings (settings.h): no context, memory or handle is left. 0, or 1 where the text is wrong.
// No other call may be under way.
int emulated_cuda_configure(const char* settings);
// Holds back what is asked of streams from now on (1), or lets it go on (0).
void emulated_cuda_hold(int held);
// Since the settings: "allocations", "frees", "launches" (of graphs too), "graph_launches", "copies", "pinned"; now:
// "bytes" of device memory. -1 for others.
long long emulated_cuda_count(const char* what);
// Over all launches of the kernel: "executed", "sectors", "bytes", "bank_cycles", "bank_least", of instructions whose
// spelling begins with `instruction`, all where that is empty. -1 where there is no such kernel or count.
long long emulated_cuda_kernel_count(const char* kernel, const char* instruction, const char* what);
// What a kernel did wrong, with its line of PTX, or "". Valid until the next call of this thread.
const char* emulated_cuda_fault();
}
