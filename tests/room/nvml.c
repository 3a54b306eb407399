/* NVML's symbols over a file of facts, for machines without a GPU.
 *
 * The file named by FAKE_NVML is read anew at every call. Lines: `driver 580.1`, `init CODE`, `count N`, and for a GPU
 * `gpu I key value`: used reserved total (MiB), code (every call on it), memory CODE, mig 0|1, hang 1 (its memory call
 * never returns), recovery N, name TEXT, pids "PID:MIB,PID:MIB" (or PID:MIB:INSTANCE), minor N, part J used MIB (there is
 * a MIG instance J, whose number is J + 10), part J memory CODE, fabric N, counts_reserved 1 (`used` holds the reserved
 * part too), handle CODE. Version 1 of memory counts reserved as used, as the real one does.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB (1ULL << 20)
typedef unsigned long long u64;
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } pci_t;
typedef struct { u64 total, free, used; } memory1_t;
typedef struct { unsigned version; u64 total, reserved, free, used; } memory2_t;
typedef struct { unsigned gpu, memory; } rates_t;
typedef struct { unsigned char cluster[16]; int status; unsigned clique; unsigned char state; } fabric_t;
typedef struct { unsigned pid; u64 used; unsigned gi, ci; } process_t;
typedef struct { unsigned field, scope; long long at, latency; int type, code; union { unsigned ui; u64 ull; double d; } value; } field_t;

static char answer[256];

static const char *fact(const char *start) {
    FILE *file = fopen(getenv("FAKE_NVML") ? getenv("FAKE_NVML") : "/nonexistent", "r");
    char line[256];
    size_t length = strlen(start);
    const char *found = NULL;
    if (!file) return NULL;
    while (fgets(line, sizeof line, file))
        if (!strncmp(line, start, length) && line[length] == ' ') {
            strcpy(answer, line + length + 1);
            answer[strcspn(answer, "\n")] = 0;
            found = answer;
        }
    fclose(file);
    return found;
}
static u64 number(const char *start, u64 otherwise) { const char *text = fact(start); return text ? strtoull(text, NULL, 10) : otherwise; }
static const char *of_gpu(long gpu, const char *key) { static char name[64]; snprintf(name, sizeof name, "gpu %ld %s", gpu, key); return name; }
static u64 gpu_number(void *gpu, const char *key, u64 otherwise) { return number(of_gpu((long)gpu - 1, key), otherwise); }
#define WHOLE(gpu) do { if ((long)(gpu) < 1000) { int code = gpu_number(gpu, "code", 0); if (code) return code; } } while (0)

int nvmlInitWithFlags(unsigned flags) { (void)flags; if (number("hang_init", 0)) pause(); return number("init", 0); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) {
    static char text[64];
    switch (code) {
    case 4: return "Insufficient Permissions";
    case 15: return "GPU is lost";
    case 16: return "GPU requires reset";
    case 18: return "RM has detected an NVML/RM version mismatch.";
    case 999: return "Unknown Error";
    }
    snprintf(text, sizeof text, "NVML error %d", code);
    return text;
}
int nvmlSystemGetDriverVersion(char *text, unsigned size) { const char *v = fact("driver"); snprintf(text, size, "%s", v ? v : "580.1"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = number("count", 8); return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **gpu) { *gpu = (void *)(long)(index + 1); return gpu_number(*gpu, "handle", 0); }
int nvmlDeviceGetUUID(void *gpu, char *text, unsigned size) {
    if ((long)gpu >= 1000) { snprintf(text, size, "MIG-%ld", (long)gpu); return 0; }
    WHOLE(gpu);
    snprintf(text, size, "GPU-0000-%ld", (long)gpu - 1);
    return 0;
}
int nvmlDeviceGetName(void *gpu, char *text, unsigned size) {
    if ((long)gpu >= 1000) { snprintf(text, size, "NVIDIA H200 MIG 1g.18gb"); return 0; }
    WHOLE(gpu);
    const char *name = fact(of_gpu((long)gpu - 1, "name"));
    snprintf(text, size, "%s", name ? name : "NVIDIA H200");
    return 0;
}
int nvmlDeviceGetPciInfo_v3(void *gpu, pci_t *pci) {
    WHOLE(gpu);
    memset(pci, 0, sizeof *pci);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02lX:00.0", (long)gpu);
    return 0;
}
int nvmlDeviceGetMinorNumber(void *gpu, unsigned *minor) { WHOLE(gpu); *minor = gpu_number(gpu, "minor", (long)gpu - 1); return 0; }
int nvmlDeviceGetMigMode(void *gpu, unsigned *now, unsigned *later) { WHOLE(gpu); *now = *later = gpu_number(gpu, "mig", 0); return 0; }
int nvmlDeviceGetPersistenceMode(void *gpu, unsigned *mode) { WHOLE(gpu); *mode = 1; return 0; }
int nvmlDeviceGetUtilizationRates(void *gpu, rates_t *rates) { WHOLE(gpu); rates->gpu = rates->memory = 7; return 0; }
int nvmlDeviceGetPowerUsage(void *gpu, unsigned *milliwatts) { WHOLE(gpu); *milliwatts = 75500; return 0; }
int nvmlDeviceGetFieldValues(void *gpu, int count, field_t *fields) {
    WHOLE(gpu);
    for (int i = 0; i < count; i++) { fields[i].code = 0; fields[i].value.ui = gpu_number(gpu, "recovery", 0); }
    return 0;
}
int nvmlDeviceGetGpuFabricInfo(void *gpu, fabric_t *fabric) { WHOLE(gpu); fabric->state = gpu_number(gpu, "fabric", 0); return 0; }
int nvmlDeviceGetMemoryInfo(void *gpu, memory1_t *memory) {
    WHOLE(gpu);
    u64 total = gpu_number(gpu, "total", 143771), used = gpu_number(gpu, "used", 0), reserved = gpu_number(gpu, "reserved", 615);
    memory->total = total * MIB; memory->used = (used + reserved) * MIB; memory->free = memory->total - memory->used;
    return 0;
}
#ifndef WITHOUT_VERSION_2
int nvmlDeviceGetMemoryInfo_v2(void *gpu, memory2_t *memory) {
    if (memory->version != 0x02000028) return 25;
    if ((long)gpu >= 1000) {
        char key[32];
        snprintf(key, sizeof key, "part %ld memory", (long)gpu % 1000);
        int refused = number(of_gpu((long)gpu / 1000 - 1, key), 0);
        if (refused) return refused;
        snprintf(key, sizeof key, "part %ld used", (long)gpu % 1000);
        u64 used = number(of_gpu((long)gpu / 1000 - 1, key), 0);
        memory->total = 16384 * MIB; memory->reserved = 0; memory->used = used * MIB; memory->free = memory->total - memory->used;
        return 0;
    }
    WHOLE(gpu);
    if (gpu_number(gpu, "hang", 0)) for (;;) pause();
    int code = gpu_number(gpu, "memory", 0);
    if (code) return code;
    u64 total = gpu_number(gpu, "total", 143771), used = gpu_number(gpu, "used", 0), reserved = gpu_number(gpu, "reserved", 615);
    memory->total = total * MIB; memory->reserved = reserved * MIB; memory->free = (total - used - reserved) * MIB;
    memory->used = (used + (gpu_number(gpu, "counts_reserved", 0) ? reserved : 0)) * MIB;
    return 0;
}
#endif
int nvmlDeviceGetMaxMigDeviceCount(void *gpu, unsigned *count) { WHOLE(gpu); *count = 7; return 0; }
int nvmlDeviceGetMigDeviceHandleByIndex(void *gpu, unsigned index, void **part) {
    char key[32];
    snprintf(key, sizeof key, "part %u used", index);
    if (!fact(of_gpu((long)gpu - 1, key))) return 6;
    *part = (void *)((long)gpu * 1000 + index);
    return 0;
}
int nvmlDeviceGetGpuInstanceId(void *part, unsigned *id) { *id = (long)part % 1000 + 10; return 0; }
int nvmlDeviceGetComputeInstanceId(void *part, unsigned *id) { (void)part; *id = 0; return 0; }
int nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned *room, process_t *found) {
    WHOLE(gpu);
    const char *text = fact(of_gpu((long)gpu - 1, "pids"));
    unsigned count = 0;
    char copy[256];
    strcpy(copy, text ? text : "");
    for (char *word = strtok(copy, ","); word; word = strtok(NULL, ","), count++) {
        if (!found || count >= *room) continue;
        memset(&found[count], 0, sizeof *found);
        found[count].pid = strtoul(word, &word, 10);
        found[count].used = strtoull(word + 1, &word, 10) * MIB;
        found[count].gi = *word == ':' ? strtoul(word + 1, NULL, 10) : 0xFFFFFFFF;
    }
    int short_ = count > *room;
    *room = count;
    return short_ ? 7 : 0;
}
int nvmlDeviceGetGraphicsRunningProcesses_v3(void *gpu, unsigned *room, process_t *found) { (void)found; WHOLE(gpu); *room = 0; return 0; }
