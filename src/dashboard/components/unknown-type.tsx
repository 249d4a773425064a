/** @module dashboard/components/unknown-type  Says that an automation type of the address is not among those shown. */
import { useSession } from '../api/session.ts'
import { EmptyState } from './empty-state.tsx'

export function UnknownType({ type, title }: { readonly type: string; readonly title: string }) {
  const { role, automations } = useSession().me
  const coversAll = role === 'admin' || automations.includes('*')
  return (
    <EmptyState kind={coversAll ? 'gone' : 'forbidden'} title={title}>
      <p>
        <bdi>{type}</bdi> is not installed{coversAll ? ' on the master.' : ' or not covered by this token.'}
      </p>
    </EmptyState>
  )
}
