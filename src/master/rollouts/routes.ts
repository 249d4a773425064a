/**
 * @module master/rollouts/routes
 * The routes of rollout reports. The operator stores a report for each set that it rolls out, so that the dashboard
 * shows it without access to Kubernetes. A report changes nothing but itself: no worker is written because of it.
 *
 * A report that is news (heads.ts) is also published as an event, after it was stored. A reader that misses the event
 * sees the report in the list.
 * @see D148
 */
import { Buffer } from 'node:buffer'
import {
  API_PREFIX,
  FleetError,
  invalid,
  isRevisionName,
  MAX_ROLLOUT_BYTES,
  MAX_ROLLOUTS,
  RolloutBody,
  RolloutRemovedBody,
  RolloutsBody,
  RolloutShown,
  toSeconds,
} from '../../protocol/index.ts'
import type { RolloutReport } from '../../storage/index.ts'
import { workersShown } from '../auth/index.ts'
import type { MasterDeps, Part } from '../deps.ts'
import { route, type HandlerResult, type Route, type RouteRequest } from '../http/index.ts'
import { headOf, headText } from './heads.ts'

const ROLLOUTS = `${API_PREFIX}/automations/{type}/rollouts`
const ROLLOUT = `${ROLLOUTS}/{rollout}`
/** In place of the phase, in the event about a removed report. */
const REMOVED = 'Removed'

type RolloutDeps = Pick<MasterDeps, 'backend' | 'clock' | 'log'>

const EXAMPLE = {
  set: { namespace: 'prod', name: 'crawlers', uid: '1a2b3c4d-5e6f-4a1b-8c2d-3e4f5a6b7c8d' },
  update_revision: '91bc02f7a1c4',
  current_revision: '7f3ac1d09b2e',
  attempt: 1,
  phase: 'Baking',
  stage: 2,
  stages: 3,
  limit: 24,
  since: 1_767_225_600,
  counts: {
    matched: 240,
    online: 237,
    updated: 24,
    acknowledged: 237,
    ready: 236,
    unavailable: 1,
    absent: 3,
    pending: 216,
    failed: 0,
    pinned: 0,
    conflicted: 0,
    cordoned: 0,
  },
  message: 'stage 2 of 3, baking: 24 of 240 workers updated, 237 acknowledged',
  next: { text: 'The stage is judged when its bake ends.' },
} satisfies RolloutBody

export function createRollouts(deps: RolloutDeps): Part {
  return { routes: [putRoute(deps), deleteRoute(deps), listRoute(deps)] }
}

function putRoute(deps: RolloutDeps): Route {
  return route({
    method: 'PUT',
    path: ROLLOUT,
    access: 'scoped',
    needs: 'configure',
    audit: 'rollout.put',
    summary: 'Stores the report of a rollout, for those who read it. It changes no worker.',
    body: RolloutBody,
    response: RolloutShown,
    example: EXAMPLE,
    handle: (request) => putReport(request, deps),
  })
}

function deleteRoute(deps: RolloutDeps): Route {
  return route({
    method: 'DELETE',
    path: ROLLOUT,
    access: 'scoped',
    needs: 'configure',
    audit: 'rollout.delete',
    summary: 'Removes the report of a rollout. It changes no worker.',
    response: RolloutRemovedBody,
    handle: async ({ entry: { type }, params }) => {
      const name = params['rollout'] ?? ''
      const head = await deps.backend.rollouts.remove(type, name)
      if (head === null) throw new FleetError('NOT_FOUND', `type ${type} has no rollout report ${JSON.stringify(name)}`)
      publish(deps, type, head, REMOVED)
      return { body: { rollout: name, removed: true } }
    },
  })
}

function listRoute({ backend }: RolloutDeps): Route {
  return route({
    method: 'GET',
    path: ROLLOUTS,
    access: 'scoped',
    needs: 'read',
    summary: 'The reports of the rollouts of a type, by name.',
    response: RolloutsBody,
    handle: async ({ entry: { type }, principal }) => {
      const reports = (await backend.rollouts.list(type)).map(shown)
      const shows = workersShown(principal)
      return {
        body: {
          rollouts: reports.map((each) => ({
            ...each,
            worst: each.worst.filter(({ worker }) => shows(type, worker)),
          })),
        },
      }
    },
  })
}

async function putReport(
  { entry: { type }, params, body }: RouteRequest<RolloutBody>,
  deps: RolloutDeps,
): Promise<HandlerResult> {
  const name = params['rollout'] ?? ''
  if (!isRevisionName(name)) {
    const message = 'must be 1 to 63 characters: a-z, 0-9, "_", "." and "-", the first one a letter or a digit'
    throw invalid('/rollout', message, 'name', {})
  }
  const text = JSON.stringify(body)
  const bytes = Buffer.byteLength(text)
  if (bytes > MAX_ROLLOUT_BYTES) {
    const message = `the report takes ${bytes} bytes, at most ${MAX_ROLLOUT_BYTES} are allowed`
    throw invalid('', message, 'maxBytes', { limit: MAX_ROLLOUT_BYTES })
  }
  const report = { name, head: headText(body), body: text, reportedAtMs: deps.clock.wallMs() }
  const result = await deps.backend.rollouts.put(type, report)
  if (result === 'full') {
    const message = `type ${type} has ${MAX_ROLLOUTS} rollout reports, its maximum; delete one first`
    throw invalid('/rollout', message, 'maxItems', { limit: MAX_ROLLOUTS })
  }
  if (result === 'changed') publish(deps, type, report.head, body.phase)
  return { body: shown(report), audit: { count: result === 'changed' ? 1 : 0 } }
}

/** Publishing never delays or fails the change, which is already stored. */
function publish({ backend, clock, log }: RolloutDeps, type: string, head: string, phase: string): void {
  const { revision, set, stage } = headOf(head)
  const name = 'rollout.changed'
  const data = JSON.stringify({ type, ts: toSeconds(clock.wallMs()), set, revision, phase, stage })
  backend.events
    .append([{ name, scope: type, data }])
    .catch((error: unknown) => log.warn('failed to write an event to the event log', { error, event: name }))
}

/** Adds the fields that the report leaves out. */
function shown({ name, body, reportedAtMs }: RolloutReport): RolloutShown {
  const report = JSON.parse(body) as RolloutBody
  return {
    rollout: name,
    reported_at: toSeconds(reportedAtMs),
    set: report.set,
    managed_by: report.managed_by ?? null,
    update_revision: report.update_revision,
    current_revision: report.current_revision ?? null,
    attempt: report.attempt,
    cause: report.cause ?? null,
    phase: report.phase,
    paused: report.paused ?? false,
    held: report.held ?? false,
    stage: report.stage,
    stages: report.stages,
    stage_list: report.stage_list ?? [],
    limit: report.limit ?? null,
    started_at: report.started_at ?? null,
    since: report.since,
    counts: report.counts,
    gates: (report.gates ?? []).map((gate) => ({
      name: gate.name,
      verdict: gate.verdict,
      updated: gate.updated ?? null,
      current: gate.current ?? null,
      allowed: gate.allowed ?? null,
      updated_runs: gate.updated_runs ?? null,
      current_runs: gate.current_runs ?? null,
      message: gate.message ?? null,
    })),
    worst: report.worst ?? [],
    changed_fields: report.changed_fields ?? [],
    failed: (report.failed ?? []).map(({ revision, attempts, failed_at, stage, gate, message }) => ({
      revision,
      attempts: attempts ?? null,
      failed_at,
      stage: stage ?? null,
      gate: gate ?? null,
      message,
    })),
    message: report.message,
    next: { text: report.next.text, command: report.next.command ?? null },
  }
}
