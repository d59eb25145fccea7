// The process a device-code candidate is launched from. All of its host code is ours: it loads the candidate's machine
// code and launches what the judge's list says. The candidate's only code runs on the device.
//
//   judge --control--> runner   "K\tcubin\tkernel\tcubin\tkernel..\n"  the candidate's machine code; answers "L\n", or "F text\n"
//                               "A slot start bytes n_scratch b.. n_launch {kernel gx gy gz bx by bz shared n {kind v}..}\n"
//                               "T 0 \n"         answers for the lines before: scratch could be had, arguments fit
//                               "U n slot..\n"   makes ready for R on these slots: the graph of their launches, scratch to
//                                               0xFF, caches as the task says
//                               "R n slot..\n"   launches for each slot in order, then waits for the whole device
//   judge <--reply---- runner   "I name name..\n" at the start: what is in force; or "M text\n" no usable device
//                               "D n 0 us\n" done, with the device's own clock for R;
//                               "X refused|crashed|machine text\n"
// The tensors lie in device memory of the judge's: it writes them before a call and looks at them after it, from its own
// process. Kinds of an argument: P byte of the arena, S scratch by number, I integer, D bits of a double.
// argv: control reply log arena_handle arena_bytes cold device_clock
// device_clock: the launches are one graph, with the events that time it inside: no cost of the host's is in between.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cuda_driver.h"

namespace {

void say(int fd, const std::string& text) {
    size_t done = 0;
    while (done < text.size()) {
        const ssize_t n = write(fd, text.data() + done, text.size() - done);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) _exit(91);
        done += (size_t)n;
    }
}

bool read_file(const char* path, std::vector<char>* image) {
    const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
    struct stat facts;
    if (fd < 0 || fstat(fd, &facts) != 0) return false;
    image->resize((size_t)facts.st_size);
    for (size_t at = 0; at < image->size();) {
        const ssize_t n = read(fd, image->data() + at, image->size() - at);
        if (n <= 0) return false;
        at += (size_t)n;
    }
    close(fd);
    return true;
}

// Some compilers put code for the processor beside that for the device; a driver would call it in this very process.
bool has_host_code(const std::vector<char>& image) {
    const std::string section = ".nv.host";
    return std::search(image.begin(), image.end(), section.begin(), section.end()) != image.end();
}

uint64_t as_float(uint64_t bits_of_double) {
    double wide;
    memcpy(&wide, &bits_of_double, sizeof wide);
    const float narrow = (float)wide;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
}

struct Argument {
    char kind;
    int64_t value;
};

struct Call {
    size_t kernel;
    uint64_t grid[3], block[3], shared;
    std::vector<Argument> given;
    std::vector<uint64_t> values;  // what the launch reads, filled when the addresses are known
};

struct Slot {
    size_t start = 0, n_bytes = 0;
    std::vector<size_t> scratch;
    std::vector<Call> calls;
};

struct Kernel {
    Handle function = nullptr;
    std::string name;
    std::vector<size_t> parameter_bytes;
    size_t shared_allowed = 48 * 1024;
};

class Machine {
public:
    int reply = -1;
    size_t arena_bytes = 0;
    bool graphs = false;
    std::vector<Kernel> kernels;
    std::vector<Slot> slots;
    std::string complaint;  // what was wrong with an "A" line, told at the next "T"

    // Everything but the candidate. Returns what failed, or nothing.
    std::string open(const IpcHandle& arena, bool cold) {
        std::string missing = load_driver();
        if (!missing.empty()) return missing;
        int device = 0, l2 = 0;
        Handle context = nullptr;
        Result code = 0;
        const auto failed = [&](const char* what) { return std::string(what) + ": " + name_of(code); };
        if ((code = cu.cuInit(0))) return failed("cuInit");
        if ((code = cu.cuDeviceGet(&device, 0))) return failed("no device");
        cu.cuDevicePrimaryCtxSetFlags_v2(device, CTX_SCHED_SPIN);
        if ((code = cu.cuDevicePrimaryCtxRetain(&context, device))) return failed("no context on the device");
        if ((code = cu.cuCtxSetCurrent(context))) return failed("cuCtxSetCurrent");
        cu.cuCtxSetLimit(LIMIT_PERSISTING_L2, 0);  // nothing of a call stays for the next one by request
        cu.cuDeviceGetAttribute(&l2, ATTRIBUTE_L2_BYTES, device);
        Address whole = 0;
        if ((code = cu.cuIpcOpenMemHandle_v2(&whole, arena, IPC_LAZY_PEER))) return failed("the judge's device memory");
        base_ = whole + MARGIN;
        if (cold) {
            flush_bytes_ = FLUSH_FACTOR * (size_t)l2;
            if ((code = cu.cuMemAlloc_v2(&flush_, 2 * flush_bytes_ + SCRATCH_ALIGN))) return failed("device memory for flushing");
            if ((code = cu.cuMemsetD8_v2(flush_, 0, 2 * flush_bytes_ + SCRATCH_ALIGN))) return failed("cuMemset");
        }
        if ((code = cu.cuEventCreate(&before_, 0)) || (code = cu.cuEventCreate(&after_, 0))) return failed("cuEventCreate");
        if ((code = cu.cuStreamCreate(&stream_, STREAM_NON_BLOCKING))) return failed("cuStreamCreate");
        Handle module = nullptr;
        if ((code = cu.cuModuleLoadData(&module, OWN_PTX))) return failed("our own kernels");
        if ((code = cu.cuModuleGetFunction(&wait_, module, "ke_wait"))) return failed("our own waiting kernel");
        if ((code = cu.cuModuleGetFunction(&read_, module, "ke_read"))) return failed("our own reading kernel");
        if ((code = wait(WAKE_NS)) || (code = cu.cuCtxSynchronize())) return failed("our own waiting kernel");
        return "";
    }

    // The candidate's machine code: pairs of a file and a kernel in it. Returns what failed, or nothing.
    std::string load(const std::vector<std::string>& words) {
        std::map<std::string, Handle> modules;
        for (size_t i = 0; i + 1 < words.size(); i += 2) {
            if (!modules.count(words[i])) {
                std::vector<char> image;
                if (!read_file(words[i].c_str(), &image)) return "the machine code cannot be read";
                if (has_host_code(image)) return "the machine code has host code in it";
                const Result code = cu.cuModuleLoadData(&modules[words[i]], image.data());
                if (code) return "the machine code does not load: " + name_of(code);
            }
            Kernel kernel;
            kernel.name = words[i + 1];
            const Result code = cu.cuModuleGetFunction(&kernel.function, modules[words[i]], kernel.name.c_str());
            if (code) return "no kernel " + kernel.name + ": " + name_of(code);
            size_t offset = 0, bytes = 0;
            while (cu.cuFuncGetParamInfo(kernel.function, kernel.parameter_bytes.size(), &offset, &bytes) == 0)
                kernel.parameter_bytes.push_back(bytes);
            kernels.push_back(std::move(kernel));
        }
        return "";
    }

    void bind(const char* text) {
        char* at = const_cast<char*>(text);
        const auto number = [&] { return strtoull(at, &at, 10); };
        const size_t index = number();
        if (slots.size() <= index) slots.resize(index + 1);
        Slot slot;
        slot.start = number();
        slot.n_bytes = number();
        if (slot.start > arena_bytes || slot.n_bytes > arena_bytes - slot.start) _exit(95);  // ours: never happens
        for (size_t n = number(); n > 0; --n) slot.scratch.push_back(number());
        for (size_t n = number(); n > 0; --n) {
            Call call;
            call.kernel = number();
            for (uint64_t& size : call.grid) size = number();
            for (uint64_t& size : call.block) size = number();
            call.shared = number();
            for (size_t m = number(); m > 0; --m) {
                while (*at == ' ') ++at;
                const char kind = *at++;
                call.given.push_back({kind, (int64_t)(kind == 'I' ? strtoll(at, &at, 10) : (long long)strtoull(at, &at, 10))});
            }
            slot.calls.push_back(std::move(call));
        }
        fit(slot);
        slots[index] = std::move(slot);
    }

    void acknowledge() {
        if (complaint.empty()) return done(0, 0);
        refuse(complaint);
        complaint.clear();
    }

    void make_ready(const std::vector<size_t>& order) {
        Result code = 0;
        if (scratch_bytes_ && (code = cu.cuMemsetD8_v2(scratch_, POISON, scratch_bytes_))) return fail("machine", code, "filling scratch");
        if (graphs && !capture(order)) return;
        if (flush_ && (code = flush())) return fail("machine", code, "flushing the cache");
        cu.cuCtxResetPersistingL2Cache();
        if ((code = cu.cuCtxSynchronize())) return fail("machine", code, "before a call");
        done(order.size(), 0);
    }

    void run(const std::vector<size_t>& order) {
        Result code = 0;
        if (graphs) {
            if ((code = cu.cuGraphLaunch(executable_, stream_))) return fail("crashed", code, "launching");
        } else {
            cu.cuEventRecord(before_, stream_);
            if (!launch_all(order)) return;
            cu.cuEventRecord(after_, stream_);
        }
        if ((code = cu.cuCtxSynchronize())) return fail("crashed", code, "in a call");
        float milliseconds = 0;
        if ((code = cu.cuEventElapsedTime(&milliseconds, before_, after_))) return fail("machine", code, "reading the device's clock");
        done(order.size(), (double)milliseconds * 1e3);
    }

private:
    Address base_ = 0, scratch_ = 0, flush_ = 0;
    size_t scratch_bytes_ = 0, flush_bytes_ = 0;
    unsigned char flush_value_ = 0;
    Handle before_ = nullptr, after_ = nullptr, wait_ = nullptr, read_ = nullptr, stream_ = nullptr;
    Handle graph_ = nullptr, executable_ = nullptr;

    // Writes one half, then reads the other: nothing that waits to be written back is left to whoever comes next.
    Result flush() {
        Result code = cu.cuMemsetD8_v2(flush_, ++flush_value_, flush_bytes_);
        if (code) return code;
        uint64_t from = flush_ + flush_bytes_, n = flush_bytes_ / 16, sink = flush_ + 2 * flush_bytes_;
        void* pointers[] = {&from, &n, &sink};
        return cu.cuLaunchKernel(read_, READ_BLOCKS, 1, 1, READ_THREADS, 1, 1, 0, nullptr, pointers, nullptr);
    }

    bool capture(const std::vector<size_t>& order) {
        if (executable_) cu.cuGraphExecDestroy(executable_), cu.cuGraphDestroy(graph_);
        executable_ = graph_ = nullptr;
        Result code = cu.cuStreamBeginCapture_v2(stream_, CAPTURE_THREAD_LOCAL);
        if (code) return fail("machine", code, "beginning a graph"), false;
        cu.cuEventRecordWithFlags(before_, stream_, EVENT_EXTERNAL);
        const bool launched = launch_all(order);
        cu.cuEventRecordWithFlags(after_, stream_, EVENT_EXTERNAL);
        code = cu.cuStreamEndCapture(stream_, &graph_);
        if (!launched) return false;
        if (code || (code = cu.cuGraphInstantiateWithFlags(&executable_, graph_, 0)))
            return fail(refuses(code) ? "refused" : "machine", code, "making a graph of the launches"), false;
        cu.cuGraphUpload(executable_, stream_);
        return true;
    }

    // Reports the first launch that is refused.
    bool launch_all(const std::vector<size_t>& order) {
        for (const size_t index : order)
            for (Call& call : slots.at(index).calls)
                if (const Result code = launch(call))
                    return fail(refuses(code) ? "refused" : "crashed", code, "launching " + kernels[call.kernel].name), false;
        return true;
    }

    void done(size_t n, double us) {
        char text[96];
        snprintf(text, sizeof text, "D %zu 0 %.3f\n", n, us);
        say(reply, text);
    }

    void refuse(const std::string& text) { say(reply, "X refused " + text + "\n"); }

    void fail(const char* kind, Result code, const std::string& where) {
        say(reply, std::string("X ") + kind + " " + name_of(code) + " " + where + "\n");
    }

    Result wait(uint64_t nanoseconds) {
        void* pointers[] = {&nanoseconds};
        return cu.cuLaunchKernel(wait_, 1, 1, 1, 1, 1, 1, 0, stream_, pointers, nullptr);
    }

    // Scratch is shared by all slots: what one call leaves there the next may find, so it is filled before every R.
    bool reserve(const Slot& slot) {
        size_t needed = 0;
        for (const size_t bytes : slot.scratch) needed += (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
        if (needed <= scratch_bytes_) return true;
        if (scratch_) cu.cuMemFree_v2(scratch_);
        scratch_ = 0, scratch_bytes_ = 0;
        if (cu.cuMemAlloc_v2(&scratch_, needed)) return false;
        scratch_bytes_ = needed;
        for (Slot& other : slots) resolve(other);
        return true;
    }

    void fit(Slot& slot) {
        if (!reserve(slot)) {
            complaint = "the device has no room for the scratch that launch.toml asks for";
            return;
        }
        for (const Call& call : slot.calls) {
            Kernel& kernel = kernels.at(call.kernel);
            const std::vector<size_t>& bytes = kernel.parameter_bytes;
            if (bytes.size() != call.given.size()) {
                complaint = kernel.name + " takes " + std::to_string(bytes.size()) + " parameters, launch.toml gives " + std::to_string(call.given.size());
                return;
            }
            for (size_t i = 0; i < bytes.size(); ++i) {
                const Argument& argument = call.given[i];
                const bool narrow = (argument.kind == 'I' || argument.kind == 'D') && bytes[i] == 4;
                const bool too_large = narrow && argument.kind == 'I' && (argument.value < INT32_MIN || argument.value > (int64_t)UINT32_MAX);
                if ((bytes[i] != 8 && !narrow) || too_large) {
                    complaint = "parameter " + std::to_string(i + 1) + " of " + kernel.name + " has " + std::to_string(bytes[i]) +
                                " bytes: pointers have 8, numbers 8 or 4 where they fit";
                    return;
                }
            }
            if (call.shared > kernel.shared_allowed) {  // the launch itself says whether that was allowed
                cu.cuFuncSetAttribute(kernel.function, FUNC_MAX_DYNAMIC_SHARED, (int)std::min<uint64_t>(call.shared, INT32_MAX));
                kernel.shared_allowed = call.shared;
            }
        }
        resolve(slot);
    }

    void resolve(Slot& slot) {
        std::vector<Address> scratch;
        Address at = scratch_;
        for (const size_t bytes : slot.scratch) {
            scratch.push_back(at);
            at += (bytes + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN * SCRATCH_ALIGN;
        }
        for (Call& call : slot.calls) {
            call.values.clear();
            for (size_t i = 0; i < call.given.size(); ++i) {
                const Argument& argument = call.given[i];
                uint64_t value = (uint64_t)argument.value;
                if (argument.kind == 'P') value = base_ + value;
                if (argument.kind == 'S') value = scratch.at(value);
                if (argument.kind == 'D' && kernels[call.kernel].parameter_bytes[i] == 4) value = as_float(value);
                call.values.push_back(value);
            }
        }
    }

    Result launch(Call& call) {
        void* pointers[256];
        for (size_t i = 0; i < call.values.size(); ++i) pointers[i] = &call.values[i];
        return cu.cuLaunchKernel(
            kernels[call.kernel].function, (unsigned)call.grid[0], (unsigned)call.grid[1], (unsigned)call.grid[2], (unsigned)call.block[0],
            (unsigned)call.block[1], (unsigned)call.block[2], (unsigned)call.shared, stream_, pointers, nullptr);
    }
};

std::vector<size_t> named(const char* text) {
    char* at = const_cast<char*>(text);
    std::vector<size_t> order(strtoull(at, &at, 10));
    for (size_t& slot : order) slot = strtoull(at, &at, 10);
    return order;
}

// What follows the verb, between tabs.
std::vector<std::string> split(const std::string& line) {
    std::vector<std::string> words;
    for (size_t at = line.find('\t'); at != std::string::npos;) {
        const size_t end = line.find('\t', at + 1);
        words.push_back(line.substr(at + 1, end == std::string::npos ? end : end - at - 1));
        at = end;
    }
    return words;
}

bool next_line(int fd, std::string* text, std::string* line) {
    for (;;) {
        const size_t end = text->find('\n');
        if (end != std::string::npos) {
            line->assign(*text, 0, end);
            text->erase(0, end + 1);
            return true;
        }
        char chunk[65536];
        const ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        text->append(chunk, (size_t)n);
    }
}

void limit(int resource, rlim_t value) {
    const struct rlimit both = {value, value};
    setrlimit((__rlimit_resource_t)resource, &both);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 8) return 90;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int control = atoi(argv[1]), log = atoi(argv[3]);
    Machine machine;
    machine.reply = atoi(argv[2]);
    machine.arena_bytes = strtoull(argv[5], nullptr, 10);
    machine.graphs = strcmp(argv[7], "1") == 0;
    IpcHandle arena;
    for (size_t i = 0; i < sizeof arena.bytes; ++i) {
        const char digits[] = {argv[4][2 * i], argv[4][2 * i + 1], 0};
        arena.bytes[i] = (char)strtoul(digits, nullptr, 16);
    }
    dup2(log, 1);  // the device's printf ends there
    dup2(log, 2);
    const std::string missing = machine.open(arena, strcmp(argv[6], "1") == 0);
    if (!missing.empty()) {
        say(machine.reply, "M " + missing + "\n");
        return 0;
    }
    limit(RLIMIT_FSIZE, 64 * 1024);
    limit(RLIMIT_CORE, 0);
    signal(SIGXFSZ, SIG_IGN);
    std::string active = "I no-host-code persisting-l2-off rlimit-filesize no-core";
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) active += " no-new-privs";
    if (deny_calls()) active += " seccomp";
    say(machine.reply, active + "\n");
    std::string text, line;
    while (next_line(control, &text, &line)) {
        if (line[0] == 'K') {
            const std::string broken = machine.load(split(line));
            say(machine.reply, broken.empty() ? "L\n" : "F " + broken.substr(0, 400) + "\n");
        } else if (line[0] == 'A') machine.bind(line.c_str() + 1);
        else if (line[0] == 'T') machine.acknowledge();
        else if (line[0] == 'U') machine.make_ready(named(line.c_str() + 1));
        else if (line[0] == 'R') machine.run(named(line.c_str() + 1));
        else break;
    }
    _exit(0);
}
