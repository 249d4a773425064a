/** @module dashboard/config/changes  What a save would change, field by field. */
import { cutText } from '../parts/json-text.ts'
import type { Change } from './draft.ts'

const SHOWN_CHARACTERS = 300

export function Changes({ changes }: { readonly changes: readonly Change[] }) {
  if (changes.length === 0) return null
  return (
    <div className="changes">
      <h3>Changes</h3>
      <dl>
        {changes.map(({ field, before, after }) => (
          <div key={field.name}>
            <dt><bdi>{field.name}</bdi></dt>
            <dd><del><bdi>{cutText(before, SHOWN_CHARACTERS)}</bdi></del> <span aria-hidden="true">→</span> <ins><bdi>{cutText(after, SHOWN_CHARACTERS)}</bdi></ins></dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
