// The guard is that this links (CMakeLists.txt, 1).
int main() { return 0; }
