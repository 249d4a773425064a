/**
 * @module test/kit/process-outputs
 * Searches what the processes of a fleet show to others: stdout and stderr, their command lines, the environments that
 * they pass on to children, and what their master returns to an admin. The environment of a process that a test starts
 * contains the settings that the test passed, and is not searched.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { canaries } from './canary.ts'
import type { Proc } from './built-command.ts'

const WITHIN_MS = 1_000
const MAX_WORKERS = 20

/** Searches the command lines of running processes and of their children, and the environments of the children. */
export function scanCommandLines(pids: readonly number[]): void {
  const parents = parentsOfAll()
  const isOurs = (pid: number): boolean => {
    for (let at: number | undefined = parents.get(pid); at !== undefined; at = parents.get(at))
      if (pids.includes(at)) return true
    return false
  }
  for (const pid of pids) canaries.scan(`the command line of process ${pid}`, read(pid, 'cmdline'))
  for (const pid of [...parents.keys()].filter(isOurs))
    canaries.scan(`a child process of the fleet`, `${read(pid, 'cmdline')}\n${read(pid, 'environ')}`)
}

/** Searches everything that ended processes wrote. */
export function scanOutput(processes: readonly Proc[]): void {
  for (const { child, output } of processes)
    canaries.scan(`stdout and stderr of \`muster ${child.spawnargs.slice(2).join(' ')}\``, output())
}

/** Searches what a running master returns: metrics, overview, workers, histories. An unreachable one is left out. */
export async function scanReads(url: string, adminToken: string): Promise<void> {
  const signal = AbortSignal.timeout(WITHIN_MS)
  const get = async (path: string): Promise<string> => {
    const response = await fetch(url + path, { signal, headers: { authorization: `Bearer ${adminToken}` } })
    const text = await response.text()
    canaries.scan(`GET ${path}`, text)
    return response.status === 200 ? text : '{}'
  }
  try {
    await get('/metrics')
    await get('/api/v1/overview')
    const { automations = [] } = JSON.parse(await get('/api/v1/automations')) as {
      automations?: readonly { readonly type: string }[]
    }
    for (const { type } of automations) {
      const path = `/api/v1/automations/${type}/workers`
      const { workers = [] } = JSON.parse(await get(`${path}?limit=${MAX_WORKERS}`)) as {
        workers?: readonly { readonly worker_id: string }[]
      }
      for (const { worker_id: id } of workers) await get(`${path}/${id}/config/history`)
    }
  } catch {
    // It does not run any more, or does not respond: a test may have stopped it or its store.
  }
}

function parentsOfAll(): ReadonlyMap<number, number> {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = read(Number(name), 'stat')
    // The name of the program, in parentheses, may contain spaces.
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
    if (Number.isInteger(parent)) parents.set(Number(name), parent)
  }
  return parents
}

/** @returns '' for a process that has ended or belongs to another user. */
function read(pid: number, file: 'cmdline' | 'environ' | 'stat'): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8')
  } catch {
    return ''
  }
}
