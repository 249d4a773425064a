/** @module dashboard/config/merge-panel  Resolves a conflict after another client saved the config during an edit. */
import { useState } from 'react'
import type { JsonValue, WorkerBody } from '../../protocol/index.ts'
import { CardTable, Cell, Row, RowHead } from '../components/card-table.tsx'
import { cutText } from '../components/json-text.ts'
import { Age } from '../components/times.tsx'
import { actorText } from '../settings/actor.ts'
import { withoutSecrets, type ConfigDraft, type Form } from './draft.ts'
import { mergeOf, rebase, type Conflict, type Side } from './merge.ts'
import type { Base } from './saving.ts'

export interface MergePanelProps {
  readonly form: Form
  readonly draft: ConfigDraft
  readonly newest: Base
  readonly worker: WorkerBody
  readonly onContinue: (draft: ConfigDraft) => void
  readonly onDiscard: () => void
}

export function MergePanel({ form, draft, newest, worker, onContinue, onDiscard }: MergePanelProps) {
  const [choices, setChoices] = useState<ReadonlyMap<string, Side>>(new Map())
  const { theirs, conflicts } = mergeOf(form, draft, newest)
  const { config_changed_at: at, config_changed_by: by } = worker
  const isSameEpoch = newest.epoch === draft.base.epoch
  return (
    <section className="notice merge" aria-label="Conflict">
      <output>
        <strong>
          {isSameEpoch
            ? `Generation ${newest.gen} was saved while you were editing`
            : `The master's storage was reset; the config is now at generation ${newest.gen}`}
        </strong>
        {by !== null && (
          <>
            , by <bdi>{actorText(by)}</bdi>
          </>
        )}
        {at !== null && (
          <>
            , <Age at={at} />
          </>
        )}
        . Your draft, based on generation {draft.base.gen}, is kept.
      </output>
      {theirs.length > 0 && (
        <p>
          Changed by others only: <bdi>{theirs.join(', ')}</bdi>. Their values are used.
        </p>
      )}
      {theirs.length === 0 && conflicts.length === 0 && <p>None of your changes conflict.</p>}
      {conflicts.length > 0 && (
        <ConflictTable
          form={form}
          draft={draft}
          conflicts={conflicts}
          choices={choices}
          onChoose={(name, side) => setChoices(new Map(choices).set(name, side))}
        />
      )}
      <div className="buttons start">
        <button type="button" className="primary" onClick={() => onContinue(rebase(form, draft, newest, choices))}>
          Continue with generation {newest.gen}
        </button>
        <button type="button" onClick={onDiscard}>
          Discard my changes
        </button>
      </div>
    </section>
  )
}

interface ConflictTableProps {
  readonly form: Form
  readonly draft: ConfigDraft
  readonly conflicts: readonly Conflict[]
  readonly choices: ReadonlyMap<string, Side>
  readonly onChoose: (name: string, side: Side) => void
}

const SIDES: readonly Side[] = ['theirs', 'mine']
const SHOWN_CHARACTERS = 200

function ConflictTable({ form, draft, conflicts, choices, onChoose }: ConflictTableProps) {
  const text = (name: string, value: JsonValue | undefined): string =>
    value === undefined
      ? 'not set'
      : cutText(JSON.stringify(withoutSecrets(form.fields, name, value)), SHOWN_CHARACTERS)
  return (
    <CardTable
      label="Conflicting fields"
      columns={['Field', `Base (${draft.base.gen})`, 'Theirs', 'Yours', 'Result']}
      stale={false}
    >
      {conflicts.map(({ name, base, theirs, mine }) => (
        <Row key={name}>
          <RowHead of="Field">
            <strong>
              <bdi>{name}</bdi>
            </strong>
          </RowHead>
          <Cell of="Base">
            <bdi>{text(name, base)}</bdi>
          </Cell>
          <Cell of="Theirs">
            <bdi>{text(name, theirs)}</bdi>
          </Cell>
          <Cell of="Yours">
            <bdi>{text(name, mine)}</bdi>
          </Cell>
          <Cell of="Result">
            <div role="radiogroup" aria-label={`Result of ${name}`} className="sides">
              {SIDES.map((side) => (
                <label key={side}>
                  <input
                    type="radio"
                    name={`side of ${name}`}
                    checked={(choices.get(name) ?? 'theirs') === side}
                    onChange={() => onChoose(name, side)}
                  />{' '}
                  {side === 'mine' ? 'yours' : side}
                </label>
              ))}
            </div>
          </Cell>
        </Row>
      ))}
    </CardTable>
  )
}
