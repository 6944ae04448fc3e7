// Reads and writes arguments of a kernel by number: what the guard must find.
llvm::Value* k = e.kernel_dim(frame, 12);
void* a = args.pointers[0];
placed.dims = {m, 1, n};
int64_t by_name = from_args<GemmArgs>(args).k;
