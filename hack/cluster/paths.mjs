// Defines the folder and the addresses of this checkout's cluster. Names and addresses that are visible on the whole
// machine are derived from the path of the checkout, so that two checkouts can run a cluster simultaneously.
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** All of it, the kubeconfig included; `down` removes it. */
export const FOLDER = `${ROOT}.tools/cluster`
export const KUBECONFIG = `${FOLDER}/kubeconfig`
export const NODE_NAME = 'muster'
/** 0 to 249; of two checkouts that share one, a chance of 1 in 250, the second is refused a cluster (network.mjs). */
const NUMBER = createHash('sha256').update(ROOT).digest().readUInt32BE() % 250
export const NETWORKS = 'muster-cluster-'
/**
 * The network namespace of everything but the machine's end of one wire: no rule of Kubernetes touches the machine's
 * own.
 */
export const NETWORK = `${NETWORKS}${NUMBER}`
/** Parent of the control groups of all pods. */
export const CGROUP = `muster-cluster-${NUMBER}`
export const WIRE = {
  outside: { device: `muster-out-${NUMBER}`, ip: `10.250.${NUMBER}.1` },
  inside: { device: `muster-in-${NUMBER}`, ip: `10.250.${NUMBER}.2` },
  bits: 30,
}
export const NODE_IP = WIRE.inside.ip
export const API_SERVER = `https://${NODE_IP}:6443`
/** Of https, also in manifests/ingress.yaml. */
export const INGRESS_PORT = 30443
export const PODS = '10.244.0.0/24'
export const SERVICES = '10.96.0.0/16'
export const KUBERNETES_SERVICE_IP = '10.96.0.1'
/** Also in manifests/dns.yaml. */
export const DNS_IP = '10.96.0.10'
export const CONTAINERD_SOCKET = `${FOLDER}/containerd.sock`
