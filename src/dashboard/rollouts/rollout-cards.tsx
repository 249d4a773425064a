/**
 * @module dashboard/rollouts/rollout-cards
 * Shows the rollouts of an automation type, from the reports of the operator (D148): those that need a person first,
 * complete ones as one line each, and nothing if there are none. There is no button to approve, because that needs the
 * rights of Kubernetes; the card shows the command instead.
 */
import type { ReactNode } from 'react'
import type { RevisionsBody, RolloutsBody, RolloutShown } from '../../protocol/index.ts'
import { useRead } from '../api/queries.ts'
import { spanText } from '../components/age.ts'
import { useAnnouncement } from '../components/announcements.tsx'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { CopyButton } from '../components/copy-as.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { Age, Duration, Moment } from '../components/times.tsx'
import { useServerNow } from '../components/use-now.ts'
import { formatRoute } from '../route.ts'
import { useWorkersOf } from '../workers/use-workers.ts'
import { standingOf, type Standing } from '../../diagnosis/index.ts'
import {
  byUrgency,
  causeText,
  countsText,
  gateName,
  gateValue,
  failureOf,
  hasEnded,
  membersOf,
  reasonText,
  shortRevision,
  staleSeconds,
  usersOf,
  verdictOf,
} from './texts.ts'

const EVERY_MS = 5_000
const SHOWN_WORKERS = 5

type Stored = RevisionsBody['revisions'] | undefined

interface CardProps {
  readonly type: string
  readonly report: RolloutShown
  readonly stored: Stored
}

export function RolloutCards({ type }: { readonly type: string }) {
  const read = useRead(
    ['rollouts', type],
    EVERY_MS,
    async (api, signal) => (await api.get<RolloutsBody>(['automations', type, 'rollouts'], {}, signal)).body.rollouts,
  )
  const { data: reports = [], problem } = read
  const { data: stored } = useRead(
    ['revisions', type],
    EVERY_MS,
    async (api, signal) =>
      (await api.get<RevisionsBody>(['automations', type, 'revisions'], {}, signal)).body.revisions,
    { enabled: reports.length > 0 },
  )
  const complete = reports.filter(({ phase }) => phase === 'Complete')
  return (
    <>
      {problem !== undefined && <ReadState read={read} />}
      <div className={problem === undefined ? undefined : 'stale'}>
        {byUrgency(reports)
          .filter((report) => !complete.includes(report))
          .map((report) => (
            <RolloutCard key={report.rollout} type={type} report={report} stored={stored} />
          ))}
        {complete.length > 0 && (
          <section className="card" aria-label="Complete rollouts">
            <h2>Complete rollouts</h2>
            <ul>
              {complete.map((report) => (
                <li key={report.rollout}>
                  <SetName report={report} />: all {plural(membersOf(report), 'worker')} {has(membersOf(report))}{' '}
                  revision <Revision type={type} name={report.update_revision} />, complete{' '}
                  <Duration since={report.since} />
                </li>
              ))}
            </ul>
          </section>
        )}
      </div>
    </>
  )
}

function SetName({ report: { set } }: { readonly report: RolloutShown }) {
  return (
    <>
      <bdi>{set.name}</bdi> <span className="soft">in {set.namespace}</span>
    </>
  )
}

const has = (count: number): string => (count === 1 ? 'has' : 'have')

/** A revision, as a link to its workers. */
function Revision({ type, name, children }: { type: string; name: string; children?: ReactNode }) {
  return (
    <a href={formatRoute({ page: 'workers', q: `type:${type} revision:${name}` })} title={name}>
      {children}
      <code>{shortRevision(name)}</code>
    </a>
  )
}

function RolloutCard(props: CardProps) {
  const { report } = props
  const { next, set, stage, stages } = report
  const { tone, mark, word, clause } = standingOf(report)
  useAnnouncement(`rollout ${report.rollout}`, `The rollout of ${set.name} ${clause} in stage ${stage} of ${stages}.`)
  return (
    <section className="card" aria-label={`Rollout of ${set.name}`}>
      <h2>
        Rollout of <SetName report={report} />
        <span className="count">
          <Badge tone={tone} mark={mark} word={word} />
        </span>
      </h2>
      <Headline {...props} />
      <StaleReport report={report} />
      <dl className="keys">
        <Line name="Now">
          <bdi>{report.message}</bdi>
        </Line>
        <Line name="Next">
          <bdi>{next.text}</bdi>
          {next.command !== null && (
            <div className="title">
              <code>
                <bdi>{next.command}</bdi>
              </code>
              <CopyButton text={next.command} />
            </div>
          )}
        </Line>
        <Progress {...props} />
        <Failure report={report} />
      </dl>
      <Gates report={report} />
      <dl className="keys">
        <ChangedFields {...props} />
        <Worst {...props} />
      </dl>
    </section>
  )
}

function Badge({ tone, mark, word }: Pick<Standing, 'tone' | 'mark' | 'word'>) {
  return (
    <span className={`badge ${tone}`}>
      <span aria-hidden="true">{mark}</span> {word}
    </span>
  )
}

function Line({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Headline({ type, report }: CardProps) {
  const { attempt, current_revision: current, started_at: startedAt, update_revision: update } = report
  return (
    <p>
      <Revision type={type} name={update} />
      {current !== null && (
        <>
          {' '}
          replaces <Revision type={type} name={current} />
        </>
      )}
      {startedAt !== null && (
        <>
          , started <Age at={startedAt} />
          {causeText(report)}
        </>
      )}
      {attempt > 1 && `, attempt ${attempt}`}
    </p>
  )
}

function StaleReport({ report }: { readonly report: RolloutShown }) {
  const seconds = staleSeconds(report, useServerNow())
  if (seconds === undefined) return null
  return (
    <p className="notice">
      Operator report is {spanText(seconds)} old. Check that an operator runs; only the numbers of workers by revision
      are current.
    </p>
  )
}

function Progress({ type, report, stored }: CardProps) {
  const { current_revision: current, held, limit, since, stage, stages, update_revision: update } = report
  const updated = usersOf(stored, update) ?? report.counts.updated
  const others = current === null ? undefined : usersOf(stored, current)
  return (
    <>
      <Line name="Stage">
        {stage} of {stages}
        {limit !== null && `, at most ${plural(limit, 'worker')}`}
        {hasEnded(report) ? (
          <>
            ; ended <Age at={since} />
          </>
        ) : (
          <>
            ; in this phase <Duration since={since} />
          </>
        )}
        {held && <span className="warn">; no further worker is written, because too many are unavailable</span>}
      </Line>
      <Line name="Workers">
        <Revision type={type} name={update}>
          {countText(updated)} of {plural(membersOf(report), 'worker')} {has(updated)} revision{' '}
        </Revision>
        {current !== null && others !== undefined && (
          <>
            ,{' '}
            <Revision type={type} name={current}>
              {countText(others)} still {has(others)} revision{' '}
            </Revision>
          </>
        )}
        <span className="under">{countsText(report)}</span>
      </Line>
    </>
  )
}

function Gates({ report: { gates } }: { readonly report: RolloutShown }) {
  if (gates.length === 0) return null
  return (
    <CardTable label="Gates" columns={['Gate', 'Updated', 'Current', 'Allowed', 'Verdict']} stale={false}>
      {gates.map((gate) => (
        <Row key={gate.name}>
          <RowHead of="Gate">
            <bdi>{gateName(gate.name)}</bdi>
          </RowHead>
          <Cell of="Updated">{gateValue(gate.updated, gate.updated_runs)}</Cell>
          <Cell of="Current">{gateValue(gate.current, gate.current_runs)}</Cell>
          <Cell of="Allowed">{gate.allowed ?? '–'}</Cell>
          <Cell of="Verdict">
            <Badge {...verdictOf(gate)} />
            {gate.message !== null && <bdi className="under">{gate.message}</bdi>}
          </Cell>
        </Row>
      ))}
    </CardTable>
  )
}

function Failure({ report }: { readonly report: RolloutShown }) {
  const failure = failureOf(report)
  if (failure === undefined) return null
  const { failed_at: at, gate, stage } = failure
  return (
    <Line name="Failed">
      <Moment at={at} />
      {stage !== null && ` in stage ${stage}`}
      {gate !== null && (
        <>
          {' '}
          by <bdi>{gateName(gate)}</bdi>
        </>
      )}
    </Line>
  )
}

function ChangedFields({ type, report }: CardProps) {
  const { changed_fields: fields } = report
  if (fields.length === 0) return null
  return (
    <Line name="Changed fields">
      {fields.map((field, at) => (
        <span key={field}>
          {at > 0 && ', '}
          <code>
            <bdi>{field}</bdi>
          </code>
        </span>
      ))}
      <Difference type={type} report={report} />
    </Line>
  )
}

/** A link to old and new values: to the history of a worker that has the update, or had it before the rollback. */
function Difference({ type, report }: Pick<CardProps, 'type' | 'report'>) {
  const workers = useWorkersOf(type) ?? []
  // `config_revision` is a revision and a variant: 91bc02f7a1c4/-.
  const updated = workers.find((each) => each.config_revision?.startsWith(`${report.update_revision}/`) === true)
  const id = updated?.worker_id ?? report.worst[0]?.worker
  if (id === undefined) return null
  return (
    <>
      {' '}
      <a href={formatRoute({ page: 'worker', type, id, tab: 'history' })}>Show difference</a>
    </>
  )
}

function Worst({ type, report: { worst } }: CardProps) {
  if (worst.length === 0) return null
  const [first, more] = [worst.slice(0, SHOWN_WORKERS), worst.slice(SHOWN_WORKERS)]
  return (
    <Line name="Worst workers">
      <WorkerList type={type} workers={first} />
      {more.length > 0 && (
        <details>
          <summary>Show {countText(more.length)} more</summary>
          <WorkerList type={type} workers={more} />
        </details>
      )}
    </Line>
  )
}

function WorkerList({ type, workers }: { readonly type: string; readonly workers: RolloutShown['worst'] }) {
  return (
    <ul>
      {workers.map(({ worker, reason, message }) => (
        <li key={worker}>
          <a href={formatRoute({ page: 'worker', type, id: worker })}>
            <bdi>{worker}</bdi>
          </a>{' '}
          {reasonText(reason)} <bdi className="soft">{message}</bdi>
        </li>
      ))}
    </ul>
  )
}
