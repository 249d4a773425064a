/** @module dashboard/workers/filter-help  Shows the syntax of the worker filter. */
import { useState } from 'react'
import { Dialog } from '../components/dialog.tsx'

const ROWS = [
  ['ana "two words"', 'text in ID, type, host or last error'],
  ['state:error,offline', 'idle, running, error, draining, offline, late; comma means OR'],
  ['type:mailer', 'automation type'],
  ['host:node-12', 'host name; comma means OR'],
  ['online:yes', 'connected or not'],
  ['enabled:no', 'enabled in its config'],
  ['behind:yes', 'applied config is outdated'],
  ['error:yes', 'has a last error'],
  ['managed:yes', 'managed by Kubernetes or another manager; also managed:mail/m-7'],
  ['label:zone=eu-1', 'has this label; label:zone for any value, comma means OR'],
  ['revision:91bc02f7', 'config of this revision, as rolled out by a FleetWorkerSet'],
  ['set:prod/crawlers', 'managed by this FleetWorkerSet; also set:crawlers'],
  ['cpu:>80', 'CPU in percent; numbers with > < >= <='],
  ['rss:>1gb', 'memory in mb or gb'],
  ['slots:0', 'number of slots'],
  ['seen:>30s', 'time since last seen in s, m, h or d'],
  ['-state:running', 'negation'],
] as const

/** @property onExample Called with an example that the user clicks; it is added to the filter. */
export function FilterHelp({ onExample }: { readonly onExample: (example: string) => void }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <>
      <button type="button" className="quiet" onClick={() => setOpen(true)}>
        Filter syntax
      </button>
      {isOpen && (
        <Dialog title="Filter syntax" onClose={() => setOpen(false)}>
          <p className="soft">Click an example to add it to the filter.</p>
          <dl className="keys">
            {ROWS.map(([words, what]) => (
              <div key={words}>
                <dt>
                  <button
                    type="button"
                    className="link"
                    onClick={() => {
                      onExample(words)
                      setOpen(false)
                    }}
                  >
                    <code>{words}</code>
                  </button>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
          <div className="buttons">
            <button type="button" onClick={() => setOpen(false)}>
              Close
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
