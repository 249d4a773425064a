// Starts and stops the processes of the cluster. A file per process identifies it by more than its process id, which
// another process may have after a crash, so that `down` stops only processes of this cluster.
import { spawn, spawnSync } from 'node:child_process'
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { CONTAINERD_SOCKET, FOLDER, NETWORK } from './paths.mjs'

const RUNNING = `${FOLDER}/running`
const LOGS = `${FOLDER}/logs`
const ENDS_WITHIN_MS = 5_000
/** After SIGKILL: what waits for a disk or a dead mount may outlive it. */
const DIES_WITHIN_MS = 30_000

/** The start time of a process in ticks since boot; undefined if it ended. Unique together with the process id. */
function startOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined // Gone between two looks.
  }
}

/** A process for good: its number, and when it began. */
export const identityOf = (pid) => `${pid} ${startOf(pid)}`

export function isRunning(identity) {
  const [pid, began] = identity.split(' ')
  return began !== undefined && startOf(pid) === began
}

/** Runs a program and ignores its failure, which means that there was nothing to do. */
export const quietly = (program, ...args) => spawnSync(program, args, { stdio: 'ignore' })

/** Starts a program in the network of the cluster that keeps running after this process. */
export function start(name, program, args) {
  mkdirSync(RUNNING, { recursive: true })
  mkdirSync(LOGS, { recursive: true })
  const log = openSync(`${LOGS}/${name}.log`, 'a')
  // Not `ip netns exec`: it mounts a /sys without control groups, which the kubelet needs.
  const child = spawn('nsenter', [`--net=/run/netns/${NETWORK}`, program, ...args], {
    detached: true,
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  child.unref()
  writeFileSync(`${RUNNING}/${name}`, identityOf(child.pid))
  return { name, ended: () => child.exitCode !== null || child.signalCode !== null }
}

/** The end of what a process said. */
export const tailOf = (name) => readFileSync(`${LOGS}/${name}.log`, 'utf8').trimEnd().split('\n').slice(-15).join('\n')

function started() {
  if (!existsSync(RUNNING)) return []
  return readdirSync(RUNNING).flatMap((name) => {
    const identity = readFileSync(`${RUNNING}/${name}`, 'utf8')
    return isRunning(identity) ? [{ name, pid: Number.parseInt(identity) }] : []
  })
}

const allPids = () =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
const textOf = (path) => {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** The shims that containerd left behind, known by our socket, and below them everything that runs in a pod. */
function pods() {
  const parents = new Map(
    allPids().map((pid) => [pid, Number(/^PPid:\s*(\d+)/m.exec(textOf(`/proc/${pid}/status`))?.[1])]),
  )
  const isShim = ([program = '', ...args]) =>
    /(?:^|\/)containerd-shim[^/]*$/.test(program) && args.includes(CONTAINERD_SOCKET)
  const shims = new Set([...parents.keys()].filter((pid) => isShim(textOf(`/proc/${pid}/cmdline`).split('\0'))))
  const below = (pid) => shims.has(pid) || (parents.has(pid) && parents.get(pid) > 1 && below(parents.get(pid)))
  return [...parents.keys()].filter((pid) => below(pid))
}

const kill = (pid, signal) => {
  try {
    process.kill(pid, signal)
  } catch {
    // It ended by itself meanwhile.
  }
}

/** @throws when some of it cannot be ended. First who starts others, then the pods. */
export async function endAll() {
  for (const { pid } of started()) kill(pid, 'SIGTERM')
  const deadline = Date.now() + ENDS_WITHIN_MS
  while (started().length > 0 && Date.now() < deadline) await pause(50)
  await killed(() => started().map(({ pid }) => pid))
  await killed(pods)
}

async function killed(find) {
  const deadline = Date.now() + DIES_WITHIN_MS
  for (let left = find(); left.length > 0; left = find()) {
    if (Date.now() > deadline)
      throw new Error(
        `not ended ${DIES_WITHIN_MS / 1000} s after SIGKILL: ${left.map(described).join(', ')}; the kernel ` +
          'holds them (state D: a disk or a mount), so restart the machine, or wait and run make cluster-down again',
      )
    for (const pid of left) kill(pid, 'SIGKILL')
    await pause(50)
  }
}

const described = (pid) => {
  const [name, state] = ['Name', 'State'].map(
    (key) => new RegExp(String.raw`^${key}:\s*(.*)`, 'm').exec(textOf(`/proc/${pid}/status`))?.[1],
  )
  return `${pid} (${name ?? 'gone'}, ${state ?? 'gone'})`
}
