/** Commands on enrolment rules, and registers that use them. */
import { expect } from '@jest/globals'
import fc from 'fast-check'
import type { Backend, EnrolmentRule } from '../../../src/storage/index.ts'
import { command } from './command.ts'
import type { AnyCommand } from './command.ts'
import { REVISIONS, TYPES, WORKERS, same } from './fixture.ts'
import type { ModelFixture } from './fixture.ts'

const type = fc.constantFrom(...TYPES)
const RULES = ['e1', '__proto__', `{'"\\:/`] as const

/** Takes over the new version, which no earlier one of the type equals. */
async function takeVersion(of: string, { store, versions }: ModelFixture, backend: Backend): Promise<void> {
  const { version } = await backend.enrolments.list(of)
  const key = JSON.stringify([of, version])
  expect(versions.has(key)).toBe(false)
  versions.add(key)
  store.fleet.enrolments.changed(of, version)
}

const putRule = command(
  'put enrolment rule',
  fc.record({
    type,
    name: fc.constantFrom(...RULES),
    revision: fc.constantFrom(...REVISIONS, REVISIONS[0]),
    variant: fc.constantFrom('-', 'v:2'),
    managedBy: fc.option(fc.constantFrom('kubernetes:a/b', 'me:%3a')),
    body: fc.constantFrom('{}', '{"patch":{}}'),
  }),
  async ({ type: of, ...rule }, fixture, { backend }) => {
    const result = await backend.enrolments.put(of, rule)
    same(result, fixture.store.fleet.enrolments.put(of, rule))
    if (result === 'stored') await takeVersion(of, fixture, backend)
  },
)

/** Puts one of the stored rules again. */
const repeatRule = command('repeat enrolment rule', fc.record({ type, at: fc.nat(2) }), async (args, fixture, real) => {
  const { rules } = fixture.store.fleet.enrolments.list(args.type)
  const rule = rules[args.at % Math.max(1, rules.length)]
  if (rule !== undefined) same(await real.backend.enrolments.put(args.type, rule), 'unchanged')
})

const removeRule = command(
  'remove enrolment rule',
  fc.record({ type, name: fc.constantFrom(...RULES) }),
  async ({ type: of, name }, fixture, { backend }) => {
    const removed = await backend.enrolments.remove(of, name)
    same(removed, fixture.store.fleet.enrolments.remove(of, name))
    if (removed) await takeVersion(of, fixture, backend)
  },
)

/** Registers by one of the stored rules, rarely by rules that were replaced. */
const enrol = command(
  'register by a rule',
  fc.record({
    type,
    id: fc.constantFrom(...WORKERS),
    at: fc.nat(2),
    isStale: fc.constantFrom(false, false, false, true),
  }),
  async ({ type: of, id, at, isStale }, fixture, { backend }) => {
    const { version, rules } = fixture.store.fleet.enrolments.list(of)
    const rule: EnrolmentRule | undefined = rules[at % Math.max(1, rules.length)]
    const { revision, variant, managedBy } = rule ?? {}
    const item = {
      type: of,
      id,
      conn: `m1/${fixture.serial()}`,
      instance: 'i1',
      hardware: '{}',
      defaults: `{"slots":${fixture.serial()}}`,
      rules: isStale ? 'stale' : version,
      ...(revision !== undefined && { enrolment: { revision, variant: variant ?? '-', managedBy: managedBy ?? null } }),
    }
    same(await backend.workers.register([item]), fixture.store.fleet.register([item]))
  },
)

export const enrolmentCommands: AnyCommand[] = [putRule, putRule, repeatRule, removeRule, enrol, enrol]
