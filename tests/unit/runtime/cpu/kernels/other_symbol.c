// A shared object that is no kernel.
__attribute__((visibility("default"))) int another_function(void) { return 7; }
