/**
 * Loads the tests of the Redis backend into this process and runs single ones of them, with the Lua scripts that are
 * installed at that moment. It notes which scripts each test reaches.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Redis } from 'ioredis'
import { SCRIPT_CONSTANTS } from '../../../src/storage/redis/script-constants.ts'
import { SCRIPT_FILES } from '../../../src/storage/redis/script-files.ts'
import { resolveScript, type ScriptText } from '../../../src/storage/redis/script-text.ts'
import { GROUPED, scripts, type Script } from '../../../src/storage/redis/script.ts'
import type { RedisServer } from '../../kit/redis-server.ts'
import { InProcessTests, replaceJest, type Outcome } from '../in-process.ts'
import type { Test } from '../jest-globals.ts'
import { directStore } from './direct-store.ts'

/** Files of test/storage/redis. */
const TEST_FILES = [
  'tasks',
  'lost-replies',
  'masters',
  'scripts',
  'workers',
  'streams',
  'events',
  'namespaces',
  'bus',
  'sharded-bus',
  'start',
  'admission',
  'groups',
]
/** Random commands: all kinds, all but those of tasks, those of tasks (test/storage/model/run.ts). */
const MODEL_SEEDS = [0, 1, 2]
const MODEL_COMMANDS = 400
/** Where the servers keep their files: an fsync costs nothing there. */
const MEMORY_FOLDER = '/dev/shm'
const MIN_LIMIT_MS = 5_000
const LIMIT_FACTOR = 10
const MAX_TRIES = 3
const PASSED: Outcome = { kind: 'passed' }
const COVER_LIMIT_MS = 120_000

/** What a test needs: the scripts that it reaches, and time. */
export interface Coverage {
  readonly scripts: readonly string[]
  readonly tookMs: number
}
export type CoveredTest = Test & Coverage

/** The scripts that a change of `file` changes: itself, or all that include it. A script of a test has no file. */
export const scriptsWith = (file: string): readonly string[] =>
  SCRIPTS.map(({ name }) => name)
    .filter((name) => pathOf(name) in SCRIPT_FILES)
    .filter((name) => textOf(name).origins.some((origin) => origin.startsWith(`${file}:`)))

const limitOf = ({ tookMs }: CoveredTest): number => Math.max(MIN_LIMIT_MS, tookMs * LIMIT_FACTOR)

/** All scripts. Each opened store loads the scripts of `scripts()`, which is filled only for tests that need it. */
const SCRIPTS: Script[] = []
const NEEDS_LIST = /^(?:start|lost-replies) › /
function fillList({ title }: Test): void {
  const list = scripts() as Script[]
  list.splice(0, list.length, ...(NEEDS_LIST.test(title) ? SCRIPTS : []))
}

const pathOf = (name: string): string => `${name.replace(GROUPED, '')}.lua`
const textOf = (name: string, files: Readonly<Record<string, string>> = SCRIPT_FILES): ScriptText =>
  resolveScript(pathOf(name), files, SCRIPT_CONSTANTS, name.endsWith(GROUPED))

export class Suite {
  readonly #server: RedisServer
  readonly #client: Redis
  readonly #tests = new InProcessTests()
  #reached = new Set<string>()

  private constructor(server: RedisServer, client: Redis) {
    this.#server = server
    this.#client = client
  }

  /** Starts a private Redis and imports the tests, which then use it. */
  static async load(): Promise<{ readonly suite: Suite; readonly tests: readonly Test[] }> {
    if (existsSync(MEMORY_FOLDER)) process.env['TMPDIR'] = MEMORY_FOLDER
    process.setMaxListeners(100) // Each server of a test file listens to the end of the process.
    replaceJest()
    const { startRedis } = await import('../../kit/redis-server.ts')
    const server = await startRedis({ maxmemoryPolicy: 'noeviction', appendfsync: 'always' })
    process.env['SVC_TEST_REDIS_URL'] = server.url
    const { collect } = await import('../jest-globals.ts')
    const client = server.connect()
    const tests: Test[] = [...(await collect('contract', () => defineContract(client)))]
    for (const name of TEST_FILES)
      tests.push(...(await collect(name, () => import(`../../storage/redis/${name}.test.ts`))))
    tests.push(...(await collect('model', defineModel)))
    const suite = new Suite(server, client)
    suite.#watch()
    return { suite, tests }
  }

  async close(): Promise<void> {
    await this.#tests.close()
    await this.#server.close()
  }

  /**
   * Starts again with fresh servers, after a test that left one busy or damaged. The client closes first: otherwise it
   * sends its last call again, and an endless script blocks the fresh server too.
   */
  async reset(): Promise<void> {
    this.#client.disconnect()
    await this.#server.kill()
    if (this.#client.status !== 'end') await once(this.#client, 'end')
    await this.#server.start()
    await this.#client.connect()
    await this.#tests.close()
  }

  run(test: CoveredTest): Promise<Outcome> {
    fillList(test)
    return this.#tests.run(test, limitOf(test))
  }

  /** Runs every test once without a mutant, except those that `known` has already. Leaves out those that fail. */
  async cover(tests: readonly Test[], known: ReadonlyMap<string, Coverage>): Promise<readonly CoveredTest[]> {
    const covered: CoveredTest[] = []
    for (const test of tests) {
      const before = known.get(test.title)
      const { outcome, ...coverage } = before === undefined ? await this.#cover(test) : { ...before, outcome: PASSED }
      if (outcome.kind === 'passed') covered.push({ ...test, ...coverage })
      else console.error(`left out, because it fails without a mutant: ${test.title}\n${outcome.error}`)
    }
    return covered
  }

  /** On a busy machine, a test that needs much time may fail once. */
  async #cover(test: Test): Promise<Coverage & { readonly outcome: Outcome }> {
    for (let tries = 1; ; tries += 1) {
      fillList(test)
      this.#reached = new Set()
      const startedMs = Date.now()
      const outcome = await this.#tests.run(test, COVER_LIMIT_MS)
      if (outcome.kind === 'passed' || tries === MAX_TRIES)
        return { outcome, scripts: [...this.#reached].toSorted(), tookMs: Date.now() - startedMs }
    }
  }

  /** Replaces one file of the scripts. @throws what Redis says about a text that is not Lua. */
  async install(file: string, text: string): Promise<void> {
    for (const name of scriptsWith(file)) {
      const { source } = textOf(name, { ...SCRIPT_FILES, [file]: text })
      await this.#client.call('SCRIPT', 'LOAD', source)
      setSource(name, source)
    }
  }

  uninstall(file: string): void {
    for (const name of scriptsWith(file)) setSource(name, textOf(name).source)
  }

  /** Each use of a script reads its name or its sha. */
  #watch(): void {
    SCRIPTS.push(...scripts())
    for (const each of SCRIPTS) {
      const { name } = each
      for (const field of ['name', 'sha'] as const) {
        let value = each[field]
        Object.defineProperty(each, field, {
          get: () => {
            this.#reached.add(name)
            return value
          },
          set: (next: string) => {
            value = next
          },
        })
      }
    }
  }
}

/** The contract on a store that costs little to open, and what needs a whole backend on one. */
async function defineContract(client: Redis): Promise<void> {
  const [{ testBackend }, { lifecycle }, { namespaces }, { withRedisStore }] = await Promise.all([
    import('../../storage/contract.ts'),
    import('../../storage/contract/lifecycle.ts'),
    import('../../storage/contract/namespaces.ts'),
    import('../../storage/redis/fixture.ts'),
  ])
  testBackend('direct', (clock) => Promise.resolve(directStore(client, clock)), [lifecycle, namespaces])
  withRedisStore('contract', (create) => {
    for (const suite of [lifecycle, namespaces]) suite('redis', create)
  })
}

async function defineModel(): Promise<void> {
  const [{ it }, { withRedisStore }, { search }] = await Promise.all([
    import('../jest-globals.ts'),
    import('../../storage/redis/fixture.ts'),
    import('../../storage/model/run.ts'),
  ])
  withRedisStore('model', (create) => {
    for (const seed of MODEL_SEEDS)
      it(`seed ${seed}`, async () => {
        const { failure } = await search({ create, seed, commands: MODEL_COMMANDS, shrinks: false })
        if (failure !== null) throw new Error(failure)
      })
  })
}

function setSource(name: string, source: string): void {
  const found = SCRIPTS.find((each) => each.name === name) as { -readonly [K in keyof Script]: Script[K] }
  found.source = source
  found.sha = createHash('sha1').update(source).digest('hex')
}
