/**
 * The health script for Argo CD over every state of a FleetWorker and of a FleetWorkerSet. It runs in a Redis, whose
 * Lua is the 5.1 that Argo CD has too.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { STATES } from '../operator/fleetworker/states.ts'
import { SET_STATES } from '../operator/fleetworkerset/states.ts'
import { startRedis, withRedisServer, type RedisServer } from '../kit/redis-server.ts'

const script = readFileSync(new URL('../../manifests/gitops/argocd/health.lua', import.meta.url), 'utf8')
const whole =
  'local obj = cjson.decode(ARGV[1])\n' +
  'local function health()\n' +
  `${script}\n` +
  'end\n' +
  'return cjson.encode(health())'

withRedisServer('the health script for Argo CD', () => {
  describe('the health script for Argo CD', () => {
    let server: RedisServer
    beforeAll(async () => {
      server = await startRedis()
    })
    afterAll(() => server.close())

    const health = async (object: object): Promise<string> =>
      (JSON.parse(String(await server.connect().eval(whole, 0, JSON.stringify(object)))) as { readonly status: string })
        .status

    it.each([...STATES, ...SET_STATES])(
      '$name',
      async ({ object: { generation, suspend, status }, expected: [, expected] }) => {
        expect(await health({ metadata: { generation }, spec: suspend ? { suspend } : {}, status })).toBe(expected)
      },
    )

    it('takes an object without a status for one that is new', async () => {
      expect(await health({ metadata: { generation: 1 }, spec: {} })).toBe('Progressing')
    })
  })
})
