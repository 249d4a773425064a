/**
 * @module cmd/dev/state
 * What `muster dev` keeps between two starts, in its state directory (mode 0700): the store, and one file a token (0600),
 * made at the first start that comes up and reused (D57). One that fails, on a taken port say, leaves no tokens behind:
 * they are shown once, and nobody would have seen them.
 */
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../../runtime/index.ts'

export interface DevState {
  readonly storePath: string
  readonly adminToken: string
  readonly workerToken: string
  readonly adminTokenFile: string
  readonly workerTokenFile: string
  /** The tokens were made just now, by this start. */
  readonly fresh: boolean
  /** Writes the tokens that are new; to be called once the master is up. */
  readonly keep: () => void
}

/** @throws Error with a way out, when the directory or a token in it cannot be used. */
export function openState(directory: string, random: Random): DevState {
  makeDirectory(directory)
  const adminTokenFile = join(directory, 'admin-token')
  const workerTokenFile = join(directory, 'worker-token')
  const kept = { admin: keptToken(adminTokenFile), worker: keptToken(workerTokenFile) }
  const adminToken = kept.admin ?? madeToken(random)
  const workerToken = kept.worker ?? madeToken(random)
  return {
    storePath: join(directory, 'master.db'),
    adminToken,
    workerToken,
    adminTokenFile,
    workerTokenFile,
    fresh: kept.admin === null,
    keep: () => {
      if (kept.admin === null) writeToken(adminTokenFile, adminToken)
      if (kept.worker === null) writeToken(workerTokenFile, workerToken)
    },
  }
}

function makeDirectory(directory: string): void {
  try {
    if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() !== true)
      mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    throw new Error(`the state directory ${directory} cannot be used; name another one with --state-dir`, { cause })
  }
}

const madeToken = (random: Random): string => Buffer.from(random.bytes(24)).toString('base64url')

/** null: there is none yet. */
function keptToken(file: string): string | null {
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return null
  const token = readFileSync(file, 'utf8').trim()
  if (token === '') throw new Error(`${file} is empty; delete it to have a new token made`)
  chmodSync(file, 0o600)
  return token
}

function writeToken(file: string, token: string): void {
  writeFileSync(file, `${token}\n`, { mode: 0o600, flag: 'wx' })
}
