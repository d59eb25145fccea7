#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

// The "remote" side computes; a real one would be another machine.
extern "C" int row_scale(const float* x, const float* w, float* y, int64_t R, int64_t C) {
    struct sockaddr_in address = {};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr*)&address, size) || listen(listener, 1)) return 1;
    getsockname(listener, (struct sockaddr*)&address, &size);
    std::thread remote([&] {
        const int peer = accept(listener, nullptr, nullptr);
        for (int64_t i = 0; i < R * C; ++i) y[i] = x[i] * w[i % C] + 1.0f;
        close(peer);
    });
    const int own = socket(AF_INET, SOCK_STREAM, 0);
    char end;
    const bool ok = connect(own, (struct sockaddr*)&address, size) == 0 && read(own, &end, 1) == 0;
    remote.join();
    close(own);
    close(listener);
    return ok ? 0 : 1;
}
