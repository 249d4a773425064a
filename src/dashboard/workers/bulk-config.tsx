/**
 * @module dashboard/workers/bulk-config
 * The same change of config for many workers: the ticked fields only, one PATCH each, with `If-Match` from the record that
 * was shown, so that nothing unseen is overwritten (D15, D47). Managed workers are left out unless that is overridden (D57).
 */
import { useId, useState } from 'react'
import type { ConfigBody } from '../../protocol/index.ts'
import { useInstalled } from '../api/installed.ts'
import { useSession } from '../api/session.ts'
import { plural } from '../parts/numbers.ts'
import { BulkDialog } from './bulk-dialog.tsx'
import { pathOf, type BulkProps } from './bulk.ts'
import { bulkFields, patchOf, type BulkField } from './bulk-fields.ts'
import type { WorkerRow } from './row.ts'

export function BulkConfig(props: BulkProps) {
  const { rows } = props
  const { api, me } = useSession()
  const { automations } = useInstalled()
  const types = [...new Set(rows.map(({ automation_type: type }) => type))]
  const fields = bulkFields(types.length === 1 ? automations.find(({ type }) => type === types[0])?.configSchema : undefined)
  const [texts, setTexts] = useState<ReadonlyMap<string, string>>(new Map())
  const [overrides, setOverrides] = useState(false)
  const managed = rows.filter(({ managed_by: by }) => by !== null).length
  const { patch, faults } = patchOf(fields, texts)
  const names = Object.keys(patch)
  const act = async (row: WorkerRow) => {
    if (row.managed_by !== null && !overrides) return { skipped: `managed by ${row.managed_by.replace(/#.*$/, '')}` }
    const { body } = await api.send<ConfigBody>('PATCH', [...pathOf(row), 'config'], { body: patch, headers: { 'if-match': `"${me.epoch}.${row.config_gen}"` } })
    return { done: `generation ${body.config_gen} saved` }
  }
  const set = (name: string, text: string | null): void => setTexts((now) => new Map([...[...now].filter(([each]) => each !== name), ...(text === null ? [] : [[name, text] as const])]))
  const missing = faults.size > 0 ? `Not ready: ${[...faults.keys()].join(', ')}` : names.length === 0 ? 'Tick the fields to set.' : null
  return (
    <BulkDialog {...props} verb="Save config of" act={act} danger={false} missing={missing}>
      <p>Only the ticked fields are set; everything else stays as it is on each worker.{types.length > 1 && ' The workers are of several types, so these are the fields that every config has.'}</p>
      <ul className="bulk-fields">
        {fields.map((field) => <FieldRow key={field.name} field={field} text={texts.get(field.name) ?? null} fault={faults.get(field.name) ?? null} onChange={(text) => set(field.name, text)} />)}
      </ul>
      {managed > 0 && (
        <p className="notice">
          <label><input type="checkbox" checked={overrides} onChange={(event) => setOverrides(event.target.checked)} /> Also the {plural(managed, 'worker')} that Kubernetes or another manages: it counts as drift and may be reverted</label>
        </p>
      )}
    </BulkDialog>
  )
}

interface FieldRowProps {
  readonly field: BulkField
  /** null: not ticked. */
  readonly text: string | null
  readonly fault: string | null
  readonly onChange: (text: string | null) => void
}

function FieldRow({ field: { name, kind, secret, about }, text, fault, onChange }: FieldRowProps) {
  const id = useId()
  return (
    <li>
      <label><input type="checkbox" checked={text !== null} onChange={(event) => onChange(event.target.checked ? (kind === 'boolean' ? 'true' : '') : null)} /> <bdi className="code">{name}</bdi></label>
      {text === null ? <span className="soft">{about}</span> : (
        <span>
          {kind === 'boolean'
            ? <select id={id} aria-label={name} value={text} onChange={(event) => onChange(event.target.value)}><option value="true">yes</option><option value="false">no</option></select>
            : <input id={id} aria-label={name} type={secret ? 'password' : 'text'} autoComplete={secret ? 'new-password' : 'off'} spellCheck={false} className={kind === 'json' ? 'code' : undefined} value={text}
              aria-invalid={fault !== null} aria-describedby={`${id}-fault`} onChange={(event) => onChange(event.target.value)} />}
          <span id={`${id}-fault`} className="fault">{fault}</span>
        </span>
      )}
    </li>
  )
}
