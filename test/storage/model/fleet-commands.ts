/** Commands on workers, their configs and the live masters. */
import { expect } from '@jest/globals'
import fc from 'fast-check'
import type { ConnectionEnd, WorkerReport, Ref } from '../../../src/storage/index.ts'
import { DEFAULTS, HARDWARE } from '../contract/fixture.ts'
import { bulkCommands } from './bulk-commands.ts'
import { enrolmentCommands } from './enrolment-commands.ts'
import { rolloutCommands } from './rollout-commands.ts'
import { rollupCommands } from './rollup-commands.ts'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { MASTERS, TYPES, WORKERS, same } from './fixture.ts'
import type { ModelFixture } from './fixture.ts'

const ref: fc.Arbitrary<Ref> = fc.record({ type: fc.constantFrom(...TYPES), id: fc.constantFrom(...WORKERS) })
const refs = fc.array(ref, { minLength: 1, maxLength: 3 })
const master = fc.constantFrom(...MASTERS)
/** 'live': the recorded connection. 'stale': another one. */
const which = fc.constantFrom('live', 'live', 'live', 'stale')

function connOf(fixture: ModelFixture, of: Ref, wanted: string): string {
  return (wanted === 'live' ? fixture.store.fleet.find(of)?.conn : null) ?? 'm1/0'
}

const rulesOf = ({ store }: ModelFixture, { type }: { readonly type: string }): string =>
  store.fleet.enrolments.list(type).version

/** Registers with a new connection, or rarely with the same one, like a repeated register. */
const register = command(
  'register',
  fc.record({
    ref,
    master,
    instance: fc.constantFrom('', 'i1', 'i2'),
    isRepeat: fc.constantFrom(false, false, false, true),
    cores: fc.nat(8),
    labels: fc.constantFrom(undefined, '{"zone":"eu-1"}', '{}'),
  }),
  async (args, fixture, { backend }) => {
    const fresh = `${args.master}/${fixture.serial()}`
    const held = fixture.store.fleet.find(args.ref)
    const via =
      args.isRepeat && held !== undefined && held.conn !== null
        ? { conn: held.conn, instance: held.instance }
        : { conn: fresh, instance: args.instance }
    const { cores, labels } = args
    const items = [
      {
        ...args.ref,
        ...via,
        hardware: `{"cores":${cores}}`,
        labels,
        defaults: DEFAULTS,
        rules: rulesOf(fixture, args.ref),
      },
    ]
    same(await backend.workers.register(items), fixture.store.fleet.register(items))
  },
)

const registerTwice = command(
  'register twice in one call',
  fc.record({ ref, master, instances: fc.tuple(fc.constantFrom('', 'i1'), fc.constantFrom('', 'i1')) }),
  async (args, fixture, { backend }) => {
    const items = args.instances.map((instance, i) => ({
      ...args.ref,
      instance,
      conn: `${args.master}/${fixture.serial()}`,
      hardware: HARDWARE,
      labels: i === 0 ? '{"tier":"spot"}' : undefined,
      defaults: DEFAULTS,
      rules: rulesOf(fixture, args.ref),
    }))
    same(await backend.workers.register(items), fixture.store.fleet.register(items))
  },
)

const report = fc.record({
  state: fc.constantFrom('IDLE', 'RUNNING', 'ERROR'),
  gen: fc.nat(5),
  lastError: fc.option(fc.constantFrom('boom', '')),
})
const beat = command(
  'beat',
  fc.array(fc.record({ ref, which, state: fc.option(report), frames: fc.nat(3) }), { minLength: 1, maxLength: 3 }),
  async (beats, fixture, { backend }) => {
    const items = beats.map(({ ref: of, which: wanted, state, frames }): WorkerReport => ({
      ...of,
      conn: connOf(fixture, of, wanted),
      ...(state !== null && { state }),
      ...(frames > 0 && { stats: Array.from({ length: frames }, () => `{"ts":${fixture.serial()},"per_slot":[]}`) }),
    }))
    same(await backend.workers.beat(items), fixture.store.fleet.beat(items))
  },
)

const actor = fc.constantFrom('admin dashboard:ana', 'scoped a:b%c')
const end: fc.Arbitrary<ConnectionEnd> = fc.record({
  by: fc.constantFrom('worker', 'master', 'network'),
  code: fc.constantFrom(1006, 4100),
  reason: fc.constantFrom('', 'a: "reason"'),
})
const disconnect = command(
  'disconnect',
  fc.record({ ref, which, ended: fc.boolean(), end: fc.option(end) }),
  async ({ ref: of, which: wanted, ended, end: how }, fixture, { backend }) => {
    const items = [{ ...of, conn: connOf(fixture, of, wanted), ended, ...(how !== null && { end: how }) }]
    await backend.workers.disconnect(items)
    fixture.store.fleet.disconnect(items)
  },
)

const drain = command('drain', fc.tuple(refs, fc.option(actor)), async ([of, by], fixture, { backend }) => {
  const items = of.map((each) => ({ ...each, ...(by !== null && { actor: by }) }))
  same(await backend.workers.drain(items), fixture.store.fleet.drain(items))
})
const forget = command('forget', refs, async (of, fixture, { backend }) =>
  same(await backend.workers.forget(of), fixture.store.fleet.forget(of)),
)

const manage = command(
  'manage',
  fc.record({ ref, managedBy: fc.option(fc.constantFrom('kubernetes:a/b', '__proto__')) }),
  async ({ ref: of, managedBy }, fixture, { backend }) => {
    same(await backend.workers.manage([{ ...of, managedBy }]), fixture.store.fleet.manage([{ ...of, managedBy }]))
  },
)

/** Puts a config with the stored generation as the expected one, or with another. */
const put = command(
  'put',
  fc.record({
    ref,
    off: fc.constantFrom(0, 0, 0, 1, -1),
    changed: fc.constantFrom([], ['slots'], ['__proto__', 'slots']),
  }),
  async ({ ref: of, off, changed }, fixture, { backend }) => {
    const gen = fixture.store.fleet.find(of)?.config.gen ?? 0
    const item = {
      ...of,
      expectGen: Math.max(0, gen + off),
      config: `{"slots":${fixture.serial()}}`,
      changed,
      actor: 'admin',
    }
    same(await backend.configs.put(item), fixture.store.fleet.put(item))
  },
)

const raise = command(
  'raise',
  fc.record({ ref, by: fc.constantFrom(-1, 0, 7, 2_000_000) }),
  async ({ ref: of, by }, fixture, { backend }) => {
    const items = [{ ...of, above: Math.max(0, (fixture.store.fleet.find(of)?.config.gen ?? 0) + by) }]
    same(await backend.configs.raise(items), fixture.store.fleet.raise(items))
  },
)

const masterBeat = command('master beats', master, async (id, fixture, { backend }) => {
  fixture.store.fleet.masters.set(id, fixture.time.now)
  expect((await backend.meta.beat(id)).toSorted()).toEqual(MASTERS.filter((each) => fixture.store.fleet.lives(each)))
})

const read = command(
  'page, history and stats in part',
  fc.record({ ref, limit: fc.integer({ min: 1, max: 3 }), since: fc.nat(200) }),
  async ({ ref: of, limit, since }, fixture, { backend }) => {
    const { fleet } = fixture.store
    const worker = fleet.find(of)
    const isAfter = (id: string): boolean => Buffer.compare(Buffer.from(id), Buffer.from(of.id)) > 0
    const [page, history, stats] = await Promise.all([
      backend.workers.page(of.type, of.id, limit),
      backend.configs.history(of, limit),
      backend.stats.read(of, since, limit),
    ])
    same(
      { page, history, stats },
      {
        page: fleet
          .page(of.type)
          .filter(({ id }) => isAfter(id))
          .slice(0, limit),
        history: worker?.history.slice(0, limit) ?? [],
        stats:
          worker === undefined
            ? { kind: 'not_found' }
            : {
                kind: 'frames',
                frames: worker.frames
                  .slice(-240)
                  .filter((frame) => (JSON.parse(frame) as { ts: number }).ts >= since)
                  .slice(-limit),
              },
      },
    )
  },
)

/** Registers the worker that most task commands use. */
const enlist = command(
  'enlist',
  fc.record({ type: fc.constantFrom(...TYPES) }),
  async ({ type }, fixture, { backend }) => {
    const rules = rulesOf(fixture, { type })
    const conn = `m1/${fixture.serial()}`
    const items = [{ type, id: 'w1', conn, instance: '', hardware: HARDWARE, defaults: DEFAULTS, rules }]
    same(await backend.workers.register(items), fixture.store.fleet.register(items))
  },
)

/** The worker commands that affect tasks. */
export const crewCommands: AnyCommand[] = [enlist, enlist, enlist, enlist, drain]
export const fleetCommands: AnyCommand[] = [
  register,
  register,
  register,
  registerTwice,
  beat,
  beat,
  beat,
  disconnect,
  drain,
  drain,
  forget,
  manage,
  put,
  put,
  raise,
  ...bulkCommands,
  ...enrolmentCommands,
  ...rolloutCommands,
  ...rollupCommands,
  masterBeat,
  masterBeat,
  read,
]
