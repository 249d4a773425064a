// Defines the components of the cluster: the command of each, and the files that it reads.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileOf, kubeconfigOf } from './identities.mjs'
import { CGROUP, CONTAINERD_SOCKET, DNS_IP, FOLDER, NODE_IP, NODE_NAME, PODS, SERVICES } from './paths.mjs'

const ETCD = 'http://127.0.0.1:2379'
const ETCD_PEER = 'http://127.0.0.1:2380'

export const etcd = () => [
  '--name=default',
  `--data-dir=${FOLDER}/etcd`,
  '--unsafe-no-fsync',
  '--log-level=error',
  `--listen-client-urls=${ETCD}`,
  `--advertise-client-urls=${ETCD}`,
  `--listen-peer-urls=${ETCD_PEER}`,
  `--initial-advertise-peer-urls=${ETCD_PEER}`,
  `--initial-cluster=default=${ETCD_PEER}`,
]

export const apiServer = () => [
  `--etcd-servers=${ETCD}`,
  '--secure-port=6443',
  `--advertise-address=${NODE_IP}`,
  '--allow-privileged',
  `--service-cluster-ip-range=${SERVICES}`,
  `--tls-cert-file=${fileOf('server.pem')}`,
  `--tls-private-key-file=${fileOf('server.key')}`,
  `--client-ca-file=${fileOf('ca.pem')}`,
  `--cert-dir=${FOLDER}/apiserver`,
  `--token-auth-file=${fileOf('tokens.csv')}`,
  '--authorization-mode=Node,RBAC',
  '--enable-admission-plugins=NodeRestriction',
  '--service-account-issuer=https://kubernetes.default.svc',
  `--service-account-key-file=${fileOf('accounts.pub')}`,
  `--service-account-signing-key-file=${fileOf('accounts.key')}`,
  `--kubelet-client-certificate=${fileOf('kubelet-client.pem')}`,
  `--kubelet-client-key=${fileOf('kubelet-client.key')}`,
  '--kubelet-preferred-address-types=InternalIP',
  // For extension API servers, such as the one of KEDA that serves metrics.
  `--proxy-client-cert-file=${fileOf('front-proxy.pem')}`,
  `--proxy-client-key-file=${fileOf('front-proxy.key')}`,
  `--requestheader-client-ca-file=${fileOf('ca.pem')}`,
  '--requestheader-allowed-names=front-proxy-client',
  '--requestheader-username-headers=X-Remote-User',
  '--requestheader-group-headers=X-Remote-Group',
  '--requestheader-extra-headers-prefix=X-Remote-Extra-',
]

export const controllerManager = () => [
  `--kubeconfig=${kubeconfigOf('kube-controller-manager')}`,
  '--leader-elect=false',
  `--cert-dir=${FOLDER}/controller-manager`,
  `--service-account-private-key-file=${fileOf('accounts.key')}`,
  `--root-ca-file=${fileOf('ca.pem')}`,
  '--horizontal-pod-autoscaler-sync-period=5s', // By default 15 s.
]

export const scheduler = () => [
  `--kubeconfig=${kubeconfigOf('kube-scheduler')}`,
  '--leader-elect=false',
  `--cert-dir=${FOLDER}/scheduler`,
]

export const proxy = () => [
  `--kubeconfig=${kubeconfigOf('kube-proxy')}`,
  '--proxy-mode=iptables',
  `--cluster-cidr=${PODS}`,
  `--hostname-override=${NODE_NAME}`,
  '--conntrack-max-per-core=0',
  '--conntrack-min=0', // Figures of the whole machine, which are not ours to set.
]

/**
 * The `ptp` plugin routes each packet of a pod, so that kube-proxy sees it also where the kernel has no bridge filter.
 */
function writeNetwork(cniFolder) {
  mkdirSync(`${FOLDER}/cni`, { recursive: true })
  const ipam = {
    type: 'host-local',
    dataDir: `${FOLDER}/addresses`,
    ranges: [[{ subnet: PODS }]],
    routes: [{ dst: '0.0.0.0/0' }],
  }
  writeFileSync(
    `${FOLDER}/cni/10-pods.conflist`,
    JSON.stringify({
      cniVersion: '0.4.0',
      name: 'pods',
      plugins: [
        { type: 'ptp', ipMasq: true, ipam },
        { type: 'portmap', capabilities: { portMappings: true } },
      ],
    }),
  )
  return { bin_dir: cniFolder, conf_dir: `${FOLDER}/cni` }
}

/** @param pauseImage holds the namespaces of each pod; imported, never pulled. */
export function containerd({ cniFolder, pauseImage }) {
  const cni = writeNetwork(cniFolder)
  writeFileSync(
    `${FOLDER}/containerd.toml`,
    `
version = 2
root = "${FOLDER}/containerd"
state = "${FOLDER}/containerd-state"
[grpc]
  address = "${CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"
  restrict_oom_score_adj = true # Without CAP_SYS_RESOURCE runc dies of the figure that the kubelet asks for.
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${cni.bin_dir}"
    conf_dir = "${cni.conf_dir}"
[plugins."io.containerd.internal.v1.opt"]
  path = "${FOLDER}/opt"
`,
  )
  return ['--config', `${FOLDER}/containerd.toml`]
}

export function kubelet() {
  writeFileSync(
    `${FOLDER}/kubelet.json`,
    JSON.stringify({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: fileOf('ca.pem') },
      },
      authorization: { mode: 'Webhook' },
      containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: `/${CGROUP}`,
      failCgroupV1: false,
      failSwapOn: false,
      clusterDNS: [DNS_IP],
      clusterDomain: 'cluster.local',
      podLogsDir: `${FOLDER}/pod-logs`,
      volumePluginDir: `${FOLDER}/volume-plugins`,
      resolvConf: '',
      registerNode: true,
      evictionHard: { 'nodefs.available': '1%', 'imagefs.available': '1%', 'memory.available': '50Mi' },
      imageGCHighThresholdPercent: 100,
      syncFrequency: '10s',
      // A changed Secret is in the pod within seconds instead of a minute or two.
      configMapAndSecretChangeDetectionStrategy: 'Watch',
    }),
  )
  return [
    `--config=${FOLDER}/kubelet.json`,
    `--kubeconfig=${kubeconfigOf('kubelet')}`,
    `--hostname-override=${NODE_NAME}`,
    `--node-ip=${NODE_IP}`,
    `--root-dir=${FOLDER}/kubelet`,
    `--cert-dir=${FOLDER}/kubelet-certificates`,
  ]
}
