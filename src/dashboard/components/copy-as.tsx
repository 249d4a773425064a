/**
 * @module dashboard/components/copy-as
 * Renders the "Copy as" menu, which copies an action as a curl, muster or kubectl command. Commands contain
 * `$SVC_API_TOKEN` instead of the token.
 */
/* oxlint-disable jsx-a11y/no-noninteractive-element-interactions -- events bubble from the controls inside */
import { useRef, useState } from 'react'
import type { Command } from './commands.ts'

const MESSAGE_MS = 2_000

export function CopyAs({
  commands,
  label = 'Copy as',
}: {
  readonly commands: readonly Command[]
  readonly label?: string
}) {
  const menu = useRef<HTMLDetailsElement>(null)
  const [message, setMessage] = useState<string | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const copy = async ({ label: name, text }: Command): Promise<void> => {
    const done = await copyText(text)
    setMessage(done ? `Copied as ${name}` : `The browser blocked copying. Copy this text yourself: ${text}`)
    if (done) menu.current?.removeAttribute('open')
    clearTimeout(timer.current) // The timer of an earlier copy would clear this message.
    timer.current = setTimeout(() => setMessage(null), done ? MESSAGE_MS : MESSAGE_MS * 10)
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
      <output className="copy-message">{message}</output>
    </span>
  )
}

/** @returns false if the browser blocks copying. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copySelected(text)
  }
}

/** Copies with `execCommand`: the clipboard API is not available without TLS. */
function copySelected(text: string): boolean {
  const box = document.createElement('textarea')
  box.value = text
  box.className = 'hidden'
  // While a dialog is open, text outside of it cannot be selected.
  const host = document.querySelector('dialog[open]') ?? document.body
  host.append(box)
  box.select()
  try {
    return document.execCommand('copy')
  } finally {
    box.remove()
  }
}
