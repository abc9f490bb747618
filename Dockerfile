# syntax=docker/dockerfile:1

# The image of the program. It runs as a user of its own and holds no secret.
#
#     docker build -t turnwise:local .
#     docker run -v turnwise:/var/lib/turnwise turnwise:local           # one machine, SQLite inside
#
# `compose.yaml` runs it as a fleet.

FROM rust:1.95-slim-bookworm AS rust
WORKDIR /src

# The manifests alone, each with an empty program and library beside it. What follows from them is built again only when
# one of them changes.
FROM rust AS manifests
COPY . .
RUN set -eu; \
    find crates apps xtask system-tests -name Cargo.toml -exec cp --parents -t /srv {} +; \
    cp -r --parents Cargo.toml Cargo.lock .cargo /srv; \
    find /srv -mindepth 2 -name Cargo.toml -printf '%h\n' | while read -r package; do \
        mkdir "$package/src"; \
        echo 'fn main() {}' > "$package/src/main.rs"; \
        touch "$package/src/lib.rs"; \
    done

FROM rust AS build
COPY --from=manifests /srv .
RUN cargo build --locked --profile dist --package turnwise-cli
RUN rm -r crates apps xtask system-tests
COPY . .
# Cargo compares times, and the true sources may be older than the empty ones that were built before.
RUN find crates apps -name '*.rs' -exec touch {} + \
    && cargo build --locked --profile dist --package turnwise-cli \
    && target/dist/turnwise --version

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Turnwise" \
      org.opencontainers.image.description="A durable work engine: every job gets its turn, once" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# The number is fixed, so that volumes keep their owner when the image is built again.
RUN groupadd --gid 10001 turnwise \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/turnwise --no-create-home --shell /usr/sbin/nologin turnwise \
    && install --directory --mode 0700 --owner 10001 --group 10001 /var/lib/turnwise
# For the forge.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
# For `sslmode=require`, `amqps://`, `rediss://` and jobs of the kind `http`.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /src/LICENSE-MIT /src/LICENSE-APACHE /usr/share/doc/turnwise/
COPY --from=build /src/target/dist/turnwise /usr/local/bin/turnwise
ENV TURNWISE_DATA=/var/lib/turnwise
USER 10001:10001
WORKDIR /var/lib/turnwise
EXPOSE 7700
# The program asks itself: its server answers, and its store can be read. A process without
# the role `api` has no server.
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=4 CMD ["turnwise", "ready"]
# The program handles SIGTERM itself and needs no other process before it. With `--allow-shell` or the forge, add `--init`:
# somebody has to collect what their commands leave behind.
ENTRYPOINT ["turnwise"]
CMD ["up"]
