/* Preloaded behind the library under test: finds the next getppid as every such library does. It must not find itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>
pid_t getppid(void) {
  static int inside;
  pid_t (*next)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "getppid");
  if (inside || !next) return -2;
  inside = 1;
  const pid_t answer = next();
  inside = 0;
  return answer;
}
