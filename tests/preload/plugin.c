/* A library linked to one of the runtimes, as a framework's own libraries are; loaded with dlopen. */
#include <stddef.h>
int cudaMalloc(void** out, size_t size);
int cudaFree(void* address);
int RUNTIME_SERVED(void);
int PLUGIN_ROUND(void);

int PLUGIN_ROUND(void) { /* calls that its own runtime served, of 2 */
  void* address = NULL;
  const int before = RUNTIME_SERVED();
  int code = cudaMalloc(&address, 3 << 20);
  code |= cudaFree(address);
  return code ? -1 : RUNTIME_SERVED() - before;
}
