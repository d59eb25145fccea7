// libcuda.so.1 without a device, for the runner's own tests: memory is the host's, a handle of it is the path of a shared
// file, a graph is the list of what was launched, and a kernel is what its name says.
// "scale" computes row_scale; "idle" does nothing; "fault" fails when waited for; "refuse" fails when launched; "far"
// writes half a mebibyte before the arena; "endless" never ends.
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

using Address = unsigned long long;
using Clock = std::chrono::steady_clock;

namespace {
int pending = 0;
Clock::time_point marks[2];
int next_mark = 0;
struct Kernel {
    std::string name;
};
struct Handle64 {
    char bytes[64];
};
bool capturing = false;
std::vector<std::function<int()>> recorded;

int row_scale(void** p) {
    const float* x = *(const float**)p[0];
    const float* w = *(const float**)p[1];
    float* y = *(float**)p[2];
    const int64_t rows = *(int64_t*)p[3], columns = *(int64_t*)p[4];
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) y[r * columns + c] = x[r * columns + c] * w[c] + 1;
    return 0;
}
}  // namespace

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDeviceGet(int* device, int) { return *device = 0; }
int cuDeviceGetAttribute(int* value, int, int) { *value = 1 << 20; return 0; }
int cuDeviceGetName(char* name, int n, int) { strncpy(name, "no device at all", (size_t)n); return 0; }
int cuDeviceTotalMem_v2(size_t* n, int) { *n = 1 << 30; return 0; }
int cuDriverGetVersion(int* version) { *version = 13000; return 0; }
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned) { return 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { *context = &pending; return 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxSetLimit(int, size_t) { return 0; }
int cuCtxSynchronize() { return pending; }
int cuCtxResetPersistingL2Cache() { return 0; }
int cuModuleLoadData(void** module, const void*) { *module = &pending; return 0; }
int cuModuleGetFunction(void** function, void*, const char* name) {
    *function = new Kernel{name};
    return strcmp(name, "absent") == 0 ? 500 : 0;
}
int cuFuncSetAttribute(void*, int, int) { return 0; }
int cuFuncGetParamInfo(void*, size_t index, size_t* offset, size_t* bytes) {
    *offset = 8 * index, *bytes = 8;
    return index < 5 ? 0 : 1;
}
static int execute(const std::string& name, void** p) {
    if (name == "scale") return row_scale(p);
    if (name == "fault") pending = 700;
    if (name == "far") memset(*(char**)p[0] - (1 << 19), 0, 64);
    if (name == "endless") pause();
    return 0;
}
int cuLaunchKernel(void* f, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned, void*, void** p, void**) {
    const std::string name = ((Kernel*)f)->name;
    if (gx == 0 || bx > 1024 || name == "refuse") return 1;
    if (name == "ke_wait" || name == "ke_read") return 0;
    if (!capturing) return execute(name, p);
    std::vector<uint64_t> held;
    for (int i = 0; i < 5; ++i) held.push_back(*(uint64_t*)p[i]);
    recorded.push_back([name, held]() mutable {
        void* pointers[5];
        for (int i = 0; i < 5; ++i) pointers[i] = &held[i];
        return execute(name, pointers);
    });
    return 0;
}
int cuStreamCreate(void** stream, unsigned) { *stream = &pending; return 0; }
int cuStreamBeginCapture_v2(void*, int) { recorded.clear(); capturing = true; return 0; }
int cuStreamEndCapture(void*, void** graph) { capturing = false; *graph = &recorded; return 0; }
int cuGraphInstantiateWithFlags(void** made, void*, unsigned long long) { *made = &recorded; return 0; }
int cuGraphUpload(void*, void*) { return 0; }
int cuGraphLaunch(void*, void*) {
    for (auto& step : recorded)
        if (const int code = step()) return code;
    return 0;
}
int cuGraphExecDestroy(void*) { return 0; }
int cuGraphDestroy(void*) { return 0; }
int cuIpcOpenMemHandle_v2(Address* at, Handle64 handle, unsigned) {
    const int fd = open(handle.bytes, O_RDWR);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0) return 1;
    *at = (Address)mmap(nullptr, (size_t)facts.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return (void*)*at == MAP_FAILED ? 1 : 0;
}
int cuMemAlloc_v2(Address* at, size_t n) {
    *at = n > (1ull << 36) ? 0 : (Address)aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    return *at ? 0 : 2;
}
int cuMemFree_v2(Address at) { free((void*)at); return 0; }
int cuMemsetD8_v2(Address to, unsigned char byte, size_t n) { memset((void*)to, byte, n); return 0; }
int cuEventCreate(void** event, unsigned) { *event = &marks[next_mark++ % 2]; return 0; }
int cuEventRecord(void* event, void*) {
    if (capturing) {
        recorded.push_back([event] { return *(Clock::time_point*)event = Clock::now(), 0; });
        return 0;
    }
    *(Clock::time_point*)event = Clock::now();
    return 0;
}
int cuEventRecordWithFlags(void* event, void* stream, unsigned) { return cuEventRecord(event, stream); }
int cuEventElapsedTime(float* ms, void* from, void* to) {
    *ms = std::chrono::duration<float, std::milli>(*(Clock::time_point*)to - *(Clock::time_point*)from).count();
    return 0;
}
int cuGetErrorName(int code, const char** name) {
    *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}
}
