// libcuda.so.1 without a device, for the process that profilers look at: memory is the host's, and every launch is a line
// of "driver.log" in the working folder: its sizes, whether a profiler would see it, and what "scale" computed.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <string>

namespace {
bool watched = false;
int broken = 0;
void note(const std::string& text) {
    if (FILE* file = fopen("driver.log", "a")) {
        fprintf(file, "%s\n", text.c_str());
        fclose(file);
    }
}
}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0; }
int cuDeviceGetAttribute(int* value, int number, int) {
    *value = number == 16 ? 4 : number == 75 ? 9 : number == 76 ? 0 : 1 << 16;
    return 0;
}
int cuDeviceGetName(char* name, int n, int) { strncpy(name, "no device at all", (size_t)n); return 0; }
int cuDeviceTotalMem_v2(size_t* n, int) { *n = 1 << 30; return 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { *context = &watched; return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSynchronize() { return broken; }
int cuProfilerStart() { watched = true; return 0; }
int cuProfilerStop() { watched = false; return 0; }
int cuModuleLoadData(void** module, const void*) { *module = &watched; return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) { *function = new std::string(name); return 0; }
int cuFuncSetAttribute(void* f, int attribute, int value) {
    note("attribute " + *(std::string*)f + " " + std::to_string(attribute) + " " + std::to_string(value));
    return 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void*, void** p, void**) {
    const std::string name = *(std::string*)f;
    char text[400];
    snprintf(text, sizeof text, "launch %s %ux%ux%u %ux%ux%u %u %d", name.c_str(), gx, gy, gz, bx, by, bz, shared, (int)watched);
    std::string line = text;
    if (name == "fault") broken = 700;
    if (name == "scale") {
        const float* x = *(const float**)p[0];
        const float* w = *(const float**)p[1];
        float* y = *(float**)p[2];
        const int64_t rows = *(int64_t*)p[3], columns = *(int64_t*)p[4];
        double total = 0;
        for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c) total += y[r * columns + c] = x[r * columns + c] * w[c] + 1;
        line += " " + std::to_string(total);
    }
    if (name == "mixed") {  // (float* part, int n, float a, double b, long long m)
        snprintf(text, sizeof text, " %d %g %g %lld %02x", *(int*)p[1], *(float*)p[2], *(double*)p[3], *(long long*)p[4],
                 **(unsigned char**)p[0]);
        line += text;
    }
    note(line);
    return 0;
}
int cuMemAlloc_v2(unsigned long long* address, size_t n) { return (*address = (uintptr_t)calloc(n, 1)) ? 0 : 2; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, size_t n) { memcpy((void*)(uintptr_t)to, from, n); return 0; }
int cuMemcpyDtoD_v2(unsigned long long to, unsigned long long from, size_t n) {
    memcpy((void*)(uintptr_t)to, (const void*)(uintptr_t)from, n);
    return 0;
}
int cuMemsetD8_v2(unsigned long long at, unsigned char value, size_t n) { memset((void*)(uintptr_t)at, value, n); return 0; }
int cuGetErrorName(int, const char** name) { *name = "CUDA_ERROR_MADE_UP"; return 0; }
}
