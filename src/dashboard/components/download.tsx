/**
 * @module dashboard/components/download
 * Renders a button that saves text as a file; the text is generated on click.
 */

export interface DownloadProps {
  readonly name: string
  readonly media: 'application/json' | 'application/x-ndjson' | 'text/csv' | 'text/plain'
  readonly make: () => string
  /** Called after the download has started. */
  readonly onSaved?: () => void
  readonly disabled?: boolean
  readonly children: string
}

/** Lets the browser save a text as a file. */
export function saveFile(name: string, media: DownloadProps['media'], text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: media }))
  const link = document.createElement('a')
  link.href = address
  link.download = name.replaceAll(/[^\w.-]+/g, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 10_000)
}

export function Download({ name, media, make, onSaved, disabled = false, children }: DownloadProps) {
  const save = (): void => {
    saveFile(name, media, make())
    onSaved?.()
  }
  return (
    <button type="button" onClick={save} disabled={disabled}>
      {children}
    </button>
  )
}

/** One JSON value per line. */
export const ndjson = (values: readonly unknown[]): string => values.map((each) => `${JSON.stringify(each)}\n`).join('')
