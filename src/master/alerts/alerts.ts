/**
 * @module master/alerts/alerts
 * Makes alerts of the problems of the fleet, and serves them. The leader evaluates the fleet every 10 s and stores the
 * alerts; every master serves them from the store.
 * @see D200
 */
import { Gauge } from 'prom-client'
import { coversProblem, keyOf, type ProblemKind } from '../../diagnosis/index.ts'
import { AlertsBody, API_PREFIX, toSeconds, type Acknowledgement, type Alert } from '../../protocol/index.ts'
import { LogThrottle } from '../../runtime/index.ts'
import { readAcknowledgements } from '../acknowledgements/index.ts'
import { covers, workersShown } from '../auth/index.ts'
import type { AlertSettings, MasterDeps, Part } from '../deps.ts'
import { route, type Route } from '../http/index.ts'
import type { MasterMembership } from '../master-membership.ts'
import { AlertTracker } from './alert-tracker.ts'
import { ProblemFinder, type FinderDeps } from './find-problems.ts'
import { AlertStore, type StoredAlert } from './stored-alert.ts'
import type { Notification } from './webhook-body.ts'
import { Webhook } from './webhook.ts'

export interface AlertsDeps extends MasterDeps, Omit<FinderDeps, 'backend' | 'clock'> {
  readonly masters: Pick<MasterMembership, 'isLeader'>
}

/** The kinds of problems that workers have. */
const WORKER_KINDS: ReadonlySet<string> = new Set<ProblemKind>(['error', 'failing', 'offline', 'behind'])
const EVALUATED_EVERY_MS = 10_000
const DEFAULTS: AlertSettings = { afterSeconds: 30, webhook: null }

export function createAlerts(deps: AlertsDeps): Part {
  const store = new AlertStore(deps.backend.rollouts, [...deps.catalog.keys()])
  const evaluation = new AlertEvaluation(deps, store)
  return {
    routes: [alertsRoute(deps, store)],
    start: () => evaluation.start(),
    stop: () => evaluation.stop(),
  }
}

function alertsRoute({ backend, catalog, clock }: AlertsDeps, store: AlertStore): Route {
  return route({
    method: 'GET',
    path: `${API_PREFIX}/alerts`,
    access: 'scoped',
    needs: 'read',
    summary: 'The firing alerts, and those resolved in the last 24 hours, of each type that the token covers.',
    response: AlertsBody,
    handle: async ({ principal }) => {
      const types = [...catalog.keys()].filter((type) => covers(principal, type))
      const nowSeconds = toSeconds(clock.wallMs())
      const [stored, acknowledgements] = await Promise.all([
        store.read(types),
        readAcknowledgements(backend, types, nowSeconds),
      ])
      const shows = workersShown(principal)
      const alerts = stored
        .filter((alert) => isShown(alert, shows))
        .map((alert): Alert => {
          const { mark: _mark, sent: _sent, updated_at: _updated, ...shown } = alert
          return { ...shown, acknowledged: isAcknowledged(alert, acknowledgements, nowSeconds) }
        })
      return { body: { alerts: alerts.toSorted(firingFirst) } }
    },
  })
}

/** Alerts about several workers count them all, so a token with a list of workers only sees those about one of its. */
function isShown({ kind, type, subject }: StoredAlert, shows: (type: string, id: string) => boolean): boolean {
  if (!WORKER_KINDS.has(kind)) return true
  return shows(type, subject.startsWith(`${type}/`) ? subject.slice(type.length + 1) : '')
}

function firingFirst(a: Alert, b: Alert): number {
  if ((a.resolved_at === null) !== (b.resolved_at === null)) return a.resolved_at === null ? -1 : 1
  return (b.resolved_at ?? b.fired_at) - (a.resolved_at ?? a.fired_at)
}

function isAcknowledged(
  { kind, count, mark, ...alert }: StoredAlert,
  acknowledgements: readonly Acknowledgement[],
  nowSeconds: number,
): boolean {
  const found = acknowledgements.find((each) => keyOf(each) === keyOf(alert))
  return found !== undefined && coversProblem(found, { kind: kind as ProblemKind, count, mark }, nowSeconds)
}

/** Evaluates the fleet while this master is the leader. */
class AlertEvaluation {
  readonly #deps: AlertsDeps
  readonly #store: AlertStore
  readonly #settings: AlertSettings
  readonly #webhook: Webhook | null
  readonly #logThrottle: LogThrottle
  readonly #firing: Gauge<'automation_type' | 'severity'>
  #term: { readonly finder: ProblemFinder; readonly tracker: AlertTracker } | null = null
  #isEvaluating = false
  /** Ends when the last change of stored alerts is written: changes read and write, so they run one by one. */
  #changes: Promise<unknown> = Promise.resolve()
  #cancel = (): void => {}

  constructor(deps: AlertsDeps, store: AlertStore) {
    this.#deps = deps
    this.#store = store
    this.#settings = deps.settings.alerts ?? DEFAULTS
    this.#logThrottle = new LogThrottle(deps.clock)
    this.#firing = new Gauge({
      name: 'svc_alerts_firing',
      help: 'Firing alerts by type and severity, at the leader.',
      labelNames: ['automation_type', 'severity'],
      registers: [deps.metrics],
    })
    const { webhook } = this.#settings
    this.#webhook =
      webhook === null
        ? null
        : new Webhook(
            {
              ...deps,
              isLeader: () => deps.masters.isLeader(),
              pending: () => this.#pending(),
              onSent: (sent) => this.#markSent(sent),
            },
            webhook,
          )
  }

  start(): void {
    const afterMs = 1_000 * this.#settings.afterSeconds
    const everyMs = Math.min(EVALUATED_EVERY_MS, Math.max(1_000, afterMs / 3))
    this.#cancel = this.#deps.timers.every(everyMs, () => void this.#evaluate())
  }

  async stop(): Promise<void> {
    this.#cancel()
    await this.#webhook?.stop()
    await this.#changes
  }

  async #evaluate(): Promise<void> {
    if (this.#isEvaluating) return
    if (!this.#deps.masters.isLeader()) {
      this.#term = null
      this.#firing.reset()
      return
    }
    this.#term ??= {
      finder: new ProblemFinder(this.#deps),
      tracker: new AlertTracker(1_000 * this.#settings.afterSeconds),
    }
    const { finder, tracker } = this.#term
    this.#isEvaluating = true
    try {
      const problems = await finder.find()
      await this.#change(async () => {
        if (!this.#deps.masters.isLeader()) return
        const stored = await this.#store.read()
        const { changed, expired } = tracker.update(stored, problems, this.#deps.clock.wallMs())
        for (const alert of expired) await this.#store.remove(alert)
        for (const alert of changed) await this.#put(alert)
        this.#count(stored, changed)
      })
      this.#webhook?.flush()
    } catch (error) {
      this.#logThrottle.run('evaluate', (suppressed) =>
        this.#deps.log.warn('failed to evaluate the alerts; they are evaluated again within 10 s', {
          error,
          suppressed,
        }),
      )
    } finally {
      this.#isEvaluating = false
    }
  }

  #change(run: () => Promise<void>): Promise<void> {
    const change = this.#changes.then(run)
    this.#changes = change.catch(() => {}) // The caller handles the error.
    return change
  }

  async #put(alert: StoredAlert): Promise<void> {
    if (await this.#store.put(alert)) return
    this.#logThrottle.run(`full ${alert.type}`, (suppressed) =>
      this.#deps.log.warn('the type has too many alerts; one is not stored', { type: alert.type, suppressed }),
    )
  }

  #count(stored: readonly StoredAlert[], changed: readonly StoredAlert[]): void {
    this.#firing.reset()
    const byId = new Map([...stored, ...changed].map((alert) => [alert.id, alert]))
    for (const { type, severity, resolved_at: at } of byId.values())
      if (at === null) this.#firing.inc({ automation_type: type, severity })
  }

  /** What the receiver does not know: alerts that fire and are not acknowledged, and the end of those that it knows. */
  async #pending(): Promise<readonly Notification[]> {
    const { backend, catalog, clock } = this.#deps
    const nowSeconds = toSeconds(clock.wallMs())
    const [stored, acknowledgements] = await Promise.all([
      this.#store.read(),
      readAcknowledgements(backend, [...catalog.keys()], nowSeconds),
    ])
    return stored
      .flatMap((alert): readonly Notification[] => {
        if (alert.resolved_at !== null) return alert.sent === 'firing' ? [{ alert, status: 'resolved' }] : []
        const isNews = alert.sent === null && !isAcknowledged(alert, acknowledgements, nowSeconds)
        return isNews ? [{ alert, status: 'firing' }] : []
      })
      .toSorted((a, b) => a.alert.updated_at - b.alert.updated_at)
  }

  #markSent(sent: readonly Notification[]): Promise<void> {
    const statusOf = new Map(sent.map(({ alert, status }) => [alert.id, status]))
    return this.#change(async () => {
      for (const alert of await this.#store.read()) {
        const status = statusOf.get(alert.id)
        if (status !== undefined && alert.sent !== status) await this.#store.put({ ...alert, sent: status })
      }
    })
  }
}
