/**
 * @module dashboard/config/git-patch
 * Formats config changes as a patch of the custom resource and as arguments of `muster config set`. Secrets are
 * omitted, because copied text ends up in shell histories and repositories.
 */
import type { JsonObject, JsonValue } from '../../protocol/index.ts'
import { shellQuote } from '../components/commands.ts'
import type { Change, Form } from './draft.ts'
import type { Field } from './shape.ts'

/** Parses `kubernetes:<namespace>/<name>`, ignoring a `#…` suffix; null if the manager is not a FleetWorker. */
export function resourceOf(managedBy: string): { readonly namespace: string; readonly name: string } | null {
  const [, namespace, name] = /^kubernetes:([^/#]+)\/([^/#]+)(?:#.*)?$/.exec(managedBy) ?? []
  return namespace === undefined || name === undefined ? null : { namespace, name }
}

interface PatchText {
  readonly text: string
  /** Names of omitted secrets. */ readonly leftOut: readonly string[]
}

/** Formats a kubectl merge patch. In it, null removes a field, which resets the field to its default (D43). */
export function kubectlPatch(
  form: Form,
  changes: readonly Change[],
  { namespace, name }: { readonly namespace: string; readonly name: string },
): PatchText {
  const { kept, leftOut } = withoutSecretChanges(form, changes)
  const config = Object.fromEntries(kept.filter(([field]) => field !== 'slots'))
  const slots = kept.find(([field]) => field === 'slots')
  const spec = {
    ...(Object.keys(config).length === 0 ? {} : { config }),
    ...(slots === undefined ? {} : { slots: slots[1] }),
  }
  return {
    text:
      `kubectl -n ${shellQuote(namespace)} patch fleetworker ${shellQuote(name)} ` +
      `--type merge -p ${shellQuote(JSON.stringify({ spec }))}`,
    leftOut,
  }
}

/** Formats operands of `muster config set`: strings unquoted, other values as JSON. */
export function setOperands(
  form: Form,
  changes: readonly Change[],
): { readonly operands: readonly string[]; readonly leftOut: readonly string[] } {
  const { kept, leftOut } = withoutSecretChanges(form, changes)
  return {
    operands: kept.flatMap(([name, value]) =>
      value === null
        ? ['--unset', name]
        : [`${name}=${isText(form, name) && typeof value === 'string' ? value : JSON.stringify(value)}`],
    ),
    leftOut,
  }
}

/** The body of the PATCH without secrets, for a copied command. */
export const bodyForShow = (form: Form, changes: readonly Change[]): JsonObject =>
  Object.fromEntries(withoutSecretChanges(form, changes).kept)

const isText = ({ fields }: Form, name: string): boolean =>
  fields.find((field) => field.name === name)?.shape.kind === 'string'

function withoutSecretChanges(
  { fields }: Form,
  changes: readonly Change[],
): { readonly kept: readonly (readonly [string, JsonValue])[]; readonly leftOut: readonly string[] } {
  const leftOut: string[] = []
  const kept = changes.flatMap(({ name, patch }): (readonly [string, JsonValue])[] => {
    const field = fields.find((each) => each.name === name)
    const value = field === undefined ? patch : withoutSecret(field.shape, patch, name, leftOut)
    return value === undefined ? [] : [[name, value]]
  })
  return { kept, leftOut }
}

function withoutSecret(
  shape: Field['shape'],
  value: JsonValue,
  path: string,
  leftOut: string[],
): JsonValue | undefined {
  if (shape.secret && value !== null) {
    leftOut.push(path)
    return undefined
  }
  if (shape.kind !== 'object' || typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value as JsonObject).flatMap(([key, each]) => {
      const field = shape.fields.find(({ name }) => name === key)
      const kept = field === undefined ? each : withoutSecret(field.shape, each, `${path}.${key}`, leftOut)
      return kept === undefined ? [] : [[key, kept]]
    }),
  )
}
