/** @module dashboard/config/changes-list  Lists config changes by field; nested values are shown as a line diff. */
import type { JsonValue } from '../../protocol/index.ts'
import { cutText, prettyJson } from '../components/json-text.ts'
import { sideText, withoutSecrets, type Change, type Form } from './draft.ts'
import { around, diffLines } from './text-diff.ts'

const SHOWN_CHARACTERS = 300

export function ChangesList({ form, changes }: { readonly form: Form; readonly changes: readonly Change[] }) {
  return (
    <dl className="changes">
      {changes.map((change) => (
        <div key={change.name}>
          <dt>
            <bdi>{change.name}</bdi>
          </dt>
          <dd>
            <ChangeView form={form} change={change} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

function ChangeView({ form, change }: { readonly form: Form; readonly change: Change }) {
  const { before, after, name, isDefault } = change
  const [old, now] = [withoutSecrets(form.fields, name, before), withoutSecrets(form.fields, name, after)]
  if (!change.isSecret && (isNested(old) || isNested(now)) && old !== undefined && now !== undefined) {
    const lines = diffLines(prettyJson(old), prettyJson(now))
    return lines.every(({ sign }) => sign === ' ') ? (
      <span className="soft">a secret inside has changed</span>
    ) : (
      <Diff lines={around(lines)} />
    )
  }
  return (
    <>
      <ChangedValue
        is="del"
        isSet={before !== undefined}
        text={sideText(change.isSecret ? before : old, change, 'before')}
      />{' '}
      <span className="arrow">
        <span aria-hidden="true">→</span>
        <span className="hidden"> becomes </span>
      </span>{' '}
      <ChangedValue
        is="ins"
        isSet={after !== undefined}
        text={sideText(change.isSecret ? after : now, change, 'after')}
      />
      {isDefault && <span className="soft"> (default)</span>}
    </>
  )
}

function ChangedValue({
  is: Tag,
  isSet,
  text,
}: {
  readonly is: 'del' | 'ins'
  readonly isSet: boolean
  readonly text: string
}) {
  return isSet ? (
    <Tag>
      <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
    </Tag>
  ) : (
    <span className="soft">{text}</span>
  )
}

const isNested = (value: JsonValue | undefined): boolean => typeof value === 'object' && value !== null

const WORDS = { ' ': '', '-': 'removed: ', '+': 'added: ' } as const
const CLASSES = { ' ': undefined, '-': 'went', '+': 'came' } as const

function Diff({ lines }: { readonly lines: ReturnType<typeof diffLines> }) {
  return (
    <pre className="diff">
      {lines.map(({ sign, text }, index) => (
        <span key={`${index}${sign}`} className={CLASSES[sign]}>
          <span aria-hidden="true">{sign} </span>
          <span className="hidden">{WORDS[sign]}</span>
          <bdi>{cutText(text, SHOWN_CHARACTERS)}</bdi>
          {'\n'}
        </span>
      ))}
    </pre>
  )
}
