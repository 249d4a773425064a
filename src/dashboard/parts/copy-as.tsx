/**
 * @module dashboard/parts/copy-as
 * "Copy as curl, muster, kubectl": every act of the page as a command. The token stands there as `$SVC_API_TOKEN`, never
 * as itself.
 */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- the events are those of the controls inside */
import { useRef, useState } from 'react'
import type { Command } from './commands.ts'

const TOLD_MS = 2_000

export function CopyAs({
  commands,
  label = 'Copy as',
}: {
  readonly commands: readonly Command[]
  readonly label?: string
}) {
  const menu = useRef<HTMLDetailsElement>(null)
  const [told, setTold] = useState<string | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const copy = async ({ label: name, text }: Command): Promise<void> => {
    const done = await copyText(text)
    setTold(done ? `Copied as ${name}` : `Not copied: the browser forbids it. ${text}`)
    if (done) menu.current?.removeAttribute('open')
    clearTimeout(timer.current) // That of the copy before would take this word away.
    timer.current = setTimeout(() => setTold(null), done ? TOLD_MS : TOLD_MS * 10)
  }
  const onBlur = (event: React.FocusEvent): void => {
    if (!event.currentTarget.contains(event.relatedTarget)) menu.current?.removeAttribute('open')
  }
  return (
    <span className="copy-as">
      <details
        ref={menu}
        onBlur={onBlur}
        onKeyDown={(event) => event.key === 'Escape' && menu.current?.removeAttribute('open')}
      >
        <summary className="button">{label}</summary>
        <ul>
          {commands.map((each) => (
            <li key={each.label}>
              <button type="button" onClick={() => void copy(each)}>
                {each.label}
              </button>
            </li>
          ))}
        </ul>
      </details>
      <output className="copy-told">{told}</output>
    </span>
  )
}

/** False: the browser forbids it, which it does on pages without TLS. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

/** The old way, which works without TLS. */
function copySelected(text: string): boolean {
  const box = document.createElement('textarea')
  box.value = text
  box.className = 'hidden'
  const host = document.querySelector('dialog[open]') ?? document.body // Outside an open dialog nothing can be selected.
  host.append(box)
  box.select()
  try {
    return document.execCommand('copy')
  } finally {
    box.remove()
  }
}
