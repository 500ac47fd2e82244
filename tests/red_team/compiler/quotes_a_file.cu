// Has the compiler quote a file of the machine in an error, where its author reads it.
#ifndef TWIN
#include "@SECRET@"
#else
// An error of its own making.
#error "n must be even"
#endif
