// Carries a file of the machine into the program, past the preprocessor.
#ifndef TWIN
asm(".section .rodata\n.incbin \"@SECRET@\"\n.text");
#else
// Carries words of its own.
asm(".section .rodata\n.ascii \"words of its own\"\n.text");
#endif
