/** @module dashboard/operations/preview-view  Shows what an operation would do, by number of workers. */
import type { OperationBody, OperationPreview } from '../../protocol/index.ts'
import { spanText } from '../components/age.ts'
import { countText, plural } from '../components/numbers.ts'
import { managerText } from '../workers/managed.ts'
import { leastSeconds } from './settings.ts'
import { generationsText, previewLines, valuesText } from './texts.ts'

const LISTED = 5

export interface PreviewViewProps {
  readonly preview: OperationPreview
  readonly body: OperationBody
}

export function PreviewView({ preview, body }: PreviewViewProps) {
  const { change, total, managed, kind } = preview
  const seconds = leastSeconds(change, body)
  return (
    <>
      <p className="verdict">
        {change === 0
          ? `None of ${plural(total, 'worker')} would change.`
          : `${countText(change)} of ${plural(total, 'worker')} would ${kind === 'drain' ? 'drain' : 'change'}.`}
      </p>
      <ul>
        {previewLines(preview).map((line) => (
          <li key={line}>
            <bdi>{line}</bdi>
          </li>
        ))}
        {managed.map(({ managed_by: by, workers }) => (
          <li key={by}>
            {plural(workers, 'of them is', 'of them are')} managed by <bdi>{managerText(by)}</bdi>
            {kind === 'patch' && ', which may revert the change'}.
          </li>
        ))}
      </ul>
      {change > 0 && (
        <dl className="keys">
          <Values preview={preview} />
          <div>
            <dt>Pace</dt>
            <dd>
              {body.per_second} a second, {body.parallel} at a time: {spanText(seconds)} or longer
            </dd>
          </div>
          <div>
            <dt>Stops</dt>
            <dd>
              {typeof body.stop_after === 'number'
                ? `after ${plural(body.stop_after, 'failure')}`
                : 'only when cancelled'}
            </dd>
          </div>
        </dl>
      )}
    </>
  )
}

/** The values now, and the generations that are overwritten. */
function Values({ preview }: { readonly preview: OperationPreview }) {
  const { values, generations } = preview
  return (
    <>
      {values.length > 0 && (
        <div>
          <dt>Values now</dt>
          <dd>
            {values.slice(0, LISTED).map(({ values: now, workers }) => (
              <span key={JSON.stringify(now)} className="preview-values">
                <bdi className="code">{valuesText(now)}</bdi> ({plural(workers, 'worker')})
              </span>
            ))}
            {values.length > LISTED && <span className="soft">and other values</span>}
          </dd>
        </div>
      )}
      {generations.length > 0 && (
        <div>
          <dt>Changed from</dt>
          <dd>{generationsText(preview)}; a worker that is changed meanwhile is skipped</dd>
        </div>
      )}
    </>
  )
}
