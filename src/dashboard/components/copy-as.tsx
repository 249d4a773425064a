/**
 * @module dashboard/components/copy-as
 * Renders the "Copy as" menu, which copies an action as a curl, muster or kubectl command, and the "Copy" button for
 * one command. Commands contain `$SVC_API_TOKEN` instead of the token.
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
  const [message, copy] = useCopy()
  const copyAs = async ({ label: name, text }: Command): Promise<void> => {
    const failed = `The browser blocked copying. Copy this text yourself: ${text}`
    if (await copy(text, { copied: `Copied as ${name}`, failed })) menu.current?.removeAttribute('open')
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
              <button type="button" onClick={() => void copyAs(each)}>
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

export function CopyButton({ text }: { readonly text: string }) {
  const [message, copy] = useCopy()
  return (
    <span className="copy-as">
      <button
        type="button"
        onClick={() => void copy(text, { copied: 'Copied', failed: 'The browser blocked copying.' })}
      >
        Copy
      </button>
      <output className="copy-message">{message}</output>
    </span>
  )
}

type Copy = (text: string, messages: { readonly copied: string; readonly failed: string }) => Promise<boolean>

/** Copies a text. @returns the message about the last copy, for a while, and a function that resolves with success. */
function useCopy(): readonly [message: string | null, copy: Copy] {
  const [message, setMessage] = useState<string | null>(null)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const copy: Copy = async (text, { copied, failed }) => {
    const isCopied = await copyText(text)
    setMessage(isCopied ? copied : failed)
    clearTimeout(timer.current) // The timer of an earlier copy would clear this message.
    timer.current = setTimeout(() => setMessage(null), isCopied ? MESSAGE_MS : MESSAGE_MS * 10)
    return isCopied
  }
  return [message, copy]
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
