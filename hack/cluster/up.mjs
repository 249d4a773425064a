#!/usr/bin/env node
// Starts a Kubernetes cluster of one node on this machine, without a container engine: programs built from Go modules,
// containerd of Debian, and the image of Muster. Needs root, Linux, the programs of `make tools` and dist/ (npm run
// build).
// Usage: node hack/cluster/up.mjs [--ingress] [--keda] [--previous]
// Exit: 0 the node is ready, 1 it is not; its processes were stopped.
//
// With --ingress it also starts Traefik, at the address in .tools/cluster/ingress. With --keda it has the images of
// KEDA, and .tools/cluster/keda to install it: kubectl apply --server-side -k .tools/cluster/keda. With --previous it
// has the image of the previous release too, localhost/muster:previous, and .tools/cluster/previous names the folder of
// that release. All files are in .tools/cluster, also the kubeconfig. The node runs in a network namespace that a veth
// pair connects to the machine. A second run, also after a crash, first stops the previous cluster. Several checkouts
// can run a cluster simultaneously.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { parse } from 'yaml'
import { down } from './down.mjs'
import { makeIdentities } from './identities.mjs'
import { buildImages, buildPrevious, imagesOf, PAUSE_IMAGE, PREVIOUS_IMAGE, REDIS_IMAGE } from './images.mjs'
import { writeKeda } from './keda.mjs'
import { noteKernelFigures } from './kernel.mjs'
import { makeNetwork, stranger } from './network.mjs'
import * as components from './components.mjs'
import { CGROUP, CONTAINERD_SOCKET, FOLDER, INGRESS_PORT, KUBECONFIG, NODE_IP, NODE_NAME, ROOT } from './paths.mjs'
import { start, tailOf } from './processes.mjs'
import { acquireLock } from './lock.mjs'

const READY_WITHIN_MS = 120_000
const VOLUMES = 20
/** Where Debian has the plugins, and where their own project puts them. */
const CNI_FOLDERS = ['/usr/lib/cni', '/opt/cni/bin']
const DEBIAN = ['containerd', 'runc', 'iptables', 'conntrack', 'ip', 'nsenter', 'openssl']

const run = (program, ...args) => execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const whereIs = (program) => run(`${ROOT}hack/install-tools.sh`, '--where', program).trim()
const works = (use) => {
  try {
    return use() !== false
  } catch {
    return false // Not yet; the deadline of who asks ends this.
  }
}

async function until(what, process, holds) {
  const deadline = Date.now() + READY_WITHIN_MS
  while (!works(holds)) {
    if (process.ended()) throw new Error(`${process.name} ended before ${what}:\n${tailOf(process.name)}`)
    if (Date.now() > deadline)
      throw new Error(
        `not within ${READY_WITHIN_MS / 1000} s: ${what}. Last words of ${process.name}:\n${tailOf(process.name)}`,
      )
    await pause(100)
  }
}

function check() {
  if (process.platform !== 'linux' || process.getuid() !== 0)
    throw new Error('a node needs Linux and root; with Docker and without root: make kind-up')
  for (const program of ['kubectl', 'helm']) whereIs(program) // Asked for at the end only, when it would be a pity.
  if (stranger() !== undefined)
    throw new Error(
      `the cluster of ${stranger()} has the addresses that follow from the path of this checkout: ` +
        'end it first (make cluster-down there), or move one of the two',
    )
  const absent = DEBIAN.filter((program) => !works(() => whereIs(program)))
  if (absent.length > 0)
    throw new Error(
      `not here: ${absent.join(', ')}; run hack/install-debian.sh ` +
        'containerd runc containernetworking-plugins iptables iproute2 conntrack openssl redis-server',
    )
  const cniFolder = CNI_FOLDERS.find((folder) => works(() => whereIs(`${folder}/ptp`)))
  if (cniFolder === undefined)
    throw new Error('the network plugins are missing; run hack/install-debian.sh containernetworking-plugins')
  return cniFolder
}

/** The kubelet wants its parent group to be there, in every hierarchy of version 1 or in the only one of version 2. */
function makeControlGroups() {
  const lines = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
  for (const [, point, type] of lines.filter(([, each = '']) => each.startsWith('/sys/fs/cgroup'))) {
    if (type !== 'cgroup' && type !== 'cgroup2') continue
    mkdirSync(`${point}/${CGROUP}`, { recursive: true })
    for (const file of ['cpuset.cpus', 'cpuset.mems'])
      works(() => writeFileSync(`${point}/${CGROUP}/${file}`, readFileSync(`${point}/${file}`)))
  }
}

function kubectl(...args) {
  return run(whereIs('kubectl'), `--kubeconfig=${KUBECONFIG}`, `--cache-dir=${FOLDER}/kubectl`, ...args)
}

async function startControlPlane() {
  const store = start('etcd', whereIs('etcd'), components.etcd())
  const server = start('kube-apiserver', whereIs('kube-apiserver'), components.apiServer())
  await until('the API server is ready', server, () => !store.ended() && kubectl('get', '--raw', '/readyz'))
  start('kube-controller-manager', whereIs('kube-controller-manager'), components.controllerManager())
  start('kube-scheduler', whereIs('kube-scheduler'), components.scheduler())
}

/** The node has no registry: under the name that the chart gives by default it finds the Redis of this machine. */
function redisOfTheChart() {
  const { redis } = parse(readFileSync(`${ROOT}charts/muster/values.yaml`, 'utf8'))
  return `docker.io/${redis.embedded.image.repository}:${redis.embedded.image.tag}`
}

async function startNode(cniFolder, archives, previous) {
  makeControlGroups()
  noteKernelFigures()
  const ctr = (...args) => run(whereIs('ctr'), '--address', CONTAINERD_SOCKET, '--namespace', 'k8s.io', ...args)
  const containerd = start(
    'containerd',
    whereIs('containerd'),
    components.containerd({ cniFolder, pauseImage: PAUSE_IMAGE }),
  )
  await until('containerd is ready', containerd, () => ctr('version'))
  if (previous) {
    // Both releases may have one version, and with it one name: the image of this release replaces it.
    ctr('images', 'import', previous.archive)
    ctr('images', 'tag', previous.image, PREVIOUS_IMAGE)
    writeFileSync(`${FOLDER}/previous`, previous.folder)
  }
  for (const archive of archives) ctr('images', 'import', archive)
  ctr('images', 'tag', REDIS_IMAGE, redisOfTheChart())
  const kubelet = start('kubelet', whereIs('kubelet'), components.kubelet())
  start('kube-proxy', whereIs('kube-proxy'), components.proxy())
  await until('the node is ready', kubelet, () =>
    kubectl('wait', '--for=condition=Ready', `node/${NODE_NAME}`, '--timeout=1s'),
  )
}

function volume(name) {
  const path = `${FOLDER}/volumes/${name}`
  mkdirSync(path, { recursive: true, mode: 0o755 })
  const here = { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [NODE_NAME] }] }
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      storageClassName: 'node',
      capacity: { storage: '20Gi' },
      accessModes: ['ReadWriteOnce'],
      local: { path },
      nodeAffinity: { required: { nodeSelectorTerms: [here] } },
    },
  }
}

function furnish(ingress) {
  const items = Array.from({ length: VOLUMES }, (_, at) => volume(`node-${at}`))
  writeFileSync(`${FOLDER}/volumes.json`, JSON.stringify({ apiVersion: 'v1', kind: 'List', items }))
  const manifests = ['dns', 'storage', ...(ingress ? ['ingress'] : [])].map(
    (name) => `${ROOT}hack/cluster/manifests/${name}.yaml`,
  )
  kubectl('apply', ...[...manifests, `${FOLDER}/volumes.json`].flatMap((path) => ['-f', path]))
  kubectl('rollout', 'status', '--namespace=kube-system', 'deployment/coredns', '--timeout=60s')
  if (!ingress) return
  kubectl('rollout', 'status', '--namespace=ingress', 'deployment/traefik', '--timeout=60s')
  writeFileSync(`${FOLDER}/ingress`, `${NODE_IP}:${INGRESS_PORT}\n`)
}

async function up({ ingress, keda, previous: hasPrevious }, cniFolder) {
  await down()
  const archives = buildImages(imagesOf({ keda }))
  const previous = hasPrevious ? buildPrevious() : undefined
  const startedMs = Date.now()
  const say = (what) => console.log(`${((Date.now() - startedMs) / 1000).toFixed(1).padStart(5)} s  ${what}`)
  mkdirSync(FOLDER, { recursive: true })
  makeNetwork()
  makeIdentities()
  await startControlPlane()
  say('the API server is ready')
  await startNode(cniFolder, archives, previous)
  say('the node is ready')
  furnish(ingress)
  if (keda) writeKeda(dirname(whereIs('keda-operator')))
  say(`names${ingress ? ' and the ingress controller' : ''} are served`)
  console.log(`export KUBECONFIG=${KUBECONFIG} PATH=${dirname(whereIs('kubectl'))}:${dirname(whereIs('helm'))}:$PATH`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const fail = (error) => {
    console.error(`${error.stderr ?? ''}${error.message}`)
    process.exitCode = 1
  }
  try {
    const isOff = { type: 'boolean', default: false }
    const { values } = parseArgs({ options: { ingress: isOff, keda: isOff, previous: isOff } })
    const cniFolder = check()
    acquireLock()
    await up(values, cniFolder).catch(async (error) => {
      fail(error)
      await down()
    })
  } catch (error) {
    fail(error) // Before anything was started, or what was could not be ended.
  }
}
