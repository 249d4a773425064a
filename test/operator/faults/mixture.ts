/**
 * Runs a random sequence of actions of users, workers and masters while random faults happen at random rates. Then the
 * faults stop, a last spec is written, and a minute later the fleet has to be in sync. A seed determines the sequence:
 *
 *   SEED=… npm test -- test/operator/faults/stability
 */
import type { FleetWorkerSpec } from '../../../src/operator/fleetworker/index.ts'
import { seededRandom } from '../../../src/runtime/index.ts'
import { PASS, type Asked, type Fate } from './faults.ts'
import { verdict } from './oracle.ts'
import { CANARY, DEFAULT_CONFIG, FaultFixture, type Masters } from './fixture.ts'

const MAX_DEEDS = 14
const MAX_PAUSE_MS = 8_000
/** The operator treats a field that is reverted more often than this as contested, and leaves it alone for minutes. */
const MAX_DASHBOARD_EDITS = 3
const POLL_MS = 61_000
const STALE_MS = 4_000
const HOUR_MS = 3_600_000

type Draw = {
  readonly chance: (probability: number) => boolean
  readonly below: (count: number) => number
  readonly one: <T>(of: readonly T[]) => T
}

function drawFrom(seed: number): Draw {
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random.unit() * count)
  return {
    below,
    chance: (probability) => random.unit() < probability,
    one: <T>(of: readonly T[]) => of[below(of.length)] as T,
  }
}

/** What a spec requests, besides its policies. */
interface Wish {
  readonly spec: Partial<FleetWorkerSpec>
  readonly config: Readonly<Record<string, unknown>>
  readonly namesSecret: boolean
}

function wish(draw: Draw): Wish {
  const named = {
    ...(draw.chance(0.7) && { url: `http://${draw.below(4)}` }),
    ...(draw.chance(0.4) && { ratio: draw.below(3) / 2 }),
    ...(draw.chance(0.4) && { tags: draw.one([[], ['a'], ['a', 'b']]) }),
    ...(draw.chance(0.5) && { enabled: draw.chance(0.8) }),
  }
  const slots = draw.chance(0.4) ? { slots: draw.below(9) } : {}
  const namesSecret = draw.chance(0.5)
  const configFrom = namesSecret
    ? { configFrom: [{ field: 'api_key', secretKeyRef: { name: 'keys', key: 'api' } }] }
    : {}
  return {
    spec: { config: named, ...slots, ...configFrom },
    config: { ...DEFAULT_CONFIG, ...named, ...slots },
    namesSecret,
  }
}

const policies = (draw: Draw): Partial<FleetWorkerSpec> => ({
  ...(draw.chance(0.3) && { managementPolicy: draw.one(['Enforce', 'Warn', 'Observe'] as const) }),
  ...(draw.chance(0.15) && { suspend: true }),
  ...(draw.chance(0.6) && { deletionPolicy: draw.one(['Retain', 'Reset', 'Deregister'] as const) }),
})

/** One random sequence. It returns what is wrong at its end; `undefined`: nothing. */
export class Mixture {
  readonly #fixture: FaultFixture
  readonly #draw: Draw
  #secret = 0
  #dashboardEdits = 0
  /**
   * A secret may remain that no current FleetWorker names: its FleetWorker was deleted, a user set it, or the store is
   * another one.
   */
  #mayLinger = false
  readonly deeds: string[] = []

  constructor(masters: Masters, seed: number) {
    this.#draw = drawFrom(seed)
    this.#fixture = new FaultFixture(masters, seed)
  }

  async run(): Promise<string | undefined> {
    const fixture = this.#fixture
    try {
      await this.#begin()
      fixture.faults.rule = this.#rule()
      for (let deed = this.#draw.below(MAX_DEEDS) + 1; deed > 0; deed -= 1) await this.#deed()
      return await this.#end()
    } finally {
      await fixture.close()
    }
  }

  async #begin(): Promise<void> {
    const fixture = this.#fixture
    this.#rotate()
    if (this.#draw.chance(0.8)) await fixture.work()
    await fixture.start()
    if (this.#draw.chance(0.8)) this.#create()
    await fixture.pass(this.#draw.below(MAX_PAUSE_MS))
  }

  /** Each kind of fault has its own rate, zero in most cases. */
  #rule(): (asked: Asked) => Fate {
    const { chance, one, below } = this.#draw
    const rate = (): number => (chance(0.5) ? 0 : one([0.02, 0.1, 0.3]))
    const rates = { break: rate(), lose: rate(), late: rate(), throttled: rate(), failed: rate(), death: rate() / 10 }
    const side = one(['api', 'master', 'both'] as const)
    return (asked) => {
      if (side !== 'both' && side !== asked.side) return PASS
      if (chance(rates.death)) this.#fixture.kill()
      if (chance(rates.break)) return { kind: 'break' }
      if (asked.method === 'WATCH') return PASS
      if (chance(rates.lose)) return { kind: 'lose' }
      if (chance(rates.late)) return { kind: 'late', ms: below(9_000) }
      if (chance(rates.throttled)) return { kind: 'refuse', status: 429, retryAfterSeconds: below(5) }
      return chance(rates.failed) ? { kind: 'refuse', status: one([500, 503]) } : PASS
    }
  }

  async #deed(): Promise<void> {
    const { below, one } = this.#draw
    const [name, act] = one(Object.entries(this.#deeds))
    this.deeds.push(name)
    await act()
    await this.#fixture.pass(below(3) === 0 ? 0 : below(MAX_PAUSE_MS))
  }

  readonly #deeds: Readonly<Record<string, () => void | Promise<void>>> = {
    edit: () => this.#replace(),
    'edit again': () => this.#replace(),
    'delete or create': () => (this.#fixture.object() === undefined ? this.#create() : this.#remove()),
    'delete and re-create': () => {
      this.#remove()
      if (this.#fixture.object() === undefined) this.#create()
    },
    rotate: () => this.#rotate(),
    dashboard: async () => this.#dashboard(),
    'the worker disconnects': () => this.#fixture.leave(),
    'a worker connects': async () => this.#fixture.work(),
    'another store': async () => this.#replaceMaster(),
    'the operator is killed': () => this.#fixture.kill(),
    'the feed is cut': () => this.#fixture.cutFeeds(),
    'watches end': () => this.#fixture.api.endWatches(this.#draw.one(['closed', 'broken'])),
    'history is compacted': () => {
      this.#fixture.api.endWatches('broken')
      this.#fixture.api.server.store.compact()
    },
    'a stale view': () => this.#olderView(),
    'an event is lost': () => void this.#fixture.api.hidden.add(this.#fixture.api.version + 1 + this.#draw.below(3)),
    'a conflicting FleetWorker': () => this.#rival(),
    'the clock is set': () => this.#setClock(),
  }

  #create(): void {
    this.#fixture.create({ ...wish(this.#draw).spec, ...policies(this.#draw) })
  }

  #replace(): void {
    const object = this.#fixture.object()
    if (object !== undefined && object.metadata.deletionTimestamp === undefined)
      this.#fixture.replace({ ...wish(this.#draw).spec, ...policies(this.#draw) })
  }

  #remove(): void {
    this.#mayLinger = true
    if (this.#fixture.object() !== undefined) this.#fixture.remove()
  }

  #rotate(): void {
    this.#secret += 1
    this.#fixture.secret('keys', { api: this.#password })
  }

  get #password(): string {
    return `${CANARY}-${this.#secret}`
  }

  async #dashboard(): Promise<void> {
    this.#dashboardEdits += 1
    if (this.#dashboardEdits > MAX_DASHBOARD_EDITS) return
    this.#mayLinger = true
    await this.#fixture.dashboard({ url: 'http://alice', ...(this.#draw.chance(0.5) && { api_key: 'hers' }) })
  }

  async #replaceMaster(): Promise<void> {
    this.#mayLinger = true
    await this.#fixture.replaceMaster()
  }

  #olderView(): void {
    const { api, time } = this.#fixture
    api.horizon = this.#draw.below(api.version)
    this.#fixture.kill()
    time.after(STALE_MS, () => (api.horizon = Infinity))
  }

  #rival(): void {
    const name = `${this.#fixture.id}-rival`
    if (this.#fixture.object(name) !== undefined) return this.#fixture.remove(name)
    this.#fixture.create({ workerID: this.#fixture.id, config: { url: 'http://rival' } }, name)
  }

  #setClock(): void {
    const ms = this.#draw.one([HOUR_MS, -HOUR_MS])
    this.#fixture.time.stepWall(ms)
    this.#fixture.time.after(STALE_MS, () => this.#fixture.time.stepWall(-ms))
  }

  /** Stops the faults. The API server compacts its history, so that a list finds what was hidden from a watch. */
  async #end(): Promise<string | undefined> {
    const fixture = this.#fixture
    await fixture.pass(MAX_PAUSE_MS)
    fixture.faults.rule = () => PASS
    fixture.api.hidden.clear()
    if (fixture.object(`${fixture.id}-rival`) !== undefined) fixture.remove(`${fixture.id}-rival`)
    fixture.leave()
    await fixture.work()
    const { config, namesSecret, spec } = wish(this.#draw)
    fixture.api.endWatches('broken')
    fixture.configMap('unrelated', {}) // Without a newer version the server would not reject the watch.
    fixture.api.server.store.compact()
    if (fixture.object()?.metadata.deletionTimestamp !== undefined)
      await fixture.comesTrue(POLL_MS, () => fixture.object() === undefined)
    if (fixture.object() === undefined) fixture.create(spec)
    else fixture.replace(spec)
    const left = !namesSecret && this.#mayLinger ? await this.#lingering() : {}
    return verdict(fixture, {
      end: { config: { ...config, ...(namesSecret && { api_key: this.#password }), ...left }, ready: 'True Ready' },
      latencyMs: POLL_MS,
    })
  }

  /** The config with the secret that may remain, if any. */
  async #lingering(): Promise<object> {
    await this.#fixture.pass(POLL_MS)
    const now = await this.#fixture.config()
    return now?.['api_key'] === undefined ? {} : { api_key: now['api_key'] }
  }
}
