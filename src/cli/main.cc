#include "cli/program.h"

int main(int argc, char** argv) { return hone::run_program("hone", hone::cli::all(), argc, argv); }
