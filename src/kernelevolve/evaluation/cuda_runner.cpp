// The process a device-code candidate is launched from. All of its host code is ours: it loads the candidate's machine
// code and launches what the judge's list says. The candidate's only code runs on the device.
//
//   judge --control--> runner   "A slot start bytes n_scratch b.. n_launch {kernel gx gy gz bx by bz shared n {kind v}..}\n"
//                               "T 0 \n"         answers for the lines before: scratch could be had, arguments fit
//                               "U n slot..\n"   slots' bytes to the device, scratch to 0xFF, caches as the task says
//                               "R n slot..\n"   launches for each slot in order, then waits for the whole device
//                               "V n slot..\n"   slots' bytes back
//   judge <--reply---- runner   "I name name..\n" what is in force, then "L\n"; or "F text\n" code that does not load, or
//                               "M text\n" no usable device. "D n 0 us\n" done, with the device's own clock for R;
//                               "X refused|crashed|bounds|machine text\n"
// Kinds of an argument: P byte of the arena, S scratch by number, I integer, D bits of a double.
// argv: control reply shared log shared_bytes cold queued cubin kernel..
// queued: for each R the device first waits until all launches are in its queue, so that its clock sees no gap between.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
    char* host = nullptr;
    size_t arena_bytes = 0, cold_bytes = 0;
    bool queued = false;
    std::vector<Kernel> kernels;
    std::vector<Slot> slots;
    std::string complaint;  // what was wrong with an "A" line, told at the next "T"

    // Everything but the candidate. Returns what failed, or nothing.
    std::string open(bool cold) {
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
        if ((code = cu.cuMemAlloc_v2(&arena_, arena_bytes + 2 * MARGIN))) return failed("device memory for the tensors");
        if ((code = cu.cuMemsetD8_v2(arena_, BAND, arena_bytes + 2 * MARGIN))) return failed("cuMemset");
        base_ = arena_ + MARGIN;
        if (cold && (code = cu.cuMemAlloc_v2(&flush_, cold_bytes = 3 * (size_t)l2))) return failed("device memory for flushing");
        cu.cuMemHostRegister_v2(host, arena_bytes, 0);  // faster copies; works without
        if ((code = cu.cuEventCreate(&before_, 0)) || (code = cu.cuEventCreate(&after_, 0))) return failed("cuEventCreate");
        Handle module = nullptr;
        if ((code = cu.cuModuleLoadData(&module, QUEUE_PTX))) return failed("our own waiting kernel");
        if ((code = cu.cuModuleGetFunction(&wait_, module, "ke_wait"))) return failed("our own waiting kernel");
        return "";
    }

    // The candidate's machine code. Returns what failed, or nothing.
    std::string load(const char* cubin) {
        const int fd = ::open(cubin, O_RDONLY | O_CLOEXEC);
        struct stat facts;
        if (fd < 0 || fstat(fd, &facts) != 0) return "the machine code cannot be read";
        std::vector<char> image((size_t)facts.st_size);
        for (size_t at = 0; at < image.size();) {
            const ssize_t n = read(fd, image.data() + at, image.size() - at);
            if (n <= 0) return "the machine code cannot be read";
            at += (size_t)n;
        }
        close(fd);
        Handle module = nullptr;
        Result code = cu.cuModuleLoadData(&module, image.data());
        if (code) return "the machine code does not load: " + name_of(code);
        for (Kernel& kernel : kernels) {
            if ((code = cu.cuModuleGetFunction(&kernel.function, module, kernel.name.c_str())))
                return "no kernel " + kernel.name + ": " + name_of(code);
            size_t offset = 0, bytes = 0;
            while (cu.cuFuncGetParamInfo(kernel.function, kernel.parameter_bytes.size(), &offset, &bytes) == 0)
                kernel.parameter_bytes.push_back(bytes);
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

    void upload(const std::vector<size_t>& order) {
        Result code = 0;
        for (const size_t index : order) {
            const Slot& s = slots.at(index);
            if ((code = cu.cuMemcpyHtoD_v2(base_ + s.start, host + s.start, s.n_bytes))) return fail("machine", code, "copying to the device");
        }
        if (scratch_bytes_ && (code = cu.cuMemsetD8_v2(scratch_, POISON, scratch_bytes_))) return fail("machine", code, "filling scratch");
        if (flush_ && (code = cu.cuMemsetD8_v2(flush_, ++flush_value_, cold_bytes))) return fail("machine", code, "flushing the cache");
        cu.cuCtxResetPersistingL2Cache();
        if (!queued && (code = wait(0))) return fail("machine", code, "waiting");
        if ((code = cu.cuCtxSynchronize())) return fail("machine", code, "before a call");
        done(order.size(), 0);
    }

    void run(const std::vector<size_t>& order) {
        Result code = 0;
        size_t n_launches = 0;
        for (const size_t index : order) n_launches += slots.at(index).calls.size();
        if (queued && (code = wait(n_launches))) return fail("machine", code, "waiting");
        cu.cuEventRecord(before_, nullptr);
        for (const size_t index : order)
            for (Call& call : slots.at(index).calls)
                if ((code = launch(call))) return fail(refuses(code) ? "refused" : "crashed", code, "launching " + kernels[call.kernel].name);
        cu.cuEventRecord(after_, nullptr);
        if ((code = cu.cuCtxSynchronize())) return fail("crashed", code, "in a call");
        float milliseconds = 0;
        if ((code = cu.cuEventElapsedTime(&milliseconds, before_, after_))) return fail("machine", code, "reading the device's clock");
        done(order.size(), (double)milliseconds * 1e3);
    }

    void download(const std::vector<size_t>& order) {
        Result code = 0;
        for (const size_t index : order) {
            const Slot& s = slots.at(index);
            if ((code = cu.cuMemcpyDtoH_v2(host + s.start, base_ + s.start, s.n_bytes))) return fail("machine", code, "copying from the device");
        }
        static std::vector<unsigned char> margin(MARGIN);
        for (const Address at : {arena_, base_ + arena_bytes}) {
            if ((code = cu.cuMemcpyDtoH_v2(margin.data(), at, MARGIN))) return fail("machine", code, "copying from the device");
            for (const unsigned char byte : margin)
                if (byte != BAND) return say(reply, "X bounds wrote outside all tensors\n");
        }
        done(order.size(), 0);
    }

private:
    Address arena_ = 0, base_ = 0, scratch_ = 0, flush_ = 0;
    size_t scratch_bytes_ = 0;
    unsigned char flush_value_ = 0;
    Handle before_ = nullptr, after_ = nullptr, wait_ = nullptr;

    void done(size_t n, double us) {
        char text[96];
        snprintf(text, sizeof text, "D %zu 0 %.3f\n", n, us);
        say(reply, text);
    }

    void refuse(const std::string& text) { say(reply, "X refused " + text + "\n"); }

    void fail(const char* kind, Result code, const std::string& where) {
        say(reply, std::string("X ") + kind + " " + name_of(code) + " " + where + "\n");
    }

    Result wait(size_t n_launches) {
        uint64_t nanoseconds = QUEUE_NS + QUEUE_NS_PER_LAUNCH * n_launches;
        void* pointers[] = {&nanoseconds};
        return cu.cuLaunchKernel(wait_, 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, nullptr);
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
                const bool narrow = argument.kind == 'I' && bytes[i] == 4;
                const bool too_large = narrow && (argument.value < INT32_MIN || argument.value > (int64_t)UINT32_MAX);
                if ((bytes[i] != 8 && !narrow) || too_large) {
                    complaint = "parameter " + std::to_string(i + 1) + " of " + kernel.name + " has " + std::to_string(bytes[i]) +
                                " bytes: pointers and doubles have 8, whole numbers 8 or 4 where they fit";
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
            for (const Argument& argument : call.given) {
                uint64_t value = (uint64_t)argument.value;
                if (argument.kind == 'P') value = base_ + value;
                if (argument.kind == 'S') value = scratch.at(value);
                call.values.push_back(value);
            }
        }
    }

    Result launch(Call& call) {
        void* pointers[256];
        for (size_t i = 0; i < call.values.size(); ++i) pointers[i] = &call.values[i];
        return cu.cuLaunchKernel(
            kernels[call.kernel].function, (unsigned)call.grid[0], (unsigned)call.grid[1], (unsigned)call.grid[2], (unsigned)call.block[0],
            (unsigned)call.block[1], (unsigned)call.block[2], (unsigned)call.shared, nullptr, pointers, nullptr);
    }
};

std::vector<size_t> named(const char* text) {
    char* at = const_cast<char*>(text);
    std::vector<size_t> order(strtoull(at, &at, 10));
    for (size_t& slot : order) slot = strtoull(at, &at, 10);
    return order;
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
    if (argc < 9) return 90;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int control = atoi(argv[1]), shared = atoi(argv[3]), log = atoi(argv[4]);
    Machine machine;
    machine.reply = atoi(argv[2]);
    machine.arena_bytes = strtoull(argv[5], nullptr, 10);
    machine.queued = strcmp(argv[7], "1") == 0;
    for (int i = 9; i < argc; ++i) machine.kernels.push_back(Kernel{nullptr, argv[i], {}, 48 * 1024});
    machine.host = (char*)mmap(nullptr, machine.arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    if (machine.host == MAP_FAILED) return 90;
    dup2(log, 1);  // the device's printf ends there
    dup2(log, 2);
    const std::string missing = machine.open(strcmp(argv[6], "1") == 0);
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
    const std::string broken = machine.load(argv[8]);
    if (!broken.empty()) {
        say(machine.reply, "F " + broken.substr(0, 400) + "\n");
        return 0;
    }
    say(machine.reply, "L\n");
    std::string text, line;
    while (next_line(control, &text, &line)) {
        if (line[0] == 'A') machine.bind(line.c_str() + 1);
        else if (line[0] == 'T') machine.acknowledge();
        else if (line[0] == 'U') machine.upload(named(line.c_str() + 1));
        else if (line[0] == 'R') machine.run(named(line.c_str() + 1));
        else if (line[0] == 'V') machine.download(named(line.c_str() + 1));
        else break;
    }
    _exit(0);
}
