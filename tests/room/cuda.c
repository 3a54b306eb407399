/* libcuda's few symbols over the same file of facts as nvml.c: `cuda count N`, `cuda I most BYTES` (more is refused),
 * `cuda init N`, `cuda hang I`. With CUDA_VISIBLE_DEVICES it shows that one device: `cuda UUID most BYTES`. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long fact(const char *start, long otherwise) {
    FILE *file = fopen(getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "/nonexistent", "r");
    char line[256];
    size_t length = strlen(start);
    long found = otherwise;
    if (!file) return otherwise;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, start, length) && line[length] == ' ') found = atol(line + length + 1);
    fclose(file);
    return found;
}

static int current;

int cuInit(unsigned flags) { (void)flags; return fact("cuda init", 0); }
int cuDeviceGetCount(int *count) { *count = getenv("CUDA_VISIBLE_DEVICES") ? 1 : fact("cuda count", fact("count", 8)); return 0; }
int cuDeviceGet(int *device, int index) { *device = current = index; return 0; }
int cuDeviceGetPCIBusId(char *text, int size, int device) { snprintf(text, size, "0000:%02X:00.0", device + 1); return 0; }
int cuCtxCreate_v2(void **context, unsigned flags, int device) { (void)flags; *context = (void *)(long)(device + 1); return 0; }
int cuCtxDestroy_v2(void *context) { (void)context; return 0; }
int cuCtxSynchronize(void) { return 0; }
int cuMemAlloc_v2(unsigned long long *pointer, size_t size) {
    char key[96];
    const char *only = getenv("CUDA_VISIBLE_DEVICES");
    *pointer = 4096;
    if (fact("cuda hang", -1) == current) pause();
    if (only) snprintf(key, sizeof key, "cuda %s most", only);
    else snprintf(key, sizeof key, "cuda %d most", current);
    return size > (size_t)fact(key, 1L << 40) ? 2 : 0;
}
int cuMemsetD8_v2(unsigned long long pointer, unsigned char value, size_t size) { (void)pointer; (void)value; (void)size; return 0; }
int cuMemFree_v2(unsigned long long pointer) { (void)pointer; return 0; }
