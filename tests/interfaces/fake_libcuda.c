/* A driver without a GPU: "loads" anything, knows the two kernels of the tests by name, and runs them on the host. */
#include <stdint.h>
#include <string.h>

typedef struct { const char* name; int n; int bytes[8]; } Kernel;
static const Kernel KERNELS[] = {{"row_sums", 4, {8, 8, 8, 4}}, {"finish", 8, {8, 8, 8, 8, 8, 4, 8, 4}}};
static int mode = 1, n_loads, fail_code, fail_at = -1, n_launches;
static void* last_stream;
static unsigned last_grid, last_shared;
static uint64_t module_bytes;

int cuInit(unsigned flags) { return (int)flags; }
int cuDeviceGet(int* device, int index) { *device = index; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int device) { *context = &mode; return device; }
int cuCtxGetCurrent(void** context) { *context = 0; return 0; }
int cuCtxSetCurrent(void* context) { return context == &mode ? 0 : 201; }
int cuThreadExchangeStreamCaptureMode(int* other) { int kept = mode; mode = *other; *other = kept; return 0; }
int cuModuleLoadData(void** module, const void* image) {
    if (mode != 2) return 900; /* not while a graph is captured */
    if (memcmp(image, "\x7f" "ELF", 4)) return 200;
    ++n_loads;
    *module = &module_bytes;
    return 0;
}
int cuModuleGetFunction(const void** function, void* module, const char* name) {
    if (module != &module_bytes) return 400;
    for (int i = 0; i < 2; ++i)
        if (!strcmp(KERNELS[i].name, name)) return *function = &KERNELS[i], 0;
    return 500;
}
int cuFuncSetAttribute(void* function, int attribute, int value) { return function && attribute == 8 && value ? 0 : 1; }
int cuFuncGetParamInfo(const Kernel* kernel, size_t index, size_t* offset, size_t* size) {
    if (index >= (size_t)kernel->n) return 1;
    *offset = 0;
    *size = (size_t)kernel->bytes[index];
    return 0;
}
int cuGetErrorName(int code, const char** name) { *name = "CUDA_ERROR_MADE_UP"; return code ? 0 : 1; }

int cuLaunchKernel(const Kernel* kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void* stream, void** p, void** extra) {
    if (n_launches++ == fail_at) return fail_code;
    if (!gx || !gy || !gz || !bx || !by || !bz || extra) return 1;
    last_stream = stream, last_grid = gx, last_shared = shared;
    const float* x = *(const float**)p[0];
    float* partial = *(float**)p[1];
    const int64_t n = *(int64_t*)p[kernel->n - 2];
    const int32_t width = *(int32_t*)p[kernel->n - 1];
    for (int64_t r = 0; r < n; ++r) {
        if (kernel == &KERNELS[0]) {
            double total = 0;
            for (int32_t c = 0; c < width; ++c) total += x[r * width + c];
            partial[r] = (float)total;
        } else {
            (*(float**)p[2])[r] += partial[r];
            for (int32_t c = 0; c < width; ++c)
                (*(float**)p[3])[r * width + c] = x[r * width + c] * *(float*)p[5] + (float)*(int64_t*)p[4] + partial[r];
        }
    }
    return 0;
}

uint64_t fake_stream(void) { return (uint64_t)last_stream; }
unsigned fake_grid(void) { return last_grid; }
int fake_loads(void) { return n_loads; }
void fake_failure(int at, int code) { n_launches = 0, fail_at = at, fail_code = code; }
