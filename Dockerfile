# syntax=docker/dockerfile:1

# A static binary on an empty image: it has no shell, and only the binary itself needs patches.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
# timetzdata puts the time zones of accounts and schedules into the binary: the image has no zone files.
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -trimpath -tags timetzdata -o /out/adsync ./cmd/adsync && mkdir /out/data

FROM scratch
# The certificate authorities of the platforms' APIs.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/adsync /usr/local/bin/adsync
# A volume mounted here belongs to the user below.
COPY --from=build --chown=65532:65532 /out/data /data
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/adsync"]
CMD ["--help"]
