/** Tests make release as a whole: twice, in different environments, without network where that can be forbidden. */
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from '@jest/globals'
import { hackPath } from '../hack/tree.ts'

const BUILDS_MS = 900_000
const NO_NETWORK = ['unshare', '--net', '--map-root-user', 'sh', '-c', 'ip link set lo up; exec "$@"', 'sh']
const canForbid = spawnSync(NO_NETWORK[0] ?? '', [...NO_NETWORK.slice(1), 'true']).status === 0

describe('make release', () => {
  it(
    'gives the same bytes twice, without network',
    () => {
      const command = [...(canForbid ? NO_NETWORK : []), process.execPath, hackPath('release/build-twice.mjs')]
      const { status, stdout, stderr } = spawnSync(command[0] ?? '', command.slice(1), {
        encoding: 'utf8',
        env: { ...process.env, ALLOW_DIRTY: '' },
      })
      expect({ status, stderr }).toMatchObject({ status: 0 })
      expect(stdout).toMatch(/^equal in every byte: \d+ files$/m)
    },
    BUILDS_MS,
  )
})
