/**
 * Scenarios: what users do with a FleetWorker, and the expected result whatever fails meanwhile. `before` ends in sync;
 * `act` is a single step. The expected config is written out, not computed.
 */
import { CANARY, DEFAULT_CONFIG, type FaultFixture } from './fixture.ts'

export interface Scenario {
  readonly name: string
  readonly before: (fixture: FaultFixture) => void | Promise<void>
  readonly act: (fixture: FaultFixture) => void | Promise<void>
  /** The next user action, while a fault lasts. */
  readonly next?: (fixture: FaultFixture) => void | Promise<void>
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

const withSecret = (fixture: FaultFixture): void => fixture.secret('keys', { api: PASSWORD })
function created(fixture: FaultFixture, more: object = {}): void {
  withSecret(fixture)
  fixture.create({ ...SPEC, ...more })
}

const create: Scenario = {
  name: 'create',
  end: { config: IN_FORCE, ready: READY },
  before: async (fixture) => {
    withSecret(fixture)
    await fixture.dashboard({ ratio: 0.9 })
  },
  act: (fixture) => fixture.create({ ...SPEC, deletionPolicy: 'Reset' }),
}

const edit: Scenario = {
  name: 'edit',
  end: { config: { ...DEFAULT_CONFIG, enabled: true, url: 'http://two', slots: 5 }, ready: READY },
  before: created,
  act: (fixture) =>
    fixture.edit({
      config: { url: 'http://two', tags: null },
      slots: 5,
      configFrom: null,
      deletionPolicy: 'Deregister',
    }),
}

const drift: Scenario = {
  name: 'drift',
  end: { config: IN_FORCE, ready: READY },
  before: created,
  act: async (fixture) => void (await fixture.dashboard({ url: 'http://alice', ratio: 0.9, api_key: 'hers' })),
}

const rotation: Scenario = {
  name: 'Secret rotation',
  end: { config: { ...IN_FORCE, api_key: NEXT_PASSWORD }, ready: READY },
  latencyMs: POLL_MS,
  before: created,
  act: (fixture) => fixture.secret('keys', { api: NEXT_PASSWORD }),
}

const deletion: Scenario = {
  name: 'delete',
  end: { config: DEFAULT_CONFIG, ready: undefined },
  before: (fixture) => created(fixture, { deletionPolicy: 'Reset' }),
  act: (fixture) => fixture.remove(),
}

const deregistration: Scenario = {
  name: 'delete and deregister',
  end: { config: undefined, ready: undefined },
  before: (fixture) => created(fixture, { deletionPolicy: 'Deregister' }),
  act: (fixture) => {
    fixture.leave()
    fixture.remove()
  },
}

const retention: Scenario = {
  name: 'delete and retain',
  end: { config: IN_FORCE, ready: undefined, mayLeaveClaim: true },
  before: created,
  act: (fixture) => fixture.remove(),
}

const scale: Scenario = {
  name: 'scale',
  end: { config: { ...IN_FORCE, slots: 9 }, ready: READY },
  before: created,
  act: (fixture) => fixture.edit({ slots: 9 }),
}

/** Another object with the same name and its own spec. */
const recreation: Scenario = {
  name: 'delete and re-create',
  end: { config: { ...DEFAULT_CONFIG, url: 'http://another', enabled: true }, ready: READY },
  before: (fixture) => fixture.create({ config: SPEC.config, slots: SPEC.slots }),
  act: (fixture) => {
    fixture.remove()
    fixture.create({ config: { url: 'http://another', enabled: true } })
  },
}

const resumption: Scenario = {
  name: 'resume',
  end: { config: { ...IN_FORCE, url: 'http://two' }, ready: READY },
  before: (fixture) => {
    created(fixture, { suspend: true })
    fixture.edit({ config: { url: 'http://two' } })
  },
  act: (fixture) => fixture.edit({ suspend: null }),
}

const suspension: Scenario = {
  name: 'suspend',
  end: { config: IN_FORCE, ready: 'True Suspended' },
  before: created,
  act: (fixture) => fixture.edit({ suspend: true, config: { url: 'http://two' } }),
}

const policyChange: Scenario = {
  name: 'from Warn to Enforce',
  end: { config: IN_FORCE, ready: READY },
  before: async (fixture) => {
    created(fixture, { managementPolicy: 'Warn' })
    await fixture.pass(5_000)
    await fixture.dashboard({ url: 'http://alice' })
  },
  act: (fixture) => fixture.edit({ managementPolicy: 'Enforce' }),
}

const newStore: Scenario = {
  name: 'another store of the master',
  end: { config: IN_FORCE, ready: READY },
  before: created,
  act: (fixture) => fixture.replaceMaster(),
}

const refusal: Scenario = {
  name: 'rejected by the master',
  end: { config: IN_FORCE, ready: 'False Rejected' },
  before: created,
  act: (fixture) => fixture.edit({ config: { ratio: 'not a number' } }),
}

const editAgain: Scenario = {
  ...edit,
  name: 'edit twice',
  end: { config: { ...DEFAULT_CONFIG, enabled: true, url: 'http://three', slots: 5 }, ready: READY },
  next: (fixture) => fixture.edit({ config: { url: 'http://three' } }),
}

/** The FleetWorker names a Secret and stops naming it before the write's result is known. */
const secretTakenBack: Scenario = {
  name: 'name a Secret, then remove it',
  end: { config: { ...DEFAULT_CONFIG, url: 'http://one' }, ready: READY },
  before: (fixture) => {
    withSecret(fixture)
    fixture.create({ config: { url: 'http://one' } })
  },
  act: (fixture) => fixture.edit({ configFrom: SPEC.configFrom }),
  next: (fixture) => fixture.edit({ configFrom: null }),
}

const recreateAfterEdit: Scenario = {
  ...recreation,
  name: 'edit, delete and re-create',
  act: (fixture) => fixture.edit({ config: { url: 'http://two' } }),
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
