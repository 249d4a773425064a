/**
 * @module dashboard/overview/attention-list
 * Lists what needs attention, each item with what to do, and what is acknowledged. Rows keep their places while the
 * pointer or the focus is in the list.
 */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- events bubble from the controls inside */
import { lazy, Suspense, useState } from 'react'
import { keyOf, type Acknowledged } from '../../diagnosis/index.ts'
import { hasPermission, useSession } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { useRefresh } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { ErrorPanel } from '../components/error-panel.tsx'
import { Age } from '../components/times.tsx'
import type { Attention } from '../diagnosis/attention.ts'
import { AttentionText } from './attention-text.tsx'
import { heldRows, type HeldRow } from './held-rows.ts'

const AcknowledgeDialog = lazy(async () => ({
  default: (await import('./acknowledgements.ts')).AcknowledgeDialog,
}))
const AcknowledgedItems = lazy(async () => ({
  default: (await import('./acknowledgements.ts')).AcknowledgedItems,
}))

const SHOWN = 12
const MARKS = { bad: '✗', warn: '▲', offline: '⊘' } as const

export interface AttentionListProps {
  /** undefined while they are loading. */
  readonly items: readonly Attention[] | undefined
  readonly acknowledged: readonly Acknowledged[]
  readonly canAcknowledge: boolean
}

export function AttentionList({ items, acknowledged, canAcknowledge }: AttentionListProps) {
  const [isHeld, setIsHeld] = useState(false)
  const [asked, setAsked] = useState<Attention | null>(null)
  const rows = useHeldRows(items ?? [], isHeld || asked !== null)
  return (
    <section
      className="card"
      aria-labelledby="attention-title"
      onPointerEnter={() => setIsHeld(true)}
      onPointerLeave={() => setIsHeld(false)}
      onFocus={() => setIsHeld(true)}
      onBlur={() => setIsHeld(false)}
    >
      <h2 id="attention-title">
        Needs attention {items !== undefined && items.length > 0 && <span className="count">{items.length}</span>}
      </h2>
      {items === undefined && <p className="reading">Loading…</p>}
      {items !== undefined && rows.length === 0 && (
        <EmptyState kind="nothing" title={acknowledged.length === 0 ? 'No problems' : 'No other problems'}>
          <p>Offline workers, errors, stuck queues and dead tasks are listed here.</p>
        </EmptyState>
      )}
      <ul className="attention">
        {rows.slice(0, SHOWN).map((row) => (
          <AttentionRow
            key={keyOf(row.item)}
            row={row}
            acknowledge={canAcknowledge ? () => setAsked(row.item) : undefined}
          />
        ))}
      </ul>
      {rows.length > SHOWN && <p className="soft">and {rows.length - SHOWN} more</p>}
      {acknowledged.length > 0 && (
        <Suspense>
          <AcknowledgedItems acknowledged={acknowledged} />
        </Suspense>
      )}
      {asked !== null && (
        <Suspense>
          <AcknowledgeDialog item={asked} onClose={() => setAsked(null)} />
        </Suspense>
      )}
    </section>
  )
}

function useHeldRows(items: readonly Attention[], isHeld: boolean): readonly HeldRow[] {
  const [shown, setShown] = useState<readonly HeldRow[]>([])
  const rows = heldRows(shown, items, isHeld)
  if (placesOf(shown) !== placesOf(rows)) setShown(rows)
  return rows
}

const placesOf = (rows: readonly HeldRow[]): string =>
  rows.map(({ item, isGone }) => `${keyOf(item)} ${isGone}`).join('\n')

interface RowProps {
  readonly row: HeldRow
  /** undefined if the master does not store acknowledgements. */
  readonly acknowledge: (() => void) | undefined
}

function AttentionRow({ row: { item, isGone }, acknowledge }: RowProps) {
  const { me } = useSession()
  const { tone, subject, rate, since, link, type } = item
  return (
    <li className={isGone ? 'is-gone' : undefined}>
      <span className={tone} aria-hidden="true">
        {MARKS[tone]}
      </span>
      <div className="attention-text">
        <p className="attention-what">
          <a className="attention-subject" href={link.href}>
            <bdi>{subject}</bdi>
          </a>{' '}
          <AttentionText item={item} />
        </p>
        {(rate !== null || since !== null || isGone) && (
          <p className="soft">
            {rate}
            {rate !== null && since !== null && ', '}
            {since !== null && (
              <>
                began <Age at={since} />
              </>
            )}
            {isGone && <em> (not listed any more)</em>}
          </p>
        )}
      </div>
      <span className="attention-acts">
        <AttentionAct item={item} />
        {acknowledge !== undefined && hasPermission(me, type, 'operate') && (
          <button type="button" className="quiet" disabled={isGone} onClick={acknowledge}>
            Acknowledge…
            <OfItem item={item} />
          </button>
        )}
      </span>
    </li>
  )
}

/** What the button is about, for screen readers. */
const OfItem = ({ item }: { readonly item: Attention }) => (
  <span className="hidden">
    {' '}
    <bdi>{item.subject}</bdi>: <AttentionText item={item} />
  </span>
)

/** Without the permission for the act, the button shows the problem. */
function AttentionAct({ item }: { readonly item: Attention }) {
  const { me } = useSession()
  const { act, link, kind, type } = item
  const may = act.needs === null || hasPermission(me, type, act.needs)
  if (kind === 'paused' && may) return <ResumeButton item={item} />
  return (
    <a className="button" href={may ? act.href : link.href}>
      {may ? act.text : 'Show'}
      <OfItem item={item} />
    </a>
  )
}

function ResumeButton({ item }: { readonly item: Attention }) {
  const refresh = useRefresh()
  const { type } = item
  const { run, busy, problem } = useAction(async (api) => {
    await api.send('DELETE', ['automations', type, 'queue', 'pause'])
    refresh(['overview'], ['queue', type])
  })
  return (
    <>
      {problem !== null && <ErrorPanel problem={problem} />}
      <button type="button" disabled={busy} onClick={() => void run()}>
        {busy ? 'Working…' : 'Resume'}
        <OfItem item={item} />
      </button>
    </>
  )
}
