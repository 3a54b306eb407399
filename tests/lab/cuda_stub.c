/* libcuda's calls as far as the lab makes them. A GPU's memory is files that are locked as long as their process lives,
   and a mapping of the device file; STUB is the folder. As the real one, it must find its own process in /proc. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static int current;

int cuInit(unsigned flags) {
    int own = open("/proc/self/comm", O_WRONLY);
    if (own < 0) return 304;
    close(own);
    return 0;
}

int cuDeviceGet(int *device, int number) { *device = number; return 0; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { *context = (void *)(intptr_t)(device + 1); return 0; }
int cuCtxSetCurrent(void *context) { current = (int)(intptr_t)context - 1; return 0; }

int cuMemAlloc_v2(uint64_t *pointer, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/held/%d.%ld.XXXXXX", STUB, current, (long)(size >> 20));
    int held = mkstemp(path);
    if (held < 0 || flock(held, LOCK_EX)) return 999;
    snprintf(path, sizeof path, "%s/dev/nvidia%d", STUB, current);
    int device = open(path, O_RDWR);
    if (device < 0) return 999;
    *pointer = 1;
    void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, device, 0);
    return mapped == MAP_FAILED ? 2 : 0;
}

int cuMemsetD8_v2(uint64_t pointer, unsigned char value, size_t size) { return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemHostAlloc(void **host, size_t size, unsigned flags) { *host = NULL; return 0; }
