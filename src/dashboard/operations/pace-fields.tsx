/** @module dashboard/operations/pace-fields  The fields for the pace of an operation, and for when it stops. */
import { CountInput } from '../components/count-input.tsx'
import type { PaceDraft } from './settings.ts'

export interface PaceFieldsProps {
  readonly pace: PaceDraft
  readonly faults: ReadonlySet<keyof PaceDraft>
  readonly onPace: (pace: PaceDraft) => void
}

const FIELDS = [
  { name: 'perSecond', label: 'Workers a second', fault: 'Workers a second: enter 0.1 to 1,000.' },
  { name: 'parallel', label: 'At a time', fault: 'At a time: enter 1 to 500.' },
  { name: 'stopAfter', label: 'Stop after failures', fault: 'Stop after failures: enter 1 to 10,000, or nothing.' },
] as const

export function PaceFields({ pace, faults, onPace }: PaceFieldsProps) {
  return (
    <>
      <p className="pace-fields">
        {FIELDS.map(({ name, label }) => (
          <span key={name}>
            <CountInput
              label={label}
              value={pace[name]}
              isInvalid={faults.has(name)}
              placeholder={name === 'stopAfter' ? 'never' : ''}
              onChange={(value) => onPace({ ...pace, [name]: value })}
            />
          </span>
        ))}
      </p>
      {FIELDS.filter(({ name }) => faults.has(name)).map(({ name, fault }) => (
        <p key={name} className="error">
          {fault}
        </p>
      ))}
    </>
  )
}
