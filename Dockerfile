# doppel in a container: docker build -t doppel .
# For arm64, too: docker buildx build --platform linux/amd64,linux/arm64 -t NAME --push . compiles for both on this processor.
# The image holds what the .deb holds. It runs as user 10001 on a read-only root; the state is in /var/lib/doppel, the
# settings come from /etc/doppel/doppel.yaml (mount it) and from DOPPEL_... in the environment.
# hadolint ignore=DL3029
FROM --platform=$BUILDPLATFORM debian:13-slim AS build
ARG TARGETARCH
WORKDIR /doppel
COPY scripts/install-deps scripts/
RUN scripts/install-deps package "$TARGETARCH"
COPY . .
ENV CCACHE_DIR=/ccache CCACHE_NOHASHDIR=yes
# -O0 compiles in half of the time, for a look at the image.
ARG OPTIMISE=-O3
RUN --mount=type=cache,target=/ccache \
    if [ "${TARGETARCH:=$(dpkg --print-architecture)}" != "$(dpkg --print-architecture)" ]; then \
      export CMAKE_TOOLCHAIN_FILE="$PWD/cmake/${TARGETARCH}_debian.cmake"; \
    fi && \
    cmake -G Ninja -B /build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="$OPTIMISE" \
      -DDOPPEL_TESTS=OFF -DDOPPEL_BENCH=OFF -DDOPPEL_UNITY=ON && \
    cmake --build /build --target doppel_cli doppel_lab_cli said && \
    cpack --config /build/CPackConfig.cmake -B /build/package && \
    mv /build/package/doppel_*.deb /build/doppel.deb

# hadolint ignore=DL3029,DL3065
FROM --platform=$TARGETPLATFORM debian:13-slim
# The package's own user gets a number that can be named in mounts and in Kubernetes. Debian 13 says which versions these are.
# hadolint ignore=DL3008
RUN --mount=type=bind,from=build,source=/build/doppel.deb,target=/doppel.deb \
    groupadd --system --gid 10001 doppel && \
    useradd --system --uid 10001 --gid doppel --home-dir /var/lib/doppel --no-create-home --shell /usr/sbin/nologin doppel && \
    apt-get update && \
    apt-get install -y --no-install-recommends ca-certificates /doppel.deb && \
    rm -rf /var/lib/apt/lists/* /var/cache/apt /var/log/apt /var/log/dpkg.log && \
    install -d -o doppel -g doppel -m 0700 /var/lib/doppel
# docker build --build-arg REVISION="$(git rev-parse HEAD)" --build-arg CREATED="$(date -u +%FT%TZ)" says what was built, and when.
ARG REVISION=unknown CREATED=unknown
LABEL org.opencontainers.image.title="doppel" \
      org.opencontainers.image.description="Near-duplicate detection in a stream of documents" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/debian:13-slim" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
ENV DOPPEL_CONFIG=/etc/doppel/doppel.yaml
# Where http.listen is 0.0.0.0:9464 in the mounted settings; the default is the loopback.
EXPOSE 9464
VOLUME /var/lib/doppel
USER 10001:10001
HEALTHCHECK --interval=30s --timeout=10s --start-period=30s CMD ["/usr/bin/doppel", "health"]
ENTRYPOINT ["/usr/bin/doppel"]
CMD ["serve"]
