import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { ApiServer, startApiServer } from './real-apiserver.ts'
import { withApiServer, withPrograms } from './with-programs.ts'

withApiServer('API servers for tests', () => {
  describe('API servers for tests', () => {
    let server: ApiServer
    beforeAll(async () => {
      server = await startApiServer({ users: ['operator'] })
    }, 120_000)
    afterAll(() => server.close())

    it('permit everything to the admin, nothing to a user, and reject requests without a token', async () => {
      const status = async (token: string): Promise<number> =>
        (await server.request('GET', '/api/v1/namespaces/default/secrets', { token })).status
      expect([
        await status(server.adminToken),
        await status(server.tokenOf('operator')),
        await status('wrong'),
      ]).toEqual([200, 403, 401])
    })

    it('log who requested what', async () => {
      await server.request('GET', '/api/v1/namespaces/default/configmaps/none', { token: server.tokenOf('operator') })
      const mine = server
        .audit()
        .filter(({ user, objectRef }) => user.username === 'operator' && objectRef?.name === 'none')
      expect(mine).toMatchObject([
        { verb: 'get', objectRef: { resource: 'configmaps', namespace: 'default' }, responseStatus: { code: 403 } },
      ])
    })

    it('get a separate kubectl configuration', async () => {
      expect((await server.kubectl('get', 'namespace', 'default', '-o', 'name')).stdout).toBe('namespace/default\n')
    })

    it('leave nothing behind', async () => {
      const other = await startApiServer()
      await other.close()
      expect(existsSync(other.folder)).toBe(false)
      await expect(other.request('GET', '/readyz')).rejects.toThrow()
    }, 120_000)

    withPrograms(['kube-controller-manager'], 'the end of a namespace', () => {
      it('delete a namespace once controllers run', async () => {
        await server.startControllers()
        await server.kubectl('create', 'namespace', 'doomed')
        await server.kubectl('delete', 'namespace', 'doomed', '--wait=false')
        const limit = AbortSignal.timeout(60_000)
        while ((await server.request('GET', '/api/v1/namespaces/doomed')).status !== 404)
          await pause(100, undefined, { signal: limit })
      }, 120_000)
    })
  })
})
