/**
 * Scenarios: what users do with a FleetWorker, and the expected result whatever fails meanwhile. `before` ends in sync;
 * `act` is a single step. The expected config is written out, not computed.
 */
import { CANARY, DEFAULT_CONFIG, type World } from './world.ts'

export interface Scenario {
  readonly name: string
  readonly before: (world: World) => void | Promise<void>
  readonly act: (world: World) => void | Promise<void>
  /** The next user action, while a fault lasts. */
  readonly next?: (world: World) => void | Promise<void>
  readonly end: {
    /** The config with secrets. `undefined`: the worker is not registered. */
    readonly config: Readonly<Record<string, unknown>> | undefined
    /** The condition Ready; `undefined`: the FleetWorker is deleted. */
    readonly ready: string | undefined
    /**
     * Nothing delays the deletion of the FleetWorker until its claim is released, so an operator that is killed may
     * leave the claim.
     */
    readonly mayLeaveClaim?: true
  }
  /** How much longer than the minute for faults the operator may take. */
  readonly latencyMs?: number
}

/** A Secret is polled once a minute. */
const POLL_MS = 61_000
const PASSWORD = `${CANARY}-1`
const NEXT_PASSWORD = `${CANARY}-2`
const SPEC = {
  config: { enabled: true, url: 'http://one', tags: ['a'] },
  slots: 3,
  configFrom: [{ field: 'api_key', secretKeyRef: { name: 'keys', key: 'api' } }],
}
const IN_FORCE = { ...DEFAULT_CONFIG, enabled: true, url: 'http://one', tags: ['a'], slots: 3, api_key: PASSWORD }
const READY = 'True Ready'

const withSecret = (world: World): void => world.secret('keys', { api: PASSWORD })
function created(world: World, more: object = {}): void {
  withSecret(world)
  world.create({ ...SPEC, ...more })
}

const create: Scenario = {
  name: 'create',
  end: { config: IN_FORCE, ready: READY },
  before: async (world) => {
    withSecret(world)
    await world.dashboard({ ratio: 0.9 })
  },
  act: (world) => world.create({ ...SPEC, deletionPolicy: 'Reset' }),
}

const edit: Scenario = {
  name: 'edit',
  end: { config: { ...DEFAULT_CONFIG, enabled: true, url: 'http://two', slots: 5 }, ready: READY },
  before: created,
  act: (world) =>
    world.edit({ config: { url: 'http://two', tags: null }, slots: 5, configFrom: null, deletionPolicy: 'Deregister' }),
}

const drift: Scenario = {
  name: 'drift',
  end: { config: IN_FORCE, ready: READY },
  before: created,
  act: async (world) => void (await world.dashboard({ url: 'http://alice', ratio: 0.9, api_key: 'hers' })),
}

const rotation: Scenario = {
  name: 'Secret rotation',
  end: { config: { ...IN_FORCE, api_key: NEXT_PASSWORD }, ready: READY },
  latencyMs: POLL_MS,
  before: created,
  act: (world) => world.secret('keys', { api: NEXT_PASSWORD }),
}

const deletion: Scenario = {
  name: 'delete',
  end: { config: DEFAULT_CONFIG, ready: undefined },
  before: (world) => created(world, { deletionPolicy: 'Reset' }),
  act: (world) => world.remove(),
}

const deregistration: Scenario = {
  name: 'delete and deregister',
  end: { config: undefined, ready: undefined },
  before: (world) => created(world, { deletionPolicy: 'Deregister' }),
  act: (world) => {
    world.leave()
    world.remove()
  },
}

const retention: Scenario = {
  name: 'delete and retain',
  end: { config: IN_FORCE, ready: undefined, mayLeaveClaim: true },
  before: created,
  act: (world) => world.remove(),
}

const scale: Scenario = {
  name: 'scale',
  end: { config: { ...IN_FORCE, slots: 9 }, ready: READY },
  before: created,
  act: (world) => world.edit({ slots: 9 }),
}

/** Another object with the same name and its own spec. */
const recreation: Scenario = {
  name: 'delete and re-create',
  end: { config: { ...DEFAULT_CONFIG, url: 'http://another', enabled: true }, ready: READY },
  before: (world) => world.create({ config: SPEC.config, slots: SPEC.slots }),
  act: (world) => {
    world.remove()
    world.create({ config: { url: 'http://another', enabled: true } })
  },
}

const resumption: Scenario = {
  name: 'resume',
  end: { config: { ...IN_FORCE, url: 'http://two' }, ready: READY },
  before: (world) => {
    created(world, { suspend: true })
    world.edit({ config: { url: 'http://two' } })
  },
  act: (world) => world.edit({ suspend: null }),
}

const suspension: Scenario = {
  name: 'suspend',
  end: { config: IN_FORCE, ready: 'True Suspended' },
  before: created,
  act: (world) => world.edit({ suspend: true, config: { url: 'http://two' } }),
}

const policyChange: Scenario = {
  name: 'from Warn to Enforce',
  end: { config: IN_FORCE, ready: READY },
  before: async (world) => {
    created(world, { managementPolicy: 'Warn' })
    await world.pass(5_000)
    await world.dashboard({ url: 'http://alice' })
  },
  act: (world) => world.edit({ managementPolicy: 'Enforce' }),
}

const newStore: Scenario = {
  name: 'another store of the master',
  end: { config: IN_FORCE, ready: READY },
  before: created,
  act: (world) => world.replaceMaster(),
}

const refusal: Scenario = {
  name: 'rejected by the master',
  end: { config: IN_FORCE, ready: 'False Rejected' },
  before: created,
  act: (world) => world.edit({ config: { ratio: 'not a number' } }),
}

const editAgain: Scenario = {
  ...edit,
  name: 'edit twice',
  end: { config: { ...DEFAULT_CONFIG, enabled: true, url: 'http://three', slots: 5 }, ready: READY },
  next: (world) => world.edit({ config: { url: 'http://three' } }),
}

/** The FleetWorker names a Secret and stops naming it before the write's result is known. */
const secretTakenBack: Scenario = {
  name: 'name a Secret, then remove it',
  end: { config: { ...DEFAULT_CONFIG, url: 'http://one' }, ready: READY },
  before: (world) => {
    withSecret(world)
    world.create({ config: { url: 'http://one' } })
  },
  act: (world) => world.edit({ configFrom: SPEC.configFrom }),
  next: (world) => world.edit({ configFrom: null }),
}

const recreateAfterEdit: Scenario = {
  ...recreation,
  name: 'edit, delete and re-create',
  act: (world) => world.edit({ config: { url: 'http://two' } }),
  next: recreation.act,
}

/** Scenarios in which the next user action overtakes a write. */
export const INTERRUPTED: readonly Scenario[] = [editAgain, secretTakenBack, recreateAfterEdit]

/** Scenarios that `make test` runs at every point; `make soak` runs all. */
export const FIRST: readonly Scenario[] = [create, edit, drift, rotation, deletion]
export const REST: readonly Scenario[] = [
  deregistration,
  retention,
  scale,
  recreation,
  resumption,
  suspension,
  policyChange,
  newStore,
  refusal,
]
export const RECREATION = recreation
