# The image of Muster, as hack/image/build.mjs makes it without a container engine: both run hack/image/rootfs.mjs.
#   docker build -t localhost/muster .
# The version of Node in the image is that of hack/image/pins.json, whatever the build stages run on.
ARG BUILD=docker.io/library/node:24.21.0-bookworm-slim
FROM ${BUILD} AS build
WORKDIR /src
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-fund --no-audit
COPY . .
RUN npm run build

FROM build AS rootfs
RUN apt-get update && node hack/image/rootfs.mjs /rootfs

FROM scratch
COPY --from=rootfs /rootfs/libraries /
COPY --from=rootfs /rootfs/node /
COPY --from=rootfs /rootfs/dependencies /
COPY --from=rootfs /rootfs/muster /
USER 65532:65532
WORKDIR /opt/muster
ENV NODE_ENV=production
ENTRYPOINT ["/usr/local/bin/node", "--max-old-space-size-percentage=70", "/opt/muster/node_modules/muster/cmd/muster.js"]
CMD ["--help"]
