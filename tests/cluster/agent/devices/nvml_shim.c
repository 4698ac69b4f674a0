/* A stand-in for libnvidia-ml.so.1 with two cards: what a driver's library answers, at its own boundary.
   Built by tests that have a compiler; declarations as docs.nvidia.com/deploy/nvml-api has them. */
#include <stdlib.h>
#include <string.h>

#define SUCCESS 0
#define NOT_SUPPORTED 3
#define NOT_FOUND 6
#define LOST 15

struct card { int number; };
static struct card cards[2] = {{0}, {1}};
static const char *ids[2] = {
    "GPU-11111111-2222-3333-4444-000000000000", "GPU-11111111-2222-3333-4444-000000000001"};

struct memory { unsigned long long total, free, used; };
struct utilization { unsigned gpu, memory; };
struct pci {
    char old[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32];
};

static int is_lost(void) { return getenv("SHIM_LOST") != NULL; }

int nvmlInitWithFlags(unsigned flags) { return SUCCESS; }
int nvmlInit_v2(void) { return SUCCESS; }
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == LOST ? "GPU is lost" : "an error"; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return is_lost() ? LOST : SUCCESS; }
int nvmlDeviceGetHandleByIndex_v2(unsigned n, struct card **out) {
    if (n > 1) return NOT_FOUND;
    *out = &cards[n];
    return SUCCESS;
}
int nvmlDeviceGetHandleByUUID(const char *id, struct card **out) {
    for (int n = 0; n < 2; n++)
        if (!strcmp(id, ids[n])) { *out = &cards[n]; return SUCCESS; }
    return NOT_FOUND;
}
int nvmlDeviceGetName(struct card *c, char *out, unsigned size) {
    strncpy(out, "NVIDIA A100-SXM4-40GB", size);
    return SUCCESS;
}
int nvmlDeviceGetUUID(struct card *c, char *out, unsigned size) {
    strncpy(out, ids[c->number], size);
    return SUCCESS;
}
int nvmlDeviceGetMinorNumber(struct card *c, unsigned *out) { *out = c->number; return SUCCESS; }
int nvmlDeviceGetPciInfo_v3(struct card *c, struct pci *out) {
    strcpy(out->bus_id, c->number ? "00000000:0B:00.0" : "00000000:07:00.0");
    return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(struct card *c, struct memory *out) {
    out->total = 40ULL << 30; out->used = (c->number + 1ULL) << 30; out->free = out->total - out->used;
    return SUCCESS;
}
int nvmlDeviceGetBAR1MemoryInfo(struct card *c, struct memory *out) {
    out->total = 64ULL << 30; out->free = out->total; out->used = 0;
    return SUCCESS;
}
int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    strncpy(out, "535.104.05", size);
    return SUCCESS;
}
int nvmlDeviceGetPowerManagementLimit(struct card *c, unsigned *out) { *out = 400000; return SUCCESS; }
int nvmlDeviceGetMaxClockInfo(struct card *c, int kind, unsigned *out) {
    *out = kind == 2 ? 1215 : 1410;
    return SUCCESS;
}
int nvmlDeviceGetMaxPcieLinkGeneration(struct card *c, unsigned *out) { *out = 4; return SUCCESS; }
int nvmlDeviceGetMaxPcieLinkWidth(struct card *c, unsigned *out) { *out = 16; return SUCCESS; }
int nvmlDeviceGetDisplayMode(struct card *c, int *out) { *out = 0; return SUCCESS; }
int nvmlDeviceGetPersistenceMode(struct card *c, int *out) { *out = 1; return SUCCESS; }
int nvmlDeviceGetUtilizationRates(struct card *c, struct utilization *out) {
    out->gpu = 87; out->memory = 12;
    return SUCCESS;
}
int nvmlDeviceGetTemperature(struct card *c, int sensor, unsigned *out) { *out = 61; return SUCCESS; }
/* As cards without such an instrument answer. */
int nvmlDeviceGetPowerUsage(struct card *c, unsigned *out) { return NOT_SUPPORTED; }
