/**
 * @module cmd/admin/rollout/undo
 * `muster rollout undo`: writes `config` and `configFrom` of an earlier revision into the spec, from the history. The
 * set then rolls them out like any other edit. A GitOps engine would revert that within minutes, so if one owns the
 * fields, nothing is written, and the fields are printed for Git.
 */
import { isDeepStrictEqual } from 'node:util'
import { revisionNameOf, type SetRevision } from '../../../operator/index.ts'
import { EXIT, Failure, type ClusterInvocation } from '../verb.ts'
import { ownersOf } from './owners.ts'
import { shownName, type SetObject } from './set-object.ts'

const FIELDS = ['config', 'configFrom'] as const

export async function undo(
  call: ClusterInvocation & { readonly options: { readonly to: string | undefined } },
): Promise<number> {
  const { operands, options, printer, sets, io } = call
  const set = await sets.get(operands[0] ?? '')
  const target = targetOf(set, await sets.history(set), options.to)
  const revision = revisionNameOf(target)
  const fields = fieldsOf(target)
  const { config = {}, configFrom = [] } = set.spec
  if (isDeepStrictEqual({ config, configFrom }, { config: fields.config, configFrom: fields.configFrom ?? [] }))
    throw new Failure(EXIT.FAILED, `there is nothing to undo in ${shownName(set)}`, `its spec is that of ${revision}`)
  const owners = FIELDS.flatMap((field) => ownersOf(set, field))
  const gitops = owners.find(({ kind }) => kind === 'gitops')
  if (gitops !== undefined) {
    const { stringify } = await import('../yaml.ts')
    io.out(stringify({ spec: { config: fields.config, configFrom: fields.configFrom ?? [] } }))
    throw new Failure(
      EXIT.CONFLICT,
      `${shownName(set)} was not changed`,
      `${gitops.manager} owns its config, and would set it back`,
      `write the fields above into the manifest in Git: they are those of revision ${revision}`,
    )
  }
  const changed = await sets.replace(set, fields)
  for (const manager of new Set(owners.map((owner) => owner.manager)))
    printer.note(`warning: the next run of ${manager} sets the config back; change it at the source as well`)
  printer.note(`${shownName(set)} has the config of revision ${revision} (number ${target.revision}) again`)
  if (!printer.isTable) await printer.value(changed, () => '', [changed.metadata.name])
  return EXIT.OK
}

/** An empty list is left out, as it was before the first source. */
const fieldsOf = ({ data: { config = {}, configFrom = [] } }: SetRevision) => ({
  config,
  configFrom: configFrom.length === 0 ? undefined : configFrom,
})

/** @throws {Failure} if the history does not have it. */
function targetOf(set: SetObject, history: readonly SetRevision[], to: string | undefined): SetRevision {
  const found = to === undefined ? previousOf(set, history) : named(history, to)
  if (found !== undefined) return found
  const { name, namespace } = set.metadata
  throw new Failure(
    EXIT.NOT_FOUND,
    to === undefined ? `${shownName(set)} has no earlier revision` : `${shownName(set)} has no revision ${to}`,
    history.length === 0
      ? 'its history is empty: revisionHistoryLimit is 0, or the operator lacks the right to controllerrevisions.apps'
      : `its history has ${history.map(revisionNameOf).join(', ')}`,
    `muster rollout history -n ${namespace} ${name}`,
  )
}

const named = (history: readonly SetRevision[], to: string): SetRevision | undefined =>
  history.find((each) => revisionNameOf(each) === to) ?? history.find((each) => String(each.revision) === to)

/** During a rollout, or after a failed one, the current revision; else the last one before it that did not fail. */
function previousOf({ status = {} }: SetObject, history: readonly SetRevision[]): SetRevision | undefined {
  const { currentRevision, updateRevision, failed = [] } = status
  const hasFailed = (name: string): boolean => failed.some(({ revision }) => revision === name)
  const current = history.find((each) => revisionNameOf(each) === currentRevision)
  if (current !== undefined && currentRevision !== updateRevision) return current
  return history
    .map((each) => ({ each, name: revisionNameOf(each) }))
    .find(({ name }) => name !== updateRevision && !hasFailed(name))?.each
}
