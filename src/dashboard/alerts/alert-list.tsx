/**
 * @module dashboard/alerts/alert-list
 * Lists the alerts that fire since when, and those that were resolved in the last 24 hours. What to do about a problem
 * stands in the attention list.
 */
import { PROBLEM_RANK, type ProblemKind } from '../../diagnosis/index.ts'
import type { Alert } from '../../protocol/index.ts'
import { cutText } from '../components/json-text.ts'
import { Age, Moment } from '../components/times.tsx'
import { toWorker } from '../diagnosis/links.ts'
import { linksOf } from '../diagnosis/attention.ts'
import { openAlerts } from './use-alerts.ts'

const SHOWN = 12
const SHOWN_CHARACTERS = 400

export function AlertList({ alerts }: { readonly alerts: readonly Alert[] }) {
  const open = openAlerts(alerts)
  const acknowledged = alerts.filter((each) => each.resolved_at === null && each.acknowledged)
  const resolved = alerts.filter((each) => each.resolved_at !== null)
  return (
    <section className="card" aria-labelledby="alerts-title">
      <h2 id="alerts-title">Alerts {open.length > 0 && <span className="count">{open.length}</span>}</h2>
      {open.length === 0 && <p className="soft">No alert fires.</p>}
      <AlertRows alerts={open} />
      <FoldedAlerts alerts={acknowledged} title={`${acknowledged.length} acknowledged`} />
      <FoldedAlerts alerts={resolved} title={`${resolved.length} resolved in the last 24 hours`} />
    </section>
  )
}

function FoldedAlerts({ alerts, title }: { readonly alerts: readonly Alert[]; readonly title: string }) {
  if (alerts.length === 0) return null
  return (
    <details className="acknowledged">
      <summary>{title}</summary>
      <AlertRows alerts={alerts} />
    </details>
  )
}

function AlertRows({ alerts }: { readonly alerts: readonly Alert[] }) {
  if (alerts.length === 0) return null
  return (
    <>
      <ul className="attention">
        {alerts.slice(0, SHOWN).map((alert) => (
          <AlertRow key={alert.id} alert={alert} />
        ))}
      </ul>
      {alerts.length > SHOWN && <p className="soft">and {alerts.length - SHOWN} more</p>}
    </>
  )
}

function AlertRow({ alert }: { readonly alert: Alert }) {
  const { subject, text, since, severity, resolved_at: resolvedAt } = alert
  const isBad = severity === 'critical'
  const tone = isBad ? 'bad' : 'warn'
  return (
    <li>
      <span className={resolvedAt === null ? tone : 'soft'} aria-hidden="true">
        {isBad ? '✗' : '▲'}
      </span>
      <div className="attention-text">
        <p className="attention-what">
          <a className="attention-subject" href={hrefOf(alert)}>
            <bdi>{subject}</bdi>
          </a>{' '}
          <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
        </p>
        <p className="soft">
          {resolvedAt === null ? (
            <>
              began <Age at={since} />
            </>
          ) : (
            <>
              <Moment at={since} />, resolved <Age at={resolvedAt} />
            </>
          )}
        </p>
      </div>
    </li>
  )
}

/** A subject `TYPE/WORKER` names one worker; that of a rollout names a set. */
function hrefOf({ kind, type, count, subject }: Alert): string {
  if (subject.startsWith(`${type}/`) && kind !== 'rollout') return toWorker(type, subject.slice(type.length + 1)).href
  const isKnown = PROBLEM_RANK.some((known) => known === kind) // A newer master may have further kinds.
  return isKnown ? linksOf({ kind: kind as ProblemKind, type, count, affected: [] }).link.href : '#/'
}
