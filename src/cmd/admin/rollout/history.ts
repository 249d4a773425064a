/** @module cmd/admin/rollout/history  `muster rollout history`: lists the revisions of a set. */
import { isDeepStrictEqual } from 'node:util'
import { revisionNameOf, underOldName, type SetRevision } from '../../../operator/index.ts'
import { EXIT, type ClusterInvocation } from '../verb.ts'
import type { Column } from '../printer.ts'
import type { SetObject } from './set-object.ts'

interface HistoryRow {
  readonly revision: SetRevision
  readonly roles: string
  readonly changed: string
}

const COLUMNS: readonly Column<HistoryRow>[] = [
  { head: 'NUMBER', cell: ({ revision }) => revision.revision },
  { head: 'REVISION', cell: ({ revision }) => revisionNameOf(revision), isName: true },
  { head: 'ROLLED OUT', cell: ({ revision }) => revision.metadata.creationTimestamp },
  { head: 'STATE', cell: ({ roles }) => roles },
  { head: 'CHANGED FIELDS', cell: ({ changed }) => changed },
]

export async function showHistory({ operands, printer, sets }: ClusterInvocation): Promise<number> {
  const set = await sets.get(operands[0] ?? '')
  const revisions = await sets.history(set)
  const rows = revisions.map((revision, at) => ({
    revision,
    roles: rolesOf(set, revisionNameOf(revision)),
    changed: changedFields(revisions[at + 1], revision),
  }))
  if (rows.length === 0)
    printer.note(
      `${set.metadata.name} has no history yet: the operator stores a revision when its rollout begins, ` +
        'unless it lacks the right, which its log says',
    )
  await printer.rows(rows, COLUMNS, revisions)
  return EXIT.OK
}

function rolesOf({ status = {} }: SetObject, name: string): string {
  const { currentRevision, updateRevision, failed = [] } = status
  return [
    ...(name === currentRevision ? ['current'] : []),
    ...(name === updateRevision && name !== currentRevision ? ['update'] : []),
    ...(failed.some(({ revision }) => revision === name) ? ['failed'] : []),
  ].join(', ')
}

/** Fields of the config that differ from the revision before, also by the source of their value. */
function changedFields(before: SetRevision | undefined, { data }: SetRevision): string {
  if (before === undefined) return ''
  const [old, now] = [fieldsOf(before.data), fieldsOf(data)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  const changed = names.filter((name) => !isDeepStrictEqual(old.get(name), now.get(name)))
  // A revision also changes with the value of a source, which the history does not have.
  return changed.length === 0 ? 'value of a Secret or ConfigMap' : changed.toSorted().join(', ')
}

const fieldsOf = ({ config = {}, configFrom = [] }: SetRevision['data']): ReadonlyMap<string, unknown> =>
  new Map<string, unknown>([
    ...Object.entries(config),
    ...configFrom.map((each) => [each.field, underOldName(each)] as const),
  ])
