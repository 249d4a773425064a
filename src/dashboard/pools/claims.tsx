/** @module dashboard/pools/claims  Shows who holds the items of a pool and who waits for one, and ends claims. */
import { useMemo, useState } from 'react'
import type { PoolClaimRow, PoolClaimsBody, PoolWaiter, ReleasedClaimBody } from '../../protocol/index.ts'
import { useRead, useRefresh } from '../api/queries.ts'
import { apiBase } from '../api/session.ts'
import { useAction } from '../api/use-action.ts'
import { curlCommand, musterCommand } from '../components/commands.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { CopyAs } from '../components/copy-as.tsx'
import { countText, plural } from '../components/numbers.ts'
import { ReadState } from '../components/read-state.tsx'
import { TaskOf, WorkerOf } from '../components/runner.tsx'
import { ShowMore, useListSize, type ListSize } from '../components/show-more.tsx'
import { Duration, PlainAge, TimeLeft } from '../components/times.tsx'
import { VirtualTable, type Column } from '../components/virtual-table.tsx'
import '../tasks/list.css'

const EVERY_MS = 5_000
const STEPS = [100, 1_000] as const
const WAITERS_SHOWN = 20

export interface PoolClaimsProps {
  readonly name: string
  /** Whether another card says why the page cannot be read now. */
  readonly isProblemShown: boolean
}

export function PoolClaims({ name, isProblemShown }: PoolClaimsProps) {
  const size = useListSize(STEPS)
  const [asked, setAsked] = useState<PoolClaimRow | null>(null)
  const [ended, setEnded] = useState<string | null>(null)
  const read = useRead(
    ['pool-claims', name, size.n],
    EVERY_MS,
    async (api, signal) => (await api.get<PoolClaimsBody>(['pools', name, 'claims'], { n: size.n }, signal)).body,
    { keepsShown: true },
  )
  return (
    <section className="card" aria-labelledby="claims-title">
      <h2 id="claims-title">
        Claims {read.data !== undefined && <span className="count">{countText(read.data.in_use)}</span>}
      </h2>
      {ended !== null && <output className="notice">{ended}</output>}
      {!isProblemShown && <ReadState read={read} />}
      {read.data !== undefined && (
        <div className={read.problem === undefined ? undefined : 'stale'}>
          <ClaimTable claims={read.data} size={size} isStale={read.problem !== undefined} onRelease={setAsked} />
          <Waiters waiters={read.data.waiters} count={read.data.waiting} />
        </div>
      )}
      {asked !== null && <ReleaseDialog pool={name} claim={asked} onEnded={setEnded} onClose={() => setAsked(null)} />}
    </section>
  )
}

interface ClaimTableProps {
  readonly claims: PoolClaimsBody
  readonly size: ListSize
  readonly isStale: boolean
  readonly onRelease: (claim: PoolClaimRow) => void
}

function ClaimTable({ claims: { claims, in_use: inUse }, size, isStale, onRelease }: ClaimTableProps) {
  const columns = useMemo(() => columnsOf(onRelease), [onRelease])
  if (claims.length === 0) return <p className="soft">No item is claimed.</p>
  return (
    <>
      <div className="list claims">
        <VirtualTable
          label="Claims"
          columns={columns}
          rows={claims}
          keyOf={({ id }) => id}
          rowHeight={44}
          cardHeight={232}
          stale={isStale}
        />
      </div>
      <ShowMore size={size} shown={claims.length} total={inUse} />
    </>
  )
}

const columnsOf = (release: (claim: PoolClaimRow) => void): readonly Column<PoolClaimRow>[] => [
  { name: 'Item', className: 'row-head', cell: ({ id }) => <bdi>{id}</bdi> },
  { name: 'Worker', cell: (claim) => <WorkerOf {...runOf(claim)} /> },
  { name: 'Slot', className: 'number slot', cell: ({ slot_id: slot }) => slot ?? '–' },
  { name: 'Task', cell: (claim) => <TaskOf {...runOf(claim)} /> },
  {
    name: 'Age',
    className: 'short',
    cell: ({ claimed_at: at }) => (at === undefined ? '–' : <PlainAge since={at} />),
  },
  { name: 'Renewals', className: 'number short', cell: ({ renewals }) => renewals ?? '–' },
  { name: 'Ends', className: 'short', cell: ({ in_use_until: at }) => <TimeLeft until={at} past="now" /> },
  {
    name: 'Release',
    className: 'short act',
    cell: (claim) => (
      <button type="button" aria-label={`Release ${claim.id}…`} onClick={() => release(claim)}>
        Release…
      </button>
    ),
  },
]

function Waiters({ waiters, count }: { readonly waiters: readonly PoolWaiter[]; readonly count: number }) {
  if (count === 0) return null
  return (
    <>
      <h3>
        Waiting <span className="count">{countText(count)}</span>
      </h3>
      <p className="soft">Runs whose last claim got no item, in the last minute, as this master served them.</p>
      <ul className="in-flight">
        {waiters.slice(0, WAITERS_SHOWN).map((waiter) => (
          <li key={`${waiter.automation_type} ${waiter.worker_id} ${waiter.slot_id}`}>
            <WorkerOf {...runOf(waiter)} />
            {waiter.slot_id !== undefined && ` slot ${waiter.slot_id}`}
            {waiter.task_id !== undefined && (
              <>
                {' '}
                for task <TaskOf {...runOf(waiter)} />
              </>
            )}{' '}
            <span className="soft">
              <Duration since={waiter.since} />
            </span>
          </li>
        ))}
      </ul>
      {count > WAITERS_SHOWN && <p className="soft">and {countText(count - WAITERS_SHOWN)} more</p>}
    </>
  )
}

interface ReleaseDialogProps {
  readonly pool: string
  readonly claim: PoolClaimRow
  readonly onEnded: (text: string) => void
  readonly onClose: () => void
}

function ReleaseDialog({ pool, claim, onEnded, onClose }: ReleaseDialogProps) {
  const refresh = useRefresh()
  const { id, token } = claim
  const path = ['pools', pool, 'claims', 'release']
  const act = useAction(async (api) => {
    const { body } = await api.send<ReleasedClaimBody>('POST', path, { body: { id, token } })
    refresh(['pool-claims', pool], ['pool', pool], ['pools'])
    onEnded(
      body.released ? `Released ${id}. Its holder is refused from now on.` : `The claim of ${id} had already ended.`,
    )
    onClose()
  })
  return (
    <ConfirmDialog title={`Force release of ${id}?`} verb="Force release" act={act} onClose={onClose}>
      <p>
        <WorkerOf {...runOf(claim)} />
        {claim.slot_id !== undefined && `, slot ${claim.slot_id},`} holds this item
        {claim.task_id !== undefined && (
          <>
            {' '}
            for task <TaskOf {...runOf(claim)} />
          </>
        )}
        {claim.claimed_at !== undefined && (
          <>
            {' '}
            <Duration since={claim.claimed_at} />
          </>
        )}
        {claim.renewals !== undefined && `, renewed ${plural(claim.renewals, 'time')}`}.
      </p>
      <p>
        Another run can claim the item immediately, while the run that holds it now may still use it. That run learns of
        the loss at its next renewal. If this claim has ended by then, nothing is released.
      </p>
      <p>
        <CopyAs
          commands={[
            curlCommand(apiBase(), { method: 'POST', path, body: { id, token } }),
            musterCommand(apiBase(), 'pools', 'release', pool, id),
          ]}
        />
      </p>
    </ConfirmDialog>
  )
}

const runOf = ({ automation_type: type, worker_id: worker, task_id: task }: PoolClaimRow | PoolWaiter) => ({
  type,
  worker,
  task,
})
