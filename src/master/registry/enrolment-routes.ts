/**
 * @module master/registry/enrolment-routes
 * The routes of enrolment rules. A rule gives a revision to workers that register for the first time, so that a worker
 * works without a call that configures it. enrolment-chooser.ts applies the rules.
 * @see D141
 */
import {
  API_PREFIX,
  EnrolmentBody,
  EnrolmentRemovedBody,
  EnrolmentsBody,
  EnrolmentShown,
  FleetError,
  invalid,
  isRevisionName,
  maskSecrets,
  MAX_ENROLMENTS,
  pointerStep,
  pointerSteps,
  SECRET_MASK,
  secretValues,
  type FieldError,
  type JsonObject,
  type Permission,
} from '../../protocol/index.ts'
import type { CatalogEntry } from '../../automation/index.ts'
import type { Backend, EnrolmentRule } from '../../storage/index.ts'
import type { MasterDeps } from '../deps.ts'
import { mayAccessPattern, workerFilter, type Principal } from '../auth/index.ts'
import { route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import { unknownRevision } from './bulk-change.ts'
import { below, variantOf } from './bulk-routes.ts'
import { forbiddenFaults } from './config-faults.ts'
import { enrolledConfig, ruleBodyText, type RuleBody } from './enrolled-config.ts'

const ENROLMENTS = `${API_PREFIX}/automations/{type}/enrolments`
const ENROLMENT = `${ENROLMENTS}/{enrolment}`

export function enrolmentRoutes({ backend }: Pick<MasterDeps, 'backend'>): readonly Route[] {
  return [
    route({
      method: 'PUT',
      path: ENROLMENT,
      access: 'scoped',
      needs: 'configure',
      audit: 'enrolment.put',
      summary: 'Stores a rule: workers that register for the first time, and that it selects, get its revision.',
      body: EnrolmentBody,
      response: EnrolmentShown,
      example: { id_patterns: ['worker-*'], match_labels: { zone: 'eu-1' }, revision: '2026-11-limits' },
      handle: (request) => putRule(request, backend),
    }),
    route({
      method: 'DELETE',
      path: ENROLMENT,
      access: 'scoped',
      needs: 'configure',
      audit: 'enrolment.delete',
      summary: 'Removes a rule. Workers that it enrolled keep their configs.',
      response: EnrolmentRemovedBody,
      handle: async ({ entry, params, principal }) => {
        const name = params['enrolment'] ?? ''
        await requireStoredRule({ principal, entry, name }, backend)
        if (!(await backend.enrolments.remove(entry.type, name))) throw unknownRule(entry, name)
        return { body: { enrolment: name, removed: true } }
      },
    }),
    route({
      method: 'GET',
      path: ENROLMENTS,
      access: 'scoped',
      needs: 'read',
      summary: 'The enrolment rules of a type, in the order in which they are tried: by name.',
      response: EnrolmentsBody,
      handle: async ({ entry, principal }) => {
        const { rules } = await backend.enrolments.list(entry.type)
        const visible = rules.filter((rule) => coversRule(principal, 'read', entry, patternsIn(rule)))
        return { body: { enrolments: visible.map((rule) => shown(rule, entry)) } }
      },
    }),
  ]
}

async function putRule(
  { entry, params, body, principal }: RouteRequest<EnrolmentBody>,
  { revisions, enrolments }: Pick<Backend, 'revisions' | 'enrolments'>,
): Promise<HandlerResult> {
  const name = params['enrolment'] ?? ''
  const { revision } = body
  const parts: RuleBody = {
    id_patterns: body.id_patterns ?? [],
    match_labels: body.match_labels ?? {},
    patch: (body.patch ?? {}) as JsonObject,
  }
  requireRule(principal, entry, parts.id_patterns)
  await requireStoredRule({ principal, entry, name }, { enrolments })
  const faults = ruleFaults(name, parts, entry)
  if (faults.length > 0) throw new FleetError('INVALID', faults)
  const [fields] = await revisions.get(entry.type, [revision])
  if (fields === null || fields === undefined) throw unknownRevision({ revision, entry })
  const config = enrolledConfig(entry, JSON.parse(fields) as JsonObject, parts.patch)
  if (typeof config !== 'string') throw new FleetError('INVALID', config.map(placed(parts.patch)))
  const rule = {
    name,
    revision,
    variant: body.variant ?? variantOf(parts.patch, [], entry),
    managedBy: body.managed_by ?? null,
    body: ruleBodyText(parts),
  }
  const result = await enrolments.put(entry.type, rule)
  if (result === 'unknown_revision') throw unknownRevision({ revision, entry })
  if (result === 'full') {
    const message = `type ${entry.type} has ${MAX_ENROLMENTS} enrolment rules, its maximum; delete one first`
    throw invalid('/enrolment', message, 'maxItems', { limit: MAX_ENROLMENTS })
  }
  // Whether a rule with secrets was equal to the stored one would show whether a guessed secret is right (D89).
  const hasSecrets = secretValues(parts.patch, entry.secrets).length > 0
  return { body: shown(rule, entry), audit: { count: result === 'stored' || hasSecrets ? 1 : 0 } }
}

/** Whether the principal covers every worker that a rule can select; without patterns it selects any. */
function coversRule(
  principal: Principal,
  permission: Permission,
  { type }: CatalogEntry,
  patterns: readonly string[],
): boolean {
  if (workerFilter(principal, permission, type) === null) return true
  return patterns.length > 0 && patterns.every((pattern) => mayAccessPattern(principal, permission, type, pattern))
}

const patternsIn = ({ body }: EnrolmentRule): readonly string[] => (JSON.parse(body) as RuleBody).id_patterns

/** @throws {FleetError} FORBIDDEN for the stored rule of this name, if it selects workers that are not covered. */
async function requireStoredRule(
  { principal, entry, name }: { principal: Principal; entry: CatalogEntry; name: string },
  { enrolments }: Pick<Backend, 'enrolments'>,
): Promise<void> {
  if (workerFilter(principal, 'configure', entry.type) === null) return
  const stored = (await enrolments.list(entry.type)).rules.find((rule) => rule.name === name)
  if (stored !== undefined) requireRule(principal, entry, patternsIn(stored))
}

function requireRule(principal: Principal, entry: CatalogEntry, patterns: readonly string[]): void {
  if (coversRule(principal, 'configure', entry, patterns)) return
  throw new FleetError(
    'FORBIDDEN',
    'this token is limited to some workers; name id_patterns that can only match these workers',
  )
}

function ruleFaults(name: string, { id_patterns, match_labels, patch }: RuleBody, entry: CatalogEntry) {
  const faults: FieldError[] = []
  if (!isRevisionName(name)) {
    const message = 'must be 1 to 63 characters: a-z, 0-9, "_", "." and "-", the first one a letter or a digit'
    faults.push({ path: '/enrolment', message, keyword: 'name', params: {} })
  }
  if (id_patterns.length === 0 && Object.keys(match_labels).length === 0) {
    const message = 'selects every worker; name id_patterns or match_labels, for example {"id_patterns": ["*"]}'
    faults.push({ path: '', message, keyword: 'required', params: {} })
  }
  faults.push(...forbiddenFaults(patch, entry).map(below('/patch')))
  for (const path of entry.secrets) {
    if (secretValues(patch, [path])[0] !== SECRET_MASK) continue
    const message = 'is masked; a rule contains its secrets. To use that of the revision, leave it out'
    faults.push({ path: `/patch${path.map(pointerStep).join('')}`, message, keyword: 'masked', params: {} })
  }
  return faults
}

/** A fault of a field that the patch does not have is one of the revision, which another schema accepted. */
const placed =
  (patch: JsonObject) =>
  (fault: FieldError): FieldError =>
    fault.path === '' || Object.hasOwn(patch, pointerSteps(fault.path)[0] ?? '')
      ? below('/patch')(fault)
      : { ...fault, path: '/revision', message: `${fault.path} ${fault.message}` }

function shown({ name, revision, variant, managedBy, body }: EnrolmentRule, entry: CatalogEntry): EnrolmentShown {
  const { id_patterns, match_labels, patch } = JSON.parse(body) as RuleBody
  return {
    enrolment: name,
    id_patterns: [...id_patterns],
    match_labels,
    revision,
    patch: maskSecrets(patch, entry.secrets),
    variant,
    managed_by: managedBy,
  }
}

function unknownRule({ type }: CatalogEntry, name: string): FleetError {
  return new FleetError('NOT_FOUND', `type ${type} has no enrolment rule ${JSON.stringify(name)}`)
}
