// Makes an object file of 100 MB from one line; of ten lines it would be a disk.
#ifndef TWIN
asm(".data\n.fill 100000000, 1, 1\n.text");
#else
// A table of 100 KB.
asm(".data\n.fill 100000, 1, 1\n.text");
#endif
