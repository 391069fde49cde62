/* The profiler on a device. */
#include "testing.h"
int main(void) { return 0; }
