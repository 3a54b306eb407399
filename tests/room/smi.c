/* A pretend nvidia-smi for a room: what it says stands in smi.facts beside its folder, what it was asked in smi.log.
 *
 * Lines of smi.facts: `count N`, `live 1` (memory from who maps the devices), `rc N`, `without I`, `unknown FIELD`,
 * `gpu I FIELD TEXT`, `app LINE`. Where smi.text exists, it is printed instead of everything.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char room[PATH_MAX];
static char facts[65536];
static struct { int pid, gpu; unsigned long mib; } held[4096];
static int holders;

static FILE *in_room(const char *name, const char *mode) {
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", room, name);
    return fopen(path, mode);
}

/* The rest of the first fact that starts so, or the default; `skip` facts of that start are passed over. */
static const char *fact(const char *start, int skip, const char *otherwise) {
    static char found[8][1024];
    static int turn;
    size_t length = strlen(start);
    for (char *line = facts; *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, start, length) || line[length] != ' ' || skip-- > 0) continue;
        char *copy = found[turn++ % 8];
        snprintf(copy, 1024, "%.*s", (int)(strchr(line, '\n') - line - length - 1), line + length + 1);
        return copy;
    }
    return otherwise;
}

static void look_at(int pid) {
    char path[64], line[PATH_MAX + 128], device[PATH_MAX + 32];
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    snprintf(device, sizeof device, " %s/dev/nvidia", room);
    FILE *maps = fopen(path, "r");
    if (!maps) return;
    while (fgets(line, sizeof line, maps)) {
        char *name = strstr(line, device), *end;
        if (!name) continue;
        long gpu = strtol(name + strlen(device), &end, 10);
        unsigned long from, to;
        if (end == name + strlen(device) || *end != '\n' || sscanf(line, "%lx-%lx", &from, &to) != 2) continue;
        held[holders].pid = pid;
        held[holders].gpu = gpu;
        held[holders++].mib = (to - from) >> 20;
    }
    fclose(maps);
}

static void look_at_all(void) {
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; (entry = readdir(folder));) if (atoi(entry->d_name)) look_at(atoi(entry->d_name));
    closedir(folder);
}

static const char *value(int gpu, const char *field) {
    static const char *fixed[][2] = {
        {"name", "NVIDIA H200"}, {"memory.total", "143771"}, {"memory.used", "0"}, {"memory.reserved", "615"},
        {"utilization.gpu", "0"}, {"power.draw", "75.12"}, {"driver_version", "580.159.04"},
        {"mig.mode.current", "Disabled"}, {"persistence_mode", "Enabled"}};
    static char text[64];
    char key[128];
    snprintf(key, sizeof key, "gpu %d %s", gpu, field);
    const char *said = fact(key, 0, NULL);
    if (said) return said;
    if (!strcmp(field, "index")) snprintf(text, sizeof text, "%d", gpu);
    else if (!strcmp(field, "uuid")) snprintf(text, sizeof text, "GPU-0000-%d", gpu);
    else if (!strcmp(field, "pci.bus_id")) snprintf(text, sizeof text, "00000000:%02X:00.0", gpu + 1);
    else if (!strcmp(field, "memory.used") && fact("live", 0, NULL)) {
        unsigned long sum = 0;
        for (int i = 0; i < holders; i++) if (held[i].gpu == gpu) sum += held[i].mib;
        snprintf(text, sizeof text, "%lu", sum);
    } else {
        for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) if (!strcmp(field, fixed[i][0])) return fixed[i][1];
        abort(); /* asked for a field that nvidia-smi does not have */
    }
    return text;
}

static int is_missing(int gpu) {
    const char *said;
    for (int i = 0; (said = fact("without", i, NULL)); i++) if (atoi(said) == gpu) return 1;
    return 0;
}

static int print_gpus(char *list) {
    char *fields[32], *said;
    int count = 0;
    for (char *field = strtok(list, ","); field; field = strtok(NULL, ",")) fields[count++] = field;
    for (int i = 0; (said = (char *)fact("unknown", i, NULL)); i++)
        for (int j = 0; j < count; j++)
            if (!strcmp(said, fields[j])) { printf("Field \"%s\" is not a valid field to query.\n\n", said); return 2; }
    for (int gpu = 0; gpu < atoi(fact("count", 0, "8")); gpu++) {
        if (is_missing(gpu)) continue;
        for (int j = 0; j < count; j++) printf("%s%s", j ? ", " : "", value(gpu, fields[j]));
        printf("\n");
    }
    return atoi(fact("rc", 0, "0"));
}

static void print_apps(void) {
    const char *said;
    for (int i = 0; i < holders; i++)
        printf("GPU-0000-%d, %d, %lu, a name, with commas\n", held[i].gpu, held[i].pid, held[i].mib);
    for (int i = 0; (said = fact("app", i, NULL)); i++) printf("%s\n", said);
}

int main(int argc, char **argv) {
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length] = 0;
    strcpy(room, dirname(dirname(self)));
    FILE *log = in_room("smi.log", "a");
    for (int i = 1; i < argc; i++) fprintf(log, "%s%s", argv[i], i + 1 < argc ? " " : "\n");
    fclose(log);
    FILE *file = in_room("smi.facts", "r");
    facts[fread(facts, 1, sizeof facts - 1, file)] = 0;
    fclose(file);
    if ((file = in_room("smi.text", "r"))) {
        for (int letter; (letter = getc(file)) != EOF;) putchar(letter);
        return atoi(fact("rc", 0, "0"));
    }
    if (fact("live", 0, NULL)) look_at_all();
    if (!strncmp(argv[1], "--query-gpu=", 12)) return print_gpus(argv[1] + 12);
    if (!strcmp(argv[1], "--query-compute-apps=gpu_uuid,pid,used_memory,process_name")) print_apps();
    return atoi(fact("rc", 0, "0"));
}
